"""What a program may take along: the same decisions as asking, and no name that is not for it to know."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people, tokens
from accounts.tokens import Run
from catalog.nodes import Node
from lakewarden.client.snapshot import BadSnapshot, Snapshot, sealed
from lakewarden.law.objects import ObjectRef
from policies.decisions import slices, switches
from policies.models import AccessRecord
from policies.services import members, objects, owners, realms, roles
from policies.services.objects import NewObject
from tests.api.world import BY, EVALUATIONS, Caller, Shop, question, token, user
from tests.factories import describe

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
    assert (wire["schema"], wire["realm"], wire["principal"]) == (3, "demo", "user:ana")
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
    held = snapshot(etl, **{"for": who}) if who != "user:nobody" else None
    pairs = [(node, action) for node in objects_of(shop) for action in ACTIONS]
    questions = [question(who, action, f"{node.type}:{node.ref.id}") for node, action in pairs]
    answers = etl.send(EVALUATIONS, {"evaluations": questions}).json()["evaluations"]
    for (node, action), answer in zip(pairs, answers, strict=True):
        assert answer["decision"] is bool(held and held.decide(action, node.ref)), (action, str(node.ref))


def test_a_role_is_not_taken_for_the_catalog_of_its_name(shop: Shop, ana: Caller) -> None:
    crew = roles.create(shop.realm, "shop", **BY)
    owners.set_owner(crew, user("ana"), **BY)
    held = snapshot(ana)
    assert held.decide("Role.deleteRole", ref("shop", "role"))
    assert not held.decide("drop", ref("shop", "catalog"))


def test_rights_that_begin_and_end_are_decided_by_the_clock(shop: Shop, ana: Caller) -> None:
    now = timezone.now()
    for name, start, end in (("soon", 600, None), ("until", None, 1200)):
        role = roles.create(shop.realm, name, **BY)
        code = "SELECT_TABLE" if name == "soon" else "CREATE_TABLE"
        roles.add_privileges(role, shop.sales, [roles.Privilege(code)], **BY)
        window = {
            "valid_from": now + timedelta(seconds=start) if start else None,
            "valid_until": now + timedelta(seconds=end) if end else None,
        }
        roles.assign(role, user("ana"), **window, **BY)
    held = snapshot(ana)
    assert held.next_change_at == pytest.approx(now.timestamp() + 600, abs=1)
    assert held.decide("create_table", ref("shop.sales", "schema"), now=now.timestamp())
    assert not held.decide("read", ref("shop.sales.orders"), now=now.timestamp())
    with pytest.raises(BadSnapshot, match="too old") as raised:
        held.decide("read", ref("shop.sales.orders"), now=now.timestamp() + 601)
    assert raised.value.code == "expired"


def test_what_one_may_not_know_of_cannot_be_read_off(shop: Shop, ana: Caller) -> None:
    busy(shop)
    place(shop, "plans", "s3://lake/cellar")
    place(shop, "orders", "s3a://lake/sales/orders/")
    text = take(ana).content.decode()
    wire = json.loads(text)
    assert ["table", "demo/shop.sales.orders"] in wire["names"]
    assert "s3://lake/sales/orders" in wire["locations"]
    for hidden in ("secret", "plans", "cellar", "items"):
        assert hidden not in text
    held = snapshot(ana)
    assert not held.decide("read", ref("shop.sales.items"))
    explanation = held.explain("read", ref("shop.sales.items"))
    assert [lack.kind for lack in explanation.missing] == ["object"]
    whole = take(Caller(token("user", "marek"))).content.decode()
    assert "s3://lake/cellar" in whole


def test_a_hidden_denial_counts_under_every_spelling_and_tells_none(shop: Shop, ana: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    [payroll, _] = objects.register(
        shop.sales, [NewObject("table", "PayRoll"), NewObject("table", "open")], **BY
    )
    [closed] = objects.register(shop.catalog, [NewObject("schema", "Closed")], **BY)
    shop.allow(payroll, "SELECT_TABLE", effect="deny")
    shop.allow(closed, "SELECT_TABLE", effect="deny")
    shop.allow(shop.catalog, "USE_SCHEMA", "SELECT_TABLE")
    wire = take(ana).json()
    spelled = [wire["names"][number] for _, number in wire["spellings"]]
    assert spelled and all(isinstance(name, str) for name in spelled)  # digests, no names
    assert "payroll" not in json.dumps(wire).lower()
    held = Snapshot.read(wire)

    def may(full_name: str) -> bool:
        asked = ref(full_name)
        return all(held.decide("read", asked, lineage=way) for way in held.lineages(asked))

    for name in ("sales.PayRoll", "sales.payroll", "SALES.PAYROLL", "Sales.pAYrOLL"):
        assert not may(f"shop.{name}"), name
    for name in ("Closed.any", "closed.any", "CLOSED.ANY"):
        assert not may(f"shop.{name}"), name
    assert may("shop.sales.open")
    assert may("shop.sales.OPEN")


def place(shop: Shop, name: str, *places: str) -> None:
    """Let the data of a table lie there."""
    content = {"properties": {"location": places[0]}}
    describe(shop.tables[name].id, content)


def test_places_lead_to_objects(shop: Shop, ana: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    [drop] = objects.register(shop.sales, [NewObject("fileset", "drop")], **BY)
    shop.allow(drop, "READ_FILESET")
    content = {"storageLocations": {"unknown": "s3://lake/drop", "cold": "hdfs://nn:8020/cold/drop/"}}
    describe(drop.id, content)
    place(shop, "orders", "s3n://lake/sales/orders")
    place(shop, "items", "s3://lake/drop/items")
    shop.allow(shop.tables["items"], "SELECT_TABLE", effect="deny")
    held = snapshot(ana)
    places = {
        "s3a://lake/sales/orders/day=1/part-0.parquet": "demo/shop.sales.orders",
        "s3://lake/sales/orders": "demo/shop.sales.orders",
        "S3://LAKE/sales//orders/": "demo/shop.sales.orders",
        "hdfs://nn:8020/cold/drop/x": "demo/shop.sales.drop",
        "s3://lake/drop/new": "demo/shop.sales.drop",
        "s3://lake/drop/items/part-0": None,  # Ana may read all around, but not this
        "s3://lake/sales/orders2": None,
        "s3://lake/sales": None,
        "s3://lake/sales/orders/../items": None,
        "s3://lake/sales/orders/*": None,
        "gs://lake/sales/orders": None,
        "sales/orders": None,
        "": None,
        "s3:": None,
    }
    places_found = {text: held.at(text) for text in places}
    assert {text: place.id if place else None for text, place in places_found.items()} == places
    assert "items" not in json.dumps(sorted(held.locations))


def test_a_folder_reaches_all_that_lies_in_it_and_all_it_lies_in(shop: Shop, ana: Caller) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    [drop, twin] = objects.register(
        shop.sales, [NewObject("fileset", "drop"), NewObject("fileset", "twin")], **BY
    )
    for fileset, lake in ((drop, "s3://lake/drop"), (twin, "s3://lake/both")):
        shop.allow(fileset, "READ_FILESET")
        content = {"storageLocations": {"unknown": lake}}
        describe(fileset.id, content)
    place(shop, "orders", "s3://lake/drop/deep/orders")
    place(shop, "items", "s3://lake/drop/far/down/items")
    place(shop, "plans", "s3://lake/both")
    for hidden in ("items", "plans"):
        shop.allow(shop.tables[hidden], "SELECT_TABLE", effect="deny")
    text = take(ana).content.decode()
    assert "far" not in text and "down" not in text
    held = snapshot(ana)

    def told(location: str) -> tuple[list[str], list[str], bool]:
        around, within, whole = held.reach(location)
        return [item.path[-1] for item in around], [item.path[-1] for item in within], whole

    assert told("s3://lake/drop/deep/orders/x") == (["orders", "drop"], [], True)
    assert told("s3://lake/drop/deep") == (["drop"], ["orders"], True)
    for folder in ("s3://lake/drop", "s3://lake/drop/far", "s3a://lake/drop//far/down/"):
        assert not held.reach(folder).whole, folder
    assert not held.reach("s3://lake/drop/far/down/items/x").whole
    assert told("s3://lake/drop/far/other") == (["drop"], [], True)
    assert not held.reach("s3://lake/both/x").whole  # one of the two that say so is hidden
    assert held.at("s3://lake/both/x") is None
    assert told("s3://lake/drop/*") == ([], [], False)


def test_a_nested_schema_hands_down_and_one_of_like_name_does_not(shop: Shop, ana: Caller) -> None:
    schemas = [NewObject("schema", name) for name in ("raw", "x:y")]
    [raw, rest] = objects.register(shop.catalog, schemas, **BY)
    [nested] = objects.register(raw, [NewObject("schema", "raw:eu")], scope=shop.catalog, **BY)
    [deep] = objects.register(nested, [NewObject("table", "people")], **BY)
    [other] = objects.register(shop.catalog, [NewObject("schema", "x")], **BY)
    [flat] = objects.register(rest, [NewObject("table", "people")], **BY)
    shop.allow(raw, "USE_SCHEMA", "SELECT_TABLE")
    shop.allow(other, "USE_SCHEMA", "SELECT_TABLE")
    held = snapshot(ana)
    for node in (deep, flat):
        asked = ana.decide("user:ana", "read", f"table:{node.ref.id}")["decision"]
        assert bool(held.decide("read", node.ref)) is asked
    assert held.decide("read", deep.ref)
    assert not held.decide("read", flat.ref)


def test_the_tag_changes_with_what_is_true_and_only_then(shop: Shop, ana: Caller) -> None:
    first = take(ana)
    path = f"{SNAPSHOT}?realm=demo"
    same = ana.get(path, headers={"If-None-Match": first["ETag"]})
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", first["ETag"])
    tags = {first["ETag"]}
    for turn in (
        lambda: shop.allow(shop.sales, "SELECT_TABLE"),
        lambda: place(shop, "orders", "s3://lake/orders"),
        lambda: objects.rename(shop.tables["orders"], "orders2", **BY),
        lambda: shop.take(shop.sales, "SELECT_TABLE"),
    ):
        turn()
        fresh = ana.get(path, headers={"If-None-Match": first["ETag"]})
        assert fresh.status_code == 200
        tags.add(fresh["ETag"])
    assert len(tags) == 5


def test_it_is_packed_for_those_who_can_unpack(shop: Shop, ana: Caller) -> None:
    plain = take(ana)
    packed = ana.get(f"{SNAPSHOT}?realm=demo", headers={"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    assert packed["ETag"] != plain["ETag"]
    assert "Accept-Encoding" in packed["Vary"]


def test_who_may_ask_is_as_for_a_check(shop: Shop, ana: Caller, ada: Caller, etl: Caller) -> None:
    path = f"{SNAPSHOT}?realm=demo&for=user:ana"
    assert Caller().get(path).status_code == 401
    assert Caller(token("user", "ana", "report")).get(path).status_code == 403
    assert Caller(token("user", "olivia")).get(path).status_code == 403
    assert ada.get(path).status_code == 403  # Ada's duty is on one schema, this is all of the realm
    assert not AccessRecord.objects.filter(kind="looked").exists()
    assert etl.get(path).status_code == 200
    assert AccessRecord.objects.get(kind="looked").operation == "access of others"


def test_a_person_with_the_duty_for_all_of_it_is_recorded(shop: Shop) -> None:
    from policies.services import duties

    people.make_account("ada")
    duties.give(shop.realm, "view_history", user("ada"), **BY)
    assert Caller(token("user", "ada")).get(f"{SNAPSHOT}?realm=demo&for=user:ana").status_code == 200
    assert AccessRecord.objects.get(kind="looked").operation.startswith("snapshot of ")


def test_a_run_takes_its_own_in_its_realm_alone(shop: Shop) -> None:
    other = realms.create("gravitino", "other", owner=user("ana"), **BY)
    run = Run("r1", shop.realm.realm_id, user("olivia"))
    until = timezone.now() + timedelta(hours=1)
    caller = Caller(tokens.create_for_run(user("ana"), run, expires=until))
    assert caller.get(f"{SNAPSHOT}?realm=demo").json()["principal"] == "user:ana"
    for asked in (f"realm={other.realm}", "realm=demo&for=user:olivia"):
        assert caller.get(f"{SNAPSHOT}?{asked}").status_code == 403


def test_a_realm_one_has_no_part_in_is_none(shop: Shop, etl: Caller) -> None:
    realms.create("gravitino", "closed", owner=user("olivia"), **BY)
    contents = {
        Caller(token("user", "ana")).get(f"{SNAPSHOT}?realm={name}").content
        for name in ("closed", "absent", "\0", "x" * 5000)
    }
    assert len(contents) == 1
    stranger = Caller(token("service", "stranger"))
    others = [stranger.get(f"{SNAPSHOT}?realm={name}&for=user:ana") for name in ("demo", "absent")]
    assert [other.status_code for other in others] == [403, 403]
    assert others[0].content == others[1].content


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("", 400),
        ("realm=", 400),
        ("realm=demo&for=:", 400),
        ("realm=demo&for=table:x", 400),
        ("realm=demo&for=user:", 400),
        ("realm=demo&for=user:%00", 200),
        ("realm=demo&for=user:" + "x" * 5000, 200),
        ("realm=demo&for=pattern:*x", 403),
        ("realm=%ff%fe", 403),
    ],
)
def test_garbage_is_told(shop: Shop, etl: Caller, asked: str, status: int) -> None:
    response = etl.get(f"{SNAPSHOT}?{asked}")
    kind = "application/json" if status == 200 else "application/problem+json"
    assert (response.status_code, response["Content-Type"]) == (status, kind)


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_is_read_and_nothing_else(shop: Shop, ana: Caller, method: str) -> None:
    assert getattr(ana, method)(f"{SNAPSHOT}?realm=demo").status_code == 405


def test_the_number_of_queries_does_not_grow(shop: Shop, ana: Caller) -> None:
    def count() -> int:
        slices.forget_all()
        switches.off.forget()
        with CaptureQueriesContext(connection) as seen:
            take(ana)
        return len(seen)

    take(ana)  # notes when the token was last used
    few = count()
    for number in range(30):
        [table] = objects.register(shop.sales, [NewObject("table", f"t{number}")], **BY)
        shop.allow(table, "SELECT_TABLE")
        describe(table.id, {"properties": {"location": f"s3://lake/t{number}"}})
    assert count() == few
