"""Giving roles to users and groups and taking them back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from authzsite.api.gravitino.bodies import filled, required, shape, some
from authzsite.api.gravitino.call import Call, Handler, Route
from authzsite.api.gravitino.errors import illegal
from authzsite.api.gravitino.members import person_of, wire_of
from authzsite.api.gravitino.wire import Later
from catalog.nodes import Node
from catalog.queries import find_all
from lakewarden.law.objects import ObjectRef
from policies.services import roles

ROLES = shape({"roleNames": required(some(filled))})
ILLEGAL_ROLE = "IllegalRoleException"


def named(call: Call) -> list[Node]:
    """The roles that the body names.  Raises Problem for one that is not there."""
    names = list(dict.fromkeys(call.body["roleNames"]))
    nodes = find_all([ObjectRef("role", call.root.name, (name,)) for name in names])
    absent = [name for name, role in zip(names, nodes, strict=True) if role is None]
    if absent:
        raise illegal(f"Role {absent[0]} does not exist", ILLEGAL_ROLE)
    return [role for role in nodes if role is not None]


def changed(kind: str, service: Callable[..., bool]) -> Handler:
    def handle(call: Call) -> Later:
        for role in named(call):
            service(role, person_of(call), **call.by)
        return lambda: {kind: wire_of(call.root, person_of(call))}

    return handle


def routes(kind: str) -> Iterable[Route]:
    path, noun = f"metalakes/{{metalake}}/permissions/{kind}s/{{{kind}}}", kind.capitalize()
    for verb, operation, service in (
        ("grant", f"Permission.grantRolesTo{noun}", roles.assign),
        ("revoke", f"Permission.revokeRolesFrom{noun}", roles.unassign),
    ):
        handle = changed(kind, service)
        yield Route("PUT", f"{path}/{verb}", operation, handle, ROLES, noun="role", illegal=ILLEGAL_ROLE)


ROUTES = (*routes("user"), *routes("group"))
