"""Whose objects are in the backend, as a suggestion: who owns them here is decided here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Concat
from django.utils.translation import gettext

from accounts.models import Principal
from catalog.models import Placement
from catalog.nodes import Node, nodes
from policies.authority import Actor
from policies.errors import Invalid
from policies.models import Backend, FoundOwner, Ownership, RealmMember
from policies.services import owners

GROUP = "group:"
"""How the name of an owner begins that is a group."""
MOST = 500
"""So many objects are handed over in one change."""


@dataclass(frozen=True)
class Suggestion:
    """An owner in the backend; `left` are objects not theirs here, `who` the principal, if known.

    What lies in something that is theirs anyway is not counted among what is left.
    """

    name: str
    objects: int
    left: int
    who: Principal | None


def remember(row: Backend, found: Mapping[int, str]) -> None:
    """Keep whose the objects are, by their number."""
    rows = [FoundOwner(backend=row, securable_id=key, name=name) for key, name in found.items() if name]
    FoundOwner.objects.bulk_create(
        rows,
        batch_size=1000,
        update_conflicts=True,
        unique_fields=["securable"],
        update_fields=["backend", "name"],
    )
    mine = FoundOwner.objects.filter(backend=row)
    gone = set(mine.values_list("securable", flat=True)) - {row.securable_id for row in rows}
    mine.filter(securable__in=gone).delete()


def suggestions(row: Backend, most: int) -> list[Suggestion]:
    """Who owns most there, first.  Three queries."""
    left = Count("pk", filter=Q(pk__in=_left(row)))
    counted = FoundOwner.objects.filter(backend=row).values("name").annotate(many=Count("pk"), left=left)
    rows = list(counted.order_by("-many", "name").values_list("name", "many", "left")[:most])
    members = _members(row, [name for name, *_ in rows])
    return [Suggestion(name, many, rest, members.get(name)) for name, many, rest in rows]


def left(row: Backend, name: str) -> list[Node]:
    """Those of somebody's objects there that are not theirs here, by name."""
    keys = _left(row).filter(name=name).values_list("securable", flat=True)
    return sorted(nodes(set(keys)).values(), key=lambda node: node.names)


def adopt(row: Backend, name: str, *, by: Actor, reason: str = "") -> int:
    """Make somebody the owner here of what they own there; answers how many.  Raises Refused, Invalid."""
    who = _members(row, [name]).get(name)
    if who is None:
        raise Invalid(gettext("Nobody called %(name)s is a member here.") % {"name": name})
    return owners.hand_over(left(row, name)[:MOST], who, by=by, reason=reason)


def member(row: Backend, name: str) -> Principal | None:
    """Who of the realm is meant by the name of an owner there."""
    return _members(row, [name]).get(name)


def _left(row: Backend) -> QuerySet[FoundOwner]:
    group = When(owner__kind=Principal.Kind.GROUP, then=Concat(Value(GROUP), "owner__name"))
    label = Case(group, default=F("owner__name"), output_field=TextField())
    own = (
        Ownership.objects.open()
        .annotate(told=label)
        .filter(securable=OuterRef("securable"), told=OuterRef("name"))
    )
    inside = Placement.objects.open().filter(
        securable=OuterRef("securable"),
        parent__found_owner__backend=row,
        parent__found_owner__name=OuterRef("name"),
    )
    return FoundOwner.objects.filter(~Exists(own), ~Exists(inside), backend=row)


def _members(row: Backend, names: Sequence[str]) -> dict[str, Principal]:
    plain = {name.removeprefix(GROUP) for name in names}
    members = RealmMember.objects.open().filter(realm=row.realm_id, principal__name__in=plain)
    by_name: dict[str, Principal] = {}
    for member in members.select_related("principal"):
        who = member.principal
        by_name[f"{GROUP if who.kind == Principal.Kind.GROUP else ''}{who.name}"] = who
    return {name: by_name[name] for name in names if name in by_name}
