"""The record as anybody can check it: one line a change with its digests, in the form the digests cover."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.record import chain
from policies.changes import body_of
from policies.models import Change, Event
from policies.verify import with_events


def line(change: Change, events: list[Event]) -> str:
    """A change as one line of JSON: `{"change":{…,"events":[…]},"digest":…,"previous":…}`."""
    body = body_of(change, events)
    return chain.canonical({"change": body, "digest": change.digest, "previous": change.previous}) + "\n"


def lines(last: int) -> Iterator[str]:
    """Every change up to a revision, oldest first, streaming."""
    return (line(change, events) for change, events in with_events(last))
