"""The record as anybody can check it: one line a change with its digests, in the form the digests cover."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.record import chain
from policies.models import AccessRecord, Change, Event
from policies.record import access_log
from policies.record.change import body_of
from policies.record.verify import with_events


def line(change: Change, events: list[Event]) -> str:
    """A change as one line of JSON: `{"change":{…,"events":[…]},"digest":…,"previous":…}`."""
    body = body_of(change, events)
    return chain.canonical({"change": body, "digest": change.digest, "previous": change.previous}) + "\n"


def lines(last: int) -> Iterator[str]:
    """Every change up to a revision, oldest first, streaming."""
    return (line(change, events) for change, events in with_events(last))


def looks(many: int) -> Iterator[str]:
    """So many refusals and looks, oldest first, streaming: `{"digest":…,"previous":…,"record":{…}}`."""
    for row in AccessRecord.objects.order_by("pk")[:many].iterator(chunk_size=2000):
        line = {"record": access_log.body_of(row), "digest": row.digest, "previous": row.previous}
        yield chain.canonical(line) + "\n"
