"""Catalogs: registered ones keep what the client says, connected ones belong to their source."""

from __future__ import annotations

import re

from authzsite.api.gravitino import altering
from authzsite.api.gravitino.bodies import (
    COMMENT,
    PROPERTIES,
    RENAME,
    filled,
    flag,
    one_of,
    required,
    shape,
    strings,
    text,
    updates,
)
from authzsite.api.gravitino.call import Call, Route
from authzsite.api.gravitino.errors import illegal, in_use, non_empty, unreachable, unsupported
from authzsite.api.gravitino.wire import Audit, Later, Wire, audit_of, described, with_details
from authzsite.api.gravitino.wire import listed as identifiers
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import below
from policies.decisions.lookups import visible_objects
from policies.services import object_details, objects
from policies.services.objects import NewObject
from policies.sync.connections import reachability

PROVIDERS = {
    "relational": (
        "hive",
        "lakehouse-iceberg",
        "lakehouse-paimon",
        "lakehouse-hudi",
        "jdbc-postgresql",
        "jdbc-mysql",
        "jdbc-doris",
    ),
    "fileset": ("fileset", "hadoop"),
    "messaging": ("kafka",),
    "model": ("model",),
}
MANAGED = {"fileset": "fileset", "model": "model"}
"""Kinds whose provider need not be named."""

ADDRESSED = re.compile(r"ur[il]|endpoint|bootstrap|address|host|server|broker", re.IGNORECASE)
"""Names of properties that say where something is."""

MOST_ADDRESSES = 10

GUARD = "authorization-provider"
"""The property by which Gravitino is told what guards a catalog's data outside."""
CONNECTED_BY = {
    "ranger": "ranger-hive or ranger-trino",
    "jdbc-postgresql": "postgresql",
    "jdbc-mysql": "mysql or mariadb",
    "chain": "of one of its systems",
}
"""The kinds of connections that do here what such a provider does there."""

TYPE = one_of(*PROVIDERS)
CREATE = shape(
    {
        "name": required(filled),
        "type": required(TYPE),
        "provider": text,
        "comment": text,
        "properties": strings,
    }
)
ALTER = updates({**RENAME, **COMMENT, **PROPERTIES})
SWITCH = shape({"inUse": required(flag)})


def wire(name: str, detail: Detail, audit: Audit) -> Wire:
    body = described(name, detail, audit)
    kind = detail.properties.get("type", "relational")
    body |= {"type": kind, "provider": detail.properties.get("provider", MANAGED.get(kind, "hive"))}
    body["properties"]["in-use"] = "true" if object_details.in_use(detail) else "false"
    return body


def wire_of(node: Node) -> Wire:
    """A catalog as it is now."""
    return wire(node.name, Detail.objects.get(securable=node.id), audit_of(node))


def listed(call: Call) -> Wire:
    if not call.asks("details"):
        return identifiers("catalog")(call)
    rows = visible_objects.children(call.slice, call.root, "catalog", now=call.now)
    return {"catalogs": with_details(rows, wire)}


def provider_of(body: Wire) -> str:
    """The provider that is meant.  Raises Problem for one that is unknown or of another kind."""
    kind = body["type"]
    provider: str = (body.get("provider") or MANAGED.get(kind, "")).lower()
    if provider not in PROVIDERS[kind]:
        raise illegal(
            f"'{provider}' is no provider of {kind} catalogs; known are {', '.join(PROVIDERS[kind])}"
        )
    return provider


def create(call: Call) -> Later:
    provider, kind = provider_of(call.body), call.body["type"]
    refuse_unguarded(call, call.body["name"], call.body.get("properties", {}).get(GUARD, ""))
    node = altering.make(call, "catalog", properties={"type": kind, "provider": provider})
    if kind == "messaging":
        objects.register(node, [NewObject("schema", "default")], **call.by)
    return lambda: {"catalog": wire_of(node)}


