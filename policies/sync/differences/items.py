"""The items of a comparison: each right, membership and order that differs, and what its backend said of it.

An item that fails several times for a reason that lasts is stuck: it waits for somebody, and stops nothing
that does not wait for it.  What is stuck is left out of later plans for an hour, or until somebody has it
tried again; what takes rights away is tried again whenever something is delivered.  What somebody decided to
leave as it is, until a date, is not tried at all until then, and waits for nobody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from lakewarden.backends import base
from lakewarden.backends.base import Desired, Foreign, Observation, Outcome, Plan, Right, Step
from lakewarden.backends.errors import (
    BackendError,
    Gone,
    KeptBack,
    Misconfigured,
    Rejected,
    Transient,
    kind_of,
)
from lakewarden.backends.kinds import Kind
from lakewarden.backends.planning.ordering import waits_for
from policies.models import Backend, BackendFinding, ForeignOrder
from policies.models.sync import LASTING, STUCK, STUCK_AFTER, Tried

TRIED_AGAIN = timedelta(hours=1)
"""After that what is stuck is tried again by itself; sooner only when somebody asks."""
CONCERNED = 500
"""On so many objects a membership that differs is told one by one; beyond that it concerns all of them."""

Key = tuple[str, str, str, str]
"""Of a right or a membership: missing or extra, where, whose, and what."""
Concerns = dict[str, list[str]]


def key_of(row: BackendFinding) -> Key:
    return row.kind, row.place, row.holder, row.what


def keys_of(step: Step) -> Iterator[Key]:
    """Those that a step would settle."""
    if step.kind == "take_foreign":
        return
    kind = "extra" if step.kind == "take" else "missing"
    for right in step.rights:
        yield kind, ".".join(right.path), step.role, right.right
    for role in step.joins:
        yield "missing", "", step.person, f"member of {role}"
    for role in step.leaves:
        yield "extra", "", step.person, f"member of {role}"


def order_of(step: Step) -> Foreign:
    return Foreign(step.rights[0], step.person, step.grantor)


def foreign_of(row: ForeignOrder) -> Foreign:
    return Foreign(Right(row.type, tuple(row.path), row.right), row.holder, row.grantor)


@dataclass(frozen=True)
class Known:
    """What is known of items that failed before."""

    items: Mapping[Key, Tried]
    orders: Mapping[Foreign, Tried]
    now: datetime

    @classmethod
    def of(cls, backend: Backend, now: datetime) -> Known:
        failed = BackendFinding.objects.filter(backend=backend, kind__in=("missing", "extra"), attempts__gt=0)
        orders = ForeignOrder.objects.filter(backend=backend, done__isnull=True, attempts__gt=0)
        return cls({key_of(row): row for row in failed}, {foreign_of(row): row for row in orders}, now)

    def rests(self, item: Tried | None) -> bool:
        """Whether an item is left alone for now."""
        if self.is_left(item):
            return True
        if item is None or not item.is_stuck:
            return False
        return item.tried_at is not None and self.now - item.tried_at < TRIED_AGAIN

    def is_left(self, item: Tried | None) -> bool:
        """Whether somebody said that it stays as it is; then not even a removal is tried."""
        return item is not None and item.is_left


def parted(steps: Iterable[Step], known: Known, *, patient: bool = False) -> tuple[list[Step], list[Outcome]]:
    """The steps to try, and those left alone because they are stuck or wait for what is, each with why.

    `patient`: what takes something away is left alone too; else it is tried whenever something is delivered.
    """
    go: list[Step] = []
    left: list[Outcome] = []
    for step in steps:
        rest, stuck = _split(step, known, patient=patient)
        if stuck is not None:
            left.append(Outcome(stuck))
        if rest is None:
            continue
        first = waits_for(rest, [outcome.step for outcome in left])
        if first is None:
            go.append(rest)
        else:
            left.append(Outcome(rest, KeptBack(first)))
    wanted = {key for step in go for key in (step.role, *step.joins) if step.kind != "make_role"}
    # a role is made for what is given to it, and for who joins it
    return [step for step in go if step.kind != "make_role" or step.role in wanted or not left], left


def _split(step: Step, known: Known, *, patient: bool) -> tuple[Step | None, Step | None]:
    """What of a step is to be tried, and what of it is stuck."""
    if step.kind == "take_foreign":
        rests = patient and known.rests(known.orders.get(order_of(step)))
        return (None, step) if rests else (step, None)
    rests_of = known.rests if patient or not step.removes else known.is_left
    keys = list(keys_of(step))
    resting = [rests_of(known.items.get(key)) for key in keys]
    if not any(resting):
        return step, None
    if all(resting) or not step.rights:
        return (None, step) if all(resting) else (step, None)
    pairs = list(zip(step.rights, resting, strict=True))
    rest = tuple(right for right, stuck in pairs if not stuck)
    return replace(step, rights=rest), replace(step, rights=tuple(right for right, stuck in pairs if stuck))


@dataclass
class Fates:
    """What became of each item that still differs: why it failed just now, and what is stuck by now."""

    failed: dict[Key, Exception] = field(default_factory=dict)
    orders: dict[Foreign, Exception] = field(default_factory=dict)
    stuck: int = 0
    open: int = 0
    """Those that differ and are not stuck: they are tried again by themselves."""


def fates(plan: Plan, outcomes: Iterable[Outcome], left: Iterable[Outcome], known: Known) -> Fates:
    """Judge what the last comparison still found, by what its steps came to."""
    fates_, errors = Fates(), _errors(outcomes, left, known)
    for step in plan.steps:
        error = errors.get(_name(step))
        if step.kind == "take_foreign":
            if error is not None:
                fates_.orders[order_of(step)] = error
            _count(fates_, known.orders.get(order_of(step)), error)
        for key in keys_of(step):
            if error is not None:
                fates_.failed[key] = error
            _count(fates_, known.items.get(key), error)
    return fates_


def _count(fates_: Fates, before: Tried | None, error: Exception | None) -> None:
    attempts = (before.attempts if before else 0) + (error is not None)
    kind = kind_of(error) if error is not None else before.error_kind if before else ""
    if attempts >= STUCK_AFTER and kind in LASTING:
        fates_.stuck += 1
    else:
        fates_.open += 1


def _name(step: Step) -> tuple[object, ...]:
    return step.kind, step.role, step.person, step.grantor, step.rights[:1] if step.grantor else ()


def _errors(
    outcomes: Iterable[Outcome], left: Iterable[Outcome], known: Known
) -> dict[tuple[object, ...], Exception]:
    """Why each step failed; of one that waited for another, why that one did."""
    why, waits = _failed_of(outcomes), _failed_of(left)
    errors: dict[tuple[object, ...], Exception] = {}
    for name, reason in {**waits, **why}.items():
        seen, error = 0, reason
        while isinstance(error, KeptBack) and seen < len(why) + len(waits):
            first, seen = error.first, seen + 1
            error = why.get(_name(first)) or waits.get(_name(first)) or _before(first, known)
        if error is not None:
            errors[name] = error
    return errors


def _failed_of(outcomes: Iterable[Outcome]) -> dict[tuple[object, ...], Exception | None]:
    return {_name(outcome.step): outcome.error for outcome in outcomes if outcome.error is not None}


_ERRORS: dict[str, type[BackendError]] = {
    "transient": Transient,
    "gone": Gone,
    "rejected": Rejected,
    "misconfigured": Misconfigured,
}


def _before(step: Step, known: Known) -> Exception | None:
    """What a stuck step that was not tried failed with when it was."""
    rows = [known.orders.get(order_of(step))] if step.kind == "take_foreign" else []
    rows += [known.items.get(key) for key in keys_of(step)]
    return next((_ERRORS[row.error_kind](row.error) for row in rows if row and row.error_kind), None)


def remember(backend: Backend, found: Fates, now: datetime) -> None:
    """Write down with each item what its backend said of it."""
    rows = BackendFinding.objects.filter(backend=backend, kind__in=("missing", "extra"))
    failed = [row for row in rows.iterator() if key_of(row) in found.failed] if found.failed else []
    for row in failed:
        _failed(row, found.failed[key_of(row)], now)
    BackendFinding.objects.bulk_update(failed, FIELDS, batch_size=1000)
    orders = [row for row in _open(backend) if foreign_of(row) in found.orders] if found.orders else []
    for order in orders:
        _failed(order, found.orders[foreign_of(order)], now)
    ForeignOrder.objects.bulk_update(orders, FIELDS, batch_size=1000)


FIELDS = ("attempts", "tried_at", "error", "error_kind")


def _failed(row: Tried, error: Exception, now: datetime) -> None:
    row.attempts += 1
    row.tried_at, row.error, row.error_kind = now, str(error)[:2000], kind_of(error)


def _open(backend: Backend) -> Iterable[ForeignOrder]:
    return ForeignOrder.objects.filter(backend=backend, done__isnull=True)


def try_again(backend: Backend, *, findings: Q | None = None, orders: Q | None = None) -> int:
    """Have what failed tried at the next delivery, all of it or what is named; answers of how many items.

    What is left as it is for now is tried only where it is named; then it is left no longer.
    """
    every = findings is None and orders is None
    again = {"attempts": 0, "tried_at": None}
    failed = BackendFinding.objects.filter(backend=backend, attempts__gt=0)
    ordered = ForeignOrder.objects.filter(backend=backend, done__isnull=True, attempts__gt=0)
    many = failed.filter(findings).update(**again, **NOT_LEFT) if findings else 0
    many += failed.exclude(left()).update(**again) if every else 0
    return many + (ordered.filter(orders or Q()).update(**again) if every or orders else 0)


NOT_LEFT: dict[str, Any] = {"accepted_until": None, "accepted_reason": "", "accepted_by": None}


def left() -> Q:
    """Findings that somebody decided to leave as they are, for now."""
    return Q(accepted_until__gt=timezone.now())


def stuck() -> QuerySet[BackendFinding]:
    """The findings that wait for somebody: `is_stuck`, asked of rows."""
    return BackendFinding.objects.filter(STUCK).exclude(left())


def stuck_findings(backends: Collection[int]) -> list[BackendFinding]:
    """The rights and memberships that wait for somebody.  One query."""
    rows = stuck().filter(backend__in=backends, kind__in=("missing", "extra"))
    return list(rows.order_by("tried_at", "pk"))


def stuck_orders(backends: Collection[int]) -> list[ForeignOrder]:
    """The decisions about foreign rights that wait for somebody.  One query."""
    rows = ForeignOrder.objects.filter(STUCK, backend__in=backends, done__isnull=True)
    return list(rows.select_related("by").order_by("tried_at", "pk"))


class Concern:
    """Which objects and privileges a difference is about, of the objects that are known here."""

    def __init__(
        self,
        out_there: base.Backend,
        kind: Kind,
        by_path: Mapping[tuple[str, tuple[str, ...]], int],
        wanted: Desired,
        seen: Observation,
    ) -> None:
        self.by_path, self.wanted, self.seen = by_path, wanted, seen
        self._wanted_in = _by_person(wanted.members, {})
        self._is_in = _by_person(seen.members, seen.amiss_members)
        self._carry: dict[tuple[str, str], set[str]] = defaultdict(set)
        for type_, pairs in kind.carried.items():
            for _, privilege in pairs:
                for word in out_there.rights_for(privilege, type_):
                    self._carry[type_, word].add(privilege)

    def of_right(self, kind: str, path: tuple[str, ...], word: str) -> Concerns | None:
        return self._concerns_of([Right(kind, path, word)])

    def of_membership(self, person: str, role: str, *, missing: bool) -> Concerns | None:
        """Where somebody has less, or more, than was decided: not yet in a role, or still in it."""
        wanted = _rights(self._wanted_in[person], self.wanted.roles, {})
        has = _rights(self._is_in[person], self.seen.roles, self.seen.amiss_rights)
        if missing:
            return self._concerns_of((wanted - has) & self.wanted.roles.get(role, frozenset()))
        return self._concerns_of((has - wanted) & self.seen.roles.get(role, frozenset()))

    def _concerns_of(self, rights: Collection[Right]) -> Concerns | None:
        concerns: Concerns = {}
        for right in rights:
            number = self.by_path.get((right.kind, right.path))
            if number is None:
                continue
            about = self._carry.get((right.kind, right.right), set())
            concerns[str(number)] = sorted({*concerns.get(str(number), ()), *about})
            if len(concerns) > CONCERNED:
                return None
        return concerns


def _by_person(
    members: Mapping[str, Collection[str]], amiss: Mapping[str, Collection[str]]
) -> defaultdict[str, list[str]]:
    names: defaultdict[str, list[str]] = defaultdict(list)
    for key, people in members.items():
        for person in set(people).difference(amiss.get(key, ())):
            names[person].append(key)
    return names


def _rights(
    keys: Iterable[str], roles: Mapping[str, frozenset[Right]], amiss: Mapping[str, frozenset[Right]]
) -> frozenset[Right]:
    nothing: frozenset[Right] = frozenset()
    return nothing.union(*(roles.get(key, nothing) - amiss.get(key, nothing) for key in keys))
