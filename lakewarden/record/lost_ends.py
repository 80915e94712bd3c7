"""What a site lost of a log when its database was restored from a copy, as the site itself signed it.

A statement names the log, where the copy ended, how far had been signed, and each lost checkpoint by its size
and root.  It excuses exactly these checkpoints, and is told whenever the log is checked.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lakewarden.record import chain, notes
from lakewarden.record.signed import Roots

EVENT = "record.restored"
"""The kind of event that holds such statements, as its `lost`."""


class Lost(NamedTuple):
    """Entries `ended` + 1 to `signed` of a log are gone; `reason` is what the operator said."""

    log: str
    ended: int
    signed: int
    reason: str
    notes: Sequence[Sequence[Any]]

    @property
    def body(self) -> dict[str, Any]:
        return {**self._asdict(), "notes": [list(note) for note in self.notes]}

    def __str__(self) -> str:
        what = "refusals and views" if self.log.endswith("/access") else "revisions"
        return (
            f"lost: {what} {self.ended + 1} to {self.signed}, when the database was restored from a backup: "
            f"{self.reason}"
        )


def signed(lost: Lost, key: notes.PublicKey, signature: bytes) -> dict[str, Any]:
    """The statement as it is kept, with the signature over its `body`."""
    return {**lost.body, "by": key.name, "signature": base64.b64encode(signature).decode()}


def message(lost: Lost) -> bytes:
    """What is signed."""
    return chain.canonical({"kind": EVENT, **lost.body}).encode()


def opened(kept: Mapping[str, Any], keys: Sequence[notes.PublicKey]) -> Lost:
    """What a statement says, once its signature was found good.  Raises BadNote."""
    lost = Lost(*(kept[name] for name in Lost._fields))
    key = next((key for key in keys if key.name == kept["by"]), None)
    if key is None:
        raise notes.BadNote(f"that entries of {lost.log} were lost is not signed by {keys[0].name}")
    notes.check(key, notes.decoded(kept["signature"]), message(lost))
    return lost


def excuse(roots: Roots, lost: Iterable[Lost]) -> None:
    """Take what was lost out of what was signed of a log."""
    for size, root in (note for item in lost for note in item.notes):
        if size in roots:
            roots[size].discard(root)
            if not roots[size]:
                del roots[size]
