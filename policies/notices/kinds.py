"""Every kind of notice: a stable code and what people read for it.  A code registered twice is an error."""

from __future__ import annotations

from dataclasses import dataclass

from policies.models.notices import How


@dataclass(frozen=True)
class Kind:
    """What notices are about; `mail`: they go by mail at once unless somebody chose otherwise."""

    code: str
    label: str
    mail: bool = True

    @property
    def heading(self) -> str:
        return self.label[:1].upper() + self.label[1:]

    @property
    def how(self) -> How:
        """How it is told to who chose nothing."""
        return How.MAIL if self.mail else How.INBOX


KINDS: dict[str, Kind] = {}


def kind(code: str, label: str, *, mail: bool = True) -> str:
    """Register a kind; `label` is a heading and a choice: "requests that wait for your decision"."""
    if code in KINDS:
        raise ValueError(f"kind of notice `{code}` is registered twice")
    KINDS[code] = Kind(code, label, mail)
    return code
