"""Kept answers go stale by the touches of a change, so somebody who puts those back keeps old answers alive.

Each fact tells at which revision it began and ended, under its seal; whom it is about was touched then, and
where the fact stands.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from django.db.models import Max, Min

from accounts.record import Fact
from accounts.seals import is_fact_sealed
from policies.authority import SYSTEM, of_system
from policies.decisions.cache_versions import touched_by
from policies.decisions.seals import opened_again, unsealed
from policies.events import FACTS_SET_RIGHT
from policies.models import Counter, RealmTouch, Touch
from policies.record import touches
from policies.record.change import change
from policies.record.event_drafts import make_event

log = logging.getLogger(__name__)
CHUNK = 2000
NAMED = 100
MODELS = {"p": "touch of principal", "s": "touch of role", "r": "touch of realm"}
"""What the touches of each kind of key are called where findings are told."""


@dataclass
class _Due:
    """When each key was touched last, by what the facts say: anywhere, and in each realm."""

    anywhere: dict[str, int] = field(default_factory=dict)
    within: dict[tuple[int, str], int] = field(default_factory=dict)

    def take(self, facts: list[Fact]) -> None:
        realms = touches.realms_by_fact(facts)
        for fact in filter(is_fact_sealed, facts):
            last = max(fact.opened, fact.closed or 0)
            for key in touched_by(fact):
                self.anywhere[key] = max(self.anywhere.get(key, 0), last)
                if (realm := realms.get(fact)) is not None:
                    self.within[realm, key] = max(self.within.get((realm, key), 0), last)


def mend(*, since: int | None = None) -> int:
    """Touch again whom a fact is about that began or ended after their last touch, on the record, and tell;
    how many there are.

    With `since`, by those facts alone that this transaction or a later one wrote.
    """
    due = _Due()
    for model in unsealed.fact_models():
        rows = model.objects.order_by()
        late = rows if since is None else opened_again.written_since(rows, since)
        facts = late.iterator(chunk_size=CHUNK)
        while part := list(islice(facts, CHUNK)):
            due.take(part)
    if not due.anywhere:
        return 0
    revision = Counter.objects.get().revision
    realms = _put_back_within(due, revision)
    wrong = sorted({*_put_back(due, revision), *(key for _, key in realms)})
    if wrong:
        _set_right(wrong, realms)
    return len(wrong)


def _put_back(due: _Due, revision: int) -> Iterable[str]:
    kept = dict(Touch.objects.filter(key__in=list(due.anywhere)).values_list("key", "revision"))
    return [key for key, moment in due.anywhere.items() if kept.get(key, 0) < min(moment, revision)]


def _put_back_within(due: _Due, revision: int) -> list[tuple[int, str]]:
    """Those whose touch tells of another realm alone.  Before there were touches of realms nothing did."""
    rows = RealmTouch.objects.filter(key__in={key for _, key in due.within})
    kept = {(realm, key): moment for realm, key, moment in rows.values_list("realm", "key", "revision")}
    newest = dict(rows.order_by().values("key").annotate(last=Max("revision")).values_list("key", "last"))
    first = RealmTouch.objects.aggregate(first=Min("revision"))["first"] or 0
    return [
        (realm, key)
        for (realm, key), moment in due.within.items()
        # what has no touch of any realm is told to all by the touch of everywhere
        if first <= moment <= min(newest.get(key, 0), revision) and kept.get((realm, key), 0) < moment
    ]


def _set_right(wrong: list[str], realms: list[tuple[int, str]]) -> None:
    findings = [
        unsealed.finding(MODELS[key[0]], int(key[2:]), Touch.objects.filter(key=key)) for key in wrong
    ]
    log.error("%s touches were put back past the console: %s", len(wrong), ", ".join(wrong[:NAMED]))
    with change(FACTS_SET_RIGHT, realm=None, by=SYSTEM) as current:
        for key in wrong:
            current.touch(key)
        named = ", ".join(f"touch of {key}" for key in wrong[:NAMED])
        draft = make_event(FACTS_SET_RIGHT, None, many=f"{len(wrong)} touches", facts=named)
        current.say(draft, by=of_system("the facts say so"))
        touches.touch_within(realms, current.revision)
    unsealed.keep_found(findings)
