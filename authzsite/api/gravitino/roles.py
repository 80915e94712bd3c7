"""Roles, what is in them, and changing that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from authzsite.api.gravitino import path_objects
from authzsite.api.gravitino.altering import legal
from authzsite.api.gravitino.bodies import filled, listed, one_of, required, shape, some, strings
from authzsite.api.gravitino.call import Call, Route
from authzsite.api.gravitino.errors import Problem, illegal, no_such
from authzsite.api.gravitino.wire import Later, Wire, audit_of
from catalog.models import Detail
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from policies.decisions import personal_role_names
from policies.decisions.lookups import visible_objects
from policies.models import Grant
from policies.services import object_details, personal_roles, roles
from policies.services.roles import Privilege

LAW = dialects.get("gravitino")
ILLEGAL_OBJECT = "IllegalMetadataObjectException"
ILLEGAL_PRIVILEGE = "IllegalPrivilegeException"
HOLDERS = frozenset(type for privilege in LAW.privileges.values() for type in privilege.binds)
"""The types of objects that privileges are granted on; columns, roles and jobs are none."""

PRIVILEGE = shape({"name": required(filled), "condition": required(one_of("allow", "deny"))})
OBJECT = shape(
    {"fullName": required(filled), "type": required(filled), "privileges": required(listed(PRIVILEGE))}
)
CREATE = shape({"name": required(filled), "properties": strings, "securableObjects": listed(OBJECT)})
GIVE = shape({"privileges": required(some(PRIVILEGE))})
OVERRIDE = shape({"overrides": required(listed(OBJECT))})


@dataclass(frozen=True)
class Given:
    """Privileges that a body gives on one object."""

    node: Node
    privileges: tuple[Privilege, ...]


def privileges_of(items: Iterable[Mapping[str, str]]) -> tuple[Privilege, ...]:
    """Privileges as the law knows them, each with the name that was written.  Raises Problem."""
    by_name: dict[str, Privilege] = {}
    for item in items:
        written = item["name"].upper()
        privilege_ = LAW.privilege(written)
        if privilege_ is None:
            raise illegal(f"{item['name']} is no privilege", ILLEGAL_PRIVILEGE)
        stated_privilege = Privilege(
            privilege_.code, item["condition"], written if written != privilege_.code else ""
        )
        if by_name.setdefault(privilege_.code, stated_privilege).effect != stated_privilege.effect:
            raise illegal(f"{written} cannot be both allowed and denied on one object", ILLEGAL_PRIVILEGE)
    return tuple(by_name.values())


def given(root: Node, items: Sequence[Mapping[str, Any]], *, absent: str = "") -> list[Given]:
    """The objects of a body with what is given on each; `absent` names the exception for one not there."""
    privileges = {}
    for item in items:
        if item["type"].lower() not in HOLDERS:
            raise illegal(f"Privileges cannot be granted on the type {item['type']}")
        place = path_objects.of_object(root, item["type"], item["fullName"])
        if place.missing is not None:
            raise _not_there(item["fullName"], absent)
        if place.node.id in privileges:
            raise illegal(f"{item['fullName']} stands there twice")
        if not item["privileges"]:
            raise illegal(f"{item['fullName']} has no privileges", ILLEGAL_PRIVILEGE)
        privileges[place.node.id] = Given(place.node, privileges_of(item["privileges"]))
    return list(privileges.values())


def _not_there(name: str, absent: str) -> Problem:
    return illegal(f"{name} does not exist", absent) if absent else no_such("metadata_object", name)


def in_role(role: int) -> Any:
    """The grants of a role that have not ended, with the objects they are on.  Two queries."""
    from django.utils import timezone

    lasting = Q(valid_until__isnull=True) | Q(valid_until__gt=timezone.now())
    return Grant.objects.open().filter(lasting, role=role, securable__isnull=False).order_by("pk")


def objects_of(role: int) -> list[Wire]:
    """What is in a role, object by object."""
    by_object: dict[int, dict[tuple[str, str], Grant]] = defaultdict(dict)
    for row in in_role(role):
        by_object[row.securable_id].setdefault((row.privilege, row.effect), row)
    by_id = nodes(by_object)
    return [
        {
            "fullName": by_id[key].ref.full_name or by_id[key].name,
            "type": by_id[key].type,
            "privileges": [
                {"name": (row.written or row.privilege).lower(), "condition": row.effect}
                for row in rows.values()
            ],
        }
        for key, rows in by_object.items()
        if key in by_id
    ]


def wire_of(role: Node) -> Wire:
    """A role as it is now."""
    detail = Detail.objects.filter(securable=role.id).first() or Detail()
    return {
        "name": role.name,
        "properties": object_details.shown(detail.properties),
        "securableObjects": objects_of(role.id),
        "audit": audit_of(role),
    }


def names(call: Call) -> Wire:
    rows = visible_objects.children(call.slice, call.root, "role", now=call.now)
    return {"names": list(rows.values_list("name", flat=True))}


def create(call: Call) -> Later:
    objects = given(call.root, call.body.get("securableObjects", ()), absent=ILLEGAL_OBJECT)
    name, properties = call.body["name"], object_details.sealed(call.body.get("properties", {}))
    if not personal_role_names.is_personal(name):
        legal(name)
    role = roles.create(call.root, name, owner=call.principal, properties=properties, **call.by)
    for object_ in objects:
        roles.add_privileges(role, object_.node, object_.privileges, **call.by)
    return lambda: {"role": wire_of(role)}


def load(call: Call) -> Wire:
    return {"role": wire_of(call.node)}


def delete(call: Call) -> Wire:
    if not call.absent:
        roles.delete(call.node, **call.by)
    return {"dropped": not call.absent, "deleted": not call.absent}


def weigh_of_object(call: Call) -> None:
    call.decide("Role.listRoles", call.root)


def of_object(call: Call) -> Wire:
    """The roles that hold something on one object, as far as the viewer may see them there."""
    if call.place.column:
        return {"names": []}
    holding = in_role_on(call.node.id)
    rows = visible_objects.children(call.slice, call.root, "role", now=call.now, listing="bound_role")
    return {"names": list(rows.filter(securable__in=holding).values_list("name", flat=True))}


def in_role_on(securable: int) -> Any:
    return Grant.objects.open().filter(securable=securable, role__isnull=False).values("role")


# privileges in a role


def role_of(call: Call) -> Node:
    """The role that a permission call changes.  Raises Problem."""
    role = path_objects.place(call.root, ["role"], [call.names["role"]])
    if role.missing is not None:
        raise no_such("role", call.names["role"])
    return role.node


def grant(call: Call) -> Later:
    role, wanted = role_of(call), privileges_of(call.body["privileges"])
    roles.add_privileges(role, call.node, wanted, **call.by)
    return lambda: {"role": wire_of(role)}


def revoke(call: Call) -> Later:
    role, wanted = role_of(call), privileges_of(call.body["privileges"])
    for privilege in wanted:
        roles.check_binding(call.node, privilege.code)
    roles.remove_privileges(role, call.node, wanted, **call.by)
    _drop_when_empty(call, role)
    return lambda: {"role": wire_of(role)}


def _drop_when_empty(call: Call, role: Node) -> None:
    if personal_role_names.is_personal(role.name):
        personal_roles.end_when_empty(call.root, role.id, by=call.actor)


def override(call: Call) -> Later:
    role, wanted = call.node, given(call.root, call.body["overrides"])
    roles.replace_privileges(role, {item.node: item.privileges for item in wanted}, **call.by)
    _drop_when_empty(call, role)
    return lambda: {"role": wire_of(role)}


ANY_CATALOG = ("catalog",)
"""Who may do what to a catalog can be changed while it is disabled."""

LAKE = "metalakes/{metalake}"
ON = LAKE + "/permissions/roles/{role}/{type}/{full_name}"
OF = LAKE + "/objects/{type}/{full_name}/roles"
ROUTES = (
    Route("GET", f"{LAKE}/roles", "Role.listRoles", names),
    Route("POST", f"{LAKE}/roles", "Role.createRole", create, CREATE, illegal=ILLEGAL_PRIVILEGE),
    Route("GET", f"{LAKE}/roles/{{role}}", "Role.getRole", load),
    Route(
        "DELETE",
        f"{LAKE}/roles/{{role}}",
        "Role.deleteRole",
        delete,
        absent_ok=True,
        illegal="IllegalRoleException",
    ),
    Route(
        "GET",
        OF,
        "Role.listRoles",
        of_object,
        weigh=weigh_of_object,
        idle=ANY_CATALOG,
    ),
    Route(
        "PUT",
        f"{LAKE}/permissions/roles/{{role}}",
        "Permission.overrideRolePrivileges",
        override,
        OVERRIDE,
        noun="role",
        illegal=ILLEGAL_PRIVILEGE,
    ),
    Route(
        "PUT",
        f"{ON}/grant",
        "Permission.grantPrivilegeToRole",
        grant,
        GIVE,
        noun="role",
        illegal=ILLEGAL_PRIVILEGE,
        idle=ANY_CATALOG,
        types=HOLDERS,
    ),
    Route(
        "PUT",
        f"{ON}/revoke",
        "Permission.revokePrivilegeFromRole",
        revoke,
        GIVE,
        noun="role",
        illegal=ILLEGAL_PRIVILEGE,
        idle=ANY_CATALOG,
        types=HOLDERS,
    ),
)
