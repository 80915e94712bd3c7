"""Places outside the database that checkpoints are sent to: a file, a mailbox, an object store.

`LAKEWARDEN_CHECKPOINTS` names them: `file:/path`, `mailto:auditor@example.org`, `https://store/bucket/`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from django.conf import settings
from django.core.mail import send_mail

from lakewarden.record import notes
from policies import http as policies_http
from policies.http import NotTaken


class CheckpointPlace(Protocol):
    @property
    def name(self) -> str:
        """What the place is called in the record of what was sent; never a secret."""

    def put(self, log: str, size: int, note: str) -> None:
        """Put a note there.  Raises NotTaken."""


def _private(path: str, flags: int) -> int:
    """A new file is for whoever writes it alone; one that is there keeps the mode that it was given."""
    return os.open(path, flags, 0o600)


@dataclass(frozen=True)
class FilePlace:
    path: Path

    @property
    def name(self) -> str:
        return f"file:{self.path}"

    def put(self, log: str, size: int, note: str) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            text_there = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
            kept = notes.whole(text_there)
            if note in kept:
                return  # written before a crash that kept us from saying so
            with open(self.path, "ab", opener=_private) as file:
                if kept != text_there:  # a crash, or a full disk, in the middle of one
                    file.truncate(len(kept.encode()))
                file.write(note.encode())
                file.flush()
                os.fsync(file.fileno())
        except (OSError, UnicodeDecodeError) as error:
            raise NotTaken(getattr(error, "strerror", "") or "cannot be written") from error


@dataclass(frozen=True)
class MailPlace:
    address: str

    @property
    def name(self) -> str:
        return f"mailto:{self.address}"

    def put(self, log: str, size: int, note: str) -> None:
        try:
            send_mail(f"Checkpoint of {log} at {size}", note, None, [self.address])
        except OSError as error:
            raise NotTaken(f"the mail was not taken: {error}") from error


@dataclass(frozen=True)
class StorePlace:
    """Each note becomes an object of its own, by PUT, that no later one overwrites."""

    url: str

    @property
    def name(self) -> str:
        return self.url.partition("?")[0]

    def put(self, log: str, size: int, note: str) -> None:
        base, mark, query = self.url.partition("?")
        target = f"{base.rstrip('/')}/{log}-{size}.txt{mark}{query}"
        policies_http.send(target, note, policies_http.PLAIN, method="PUT")


def configured() -> Sequence[CheckpointPlace]:
    return [_place(text) for text in settings.LAKEWARDEN_CHECKPOINTS]


def kept_notes() -> str:
    """All notes in the files among the places, one after the other; empty when there is none."""
    files = [place.path for place in configured() if isinstance(place, FilePlace)]
    return "".join(path.read_text(encoding="utf-8") for path in files if path.exists())


def _place(text: str) -> CheckpointPlace:
    kind, _, rest = text.partition(":")
    if kind == "file":
        return FilePlace(Path(rest))
    return MailPlace(rest) if kind == "mailto" else StorePlace(text)
