"""Requests for access as the console tells of them: what was asked, who decides, what became of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from lakewarden.client.transport import BadQuestion, Transport, Unavailable

REQUESTS = "/authz/v1/requests"
WAITING = ("asked", "asked_back")
GRANTED = ("approved", "approved_less")
WORDS = {
    "asked": "waiting for a decision",
    "asked_back": "waiting for your answer",
    "approved_less": "approved in part",
    "needless": "no longer needed",
}


@dataclass(frozen=True)
class Part:
    """One decision that a request needs; `deciders` is empty where they are not for the asker to know."""

    number: int
    what: str
    status: str
    deciders: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Request:
    """A request as it stands; `given` are the things asked for that can be done now, with their ends."""

    number: int
    status: str
    holder: str
    parts: tuple[Part, ...]
    given: tuple[tuple[str, Optional[str]], ...]
    lapses_at: str
    url: str

    @property
    def open(self) -> bool:
        """Whether somebody still has to decide or to answer."""
        return self.status in WAITING

    @property
    def granted(self) -> bool:
        """Whether something of it was approved."""
        return self.status in GRANTED

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"request {self.number} for {self.holder} is {WORDS.get(self.status, self.status)}"
        for part in self.parts:
            who = f" by {' or '.join(part.deciders)}" if part.deciders else ""
            note = f": {part.note}" if part.note else ""
            yield f"  {part.what}: {WORDS.get(part.status, part.status)}{who}{note}"
        for what, until in self.given:
            yield f"  may {what} {f'until {until}' if until else 'without an end'}"
        yield f"  see {self.url}"


def ask(
    line: Transport,
    questions: Sequence[Mapping[str, object]],
    reason: str,
    *,
    lasts: str = "",
    ticket: str = "",
    key: str = "",
) -> Request:
    """Ask for all that these questions were about; the same again for the same key.  Raises ConsoleError."""
    if not questions or any(each["subject"] != questions[0]["subject"] for each in questions):
        raise BadQuestion("request access for one subject at a time, to one object at least")
    body = {
        "subject": questions[0]["subject"],
        "items": [{name: each[name] for name in ("resource", "action")} for each in questions],
        "reason": reason,
        "ticket": ticket,
        "requested_access": {"requested_for": lasts} if lasts else {},
    }
    return read(line, line.post(REQUESTS, body, key=key or str(uuid.uuid4())))


def fetch(line: Transport, number: int) -> Request:
    """A request as it stands now.  Raises ConsoleError."""
    return read(line, line.get(f"{REQUESTS}/{number}", {}).value or {})


def withdraw(line: Transport, number: int, reason: str) -> Request:
    """Take a request back.  Raises ConsoleError."""
    return read(line, line.post(f"{REQUESTS}/{number}/withdraw", {"reason": reason}))


def read(line: Transport, value: Mapping[str, Any]) -> Request:
    """A request from what the console sent.  Raises Unavailable for anything else."""
    try:
        subject = value["subject"]
        return Request(
            int(value["id"]),
            line.tidy(value["status"]),
            line.tidy(f"{subject['type']}:{subject['id']}"),
            tuple(_part(line, each) for each in value["parts"]),
            tuple(_given(line, value["items"])),
            line.tidy(value["lapses_at"]),
            f"{line.url}/requests/{int(value['id'])}",
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Unavailable(f"{line.url} sent an answer that is not a request") from None


def _part(line: Transport, value: Mapping[str, Any]) -> Part:
    where = value["object"]
    what = ", ".join(value["privileges"]) or value["kind"]
    return Part(
        int(value["number"]),
        line.tidy(f"{what} on {where['type']} {where['id']}"),
        line.tidy(value["status"]),
        tuple(line.tidy(item) for item in value["deciders"] or ()),
        line.tidy(value["note"]),
    )


def _given(line: Transport, items: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Optional[str]]]:
    for item in items:
        if item["given_at"]:
            where = item["resource"]
            until = item["valid_until"]
            yield (
                line.tidy(f"{item['action']['name']} {where['type']} {where['id']}"),
                until and line.tidy(until),
            )