def refuse_unguarded(call: Call, name: str, provider: str) -> None:
    """Raise Problem for a provider that would guard nothing: what guards a catalog here is its connection."""
    if not provider:
        return
    kinds = CONNECTED_BY.get(provider.lower())
    if kinds is None:
        properties = ", ".join(CONNECTED_BY)
        raise illegal(f"{GUARD} '{provider}' is not known here; known are {properties}. Leave it out.")
    place = f"{call.root.name}/{name}"
    cause = f"catalog {name} is not connected"
    if provider.lower() == "chain":
        cause += "; a catalog has one connection here, and a chain needs several"
    raise illegal(
        f"{GUARD} '{provider}' would guard nothing: {cause}. Leave it out, then "
        f"connect the catalog: `manage.py connect {place} KIND --url URL` with KIND {kinds}, or Sync in the "
        "console"
    )


def load(call: Call) -> Wire:
    return {"catalog": wire(call.node.name, call.detail, audit_of(call.node))}


def alter(call: Call) -> Later:
    if not call.connected:
        for update in call.body["updates"]:
            named = update.get("property") == GUARD and update["@type"] == "setProperty"
            refuse_unguarded(call, call.node.name, update["value"] if named else "")
    node, _ = altering.alter(call, call.node)
    return lambda: {"catalog": wire_of(node)}


def switch(call: Call) -> Wire:
    object_details.switch(call.node, on=call.body["inUse"], **call.by)
    return {}


def drop(call: Call) -> Wire:
    if not call.absent:
        if call.connected:
            raise unsupported("This catalog is connected; disconnect it before it is dropped")
        if not call.asks("force"):
            if object_details.in_use(call.detail):
                raise in_use("catalog", call.node.name)
            own = {"default"} if call.detail.properties.get("type") == "messaging" else set()
            if below(call.node, "schema").exclude(name__in=own).exists():
                raise non_empty("catalog", f"Catalog {call.node.name} has schemas, drop them first")
    return altering.drop(call)


def test_new(call: Call) -> Wire:
    provider_of(call.body)
    return _test(call.body.get("properties", {}))


def test_old(call: Call) -> Wire:
    draft = altering.Draft.of(call.node.name, call.detail)
    altering.apply(draft, (call.body or {}).get("updates", ()), {})
    return _test(draft.properties)


def _test(properties: dict[str, str]) -> Wire:
    """Reach every address that the properties name.  Raises Problem."""
    named = [
        properties[key] for key in properties if ADDRESSED.search(key) and not object_details.is_secret(key)
    ]
    for address in ",".join(named).split(",")[:MOST_ADDRESSES]:
        _reach(address.strip())
    return {}


def _reach(address: str) -> None:
    try:
        reachability.check(address)
    except reachability.Unreachable as problem:
        raise unreachable(f"Failed to connect: {problem}") from None


def weigh_test(call: Call) -> None:
    # what an existing catalog is reached with is shown to those who may alter it
    call.decide("Catalog.testConnection", call.root)


ALL, ONE = "metalakes/{metalake}/catalogs", "metalakes/{metalake}/catalogs/{catalog}"
ROUTES = (
    Route("GET", ALL, "Catalog.listCatalogs", listed),
    Route("POST", ALL, "Catalog.createCatalog", create, CREATE),
    Route("POST", f"{ALL}/testConnection", "Catalog.testConnection", test_new, CREATE, reads=True),
    Route(
        "POST",
        f"{ONE}/testConnection",
        "Catalog.testConnection",
        test_old,
        ALTER,
        weigh=weigh_test,
        optional_body=True,
        reads=True,
    ),
    Route("GET", ONE, "Catalog.loadCatalog", load, idle=("catalog",)),
    Route("PUT", ONE, "Catalog.alterCatalog", alter, ALTER),
    Route("PATCH", ONE, "Catalog.setCatalog", switch, SWITCH, idle=("catalog",)),
    Route("DELETE", ONE, "Catalog.dropCatalog", drop, idle=("catalog",), absent_ok=True),
)
