"""Lists that hold what the viewer may see, and nothing else; each starts from the viewer's slice."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db.models import BooleanField, Count, F, Func, Q, QuerySet
from django.utils import timezone

from accounts.models import Membership, Principal
from accounts.text import called, holdable
from catalog.models import Placement, Securable
from catalog.nodes import FEW, Node, Numbers, any_in, any_of, on_or_below
from catalog.queries import below, holds, named
from lakewarden.law import dialects, engine
from lakewarden.law.facts import Level, Slice
from policies.decisions import slices
from policies.decisions.cache_versions import principals_in
from policies.decisions.lookups import patterns
from policies.models import BackendFinding, Ownership, RealmMember


def none_of(column: str, keys: Collection[object]) -> Q:
    """Whether a column is none of them; written out as a constant, because only that is hashed."""
    listed = ",".join(str(key) for key in keys if isinstance(key, int))
    template = f"(%(expressions)s <> ALL('{{{listed}}}'::bigint[]))"
    return Q(Func(F(column), output_field=BooleanField(), template=template))


def children(
    slice_: Slice, node: Node, type_: str, *, now: datetime | None = None, listing: str = ""
) -> QuerySet[Placement]:
    """The children of one type that the slice's principal may see, by name.  No decision per row.

    `listing` is the law's list that says what is seen, where it is not the one named as the type.
    """
    seen = _shown(slice_, node, type_, now, listing)
    return below(node, type_).filter(seen) if seen is not None else Placement.objects.none()


def children_of(
    slice_: Slice, node: Node, types: Collection[str], *, now: datetime | None = None
) -> QuerySet[Any]:
    """The children of several types that may be seen, by name in any case."""
    condition = Q(pk__in=[])
    for type_ in types:
        seen = _shown(slice_, node, type_, now)
        condition |= Q(type=type_) & seen if seen is not None else Q(pk__in=[])
    return named(Placement.objects.open().filter(condition, parent=node.id)).order_by("folded", "pk")


def _shown(slice_: Slice, node: Node, type_: str, now: datetime | None, listing: str = "") -> Q | None:
    """Which of an object's children of one type may be seen; None for none at all."""
    now = now or timezone.now()
    if dialects.get(node.kind).by_text:
        return any_of("securable_id", patterns.children(slice_, node, type_, now=now))
    seen = engine.visible(slice_, node.levels, listing or type_, now=now.timestamp())
    if not seen.gate:
        return None
    if seen.default:
        return none_of("securable_id", seen.exceptions) if seen.exceptions else Q()
    return any_of("securable_id", seen.exceptions) if seen.exceptions else None


def realms_of(principal: Principal, *, also: Collection[int] = ()) -> list[Node]:
    """The realms that admit a principal, directly or through a group, and those open to all, by name.

    Those in which the objects `also` are come with them.  A principal without a row is known to no realm, so
    they have the open ones.
    """
    if not principal.pk:
        return _roots(RealmMember.objects.none(), also)
    groups = Membership.objects.open().filter(member=principal).values("group")
    admitted = RealmMember.objects.open().filter(Q(principal=principal) | Q(principal__in=groups))
    return _roots(admitted, also)


def _roots(admitted: QuerySet[RealmMember], also: Collection[int]) -> list[Node]:
    open_kinds = [law.kind for law in dialects.every() if law.open_to_all]
    shown = Q(securable__realm__in=admitted.values("realm")) | Q(securable__realm__kind__in=open_kinds)
    if also:
        shown |= Q(securable__realm__in=Securable.objects.filter(pk__in=also).values("realm"))
    places = (
        Placement.objects.open()
        .filter(shown)
        .filter(parent__isnull=True)
        .select_related("securable__realm")
        .order_by("name")
    )
    return [
        Node(
            place.securable_id,
            place.securable.realm_id,
            place.securable.realm.law,
            (Level(place.type, place.securable_id),),
            (place.name,),
        )
        for place in places
    ]


