"""Metalakes."""

from __future__ import annotations

from authzsite.api.gravitino.altering import alter, legal
from authzsite.api.gravitino.bodies import (
    COMMENT,
    PROPERTIES,
    RENAME,
    filled,
    flag,
    required,
    shape,
    strings,
    text,
    updates,
)
from authzsite.api.gravitino.call import Call, Refusal, Route
from authzsite.api.gravitino.errors import in_use, non_empty
from authzsite.api.gravitino.wire import Audit, Later, Wire, audit_of, audits_of, described
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import below
from policies.decisions import ask
from policies.decisions.lookups import visible_objects
from policies.models import RealmMember
from policies.services import object_details, realms

CREATE = shape({"name": required(filled), "comment": text, "properties": strings})
ALTER = updates({**RENAME, **COMMENT, **PROPERTIES})
SWITCH = shape({"inUse": required(flag)})
IDLE = ("metalake",)


def wire(name: str, detail: Detail, audit: Audit) -> Wire:
    body = described(name, detail, audit)
    body["properties"]["in-use"] = "true" if object_details.in_use(detail) else "false"
    return body


def listed(call: Call) -> Wire:
    """Those that admit the caller."""
    own = set(RealmMember.objects.open().filter(principal=call.principal).values_list("realm", flat=True))
    admitted = (root for root in visible_objects.realms_of(call.principal) if root.kind == "gravitino")
    roots = [root for root in admitted if root.realm_id in own]
    ids = [root.id for root in roots]
    details = {row.securable_id: row for row in Detail.objects.filter(securable__in=ids)}
    when = audits_of(ids)
    shown = [wire(root.name, details.get(root.id) or Detail(), when.get(root.id, {})) for root in roots]
    return {"metalakes": shown}


def weigh_create(call: Call) -> None:
    call.decision = ask.ask_site(call.principal, "gravitino", "Metalake.createMetalake")
    if not call.decision:
        message = (
            f"User '{call.principal.name}' is not authorized to perform operation 'createMetalake': "
            "only service admins may"
        )
        raise Refusal(message, "Metalake.createMetalake", None, "")


def create(call: Call) -> Later:
    body = call.body
    comment, properties = body.get("comment", ""), object_details.sealed(body.get("properties", {}))
    name = legal(body["name"])
    content = {"properties": properties}
    root = realms.create("gravitino", name, owner=call.principal, comment=comment, content=content, **call.by)
    return lambda: {"metalake": wire_of(root)}


def wire_of(root: Node) -> Wire:
    """A metalake as it is now."""
    return wire(root.name, Detail.objects.get(securable=root.id), audit_of(root))


def load(call: Call) -> Wire:
    return {"metalake": wire(call.root.name, call.detail, audit_of(call.root))}


def altered(call: Call) -> Later:
    node, _ = alter(call, call.root)
    return lambda: {"metalake": wire_of(node)}


def switched(call: Call) -> Wire:
    object_details.switch(call.root, on=call.body["inUse"], **call.by)
    return {}


def dropped(call: Call) -> Wire:
    if not call.asks("force"):
        if object_details.in_use(call.detail):
            raise in_use("metalake", call.root.name)
        if below(call.root, "catalog").exists():
            raise non_empty("metalake", f"Metalake {call.root.name} has catalogs, drop them first")
    realms.drop(call.root, **call.by)
    return {"dropped": True, "deleted": True}


ONE = "metalakes/{metalake}"
ROUTES = (
    Route("GET", "metalakes", "", listed, site=True),
    Route("POST", "metalakes", "Metalake.createMetalake", create, CREATE, weigh=weigh_create, site=True),
    Route("GET", ONE, "Metalake.loadMetalake", load, idle=IDLE),
    Route("PUT", ONE, "Metalake.alterMetalake", altered, ALTER),
    Route("PATCH", ONE, "Metalake.setMetalake", switched, SWITCH, idle=IDLE),
    Route("DELETE", ONE, "Metalake.dropMetalake", dropped, idle=IDLE),
)
