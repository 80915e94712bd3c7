"""What somebody takes an archive for: about which object, as of when, and not older than what was signed.

An archive is genuine whatever its file is called; only a stated expectation shows that it is another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from typing import Any, NamedTuple

from lakewarden.record import notes
from lakewarden.record.signed import Roots


class Expected(NamedTuple):
    """Each is empty where it does not matter.

    `object` is written as `table:demo/shop.sales.orders`, `as_of` as ISO 8601 writes a day or a moment,
    `checkpoints` are the texts of notes that were kept elsewhere, one after the other.
    """

    object: str = ""
    as_of: str = ""
    checkpoints: str = ""

    def differs(self, manifest: Mapping[str, Any]) -> str:
        """In words what the archive is instead; empty when it is what was expected."""
        if (self.object or self.as_of) and manifest["kind"] != "evidence":
            return f"this is not evidence about an object, but of kind {manifest['kind']}"
        if not (self.object or self.as_of):
            return ""
        question = manifest["question"]
        about = f"{question['object']['type']}:{question['object']['id']}"
        if self.object and self.object != about:
            return f"this is evidence about {about}, not about {self.object}"
        if self.as_of and not _same_time(self.as_of, question["as_of"]):
            return f"this is evidence as of {question['as_of']}, not as of {self.as_of}"
        return ""

    def roots(self, keys: Sequence[notes.PublicKey]) -> dict[str, Roots]:
        """What the notes kept elsewhere say, by log.  Raises BadNote."""
        roots: dict[str, Roots] = defaultdict(lambda: defaultdict(set))
        for text in notes.each(self.checkpoints):
            checkpoint = notes.opened_by(text, keys)
            roots[checkpoint.log][checkpoint.size].add(checkpoint.root)
        return roots


def a_time(text: str) -> str:
    """The text of a day or a moment, as given.  Raises ValueError for any other."""
    if not _is_day(text):
        _moment(text)
    return text


def _same_time(wanted: str, text: str) -> bool:
    """A day is meant as the archive writes it, in the requester's zone."""
    return text[:10] == wanted if _is_day(wanted) else _moment(text) == _moment(wanted)


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _moment(text: str) -> datetime:
    """A time without a zone is one of UTC."""
    time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