def visible_below(
    slice_: Slice,
    root: Node,
    *,
    now: datetime | None = None,
    types: Collection[str] = (),
    under: Sequence[str] = (),
) -> Q:
    """Which placements of a whole realm the slice's principal may see, as one condition.

    Decided once for each container that can be opened, so its cost grows with schemas, not with tables.
    `types` are the only ones asked for; `under` keeps to what is directly below objects called so:
    `("shop", "sales")`.
    """
    now = now or timezone.now()
    if dialects.get(root.kind).by_text:
        shown = any_of("securable_id", patterns.inside(slice_, root, types, now=now))
        return shown & _called(root, under) if under else shown
    gathered = _Gathered(types, tuple(name.casefold() for name in under))
    _gather(slice_, root, _containers(root), now.timestamp(), gathered)
    condition = Q(pk__in=[])
    for parents, alike in gathered.together():
        opened = Q(type__in=alike) & any_of("parent_id", parents)
        condition |= opened & none_of("securable_id", gathered.hidden) if gathered.hidden else opened
    if gathered.shown:
        condition |= any_of("securable_id", gathered.shown) & any_of("parent_id", gathered.opened)
    return condition


def _called(root: Node, under: Sequence[str]) -> Q:
    """Directly below objects called so, in any case of their letters."""
    above = Q(parent__placements__closed__isnull=True, parent__placements__name__iexact=under[-1])
    return above & (_called_above(root, under[:-1]) if len(under) > 1 else Q())


def _called_above(root: Node, under: Sequence[str]) -> Q:
    rows = Placement.objects.open().filter(ancestors__contains=[root.id], name__iexact=under[-1])
    return any_in("ancestors", rows.values_list("securable", flat=True))


class _Gathered:
    def __init__(self, types: Collection[str], under: tuple[str, ...]) -> None:
        self.types, self.under = types, under
        self.open: dict[str, list[int]] = {}
        self.opened: set[int] = set()
        self.hidden: set[object] = set()
        self.shown: set[object] = set()

    def together(self) -> list[tuple[tuple[int, ...], list[str]]]:
        """The types that are open in the very same containers, with these."""
        alike: dict[tuple[int, ...], list[str]] = {}
        for type_, parents in self.open.items():
            alike.setdefault(tuple(parents), []).append(type_)
        return list(alike.items())

    def wants(self, node: Node, type_: str) -> bool:
        if self.types and type_ not in self.types:
            return False
        names = tuple(name.casefold() for name in node.names[len(node.names) - len(self.under) :])
        return not self.under or names == self.under


def _containers(root: Node) -> dict[int, list[Node]]:
    """The catalogs and schemas of a realm, by parent.  One query."""
    types = [type_ for type_ in dialects.get(root.kind).types if dialects.get(root.kind).child_types(type_)]
    rows = (
        Placement.objects.open().filter(ancestors__contains=[root.id], type__in=types).exclude(type="table")
    )
    by_parent: dict[int, list[Node]] = {}
    containers = {root.id: root}
    for row in sorted(rows, key=lambda row: len(row.ancestors)):
        above = containers[row.ancestors[-1]]
        levels = (*above.levels, Level(row.type, row.securable_id))
        containers[row.securable_id] = Node(
            row.securable_id, root.realm_id, root.kind, levels, (*above.names, row.name)
        )
        by_parent.setdefault(above.id, []).append(containers[row.securable_id])
    return by_parent


def _gather(
    slice_: Slice, node: Node, by_parent: dict[int, list[Node]], moment: float, gathered: _Gathered
) -> None:
    visible_children: set[int] = set()
    law = dialects.get(node.kind)
    for type_ in law.child_types(node.type):
        if not gathered.wants(node, type_) and not law.child_types(type_):
            continue
        seen = engine.visible(slice_, node.levels, type_, now=moment)
        if not seen.gate:
            continue
        if gathered.wants(node, type_):
            gathered.opened.add(node.id)
            (gathered.hidden if seen.default else gathered.shown).update(seen.exceptions)
            if seen.default:
                gathered.open.setdefault(type_, []).append(node.id)
        visible_children |= {
            child.id for child in by_parent.get(node.id, ()) if child.type == type_ and seen.shows(child.id)
        }
    for child in by_parent.get(node.id, ()):
        if child.id in visible_children:
            _gather(slice_, child, by_parent, moment, gathered)


