"""A change in progress: what it has begun, ended and said so far, before it is written as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection
from django.utils import timezone

from accounts.fact_content import fact_code, fact_values
from accounts.record import Fact, RowOfFact
from accounts.seals import is_fact_sealed, seal_fact
from catalog.models import Realm
from policies.authority import Actor, Authority
from policies.decisions import slices
from policies.decisions.cache_versions import touched_by
from policies.errors import Unsealed
from policies.events import EventDraft


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
        self.begin_all([(fact, said)], by=by, told=[told or {}])

    def begin_all(
        self,
        facts: Sequence[tuple[Fact, EventDraft]],
        *,
        by: Authority,
        told: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Open many facts of one model in one statement; `told` has as many as there are facts, or none."""
        rows = [fact for fact, _ in facts]
        for row, number in zip(rows, _numbers_for(rows), strict=True):
            row.pk, row.opened = number, self.revision
            seal_fact(row)
        if rows:
            type(rows[0]).objects.bulk_create(rows, batch_size=1000)
        _drop_stale(rows)
        for (fact, draft), otherwise in zip(facts, told or [{}] * len(facts), strict=True):
            self.begun.append(fact)
            state = {**fact_values(fact), **otherwise}
            self._note(draft, {"fact": fact_code(fact), "by": by.ground, "state": state})

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
        _drop_stale([fact for fact, _ in facts])
        for fact, draft in facts:
            self.ended.append(fact)
            self._note(draft, {"fact": fact_code(fact), "by": by.ground})

    def say(self, said: EventDraft, *, by: Authority) -> None:
        """Record something that is no fact of access, such as a connection or a token."""
        self._note(said, {"by": by.ground})

    def touch(self, key: str) -> None:
        """Make stale what was answered from this key, beside the holders that the facts concern."""
        self.touches.add(key)
        slices.drop_stale([key])

    def _note(self, draft: EventDraft, extra: dict[str, Any]) -> None:
        self.events.append((draft, extra))
        self.places.add(draft.lineage)


def proved(rows: Iterable[RowOfFact]) -> list[RowOfFact]:
    """Facts to be ended or begun again, each as the writer left it.  Raises Unsealed."""
    rows_ = list(rows)
    for row in rows_:
        if not is_fact_sealed(row):
            raise Unsealed(fact_code(row))
    return rows_


def _drop_stale(rows: Sequence[Fact]) -> None:
    slices.drop_stale(key for row in rows for key in touched_by(row))


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
