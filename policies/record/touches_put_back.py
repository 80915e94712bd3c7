"""Kept answers go stale by the touches of a change, so somebody who puts those back keeps old answers alive.

Each fact tells at which revision it began and ended, under its seal; whom it is about was touched then.
"""

from __future__ import annotations

import logging

from accounts.record import Fact
from policies.decisions.cache_versions import touched_by
from policies.decisions.seals import opened_again, unsealed
from policies.models import Counter, Touch

log = logging.getLogger(__name__)
CHUNK = 2000


def mend(*, since: int | None = None) -> int:
    """Touch again whom a fact is about that began or ended after their last touch; how many there are.

    With `since`, by those facts alone that this transaction or a later one wrote.
    """
    due: dict[str, int] = {}
    for model in unsealed.fact_models():
        rows = model.objects.order_by()
        late = rows if since is None else opened_again.written_since(rows, since)
        for fact in late.iterator(chunk_size=CHUNK):
            for key in touched_by(fact):
                due[key] = max(due.get(key, 0), _last(fact))
    kept = dict(Touch.objects.filter(key__in=list(due)).values_list("key", "revision")) if due else {}
    revision = Counter.objects.get().revision
    wrong = sorted(key for key, moment in due.items() if kept.get(key, 0) < min(moment, revision))
    if wrong:
        log.error("%s touches were put back past the console: %s", len(wrong), ", ".join(wrong[:100]))
        Touch.objects.bulk_create(
            [Touch(key=key, revision=revision) for key in wrong],
            update_conflicts=True,
            unique_fields=["key"],
            update_fields=["revision"],
        )
    return len(wrong)


def _last(fact: Fact) -> int:
    return max(fact.opened, fact.closed or 0)
