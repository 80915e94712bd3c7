"""What was really used, decided again: which uses the changes would have refused, and which refusals not.

Uses are those that jobs reported, refusals those of the access log.  How much of the data anybody reports
on is said with them, as no use was seen where nobody reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Count, Max, Q, QuerySet

from accounts.models import Principal
from catalog.models import Placement
from catalog.nodes import Node, any_of, as_placed_last, nodes
from lakewarden.law import engine
from lakewarden.spark.pipelines.reach_counts import data_types
from policies.decisions.ask import operation_for
from policies.models import AccessRecord, Use
from policies.simulation.difference import Difference

DAYS = 90
"""So far back it is looked, unless said otherwise."""
LONGEST = 400
"""Older uses are not kept."""
LISTED = 200
"""So many replayed uses are listed; how many there are stands beside them."""
UseCount = tuple[tuple[int, int, str], list[Principal], int, datetime]
"""Who did what to which object, the jobs that reported it, how often, and last when."""


@dataclass(frozen=True)
class ReplayedUse:
    """What somebody did to an object, or tried to do: how often, last when, and by whose report."""

    person: Principal
    node: Node
    action: str
    jobs: tuple[Principal, ...]
    times: int
    last: datetime


@dataclass(frozen=True)
class Uses:
    """How many uses there are, and the latest of them."""

    count: int
    latest: tuple[ReplayedUse, ...]

    @classmethod
    def of(cls, every: Sequence[ReplayedUse]) -> Uses:
        return cls(len(every), tuple(every[:LISTED]))


@dataclass(frozen=True)
class ReplayOutcome:
    """What a replay found; on `reported` of `objects` with data somebody reports."""

    days: int
    since: datetime
    reported: int
    objects: int
    refused: Uses
    allowed: Uses
    gone: Uses


class Replay:
    """Uses and refusals of the last days, decided on the facts as they are and as they would be.

    A fixed number of queries, however many uses, people and objects.
    """

    def __init__(self, difference: Difference, *, days: int = DAYS) -> None:
        self.difference, self.days = difference, days
        self.simulation = difference.simulation
        self.since = self.simulation.at - timedelta(days=days)
        self._decided: dict[object, tuple[bool, bool]] = {}

    @property
    def outcome(self) -> ReplayOutcome:
        uses = (Uses.of(some) for some in (self.refused, self.allowed, self.gone))
        return ReplayOutcome(self.days, self.since, *self.coverage, *uses)

    @cached_property
    def refused(self) -> list[ReplayedUse]:
        """Reported uses that are allowed now and would be refused, the latest first."""
        return [use for use in self._uses if self._decide(use) == (True, False)]

    @cached_property
    def allowed(self) -> list[ReplayedUse]:
        """What was refused, or is by now, and would be allowed, the latest first."""
        both = sorted((*self._uses, *self._refusals), key=lambda use: use.last, reverse=True)
        return [use for use in both if self._decide(use) == (False, True)]

    @cached_property
    def gone(self) -> list[ReplayedUse]:
        """Reported uses of objects that are gone, as these stood last; nothing can be decided on them."""
        counts = self._reported(self.difference.gone_places())
        by_key = as_placed_last({key for (_, key, _), _, _, _ in counts}) if counts else {}
        return self._of_nodes(counts, by_key)

    @cached_property
    def coverage(self) -> tuple[int, int]:
        """On how many of the objects with data somebody reports, and how many these are."""
        holding = self.difference.shown_places().filter(type__in=data_types(self.simulation.law))
        many = holding.count()
        if not many:
            return 0, 0
        reported = Use.objects.filter(self._of_realm, securable__in=holding)
        return reported.values("securable").distinct().count(), many

    @property
    def _of_realm(self) -> Q:
        return Q(realm=self.simulation.root.realm_id, at__gte=self.since)

    @cached_property
    def _uses(self) -> list[ReplayedUse]:
        return self._named(self._reported(self.difference.places()))

    def _reported(self, places: QuerySet[Placement, Any]) -> list[UseCount]:
        """What those concerned did to the objects of some places.  One query, and one where they did."""
        rows = (
            Use.objects.filter(self._of_realm, executed=True, principal__in=list(self.simulation.people))
            .filter(securable__in=places)
            .values("principal", "securable", "action", "reporter")
            .annotate(times=Count("run", distinct=True), last=Max("at"))
            .order_by("principal", "securable", "action", "-last")
        )
        by_use: dict[tuple[int, int, str], list[Mapping[str, Any]]] = {}
        for row in rows:
            by_use.setdefault((row["principal"], row["securable"], row["action"]), []).append(row)
        jobs = Principal.objects.in_bulk({row["reporter"] for some in by_use.values() for row in some})
        return [
            (key, [jobs[row["reporter"]] for row in some], sum(row["times"] for row in some), some[0]["last"])
            for key, some in by_use.items()
        ]

    @cached_property
    def _refusals(self) -> list[ReplayedUse]:
        """What the access log says was refused, by person, object and operation."""
        who = {person.pseudonym: person.pk for person in self.simulation.people.values()}
        rows = AccessRecord.objects.filter(
            Q(lineage__0=self.simulation.root.id),
            kind=AccessRecord.Kind.REFUSED,
            realm=self.simulation.root.realm_id,
            at__gte=self.since,
            actor__in=list(who),
        ).values_list("actor", "lineage", "operation", "repeat__count", "repeat__last", "at")
        counts: dict[tuple[int, int, str], tuple[int, datetime]] = {}
        for actor, lineage, operation, count, last, at in rows:
            key = (who[actor], lineage[-1], operation)
            times, latest = counts.get(key, (0, at))
            counts[key] = (times + (count or 1), max(latest, last or at))
        return self._named((key, [], times, last) for key, (times, last) in counts.items())

    def _named(self, counts: Iterable[UseCount]) -> list[ReplayedUse]:
        """Those that may be shown, with their people and objects, the latest first."""
        every = list(counts)
        shown = self._shown_among({(who, key) for (who, key, _), _, _, _ in every})
        kept = [count for count in every if count[0][:2] in shown]
        return self._of_nodes(kept, nodes({key for (_, key, _), _, _, _ in kept}))

    def _of_nodes(self, counts: Iterable[UseCount], by_key: Mapping[int, Node]) -> list[ReplayedUse]:
        uses = [
            ReplayedUse(self.simulation.people[who], by_key[key], action, tuple(jobs), times, last)
            for (who, key, action), jobs, times, last in counts
            if key in by_key
        ]
        return sorted(uses, key=lambda use: use.last, reverse=True)

    def _shown_among(self, pairs: Set[tuple[int, int]]) -> set[tuple[int, int]]:
        """Those people and objects of which the viewer may know; of themselves they know all."""
        if not pairs:
            return set()
        condition = any_of("securable_id", sorted({key for _, key in pairs}))
        viewer = self.difference.viewer
        shown = set(self.difference.shown_places().filter(condition).values_list("securable", flat=True))
        mine: set[int] = set()
        if viewer is not None and any(person == viewer.pk for person, _ in pairs):
            mine = set(self.difference.places().filter(condition).values_list("securable", flat=True))
        return {
            (person, key)
            for person, key in pairs
            if key in shown or (viewer is not None and person == viewer.pk and key in mine)
        }

    def _decide(self, use: ReplayedUse) -> tuple[bool, bool]:
        """Whether it is allowed before and after; worked out once for people who are alike."""
        alike = self.simulation.of_person[use.person.pk]
        key = (id(alike), use.node.id, use.action)
        if key not in self._decided:
            moment, lineage = self.simulation.at.timestamp(), self.simulation.proposed.lineage(use.node)
            was, will = (
                operation_for(replace(use.node, kind=slice_.dialect), use.action)
                for slice_ in (alike.before, alike.after)
            )
            self._decided[key] = (
                bool(engine.decide(alike.before, was, use.node.levels, now=moment)),
                lineage is not None
                and not alike.closed
                and bool(engine.decide(alike.after, will, lineage, now=moment)),
            )
        return self._decided[key]
