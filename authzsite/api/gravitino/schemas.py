"""Schemas, nested ones included: `A:B` stands below `A` and is a name of the catalog."""

from __future__ import annotations

from urllib.parse import quote

from authzsite.api.gravitino import SEPARATOR, altering, path_objects
from authzsite.api.gravitino.altering import legal
from authzsite.api.gravitino.bodies import PROPERTIES, filled, required, shape, strings, text, updates
from authzsite.api.gravitino.call import Call, Route
from authzsite.api.gravitino.errors import Problem, exists, no_such, non_empty
from authzsite.api.gravitino.wire import Audit, Later, Wire, audit_of, described, identifier
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import below, find
from lakewarden.law.objects import ObjectRef
from policies.decisions.lookups import visible_objects
from policies.services import object_details, objects
from policies.services.objects import NewObject

CREATE = shape({"name": required(filled), "comment": text, "properties": strings})
ALTER = updates(PROPERTIES)
ESCAPED = quote(SEPARATOR, safe="")


def wire(name: str, detail: Detail, audit: Audit) -> Wire:
    return described(name, detail, audit)


def wire_of(node: Node) -> Wire:
    """A schema as it is now."""
    return wire(node.name, Detail.objects.get(securable=node.id), audit_of(node))


def meant(name: str) -> str:
    """The name that a client means that escapes the separator inside a body."""
    return name.replace(ESCAPED, SEPARATOR).replace(ESCAPED.lower(), SEPARATOR)


def listed(call: Call) -> Wire:
    """One level: the top, or what is right below `parentSchema`."""
    above, parent = call.node, call.query.get("parentSchema", "")
    if parent:
        place = path_objects.place(call.root, ("catalog", "schema"), (call.node.name, meant(parent)))
        call.weigh("Schema.loadSchema", place.node)
        if place.missing is not None:
            raise no_such("schema", parent)
        above = place.node
    rows = visible_objects.children(call.slice, above, "schema", now=call.now)
    return {"identifiers": [identifier(call.node, row.name) for row in rows]}


def weigh_create(call: Call) -> None:
    """Making `A:B` is asked of `A`, or of the nearest that there is above."""
    try:
        name = meant(call.read_body()["name"])
    except Problem:
        name = ""
    nested = SEPARATOR in name and not call.absent
    call.decide("Schema.createSchema", path_objects.nearest_schema(call.node, name) if nested else call.node)


def create(call: Call) -> Later:
    call.refuse_connected()
    parts = [legal(part) for part in meant(call.body["name"]).split(SEPARATOR)]
    if len(parts) > 1:
        call.need_kind("relational")
    above = call.node
    for depth in range(1, len(parts)):
        above = _above(call, above, SEPARATOR.join(parts[:depth]))
    name = SEPARATOR.join(parts)
    if find(ObjectRef("schema", call.root.name, (call.node.name, name))):
        raise exists("schema", f"Schema {name} already exists")
    content = {"properties": object_details.sealed(call.body.get("properties", {}))}
    new = NewObject("schema", name, comment=call.body.get("comment", ""), content=content)
    [node] = objects.register(above, [new], owner=call.principal, scope=call.node, **call.by)
    return lambda: {"schema": wire_of(node)}


def _above(call: Call, parent: Node, name: str) -> Node:
    """The schema of that name, made when absent."""
    schema = find(ObjectRef("schema", call.root.name, (call.node.name, name)))
    if schema is not None:
        return schema
    new = [NewObject("schema", name)]
    return objects.register(parent, new, owner=call.principal, scope=call.node, **call.by)[0]


def load(call: Call) -> Wire:
    return {"schema": wire(call.node.name, call.detail, audit_of(call.node))}


def alter(call: Call) -> Later:
    call.refuse_connected()
    node, _ = altering.alter(call, call.node)
    return lambda: {"schema": wire_of(node)}


def drop(call: Call) -> Wire:
    if not call.absent and not call.asks("cascade") and below(call.node).exists():
        raise non_empty("schema", f"Schema {call.node.name} is not empty, drop what is in it first")
    return altering.drop(call)


ALL = "metalakes/{metalake}/catalogs/{catalog}/schemas"
ONE = ALL + "/{schema}"
ROUTES = (
    Route("GET", ALL, "Schema.listSchemas", listed),
    Route("POST", ALL, "Schema.createSchema", create, CREATE, weigh=weigh_create),
    Route("GET", ONE, "Schema.loadSchema", load),
    Route("PUT", ONE, "Schema.alterSchema", alter, ALTER),
    Route("DELETE", ONE, "Schema.dropSchema", drop, absent_ok=True),
)
