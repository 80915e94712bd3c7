"""A viewer in a Herd: what they may do there and on one of its namespaces, and who its data owners are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Q
from django.http import Http404

from accounts.models import Membership, Principal
from authzsite.console.kit.http import Request
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law import engine
from lakewarden.law.dialects.herd.permissions import DATA_OWNER
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask, facts
from policies.decisions.lookups.visible_objects import owner_of
from policies.models import Assignment

REVIEW = "account_permissions_mapping.get"
GRANTING = "account_permissions_mapping.post_put_delete"
ANY_DATA_OWNER = "account_permissions_mapping"
ASSIGN = "Role.assignRole"
CREATE = "Namespace.createNamespace"
MOST = 500


@dataclass(frozen=True)
class HerdContext:
    """A Herd, or one of its namespaces, as one viewer meets it."""

    place: ObjectAccess

    @property
    def node(self) -> Node:
        return self.place.node

    @cached_property
    def herd(self) -> Node:
        return next(iter(self.node.above()), self.node)

    def may(self, operation: str, node: Node | None = None) -> bool:
        return bool(ask.answer(self.place.slice, operation, node or self.node, now=self.place.now))

    @cached_property
    def administers(self) -> bool:
        return self.may(ASSIGN, self.herd)

    @cached_property
    def is_data_owner(self) -> bool:
        """Whether they may use the calls about access at all: the administrator, or role DATA_OWNER."""
        return self.may(ANY_DATA_OWNER, self.herd)

    @cached_property
    def may_review(self) -> bool:
        return self.may(REVIEW)

    @cached_property
    def may_grant(self) -> bool:
        return self.may(GRANTING)

    @cached_property
    def administrator(self) -> Principal | None:
        return owner_of(self.herd)

    @cached_property
    def roles(self) -> dict[str, Node]:
        """The built-in roles, by name."""
        roles = ((name, find(ObjectRef("role", self.herd.name, (name,)))) for name in ("DATA_OWNER", "OPS"))
        return {name: node for name, node in roles if node is not None}

    @cached_property
    def own_data_owners(self) -> list[Principal]:
        """The data owners of this namespace."""
        return self.data_owners([self.node])[self.node.id]

    def data_owners(self, namespaces: Sequence[Node]) -> dict[int, list[Principal]]:
        """Who holds DATA_OWNER together with GRANT and READ on each namespace.  Four queries at most."""
        return data_owners(self.herd, self.roles.get(DATA_OWNER), namespaces, self.place.now)


def data_owners(
    herd: Node, role: Node | None, namespaces: Sequence[Node], now: datetime
) -> dict[int, list[Principal]]:
    """The data owners of each namespace by name, decided by the engine like everything else."""
    owners: dict[int, list[Principal]] = {namespace.id: [] for namespace in namespaces}
    people = holders_of(role, now)[:MOST] if role else []
    loaded = facts.load(
        Realm(pk=herd.realm_id, kind=herd.kind),
        herd.name,
        [item.pk for item in people],
        now=now,
        objects=[herd.id, *owners],
    )
    for person in people:
        slice_ = loaded.slice_of(person)
        for namespace in namespaces:
            held = (engine.permitted(slice_, code, namespace.levels, now=now.timestamp()) for code in NEEDED)
            if all(held):
                owners[namespace.id].append(person)
    return owners


NEEDED = (DATA_OWNER, "GRANT", "READ")
"""What makes a data owner of a namespace: the role, and two permissions on it."""


def holders_of(role: Node, now: datetime) -> list[Principal]:
    """The people who hold a role, groups unfolded, by name.  Two queries."""
    rows = Assignment.objects.open().within(now).filter(role=role.id).values("holder")
    inside = Membership.objects.open().within(now).filter(group__in=rows).values("member")
    people = Principal.objects.filter(Q(pk__in=rows) | Q(pk__in=inside))
    return list(people.exclude(kind=Principal.Kind.GROUP).order_by("display_name", "name")[: MOST + 1])


def herd_at(request: Request, id: int) -> HerdContext:
    """The Herd of that number; the same Http404 for what is absent and for what is no Herd."""
    return _desk(request, id, "herd")


def namespace_at(request: Request, id: int) -> HerdContext:
    """The namespace of that number, or Http404."""
    return _desk(request, id, "namespace")


def _desk(request: Request, id: int, type_: str) -> HerdContext:
    place = get_object_or_404(request, id)
    if place.node.type != type_:
        raise Http404
    return HerdContext(place)
