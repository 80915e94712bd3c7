"""Which runs are kept, with their steps: the history of what was applied, as long as it serves somebody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Max, Q

from policies.models import Backend, SyncItem, SyncRun

AT_ONCE = 500
QUIET = timedelta(days=1)
"""So long runs are kept that did nothing and met with no error."""


def forget_old(now: datetime) -> int:
    """Delete what nobody needs any more, in short transactions; how many runs."""
    kept = _always()
    did = Q(done__gt=0) | ~Q(errors=[])
    longest = now - timedelta(days=settings.LAKEWARDEN_RUNS_KEPT)
    old = Q(did, ended__lt=longest) | Q(~did, ended__lt=now - QUIET)
    rows = SyncRun.objects.filter(old).exclude(pk__in=kept).exclude(state=SyncRun.State.RUNNING)
    numbers = list(rows.order_by("pk").values_list("pk", flat=True))
    for at in range(0, len(numbers), AT_ONCE):
        _delete(numbers[at : at + AT_ONCE])
    return len(numbers)


def _always() -> set[int]:
    """The latest run of each backend, and its latest that was proved."""
    proved = Max("pk", filter=Q(state=SyncRun.State.PROVED))
    rows = SyncRun.objects.order_by().values("backend").annotate(latest=Max("pk"), proved=proved)
    return {pk for row in rows for pk in (row["latest"], row["proved"]) if pk}


@transaction.atomic
def _delete(numbers: Iterable[int]) -> None:
    rows = list(SyncRun.objects.filter(pk__in=numbers).select_for_update())
    many: dict[int, Counter[str]] = {}
    for row in rows:
        many.setdefault(row.backend_id, Counter()).update({row.state: 1, f"{row.state}_steps": row.applied})
    for backend in Backend.objects.filter(pk__in=many).select_for_update():
        # counters only ever rise, so what is deleted stays counted
        backend.forgotten = dict(Counter(backend.forgotten) + many[backend.pk])
        backend.save(update_fields=["forgotten"])
    SyncItem.objects.filter(run__in=numbers).delete()
    SyncRun.objects.filter(pk__in=numbers).delete()
