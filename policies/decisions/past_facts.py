"""The facts of some time, read once; each state in between is put together from them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from accounts.models import Principal
from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.law.facts import Slice
from policies.decisions import facts
from policies.decisions.fact_rows.statement import statement_of
from policies.decisions.facts import Loaded
from policies.decisions.seals import unsealed
from policies.decisions.seals.sealed_rows import MODELS, SealedRow, is_row_good

FACTS = frozenset(MODELS) - {"principal"}
"""The kinds of rows that are true from one revision to another."""


@dataclass(frozen=True)
class PastFacts:
    """All rows about one principal in a realm at some time, each with whether its seal is good."""

    principal: Principal
    root: Node
    rows: tuple[tuple[SealedRow, bool], ...]

    @classmethod
    def read(cls, principal: Principal, root: Node, *, first: int, last: int) -> PastFacts:
        """From one revision to another, in one statement."""
        realm = Realm(pk=root.realm_id, kind=root.kind)
        values = facts.values_of(realm, [principal.pk], {}, None)
        values |= {"first": first, "last": last, "roles": []}
        with connection.cursor() as cursor:
            cursor.execute(statement_of(past=True, narrowed=False), values)
            sealed_rows = [SealedRow(*row) for row in cursor.fetchall()]
        rows = tuple((row, is_row_good(row)) for row in sealed_rows)
        if bad := [row for row, good in rows if not good]:
            unsealed.note(bad, realm.pk)
        return cls(principal, root, rows)

    def at(self, revision: int, now: datetime) -> Slice:
        """The principal's slice as the facts were at a revision in between.  Raises Archived.  No queries."""
        realm = Realm(pk=self.root.realm_id, kind=self.root.kind)
        principal_ids = frozenset((self.principal.pk,))
        loaded = Loaded(realm, self.root.realm, now.timestamp(), principal_ids, past=True)
        loaded.take_judged(pair for pair in self.rows if _was_true(pair[0], revision))
        loaded.stand_at(revision)
        return loaded.slice_of(self.principal)


def _was_true(row: SealedRow, revision: int) -> bool:
    if row.kind not in FACTS:
        return True
    return row.opened <= revision and (row.closed is None or row.closed > revision)
