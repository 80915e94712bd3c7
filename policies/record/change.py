"""The one way to write: a locked, numbered, chained change with its events and its outbox entries."""

from __future__ import annotations

import contextvars
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from accounts import editions
from accounts.fact_content import plain
from accounts.text import recordable
from catalog.models import Realm
from lakewarden.record import chain
from policies.authority import Actor
from policies.decisions import slices
from policies.events import EventDraft
from policies.models import Change, Counter, Event
from policies.record import invariants, newest_editions, outbox, touches
from policies.record.pending import ChangeInProgress

WRITERS_LOCK = 0x6C61_6B65
LONGEST_REASON = 4000  # characters
_current: contextvars.ContextVar[ChangeInProgress | None] = contextvars.ContextVar("change", default=None)


@contextmanager
def change(kind: str, *, realm: Realm | None, by: Actor, reason: str = "") -> Iterator[ChangeInProgress]:
    """Run one change; a change inside a change joins it.

    The writers' lock is taken first, so authority and invariants are judged on the very state that is
    changed.  A change that records nothing leaves no revision behind; one that wrote sealed rows by then
    raises Untold.
    """
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    with transaction.atomic(durable=True):
        locked(WRITERS_LOCK)
        counter = Counter.objects.get()
        current = ChangeInProgress(kind, realm, by, reason, counter.revision + 1)
        token = _current.set(current)
        try:
            with slices.kept_for_a_change(), editions.gathered() as written:
                yield current
        finally:
            _current.reset(token)
        numbers = newest_editions.in_event(written)
        if numbers and not current.events:
            raise editions.Untold(numbers)
        if current.events:
            if numbers:
                current.events[0][1][newest_editions.IN_EVENT] = numbers
            _write(current, counter)


def locked(number: int) -> None:
    """Wait for the lock of that number and hold it until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])


def _write(current: ChangeInProgress, counter: Counter) -> None:
    invariants.check(current)
    row = Change(
        revision=current.revision,
        kind=current.kind,
        realm=current.realm.pk if current.realm else None,
        at=current.at,
        actor=current.actor.pseudonym,
        on_behalf_of=current.actor.on_behalf_of.pseudonym if current.actor.on_behalf_of else "",
        via=current.actor.via,
        reason=recordable(current.reason, LONGEST_REASON),
        request_id=recordable(current.actor.request_id, 64),
        previous=counter.digest,
    )
    events = [_event(row, number, draft, extra) for number, (draft, extra) in enumerate(current.events)]
    row.digest = digest_of(row, events)
    row.save(force_insert=True)
    Event.objects.bulk_create(events, batch_size=1000)
    touches.write(current)
    outbox.enqueue(current)
    Counter.objects.filter(pk=counter.pk).update(revision=row.revision, digest=row.digest)


def _event(change_row: Change, number: int, draft: EventDraft, extra: dict[str, Any]) -> Event:
    return Event(
        change=change_row,
        number=number,
        kind=draft.kind,
        object_type=draft.object_type,
        object_name=draft.object_name,
        object_key=draft.lineage[-1] if draft.lineage else None,
        lineage=list(draft.lineage),
        people=list(draft.people),
        data={**draft.data, **extra},
    )


def digest_of(row: Change, events: Iterable[Event]) -> str:
    """The digest of a change: over the digest before and all that it says."""
    return chain.digest(row.previous, body_of(row, events))


def body_of(row: Change, events: Iterable[Event]) -> dict[str, Any]:
    """All that a change says, as its digest covers it and as it is exported."""
    body = {name: plain(getattr(row, name)) for name in _CHANGE_FIELDS}
    body["events"] = [{name: getattr(event, name) for name in _EVENT_FIELDS} for event in events]
    return body


_CHANGE_FIELDS = ("revision", "kind", "realm", "at", "actor", "on_behalf_of", "via", "reason", "request_id")
_EVENT_FIELDS = ("number", "kind", "object_type", "object_name", "object_key", "lineage", "people", "data")


__all__ = ["ChangeInProgress", "body_of", "change", "digest_of", "locked"]
