"""Who is asked about a row: by the rule of the stage, never about their own access, and never nobody if it
can be helped."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.utils import timezone
from django.utils.translation import gettext

from accounts.entering import able
from accounts.models import Keeping, Membership, Principal
from accounts.people import django_group_name
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from policies.decisions import approvers
from policies.decisions.seals.duty_seals import is_row_sealed
from policies.errors import Conflict
from policies.models import (
    Assignment,
    GroupDuty,
    Ownership,
    Review,
    ReviewDesk,
    ReviewRow,
    ReviewSeat,
    UserDuty,
)

DUTY = approvers.REVIEW
FALLBACK, NOBODY = "fallback", "nobody"


@dataclass(frozen=True)
class ReviewerSet:
    """The people to ask, by which rule, and at which object the rule found them."""

    people: tuple[int, ...]
    ground: str
    where: str = ""

    @property
    def key(self) -> str:
        key = ",".join(map(str, self.people))
        if len(key) > 120:
            key = hashlib.sha256(key.encode()).hexdigest()
        return f"{self.ground}:{key}"


class Seating:
    """Finds a desk for every row of a stage, batch after batch."""

    def __init__(self, review: Review, root: Node, stage: int) -> None:
        # what is at hand may have been changed by this process; what is in the table is what was sealed
        if not Review.objects.get(pk=review.pk).is_sealed:
            raise Conflict(gettext("This review was written outside the console, so it asks nobody."))
        self.review, self.root, self.stage, self.now = review, root, stage, timezone.now()
        self.rule = review.stages[stage]
        self._desks: dict[str, ReviewDesk] = {}
        self.granting: dict[int, list[int]] = {}

    def seat(self, rows: Sequence[ReviewRow]) -> None:
        """Give each row its desk, made when absent.  A fixed number of queries, and two for a new desk."""
        self.learn(rows)
        reviewers = _Found(self, rows)
        for row in rows:
            reviewer_set = reviewers.asked(row)
            row.desk = self._desk(reviewer_set) if reviewer_set else None

    def _desk(self, reviewer_set: ReviewerSet) -> ReviewDesk:
        if reviewer_set.key not in self._desks:
            desk, new = desk_for(self.review, self.stage, reviewer_set.key, reviewer_set.where)
            if new:
                seats = [
                    ReviewSeat(desk=desk, reviewer_id=person, ground=reviewer_set.ground)
                    for person in reviewer_set.people
                ]
                ReviewSeat.objects.bulk_create(seats)
            self._desks[reviewer_set.key] = desk
        return self._desks[reviewer_set.key]

    def learn(self, rows: Sequence[ReviewRow]) -> None:
        """Find who may grant on each object, where the law has entries in the place of owners."""
        law = dialects.get(self.root.kind)
        if law.by_text or not law.grantees or self.rule["by"] not in ("owner", "keeper"):
            return
        new = {row.securable_id for row in rows if row.securable_id} - self.granting.keys()
        for key, node in nodes(new).items():
            near = [item for item in approvers.of(node, now=self.now) if item.where.id == node.id]
            self.granting[key] = [item.principal.pk for item in near]

    @cached_property
    def last_resort(self) -> list[int]:
        """Whom to ask when the rule finds nobody: the fallback, the starter, who may grant in the realm."""
        first = [item for item in (self.review.fallback_id, self.review.starter_id) if item]
        others = [item.principal.pk for item in approvers.of(self.root, duty=DUTY, now=self.now)]
        return list(dict.fromkeys([*first, *others]))


def desk_for(review: Review, stage: int, key: str, label: str = "") -> tuple[ReviewDesk, bool]:
    """The desk that a rule makes, and whether it is new.  Raises Conflict for one not of the console."""
    desk, new = ReviewDesk.objects.get_or_create(
        review=review, stage=stage, key=key, defaults={"label": label}
    )
    if not desk.is_sealed:
        raise Conflict(
            gettext("An assignment of this review was written outside the console: desk %(number)s.")
            % {"number": desk.pk}
        )
    return desk, new


class _Found:
    """Whom the rule finds for the rows of one batch."""

    def __init__(self, seating: Seating, rows: Sequence[ReviewRow]) -> None:
        self.seating, self.rows, self.now = seating, rows, seating.now
        self.rule = seating.rule["by"]
        self.named: list[int] = seating.rule["people"]
        self.keys = {key for row in rows for key in (*row.lineage, row.role_id) if key}

    def asked(self, row: ReviewRow) -> ReviewerSet | None:
        """Who is asked about a row: the nearest whom the rule finds, who can sign in, and whose it is not."""
        for ground, where, people in self._candidates(row):
            fit = [
                item for item in self._unfolded(people) if item in self.entering and not self.own(row, item)
            ]
            if ground == FALLBACK:
                fit = fit[:1]
            if fit:
                return ReviewerSet(tuple(sorted(fit)), ground, where)
        return None

    def own(self, row: ReviewRow, person: int) -> bool:
        return is_own(row, self.selves.get(person, frozenset((person,))))

    def _candidates(self, row: ReviewRow) -> Iterable[tuple[str, str, Sequence[int]]]:
        if self.rule == "keeper" and row.holder_id in self.keepers:
            yield "keeper", "", [self.keepers[row.holder_id]]
        if self.rule in ("owner", "keeper"):
            yield from self._granting(row)
            yield from self._along(row, self.owners, "owner")
        if self.rule == "duty":
            yield from self._along(row, self.dutiful, DUTY)
        if self.rule == "people":
            yield "people", "", self.named
        if self.rule == "starter":
            yield "starter", "", [self.seating.review.starter_id]
        yield FALLBACK, "", self.seating.last_resort

    def _granting(self, row: ReviewRow) -> Iterable[tuple[str, str, Sequence[int]]]:
        """Where nobody owns an object, but some may grant on it: these."""
        if row.securable_id in self.seating.granting:
            yield "grants", row.what, self.seating.granting[row.securable_id]

    def _along(
        self, row: ReviewRow, by_key: Mapping[int, Sequence[int]], ground: str
    ) -> Iterable[tuple[str, str, Sequence[int]]]:
        for key in reversed(row.lineage):
            if key in by_key:
                yield ground, row.what if key == row.securable_id else "", by_key[key]

    def _unfolded(self, people: Sequence[int]) -> list[int]:
        return list(dict.fromkeys(item for each in people for item in self.inside.get(each, [each])))

    @cached_property
    def owners(self) -> Mapping[int, Sequence[int]]:
        rows = Ownership.objects.open().filter(securable__in=self.keys)
        return {row.securable_id: [row.owner_id] for row in rows}

    @cached_property
    def dutiful(self) -> Mapping[int, Sequence[int]]:
        condition = {"content_object__in": self.keys, "permission__codename": DUTY}
        own = UserDuty.objects.filter(**condition).select_related("permission", "user")
        people = [(row.content_object_id, row.user.principal_id) for row in own if is_row_sealed(row)]
        ours = GroupDuty.objects.filter(**condition).select_related("permission", "group")
        groups = [(row.content_object_id, row.group.name) for row in ours if is_row_sealed(row)]
        by_group: dict[int, list[int]] = {}
        named = {django_group_name(group.name): group.pk for group in _groups()} if groups else {}
        for key, person in people:
            by_group.setdefault(key, []).append(person)
        for key, name in groups:
            if name in named:
                by_group.setdefault(key, []).append(named[name])
        return by_group

    @cached_property
    def keepers(self) -> Mapping[int | None, int]:
        rows = Keeping.objects.open().filter(
            service__in={row.holder_id for row in self.rows if row.holder_id}
        )
        return dict(rows.values_list("service", "keeper")) if self.rule == "keeper" else {}

    @cached_property
    def _all(self) -> set[int]:
        sources = {
            "owner": self.owners,
            "keeper": {**self.owners, **{-(key or 0): [keeper] for key, keeper in self.keepers.items()}},
            "duty": self.dutiful if self.rule == "duty" else {},
        }.get(self.rule, {})
        named = {person for people in sources.values() for person in people}
        managers = {
            item for row in self.rows for item in self.seating.granting.get(row.securable_id or 0, ())
        }
        return named | managers | set(self.named) | set(self.seating.last_resort)

    @cached_property
    def inside(self) -> Mapping[int, list[int]]:
        """The people of the groups among them."""
        groups = Principal.objects.filter(pk__in=self._all, kind=Principal.Kind.GROUP)
        members: dict[int, list[int]] = {pk: [] for pk in groups.values_list("pk", flat=True)}
        rows = Membership.objects.open().within(self.now).filter(group__in=members, member__kind="user")
        for group, member in rows.order_by("member").values_list("group", "member"):
            members[group].append(member)
        return members

    @cached_property
    def people(self) -> set[int]:
        return set(self._unfolded(sorted(self._all)))

    @cached_property
    def entering(self) -> frozenset[int]:
        return able(self.people, now=self.now)

    @cached_property
    def selves(self) -> Mapping[int, frozenset[int]]:
        return selves(self.people, now=self.now)


def _groups() -> Iterable[Principal]:
    return Principal.objects.filter(kind=Principal.Kind.GROUP).only("pk", "name")


def selves(people: Collection[int], *, now: datetime) -> Mapping[int, frozenset[int]]:
    """What counts as each person: themselves, their groups, and the roles they hold by either.  Two queries.

    Principals and roles never share a number that matters: a row names which of the two it means.
    """
    inside: dict[int, set[int]] = {person: {person} for person in people}
    rows = Membership.objects.open().within(now).filter(member__in=people)
    for member, group in rows.values_list("member", "group"):
        inside[member].add(group)
    holders = {item for some in inside.values() for item in some}
    held: dict[int, set[int]] = {}
    for holder, role in Assignment.objects.open().filter(holder__in=holders).values_list("holder", "role"):
        held.setdefault(holder, set()).add(-role)  # apart from the numbers of principals
    return {
        unit: frozenset(some | {role for each in some for role in held.get(each, ())})
        for unit, some in inside.items()
    }


def is_own(row: ReviewRow, mine: Collection[int]) -> bool:
    """Whether a row is about the access of somebody: theirs, their groups', what a role of theirs says."""
    if row.kind == ReviewRow.Kind.RULE:
        return -(row.role_id or 0) in mine
    if row.kind == ReviewRow.Kind.OWNER:
        return False if row.holder_id is None else row.holder_id in mine
    return row.holder_id in mine


__all__ = ["DUTY", "FALLBACK", "NOBODY", "Seating", "is_own", "selves"]
