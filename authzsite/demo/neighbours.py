"""The realms beside the demo's own: a second metalake, a small Herd and a small CDAP."""

from __future__ import annotations

from accounts import people
from authzsite.demo.world import BY
from catalog.queries import realm_named
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.authority import of_operator
from policies.services import entries, members, objects, patterns, realms, roles
from policies.services.objects import NewObject
from policies.services.roles import Privilege

METALAKE, HERD, CDAP = "staging", "archive", "ingest"
NAMESPACES: dict[str, dict[str, tuple[str, ...]]] = {
    "CLICKS": {"julia": ("READ", "EXECUTE"), "rafael": ("READ",)},
    "INVOICES": {"lena": ("READ",)},
}
PATTERNS = (
    ("namespace:shop", "julia", ("READ",)),
    ("dataset:shop.clicks", "julia", ("READ", "WRITE")),
    ("dataset:shop.*", "rafael", ("READ",)),
)


def ensure() -> None:
    """Each is made when it is not there; what is there stays as it is."""
    for name, make in ((METALAKE, _metalake), (HERD, _herd), (CDAP, _cdap)):
        if realm_named(name) is None:
            make()


def _metalake() -> None:
    marek, authority = people.ensure("user", "marek"), of_operator(BY)
    place = realms.create(
        "gravitino",
        METALAKE,
        owner=marek,
        by=BY,
        authority=authority,
        comment="Where releases are tried out.",
    )
    properties = {"type": "relational", "provider": "lakehouse-generic"}
    new = NewObject("catalog", "trial", "Synthetic orders, nobody's real data.", properties=properties)
    [catalog] = objects.register(place, [new], by=BY, authority=authority, owner=marek)
    [schema] = objects.register(catalog, [NewObject("schema", "sales")], by=BY, authority=authority)
    tables = [NewObject("table", name) for name in ("orders", "customers")]
    objects.register(schema, tables, by=BY, authority=authority)
    engineers = people.ensure("group", "engineers")
    members.add(place, engineers, by=BY, authority=authority)
    role = roles.create(place, "try_out", by=BY, authority=authority, owner=marek)
    codes = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE")
    roles.add_privileges(role, catalog, [Privilege(code) for code in codes], by=BY, authority=authority)
    roles.assign(role, engineers, by=BY, authority=authority)


def _herd() -> None:
    authority = of_operator(BY)
    herd = realms.create("herd", HERD, owner=people.ensure("user", "marek"), by=BY, authority=authority)
    made = objects.register(
        herd, [NewObject("namespace", code) for code in NAMESPACES], by=BY, authority=authority
    )
    for node in made:
        for name, permissions in NAMESPACES[node.name].items():
            entries.replace(node, people.ensure("user", name), permissions, by=BY, authority=authority)


def _cdap() -> None:
    settings = {"policy": "4.3", "authentication": "on", "master_user": "cdap"}
    owner = people.ensure("user", "marek")
    root = realms.create("cdap", CDAP, owner=owner, by=BY, authority=of_operator(BY), settings=settings)
    for text, name, actions in PATTERNS:
        patterns.grant(root, parse(text), people.ensure("user", name), actions, by=BY)
