"""Registering, renaming and dropping objects, many in one change."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext

from accounts.models import Principal
from catalog.models import Detail, Placement, Securable
from catalog.nodes import Node
from catalog.queries import all_below
from lakewarden.law import dialects
from lakewarden.law.facts import Level
from policies.authority import Actor, Authority, origin_of
from policies.errors import AlreadyExists, Invalid, NotFound
from policies.events import (
    GRANT_REMOVED,
    OBJECT_DROPPED,
    OBJECT_MOVED_FROM,
    OBJECT_REGISTERED,
    OBJECT_RENAMED,
    OWNER_ENDED,
    OWNER_SET,
)
from policies.models import Grant, Ownership
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.services import connected_objects, object_details, realm_of
from policies.services.object_names import check_described, checked

MADE_APART = frozenset(("role", "user", "group"))
"""Types whose things are made by services of their own, by the rules for their names."""


@dataclass(frozen=True)
class NewObject:
    """What is to be registered below a parent; `scope` differs from the parent for nested schemas alone."""

    type: str
    name: str
    comment: str = ""
    columns: list[dict[str, Any]] = field(default_factory=list)
    properties: dict[str, Any] = field(default_factory=dict)
    content: dict[str, Any] = field(default_factory=dict)
    external_id: str = ""


def register(
    parent: Node,
    new: Sequence[NewObject],
    *,
    by: Actor,
    authority: Authority,
    owner: Principal | None = None,
    scope: Node | None = None,
) -> list[Node]:
    """Register objects below a parent in one change, all with the owner, if any.

    Raises AlreadyExists, Invalid, Conflict, and Refused in what is connected.
    """
    if not MADE_APART.isdisjoint(item.type for item in new):
        raise Invalid(gettext("Roles, people and groups are not registered as objects."))
    with change(OBJECT_REGISTERED, realm=realm_of(parent), by=by) as current:
        _refuse_taken(scope or parent, new)
        by_hand = {item.type for item in new if not item.external_id}
        connected_objects.refuse_named_by_hand(parent, by_hand, by=by)
        object_details.refuse_place_in_source(parent, [item.content for item in new])
        rows = Securable.objects.bulk_create(
            [
                Securable(
                    realm_id=parent.realm_id,
                    type=item.type,
                    external_id=item.external_id,
                    opened=current.revision,
                )
                for item in new
            ],
            batch_size=1000,
        )
        made = [_child(parent, row.pk, new_object) for row, new_object in zip(rows, new, strict=True)]
        _place(current, parent, scope or parent, made, by, authority)
        _describe(made, new)
        if owner is not None:
            facts = [Ownership(securable_id=node.id, owner=owner, origin=origin_of(by)) for node in made]
            current.begin_all(
                [(fact, make_event(OWNER_SET, node, owner)) for fact, node in zip(facts, made, strict=True)],
                by=authority,
            )
    return made


def _refuse_taken(scope: Node, new: Sequence[NewObject]) -> None:
    folded = dialects.get(scope.kind).ignores_case
    names = {checked(item.name) for item in new}
    wanted = {(item.type, item.name.upper() if folded else item.name) for item in new}
    rows = Placement.objects.open().filter(scope=scope.id)
    taken_names = rows.filter(_same_name(names, folded=folded)).values_list("type", "name")
    clash = {(type_, name.upper() if folded else name) for type_, name in taken_names} & wanted
    if clash or len(wanted) < len(new):
        type_, name = min(clash) if clash else (new[0].type, new[0].name)
        raise AlreadyExists(
            gettext("%(type)s %(name)s already exists.") % {"type": type_.capitalize(), "name": name}
        )


def _same_name(names: Collection[str], *, folded: bool) -> Q:
    if not folded:
        return Q(name__in=names)
    same = Q(pk__in=[])
    for name in names:
        same |= Q(name__iexact=name)
    return same


def _child(parent: Node, pk: int, new_object: NewObject) -> Node:
    levels = (*parent.levels, Level(new_object.type, pk))
    return Node(pk, parent.realm_id, parent.kind, levels, (*parent.names, new_object.name))


def _place(
    current: ChangeInProgress, parent: Node, scope: Node, made: list[Node], by: Actor, authority: Authority
) -> None:
    facts = [
        Placement(
            securable_id=node.id,
            type=node.type,
            name=node.name,
            parent_id=parent.id,
            scope_id=scope.id,
            ancestors=list(parent.lineage),
            origin=origin_of(by),
        )
        for node in made
    ]
    current.begin_all(
        [
            (fact, make_event(OBJECT_REGISTERED, node, type=node.type))
            for fact, node in zip(facts, made, strict=True)
        ],
        by=authority,
    )


def _describe(made: list[Node], new: Sequence[NewObject]) -> None:
    check_described(*((item.comment, item.properties, item.columns) for item in new))
    Detail.objects.bulk_create(
        [
            Detail(
                securable_id=node.id,
                comment=described.comment,
                properties=described.properties,
                columns=described.columns,
                content=described.content,
            )
            for node, described in zip(made, new, strict=True)
        ],
        batch_size=1000,
    )


def rename(node: Node, name: str, *, by: Actor, authority: Authority) -> Node:
    """Give an object another name; its facts stay with it.  Raises AlreadyExists, Refused."""
    with change(OBJECT_RENAMED, realm=realm_of(node), by=by) as current:
        old = _place_of(node)
        if old.name == name:
            return node
        connected_objects.refuse_named_by_hand(node, {node.type}, by=by)
        same_name = Placement.objects.open().filter(scope=old.scope_id, type=old.type, name=checked(name))
        if same_name.exists():
            raise AlreadyExists(
                gettext("%(type)s %(name)s already exists.") % {"type": node.type.capitalize(), "name": name}
            )
        current.end(old, make_event(OBJECT_MOVED_FROM, node), by=authority)
        renamed = Node(node.id, node.realm_id, node.kind, node.levels, (*node.names[:-1], name))
        new = Placement(
            securable_id=node.id,
            type=old.type,
            name=name,
            parent_id=old.parent_id,
            scope_id=old.scope_id,
            ancestors=old.ancestors,
            origin=origin_of(by),
        )
        current.begin(
            new, make_event(OBJECT_RENAMED, renamed, type=node.type, before=node.ref.id), by=authority
        )
    return renamed


@dataclass(frozen=True)
class Move:
    """An object and where it stands from now on: below which parent and under which name."""

    node: Node
    parent: Node
    name: str


def move(moves: Sequence[Move], *, by: Actor, authority: Authority) -> None:
    """Give objects other names and parents in one change, so that they may swap them.  Raises AlreadyExists.

    What has children may get another name, never another parent.
    """
    if not moves:
        return
    with change(OBJECT_RENAMED, realm=realm_of(moves[0].node), by=by) as current:
        for item in moves:
            current.end(_place_of(item.node), make_event(OBJECT_MOVED_FROM, item.node), by=authority)
        for item in moves:
            node, parent = item.node, item.parent
            _refuse_taken(parent, [NewObject(node.type, item.name)])
            moved = _child(parent, node.id, NewObject(node.type, item.name))
            place = Placement(
                securable_id=node.id,
                type=node.type,
                name=item.name,
                parent_id=parent.id,
                scope_id=parent.id,
                ancestors=list(parent.lineage),
                origin=origin_of(by),
            )
            current.begin(
                place, make_event(OBJECT_RENAMED, moved, type=node.type, before=node.ref.id), by=authority
            )


def _place_of(node: Node) -> Placement:
    place = Placement.objects.open().filter(securable=node.id).first()
    if place is None:
        raise NotFound(
            gettext("%(type)s %(name)s no longer exists.")
            % {"type": node.type.capitalize(), "name": node.name}
        )
    return place


def drop(node: Node, *, by: Actor, authority: Authority, reason: str = "") -> int:
    """Close an object with everything below it and every fact on them; answers how many objects went."""
    with change(OBJECT_DROPPED, realm=realm_of(node), by=by, reason=reason) as current:
        _place_of(node)
        ids = [node.id, *all_below(node.id).values_list("securable", flat=True)]
        grants = Grant.objects.open().filter(securable__in=ids)
        if not node.path:
            grants = grants | Grant.objects.open().filter(realm=node.realm_id)
        owned = Ownership.objects.open().filter(securable__in=ids).select_related("owner")
        places = Placement.objects.open().filter(securable__in=ids)
        current.end_all(
            [
                (row, make_event(GRANT_REMOVED, node, privilege=row.privilege, role=row.role_id))
                for row in grants
            ],
            by=authority,
        )
        current.end_all([(row, make_event(OWNER_ENDED, node, row.owner)) for row in owned], by=authority)
        current.end_all(
            [(row, make_event(OBJECT_DROPPED, node, type=row.type, name=row.name)) for row in places],
            by=authority,
        )
        Securable.objects.filter(pk__in=ids).update(closed=current.revision)
    return len(ids)
