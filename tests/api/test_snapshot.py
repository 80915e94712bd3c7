"""What a program may take along: the same decisions as asking, and no name that is not for it to know."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from accounts import people
from catalog.nodes import Node
from lakewarden.objects import ObjectRef
from lakewarden.snapshot import Snapshot, sealed
from policies.services import members, owners, roles
from tests.api.world import BY, Caller, Shop, user

SNAPSHOT = "/authz/v1/snapshot"


def take(caller: Caller, **asked: str) -> Any:
    response = caller.get(f"{SNAPSHOT}?{urlencode({'realm': 'demo', **asked})}")
    assert response.status_code == 200, response.content
    return response


def snapshot(caller: Caller, **asked: str) -> Snapshot:
    return Snapshot.read(take(caller, **asked).content)


def ref(full_name: str, type_: str = "table") -> ObjectRef:
    return ObjectRef.parse(type_, f"demo/{full_name}")


def test_it_says_whose_and_of_when_it_is(shop: Shop, ana: Caller) -> None:
    wire = take(ana).json()
    assert (wire["schema"], wire["realm"], wire["principal"]) == (1, "demo", "user:ana")
    assert wire["revision"] > 0
    assert wire["issued"] < wire["expires"]
    assert wire["next_change_at"] is None
    assert sealed(wire) == wire
    held = Snapshot.read(wire)
    assert held.revision == wire["revision"]
    assert held.decide("use", ref("shop.sales", "schema"))
    assert not held.decide("read", ref("shop.sales.orders"))


ACTIONS = ("read", "write", "use", "drop", "grant", "set_owner", "create_table", "fly", "Table.dropTable")
PEOPLE = ("user:marek", "user:olivia", "user:ana", "user:bob", "user:nobody", "service:etl", "group:staff")


def busy(shop: Shop) -> None:
    """Rights by group, role and ownership, a denial, a role that bears a catalog's name."""
    shop.allow(shop.sales, "SELECT_TABLE")
    shop.allow(shop.tables["items"], "SELECT_TABLE", effect="deny")
    shop.allow(shop.tables["plans"], "SELECT_TABLE", "MODIFY_TABLE")
    shop.allow(shop.tables["odd.name"], "MODIFY_TABLE")
    staff = people.ensure("group", "staff")
    members.add(shop.realm, staff, **BY)
    members.join_group(staff, user("bob"), **BY)
    crew = roles.create(shop.realm, "shop", **BY)  # bears the name of the catalog
    roles.assign(crew, staff, **BY)
    roles.add_privileges(crew, shop.catalog, [roles.Privilege("USE_CATALOG")], **BY)
    roles.add_privileges(crew, shop.secret, [roles.Privilege("USE_SCHEMA")], **BY)
    roles.add_privileges(crew, shop.secret, [roles.Privilege("SELECT_TABLE")], **BY)
    owners.set_owner(crew, user("ana"), **BY)
    owners.set_owner(shop.tables["plans"], staff, **BY)


def objects_of(shop: Shop) -> list[Node]:
    return [shop.realm, shop.catalog, shop.sales, shop.secret, *shop.tables.values(), shop.readers]


@pytest.mark.parametrize("who", PEOPLE)
def test_it_decides_as_the_console_does(shop: Shop, etl: Caller, who: str) -> None:
    busy(shop)
    held = snapshot(etl, **{"for": who}) if who not in ("user:nobody", "service:etl") else None
    for node in objects_of(shop):
        for action in ACTIONS:
            asked = etl.decide(who, action, f"{node.type}:{node.ref.id}")["decision"]
            assert asked is bool(held and held.decide(action, node.ref)), (who, action, str(node.ref))
