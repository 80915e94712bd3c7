"""Facts that ended by the record and are open: somebody put an earlier state of them back, seal and all."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Concat

from accounts.record import Fact
from policies.models import Event


def among(rows: QuerySet[Fact]) -> QuerySet[Fact]:
    """Those of some open facts that an event of the record ended.

    The one query is one snapshot, in which a change is with its events and its facts or not at all.
    """
    code = Concat(Value(f"{rows.model._meta.model_name}:"), Cast(OuterRef("pk"), TextField()))
    ends = Event.objects.alias(ended=KeyTextTransform("fact", "data")).filter(
        Q(data__has_key="fact") & ~Q(data__has_key="state"), ended=code
    )
    return rows.filter(Exists(ends))
