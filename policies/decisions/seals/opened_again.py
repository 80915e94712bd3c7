"""Facts that ended by the record and are open: somebody put an earlier state of them back, seal and all."""

from __future__ import annotations

from typing import TypeVar

from django.db import connection
from django.db.models import BigIntegerField, Exists, Model, OuterRef, QuerySet, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Concat

from accounts.record import Fact
from policies.models import Event
from policies.models.record import ENDS_FACT

AnyRow = TypeVar("AnyRow", bound=Model)
MOST = 5000
"""Of more facts than so many that were written lately, all are looked at: one pass is then quicker."""


def among(rows: QuerySet[Fact]) -> QuerySet[Fact]:
    """Those of some open facts that an event of the record ended.

    The one query is one snapshot, in which a change is with its events and its facts or not at all.
    """
    code = Concat(Value(f"{rows.model._meta.model_name}:"), Cast(OuterRef("pk"), TextField()))
    ends = Event.objects.alias(ended=KeyTextTransform("fact", "data")).filter(ENDS_FACT, ended=code)
    return rows.filter(Exists(ends))


def first_running() -> int:
    """Which transaction is the first that is not over: what was written before it can be seen.  One query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
        number: int = cursor.fetchone()[0]
    return number


def written_since(rows: QuerySet[AnyRow], transaction: int) -> QuerySet[AnyRow]:
    """Those of some rows that this transaction or a later one wrote; all, if they are many."""
    # rows have the last 32 bits of the number, which go round: what is less than half a round ahead is later
    ahead = RawSQL(  # noqa: S611 - ours
        f"({rows.model._meta.db_table}.xmin::text::bigint - %s) & 4294967295",
        [transaction],
        output_field=BigIntegerField(),
    )
    late = rows.alias(ahead=ahead).filter(ahead__lt=2**31)
    numbers = list(late.values_list("pk", flat=True)[: MOST + 1])
    return rows if len(numbers) > MOST else rows.filter(pk__in=numbers)
