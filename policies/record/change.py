"""The one way to write: a locked, numbered, chained change with its events and its outbox entries."""

from __future__ import annotations

import contextvars
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from accounts.fact_content import fact_code, fact_values, plain
from accounts.record import Fact
from accounts.seals import is_fact_sealed, seal_fact
from accounts.text import recordable
from catalog.models import Realm
from lakewarden.record import chain
from policies.authority import Actor, Authority
from policies.decisions.cache_versions import touched_by
from policies.errors import Unsealed
from policies.events import EventDraft
from policies.models import Change, Counter, Event, Touch
from policies.record import invariants, outbox

WRITERS_LOCK = 0x6C61_6B65
LONGEST_REASON = 4000  # characters
_current: contextvars.ContextVar[ChangeInProgress | None] = contextvars.ContextVar("change", default=None)


class ChangeInProgress:
    """What a change gathers while it runs; written as a whole when its block ends."""

    def __init__(self, kind: str, realm: Realm | None, actor: Actor, reason: str, revision: int):
        self.kind, self.realm, self.actor, self.reason, self.revision = kind, realm, actor, reason, revision
        self.at = timezone.now()
        self.events: list[tuple[EventDraft, dict[str, Any]]] = []
        self.begun: list[Fact] = []
        self.ended: list[Fact] = []
        self.places: set[tuple[int, ...]] = set()
        self.touches: set[str] = set()

    def begin(
        self, fact: Fact, said: EventDraft, *, by: Authority, told: Mapping[str, Any] | None = None
    ) -> None:
        """Open a fact and say so; `told` are values that the record tells otherwise: they name a person."""
        self.begin_all([(fact, said)], by=by, told=told)

    def begin_all(
        self,
        facts: Sequence[tuple[Fact, EventDraft]],
        *,
        by: Authority,
        told: Mapping[str, Any] | None = None,
    ) -> None:
        """Open many facts of one model in one statement."""
        rows = [fact for fact, _ in facts]
        for row, number in zip(rows, _numbers_for(rows), strict=True):
            row.pk, row.opened = number, self.revision
            seal_fact(row)
        if rows:
            type(rows[0]).objects.bulk_create(rows, batch_size=1000)
        for fact, said in facts:
            self.begun.append(fact)
            state = {**fact_values(fact), **(told or {})}
            self._note(said, {"fact": fact_code(fact), "by": by.ground, "state": state})

    def end(self, fact: Fact, said: EventDraft, *, by: Authority) -> None:
        """Close an open fact and say so; under the lock, one closed meanwhile is a programming error."""
        self.end_all([(fact, said)], by=by)

    def end_all(self, facts: Sequence[tuple[Fact, EventDraft]], *, by: Authority) -> None:
        """Close many open facts of one model in one statement.  Raises Unsealed."""
        if not facts:
            return
        for fact, _ in facts:
            if not is_fact_sealed(fact):  # closing seals it: what no change made must not get into history
                raise Unsealed(fact_code(fact))
            fact.closed = self.revision
            seal_fact(fact)
        if _close([fact for fact, _ in facts]) != len(facts):
            raise RuntimeError(f"{fact_code(facts[0][0])} or one of those ended with it is not open")
        for fact, said in facts:
            self.ended.append(fact)
            self._note(said, {"fact": fact_code(fact), "by": by.ground})

    def say(self, said: EventDraft, *, by: Authority) -> None:
        """Record something that is no fact of access, such as a connection or a token."""
        self._note(said, {"by": by.ground})

    def touch(self, key: str) -> None:
        """Make stale what was answered from this key, beside the holders that the facts concern."""
        self.touches.add(key)

    def _note(self, said: EventDraft, extra: dict[str, Any]) -> None:
        self.events.append((said, extra))
        self.places.add(said.lineage)


def _numbers_for(rows: Sequence[Fact]) -> list[int]:
    """The numbers that new facts will have: a seal covers the number, so it is taken before."""
    if not rows:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)",
            [rows[0]._meta.db_table, len(rows)],
        )
        return [number for (number,) in cursor.fetchall()]


def _close(rows: Sequence[Fact]) -> int:
    """Close facts of one model that are open, each with its seal; how many were."""
    table = rows[0]._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} t SET closed = %s, seal = n.seal"  # noqa: S608 - ours
            " FROM unnest(%s::bigint[], %s::bytea[]) n(id, seal) WHERE t.id = n.id AND t.closed IS NULL",
            [rows[0].closed, [row.pk for row in rows], [row.seal for row in rows]],
        )
        return int(cursor.rowcount)


@contextmanager
def change(kind: str, *, realm: Realm | None, by: Actor, reason: str = "") -> Iterator[ChangeInProgress]:
    """Run one change; a change inside a change joins it.

    The writers' lock is taken first, so authority and invariants are judged on the very state that is
    changed.  A change that records nothing leaves no revision behind.
    """
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    with transaction.atomic(durable=True):
        counter = _lock_counter()
        current = ChangeInProgress(kind, realm, by, reason, counter.revision + 1)
        token = _current.set(current)
        try:
            yield current
        finally:
            _current.reset(token)
        if current.events:
            _write(current, counter)


def _lock_counter() -> Counter:
    locked(WRITERS_LOCK)
    return Counter.objects.get()


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
    events = [_event(row, number, said, extra) for number, (said, extra) in enumerate(current.events)]
    row.digest = digest_of(row, events)
    row.save(force_insert=True)
    Event.objects.bulk_create(events, batch_size=1000)
    _touch(current)
    outbox.enqueue(current)
    Counter.objects.filter(pk=counter.pk).update(revision=row.revision, digest=row.digest)


def _event(change_row: Change, number: int, said: EventDraft, extra: dict[str, Any]) -> Event:
    return Event(
        change=change_row,
        number=number,
        kind=said.kind,
        object_type=said.object_type,
        object_name=said.object_name,
        object_key=said.lineage[-1] if said.lineage else None,
        lineage=list(said.lineage),
        people=list(said.people),
        data={**said.data, **extra},
    )


def _touch(current: ChangeInProgress) -> None:
    keys = {key for fact in (*current.begun, *current.ended) for key in touched_by(fact)} | current.touches
    Touch.objects.bulk_create(
        [Touch(key=key, revision=current.revision) for key in sorted(keys)],
        update_conflicts=True,
        unique_fields=["key"],
        update_fields=["revision"],
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