SEARCHED = (
    *("catalog", "schema", "table", "view", "topic", "fileset", "model", "function", "role"),
    *("namespace", "job_definition", "business_object_data", "data_notification"),
    *("data_definition", "business_object_format", "storage_policy"),
    *("application", "program", "dataset", "stream", "artifact", "dataset_type", "dataset_module"),
    *("securekey", "kerberosprincipal"),
)


def search(
    slice_: Slice, root: Node, text: str, *, now: datetime | None = None, types: Collection[str] = SEARCHED
) -> QuerySet[Placement]:
    """The objects of a realm whose name holds a text and that may be seen, by name.  Three queries."""
    rows = named(Placement.objects.open().filter(type__in=list(types)))
    return rows.filter(holds(text), visible_below(slice_, root, now=now, types=types)).order_by("name", "pk")


def owned_by(principal: Principal, realm: Node) -> Numbers:
    """The numbers of what a principal owns in a realm, directly or through a group."""
    return owned_in(slices.current(principal, realm)).again()


def owned_in(slice_: Slice) -> Numbers:
    """The same of a slice.  One query for very many, kept while the slice is good."""
    return slices.following(slice_, "owned", lambda: _owned_in(slice_))


def _owned_in(slice_: Slice) -> Numbers:
    owned = Numbers.of(key for key, bits in slice_.bits.items() if bits.owned)
    if len(owned) <= FEW:
        return owned
    rows = Ownership.objects.open().filter(owner__in=principals_in(slice_.selves))
    # what they own in another realm or at another time is not what the facts say here
    return Numbers(owned.keys, (rows,)) if rows.count() == len(owned) else owned


def foreign_on(owned: Collection[int]) -> QuerySet[BackendFinding]:
    """What others granted in backends on owned objects and below."""
    under = Placement.objects.open().filter(on_or_below(owned))
    return BackendFinding.objects.filter(kind="foreign", securable__in=under.values("securable"))


def owner_of(node: Node) -> Principal | None:
    """The owner of the object itself, or else of the nearest object above that has one."""
    rows = Ownership.objects.open().filter(securable__in=node.lineage).select_related("owner")
    by_object = {row.securable_id: row.owner for row in rows}
    return next((by_object[key] for key in reversed(node.lineage) if key in by_object), None)


def owners_along(node: Node) -> dict[int, Principal]:
    """The owner of each object from the root down to this one, where there is one."""
    rows = Ownership.objects.open().filter(securable__in=node.lineage).select_related("owner")
    return {row.securable_id: row.owner for row in rows}


def givable(root: Node, text: str = "") -> QuerySet[Principal]:
    """Those to whom something can be given in a realm: whom it admits, or everybody where it is open."""
    if not dialects.get(root.kind).open_to_all:
        return admitted(root, text)
    rows = Principal.objects.exclude(kind=Principal.Kind.PATTERN).order_by("display_name", "name")
    return _called_so(rows, text)


def admitted(root: Node, text: str = "") -> QuerySet[Principal]:
    """The people, groups and services a realm admits, whose name holds a text, by name."""
    members = RealmMember.objects.open().filter(realm=root.realm_id).values("principal")
    return _called_so(Principal.objects.filter(pk__in=members).order_by("display_name", "name"), text)


def count_admitted(realms: Collection[int], now: datetime) -> dict[int, tuple[int, int]]:
    """How many people and how many service accounts are members of each realm themselves, as its law asks.

    Who is only in a group that is a member is none, and neither is the group.  One query.
    """
    rows = RealmMember.objects.open().within(now).filter(realm__in=realms)
    kinds = rows.values_list("realm", "principal__kind").annotate(many=Count("principal", distinct=True))
    many = {(realm, kind): count for realm, kind, count in kinds}
    user, service = Principal.Kind.USER, Principal.Kind.SERVICE
    return {realm: (many.get((realm, user), 0), many.get((realm, service), 0)) for realm in realms}


def _called_so(rows: QuerySet[Principal], text: str) -> QuerySet[Principal]:
    if not holdable(text):
        return rows.none()
    if text:
        rows = rows.filter(called(text))
    return rows
