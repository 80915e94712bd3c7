"""The smallest role there is that gives exactly what is asked, so that nobody needs a grant of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q
from django.utils import timezone

from accounts.models import Principal
from catalog.models import Placement
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from policies.decisions import approvers, ask, slices
from policies.decisions.approvers import APPROVE
from policies.decisions.personal_role_names import MARK
from policies.models import AccessRequest, Grant, RequestPart
from policies.requests import decision_places

MOST = 100
Target = tuple[int | None, str, str]
"""An object's number, or a text, and a privilege."""


@dataclass(frozen=True)
class Proposal:
    """A role that gives the parts of these numbers and no more than the holder has besides."""

    role: Node
    holders: int
    parts: tuple[int, ...]


def roles(request: AccessRequest, decider: Principal) -> list[Proposal]:
    """The roles that the decider may give in the stead of grants, that of fewest privileges first."""
    parts = [part for part in request.parts.all() if part.kind == RequestPart.Kind.PRIVILEGE]
    wanted = targets(request, parts)
    candidates = _candidates(wanted) if wanted else {}
    fitting = sorted((len(given), role) for role, given in candidates.items() if _fits(given, wanted))
    by_id = nodes(role for _, role in fitting)
    numbers = tuple(part.number for part in parts)
    held = _holders([role for _, role in fitting])
    return [
        Proposal(by_id[role], held.get(role, 0), numbers)
        for _, role in fitting
        if role in by_id and _may_give(decider, by_id[role], request)
    ]


def for_asker(
    found: Iterable[tuple[decision_places.DecisionPlace, Sequence[str]]], asker: Principal
) -> list[Node]:
    """The roles that whoever asks knows of and that give exactly these privileges, smallest first."""
    wanted = {target for place, codes in found for target in _targets(place, codes)}
    given = _candidates(wanted) if wanted else {}
    fitting = sorted(role for role, some in given.items() if _fits(some, wanted))
    by_id, now = nodes(fitting) if fitting else {}, timezone.now()
    held = {item.root_id: slices.current(asker, item, now=now) for item in by_id.values()}
    return [item for item in by_id.values() if ask.may_see(held[item.root_id], item, now=now)]


def gives_exactly(role: int, request: AccessRequest, parts: Sequence[RequestPart]) -> bool:
    """Whether a role gives the privileges of all these parts, and nothing else."""
    every = [part for part in request.parts.all() if part.kind == RequestPart.Kind.PRIVILEGE]
    wanted = targets(request, every)
    return bool(wanted) and _fits(_given([role]).get(role, set()), wanted)


def _fits(given: Collection[Target], wanted: Collection[Target]) -> bool:
    return set(given) == set(wanted)


def targets(request: AccessRequest, parts: Collection[RequestPart]) -> set[Target]:
    """What the parts come to, as grants would have it; nothing where one names no object."""
    targets_: set[Target] = set()
    by_part = decision_places.of_rows(list(parts), request.holder.kind)
    for part in parts:
        place = by_part[part.pk]
        if place is None or not place.exact:
            return set()
        targets_.update(_targets(place, part.privileges))
    return targets_


def _targets(place: decision_places.DecisionPlace, codes: Iterable[str]) -> Iterable[Target]:
    by_text = dialects.get(place.node.kind).by_text
    for code in codes:
        yield (None, place.text, code) if by_text else (place.node.id, "", code)


def _candidates(wanted: Collection[Target]) -> dict[int, set[Target]]:
    """Roles that give something of it, with all that they give."""
    number, text, code = max(wanted, key=_rarest)
    condition = Q(securable=number) if number else Q(pattern=text)
    rows = Grant.objects.open().filter(condition, privilege=code, role__isnull=False, effect="allow")
    personal = Placement.objects.open().filter(type="role", name__startswith=MARK).values("securable")
    return _given(list(rows.exclude(role__in=personal).values_list("role", flat=True)[:MOST]))


def _rarest(target: Target) -> tuple[int, str, str]:
    """What was made last lies deepest, and fewest roles name it."""
    number, text, code = target
    return (number or 0, text, code)


def _given(roles: Collection[int]) -> dict[int, set[Target]]:
    """All that roles give; a role that denies something or gives for a while gives something else."""
    given_targets: dict[int, set[Target]] = {}
    spoilt = set()
    rows = Grant.objects.open().filter(role__in=roles)
    for role, number, text, code, effect, start, end in rows.values_list(
        "role", "securable", "pattern", "privilege", "effect", "valid_from", "valid_until"
    ):
        if role is not None:
            given_targets.setdefault(role, set()).add((number, text, code))
            if effect != "allow" or start or end:
                spoilt.add(role)
    return {role: given for role, given in given_targets.items() if role not in spoilt}


def _holders(roles: Collection[int]) -> dict[int, int]:
    from policies.models import Assignment

    rows = Assignment.objects.open().filter(role__in=roles).values("role").annotate(many=Count("pk"))
    return {row["role"]: row["many"] for row in rows}


def _may_give(decider: Principal, role: Node, request: AccessRequest) -> bool:
    place = decision_places.find(RequestPart.Kind.ROLE, role.ref, request.holder.kind)
    return place is not None and bool(approvers.may(decider, role, duty=APPROVE, action=place.action))
