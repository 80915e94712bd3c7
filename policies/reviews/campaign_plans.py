"""What a review is to be: over what, by whom, until when, and what silence means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from accounts.models import Principal
from accounts.text import holdable
from catalog.nodes import Node, nodes
from policies.errors import Invalid
from policies.models import Review

RISKS = {
    "write": noop("allows write, create or manage"),
    "denial": noop("is a denial, or an exception from one"),
    "many": noop("reaches many objects"),
    "unused": noop("was never used, as far as usage is reported"),
    "ending": noop("ends by itself within thirty days"),
    "foreign": noop("was granted outside Lakewarden"),
    "conflict": noop("is part of a separation-of-duties rule"),
    "closed": noop("belongs to someone who cannot sign in"),
}
"""What a row can be chosen by, and what is said of it."""
BY = {
    "owner": noop("the owner of the object"),
    "keeper": noop("the keeper of a service account, else the owner of the object"),
    "duty": noop("holders of the duty to review it"),
    "people": noop("the people named"),
    "starter": noop("the review's starter"),
}
"""By which rule reviewers are found."""
LONGEST = timedelta(days=366)
MOST_STAGES = 3


@dataclass(frozen=True)
class Scope:
    """Which access is reviewed: on the objects `where` and below, narrowed to people, roles or risks.

    `services` keeps to service accounts, `risks` (keys of RISKS) to rows that have one of them.
    """

    where: tuple[Node, ...]
    people: tuple[Principal, ...] = ()
    roles: tuple[Node, ...] = ()
    services: bool = False
    risks: tuple[str, ...] = ()

    def kept(self) -> dict[str, Any]:
        """The scope as its review keeps it."""
        return {
            "objects": [node.id for node in self.where],
            "people": [person.pk for person in self.people],
            "roles": [node.id for node in self.roles],
            "services": self.services,
            "risks": list(self.risks),
        }


@dataclass(frozen=True)
class Stage:
    """One round of deciding: by which rule, by whom where they are named, for how many days."""

    by: str = "owner"
    people: tuple[Principal, ...] = ()
    days: int = 14


@dataclass(frozen=True)
class Plan:
    """Everything that is said when a review is started."""

    title: str
    scope: Scope
    stages: tuple[Stage, ...] = (Stage(),)
    purpose: str = ""
    silence: str = Review.Silence.KEEP
    reasons: str = Review.Reasons.CHANGES
    fallback: Principal | None = None
    bulk: int = 20
    pace: int = 3
    sample: int = 10
    every: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Raises Invalid for a plan that cannot be meant."""
        if problem := self._problem():
            raise Invalid(problem)

    def _problem(self) -> str | None:
        if not self.title.strip() or len(self.title) > 200 or not holdable(self.title + self.purpose):
            return gettext("A review has a title of at most 200 characters.")
        if not self.scope.where and not self.scope.roles:
            return gettext("Choose what to review.")
        if len({node.realm_id for node in (*self.scope.where, *self.scope.roles)}) != 1:
            return gettext("A review is about one realm.")
        if unknown := set(self.scope.risks) - RISKS.keys():
            return gettext("%(unknown)s is not a risk; known are %(known)s.") % {
                "unknown": sorted(unknown)[0],
                "known": ", ".join(RISKS),
            }
        if self.silence not in Review.Silence.values or self.reasons not in Review.Reasons.values:
            return gettext("Choose what happens without a decision, and which decisions need a reason.")
        if not 1 <= self.bulk <= 200 or not 0 <= self.pace <= 600 or not 0 <= self.sample <= 100:
            return gettext("The limits are 1 to 200 rows, up to 600 seconds, and up to 100 percent.")
        if self.every is not None and not 1 <= self.every <= 36:
            return gettext("A review comes again after 1 to 36 months.")
        return self._problem_of_stages()

    def _problem_of_stages(self) -> str | None:
        if not 1 <= len(self.stages) <= MOST_STAGES:
            return gettext("A review has one to %(most)s stages.") % {"most": MOST_STAGES}
        for stage in self.stages:
            if stage.by not in BY:
                return gettext("%(by)s is not a rule for reviewers; known are %(known)s.") % {
                    "by": stage.by,
                    "known": ", ".join(BY),
                }
            if stage.by == "people" and not stage.people:
                return gettext("Enter the people who are to review.")
            if any(person.kind != Principal.Kind.USER for person in stage.people):
                return gettext("Only people can review.")
            if not 1 <= stage.days <= LONGEST.days:
                return gettext("A stage lasts 1 to %(days)s days.") % {"days": LONGEST.days}
        return None

    def kept_stages(self, begin: datetime) -> list[dict[str, Any]]:
        """The stages as their review keeps them, each with its end."""
        kept, end = [], begin
        for stage in self.stages:
            end += timedelta(days=stage.days)
            people = [person.pk for person in stage.people]
            kept.append({"by": stage.by, "people": people, "days": stage.days, "until": end.isoformat()})
        return kept


def scope_of(review: Review) -> Scope:
    """The scope a review was started with, as far as it is still there."""
    kept = review.scope
    by_id = nodes([*kept["objects"], *kept["roles"]])
    people = Principal.objects.filter(pk__in=kept["people"]).order_by("pk")
    return Scope(
        _there(by_id, kept["objects"]),
        tuple(people),
        _there(by_id, kept["roles"]),
        kept["services"],
        tuple(kept["risks"]),
    )


def _there(by_id: Mapping[int, Node], keys: Sequence[int]) -> tuple[Node, ...]:
    return tuple(by_id[key] for key in keys if key in by_id)


def plan_of(review: Review) -> Plan:
    """The plan of a review, to start the next of its series by."""
    named = {pk for stage in review.stages for pk in stage["people"]}
    people = {principal.pk: principal for principal in Principal.objects.filter(pk__in=named)}
    stages = tuple(
        Stage(item["by"], tuple(people[pk] for pk in item["people"] if pk in people), item["days"])
        for item in review.stages
    )
    return Plan(
        review.title,
        scope_of(review),
        stages,
        review.purpose,
        review.silence,
        review.reasons,
        review.fallback,
        review.bulk,
        review.pace,
        review.sample,
        review.every,
    )
