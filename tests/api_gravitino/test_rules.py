"""What the handlers promise beyond the law: order, what is disabled, lock-outs, modes, secrets, records."""

from __future__ import annotations

import threading
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections
from django.test.utils import CaptureQueriesContext

from accounts import people
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import find, realm_named, root
from lakewarden.law.objects import ObjectRef
from policies.authority import OPERATOR, Actor, of_operator
from policies.models import AccessRecord, Change, Event
from policies.record.repeats import repeats
from policies.services import grants, realms
from policies.services.grants import GrantRequest
from policies.sync.connections import registration
from tests.api_gravitino.world import ADMIN, FORBIDDEN, OK, Lake, Site, beside

ILLEGAL = (400, 1001, "IllegalArgumentException")
BY: Any = {"by": OPERATOR, "authority": of_operator(OPERATOR)}


def illegal(what: str) -> tuple[int, int, str]:
    return 400, 1001, f"Illegal{what}Exception"


def gone(what: str) -> tuple[int, int, str]:
    return 404, 1003, f"NoSuch{what}Exception"


@pytest.fixture
def shop(lake: Lake) -> Lake:
    """Catalog rel with schema s and table t; ana is a member without rights."""
    lake.make("/catalogs", {"name": "rel", "type": "relational", "provider": "hive"})
    lake.make("/catalogs/rel/schemas", {"name": "s"})
    lake.make("/catalogs/rel/schemas/s/tables", {"name": "t", "columns": [{"name": "a", "type": "integer"}]})
    lake.join("ana", "bob")
    return lake


# order


def test_absent_and_forbidden_look_the_same(shop: Lake) -> None:
    for kind, there, absent in (
        ("catalogs", "rel", "none"),
        ("roles", "clerk", "none"),
        ("tags", "secret", "none"),
    ):
        if kind != "catalogs":
            body: dict[str, Any] = {"name": there}
            shop.make(f"/{kind}", body)
        single = shop.send("GET", f"/{kind}/{there}", who="ana")
        other = shop.send("GET", f"/{kind}/{absent}", who="ana")
        assert single.told == other.told == FORBIDDEN
        assert single.body["message"].replace(there, absent) == other.body["message"]
        assert shop.send("GET", f"/{kind}/{absent}").status == 404


def test_an_absent_metalake_is_one_that_does_not_admit(shop: Lake) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("PUT", ""), ("GET", "/catalogs"), ("POST", "/users")):
        absent = shop.site.send(method, f"/api/metalakes/nowhere{path}", {}, who="ana")
        foreign = shop.send(method, path, {}, who="stranger")
        assert absent.told == foreign.told == FORBIDDEN
        message = absent.body["message"].replace("nowhere", shop.name).replace("ana", "stranger")
        assert message == foreign.body["message"]


def test_rights_come_before_what_is_disabled_absent_or_wrong(shop: Lake) -> None:
    table = "/catalogs/rel/schemas/s/tables"
    assert shop.send("POST", table, b"{", who="ana").told == FORBIDDEN
    assert shop.send("POST", table, b"{").told == ILLEGAL
    assert shop.send("POST", "/catalogs/rel/schemas/none/tables", b"{").told == gone("Schema")
    assert shop.send("PATCH", "/catalogs/rel", {"inUse": False}).told == OK
    assert shop.send("POST", table, b"{", who="ana").told == FORBIDDEN
    assert shop.send("GET", f"{table}/none").told == (409, 1009, "CatalogNotInUseException")
    assert shop.send("PUT", "/catalogs/rel", b"{").told == (409, 1009, "CatalogNotInUseException")
    assert shop.send("GET", "/catalogs/rel").body["catalog"]["properties"]["in-use"] == "false"
    assert shop.send("GET", "/owners/table/rel.s.t").told == OK
    assert shop.send("DELETE", "/catalogs/rel").told == (409, 1005, "NonEmptyCatalogException")
    assert shop.send("PATCH", "", {"inUse": False}).told == OK
    for path in ("/catalogs", "/users", "/roles", "/tags"):
        assert shop.send("GET", path).told == (409, 1009, "MetalakeNotInUseException")
    assert shop.send("GET", "").told == OK
    assert shop.send("DELETE", "").told == (409, 1005, "NonEmptyMetalakeException")
    assert shop.send("PATCH", "", {"inUse": True}).told == OK


# access control


def test_what_a_role_may_hold(shop: Lake) -> None:
    def made(**of: Any) -> Any:
        item = {"type": "table", "fullName": "rel.s.t", "privileges": [_one("SELECT_TABLE")], **of}
        return shop.send("POST", "/roles", {"name": "r", "securableObjects": [item]}).told

    assert made(type="nothing") == ILLEGAL
    assert made(fullName="rel.s.none") == illegal("MetadataObject")
    assert made(type="metalake", fullName="other") == illegal("MetadataObject")
    assert made(privileges=[_one("FLY")]) == illegal("Privilege")
    assert made(privileges=[_one("USE_CATALOG")]) == illegal("Privilege")
    assert made(privileges=[_one("SELECT_TABLE"), _one("SELECT_TABLE", "deny")]) == illegal("Privilege")
    assert made(type="catalog", fullName="rel", privileges=[_one("READ_FILESET")]) == illegal("Privilege")
    assert made(privileges=[_one("SELECT_TABLE", "perhaps")]) == ILLEGAL
    item = {"type": "table", "fullName": "rel.s.t", "privileges": [_one("SELECT_TABLE")]}
    assert shop.send("POST", "/roles", {"name": "r", "securableObjects": [item, item]}).told == ILLEGAL
    assert shop.send("GET", "/roles").body["names"] == []
    assert made() == OK
    assert made() == (409, 1004, "RoleAlreadyExistsException")


def _one(name: str, condition: str = "allow") -> dict[str, str]:
    return {"name": name, "condition": condition}


def test_privileges_of_a_role(shop: Lake) -> None:
    shop.role("r", "allow SELECT_TABLE table rel.s.t")
    on = "/permissions/roles/r/table/rel.s.t"
    deny = {"privileges": [_one("select_table", "deny")]}
    assert shop.send("PUT", f"{on}/grant", deny).told == illegal("Privilege")
    assert shop.send("PUT", f"{on}/grant", {"privileges": []}).told == ILLEGAL
    assert shop.send("PUT", f"{on}/revoke", deny).told == OK
    assert shop.send("PUT", f"{on}/revoke", {"privileges": [_one("select_table")]}).told == OK
    assert shop.send("PUT", f"{on}/grant", deny).told == OK
    assert shop.send("PUT", "/permissions/roles/none/table/rel.s.t/grant", deny).told == gone("Role")
    assert shop.send("PUT", "/permissions/roles/r/table/rel.s.x/grant", deny).told == gone("MetadataObject")
    assert shop.send("PUT", "/permissions/roles/r/nothing/rel.s.t/grant", deny).told == ILLEGAL
    wanted = [{"type": "schema", "fullName": "rel.s", "privileges": [_one("USE_SCHEMA")]}]
    securables = shop.send("PUT", "/permissions/roles/r", {"overrides": wanted}).body["role"][
        "securableObjects"
    ]
    assert [(item["fullName"], item["privileges"]) for item in securables] == [
        ("rel.s", [_one("use_schema")])
    ]
    absent = [{**wanted[0], "fullName": "rel.x"}]
    assert shop.send("PUT", "/permissions/roles/r", {"overrides": absent}).told == gone("MetadataObject")
    assert shop.send("PUT", "/permissions/roles/r", {"overrides": []}).body["role"]["securableObjects"] == []


def test_of_an_allow_and_a_denial_at_once_one_wins(shop: Lake) -> None:
    shop.role("r")
    on = "/permissions/roles/r/table/rel.s.t/grant"
    for _ in range(5):
        responses: list[Any] = []

        def send(condition: str, told: list[Any] = responses) -> None:
            site = Site(shop.site.url)
            body = {"privileges": [_one("SELECT_TABLE", condition)]}
            told.append(site.send("PUT", f"{shop.path}{on}", body).told)
            site.close()

        threads = [threading.Thread(target=send, args=(condition,)) for condition in ("allow", "deny")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(responses, key=str) == [OK, illegal("Privilege")]
        assert shop.send("PUT", "/permissions/roles/r", {"overrides": []}).told == OK


@pytest.mark.parametrize("verb", ["grant", "revoke"])
@pytest.mark.parametrize(
    ("on", "privilege"),
    [
        ("catalog/rel", "READ_FILESET"),
        ("catalog/rel", "CREATE_TOPIC"),
        ("catalog/rel", "USE_MODEL"),
        ("schema/rel.s", "WRITE_FILESET"),
        ("schema/rel.s", "CREATE_MODEL"),
        ("schema/rel.s", "CREATE_CATALOG"),
        ("table/rel.s.t", "USE_CATALOG"),
        ("table/rel.s.t", "READ_FILESET"),
        ("table/rel.s.t", "CREATE_ROLE"),
        ("table/rel.s.t", "FLY"),
    ],
)
def test_what_an_object_cannot_hold_is_neither_granted_nor_revoked(
    shop: Lake, verb: str, on: str, privilege: str
) -> None:
    shop.role("r", "allow SELECT_TABLE table rel.s.t")
    body = {"privileges": [_one("SELECT_TABLE"), _one(privilege)]}
    assert shop.send("PUT", f"/permissions/roles/r/{on}/{verb}", body).told == illegal("Privilege")
    given = shop.send("GET", "/roles/r").body["role"]["securableObjects"]
    assert [item["privileges"] for item in given] == [[_one("select_table")]]


@pytest.mark.parametrize("verb", ["grant", "revoke"])
@pytest.mark.parametrize(
    "on", ["column/rel.s.t.a", "role/r", "job/j1", "COLUMN/none", "user/ana", "nothing/x"]
)
@pytest.mark.parametrize("who", [ADMIN, "ana", "stranger"])
def test_a_type_that_holds_no_privileges_is_illegal_whoever_asks(
    shop: Lake, verb: str, on: str, who: str
) -> None:
    shop.role("r")
    body = {"privileges": [_one("SELECT_TABLE")]}
    for role in ("r", "none"):
        assert shop.send("PUT", f"/permissions/roles/{role}/{on}/{verb}", body, who=who).told == ILLEGAL


@pytest.mark.parametrize(("type", "name"), [("column", "rel.s.t.a"), ("role", "other"), ("job", "j1")])
def test_a_role_is_not_made_of_what_holds_no_privileges(shop: Lake, type: str, name: str) -> None:
    shop.role("other")
    item = {"type": type, "fullName": name, "privileges": [_one("SELECT_TABLE")]}
    assert shop.send("POST", "/roles", {"name": "r", "securableObjects": [item]}).told[:2] == (400, 1001)
    shop.role("r", "allow SELECT_TABLE table rel.s.t")
    assert shop.send("PUT", "/permissions/roles/r", {"overrides": [item]}).told[:2] == (400, 1001)
    assert len(shop.send("GET", "/roles/r").body["role"]["securableObjects"]) == 1


def test_an_older_name_is_echoed_and_counts_as_the_same(lake: Lake) -> None:
    lake.make("/catalogs", {"name": "md", "type": "model", "provider": "model"})
    lake.role("r", "allow CREATE_MODEL catalog md")
    securables = lake.send("GET", "/roles/r").body["role"]["securableObjects"][0]["privileges"]
    assert securables == [_one("create_model")]
    deny = {"privileges": [_one("register_model", "deny")]}
    assert lake.send("PUT", "/permissions/roles/r/catalog/md/grant", deny).told == illegal("Privilege")
    other = {"privileges": [_one("register_model")]}
    assert (
        lake.send("PUT", "/permissions/roles/r/catalog/md/revoke", other).body["role"]["securableObjects"]
        == []
    )


def test_roles_are_given_to_those_there_are(shop: Lake) -> None:
    shop.role("r")
    assert shop.send("PUT", "/permissions/users/ana/grant", {"roleNames": []}).told == ILLEGAL
    assert shop.send("PUT", "/permissions/users/ana/grant", {"roleNames": ["x"]}).told == illegal("Role")
    assert shop.send("PUT", "/permissions/users/none/grant", {"roleNames": ["r"]}).told == gone("User")
    assert shop.send("PUT", "/permissions/groups/none/grant", {"roleNames": ["r"]}).told == gone("Group")
    for _ in range(2):
        assert shop.send("PUT", "/permissions/users/ana/grant", {"roleNames": ["r"]}).told == OK
        assert shop.send("GET", "/users/ana").body["user"]["roles"] == ["r"]


def test_owners(shop: Lake) -> None:
    on = "/owners/table/rel.s.t"
    assert shop.send("PUT", on, {"name": "nobody", "type": "user"}).told == (404, 1003, "NotFoundException")
    assert shop.send("PUT", "/owners/table/rel.s.x", {"name": "ana", "type": "user"}).told == gone(
        "MetadataObject"
    )
    assert shop.send("PUT", on, {"name": "ana", "type": "robot"}).told == ILLEGAL
    assert shop.send("GET", "/owners/nothing/rel.s.t").told == ILLEGAL
    assert shop.send("PUT", on, {"name": "ana", "type": "user"}).told == OK
    assert shop.send("DELETE", "/users/ana").body["removed"] is True
    assert shop.send("GET", on).body == {"code": 0}


def test_the_owner_of_the_metalake_is_not_removed(shop: Lake) -> None:
    reply = shop.send("DELETE", f"/users/{ADMIN}")
    assert reply.told == ILLEGAL and "owner" in reply.body["message"]
    shop.make("/groups", {"name": "board"})
    assert shop.send("PUT", f"/owners/metalake/{shop.name}", {"name": "board", "type": "group"}).told == OK
    assert shop.send("DELETE", "/groups/board").status in (400, 403)


def test_names_of_people(lake: Lake) -> None:
    for name in ("a#b", "a@b.c", "Ann Lee", "é"):
        assert lake.send("POST", "/users", {"name": name}).body["user"]["name"] == name
    assert lake.owner.get_user("a#b").name() == "a#b"
    assert lake.owner.get_user("Ann Lee").name() == "Ann Lee"


def test_personal_roles(shop: Lake) -> None:
    def give() -> None:
        node = find(ObjectRef("table", shop.name, ("rel", "s", "t")))
        assert node is not None
        wish = GrantRequest(node, (people.ensure("user", "ana"),), ("SELECT_TABLE",), way=False)
        grants.add(wish, by=Actor(people.ensure("user", ADMIN), "console"))

    assert shop.send("GET", "/roles").body["names"] == []
    beside(give)
    assert shop.send("GET", "/roles").body["names"] == ["~ana"]
    assert shop.send("GET", "/users/ana").body["user"]["roles"] == ["~ana"]
    given = shop.send("GET", "/roles/~ana").body["role"]["securableObjects"]
    assert [item["fullName"] for item in given] == ["rel.s.t"]
    assert shop.send("DELETE", "/roles/~ana").told == illegal("Role")
    assert shop.send("PUT", "/permissions/users/bob/grant", {"roleNames": ["~ana"]}).told == illegal("Role")
    assert shop.send("PUT", "/owners/role/~ana", {"name": "bob", "type": "user"}).status == 400
    assert shop.send("POST", "/roles", {"name": "~bob"}).status == 400
    more = {"privileges": [_one("modify_table")]}
    on = "/permissions/roles/~ana/table/rel.s.t"
    assert shop.send("PUT", f"{on}/grant", more).told == OK
    both = {"privileges": [_one("modify_table"), _one("select_table")]}
    assert shop.send("PUT", f"{on}/revoke", both).told == OK
    assert shop.send("GET", "/roles").body["names"] == []


def test_many_people_at_once(shop: Lake) -> None:
    bulk = f"/api/bulk/metalakes/{shop.name}/users"
    reply = shop.site.send(
        "POST", f"{bulk}/add", {"users": [{"name": "cy"}, {"name": "ana"}, {"name": "di"}]}
    )
    assert [item["name"] for item in reply.body["users"]] == ["cy", "di"]
    assert [(item["index"], item["type"]) for item in reply.body["errors"]] == [
        (1, "UserAlreadyExistsException")
    ]
    reply = shop.site.send("POST", f"{bulk}/remove", {"names": ["cy", "none", ADMIN]})
    assert reply.body["names"] == ["cy"]
    assert [item["name"] for item in reply.body["errors"]] == [ADMIN]
    assert shop.site.send("POST", f"{bulk}/add", {"users": [{"name": "x"}]}, who="ana").told == FORBIDDEN


def test_acting_with_some_roles_only(shop: Lake) -> None:
    shop.role("use", "allow USE_CATALOG catalog rel", to=("ana",))
    shop.role("other", to=("ana",))

    def told(wish: str) -> Any:
        return shop.send("GET", "/catalogs/rel", who="ana", X_Gravitino_Active_Roles=wish).told

    assert told("ALL") == told("use") == told("use, other") == OK
    assert told("NONE") == told("other") == told("theirs") == FORBIDDEN
    assert told("use,,") == told("ALL,use") == told("") == ILLEGAL
    assert shop.send("GET", "/catalogs/rel", X_Gravitino_Active_Roles="NONE").told == OK


# modes


def set_mode(lake: Lake, mode: str) -> None:
    def work() -> None:
        realm = realm_named(lake.name)
        assert realm is not None
        realms.set_mode(realm, mode, **BY)

    beside(work)


@pytest.mark.seed("S4-148")
@pytest.mark.parametrize("way", ["the interface", "the command"])
def test_authorization_is_on_unless_it_is_said_otherwise(site: Site, way: str) -> None:
    """The documented default of the property is false; here it is the other way round, and documented so."""
    name = f"default{len(way)}"
    if way == "the interface":
        assert site.send("POST", "/api/metalakes", {"name": name}).told == OK
    else:
        beside(lambda: call_command("createrealm", "gravitino", name, "--owner", ADMIN, stdout=StringIO()))
    assert site.send("GET", f"/api/metalakes/{name}", who="ana").told == FORBIDDEN
    assert site.send("GET", f"/api/metalakes/{name}/users").told == OK
    documented = (Path(__file__).parents[2] / "docs/gravitino.md").read_text()
    assert "`gravitino.authorization.enable`" in documented


@pytest.mark.seed("S4-011", "S4-012", "S4-148")
def test_authorization_off_and_pass_through(shop: Lake) -> None:
    table = "/catalogs/rel/schemas/s/tables/t"
    assert shop.send("GET", table, who="ana").told == FORBIDDEN
    set_mode(shop, "off")
    for method, path in (
        ("GET", "/users"),
        ("POST", "/groups"),
        ("GET", "/roles"),
        ("GET", "/objects/table/rel.s.t/roles"),
        ("GET", "/owners/table/rel.s.t"),
        ("PUT", "/permissions/users/ana/grant"),
    ):
        reply = shop.send(method, path, {})
        assert reply.told == (405, 1006, "UnsupportedOperationException"), path
        assert "gravitino.authorization.enable" in reply.body["message"]
    assert shop.send("GET", table, who="ana").told == OK
    assert shop.send("GET", table, who="stranger").told == FORBIDDEN
    set_mode(shop, "pass-through")
    assert shop.send("GET", "/users", who="ana").told == OK
    assert shop.send("POST", "/tags", {"name": "t"}, who="ana").told == OK
    assert shop.send("GET", table, who="stranger").told == FORBIDDEN
    set_mode(shop, "on")
    assert shop.send("GET", table, who="ana").told == FORBIDDEN


# catalogs


def test_a_connected_catalog_belongs_to_its_source(shop: Lake) -> None:
    def connect() -> None:
        realm = realm_named(shop.name)
        assert realm is not None
        registration.connect(
            root(realm), "rel", "postgresql", "postgresql://u:p@127.0.0.1:1/x", policy="report", **BY
        )
        Detail.objects.filter(securable__placements__name="t").update(
            columns=[{"name": "a", "type": "character varying(9)"}, {"name": "b", "type": "jsonb"}]
        )

    beside(connect)
    unsupported = (405, 1006, "UnsupportedOperationException")
    schema, table = "/catalogs/rel/schemas", "/catalogs/rel/schemas/s/tables"
    for method, path, body in (
        ("POST", schema, {"name": "new"}),
        ("PUT", f"{schema}/s", {"updates": []}),
        ("DELETE", f"{schema}/s?cascade=true", None),
        ("POST", table, {"name": "new", "columns": []}),
        ("PUT", f"{table}/t", {"updates": []}),
        ("DELETE", f"{table}/t", None),
        ("DELETE", "/catalogs/rel?force=true", None),
    ):
        assert shop.send(method, path, body).told == unsupported, path
    columns = shop.owner.load_catalog("rel").as_table_catalog()
    from tests.api_gravitino.world import ident

    types = [
        str(column.data_type().simple_string()) for column in columns.load_table(ident("s", "t")).columns()
    ]
    assert types == ["varchar(9)", "external(jsonb)"]
    assert shop.send("PUT", "/catalogs/rel", {"updates": []}).told == OK
    assert shop.send("DELETE", "?force=true").status == 400


def test_secrets_are_kept_and_never_shown(lake: Lake) -> None:
    properties = {"jdbc-password": "hunter2", "s3-access-key": "k", "jdbc-url": "jdbc:x", "key1": "plain"}
    body = {"name": "pg", "type": "relational", "provider": "jdbc-postgresql", "properties": properties}
    shown = lake.make("/catalogs", body)["catalog"]["properties"]
    assert shown == {
        "jdbc-password": "******",
        "s3-access-key": "******",
        "jdbc-url": "jdbc:x",
        "key1": "plain",
        "in-use": "true",
    }
    node = beside(lambda: find(ObjectRef("catalog", lake.name, ("pg",))))
    assert isinstance(node, Node)

    def kept() -> Any:
        return beside(lambda: Detail.objects.get(securable=node.id).content["properties"])

    before = kept()
    assert "hunter2" not in str(before)

    def put(value: str) -> None:
        update = {"@type": "setProperty", "property": "jdbc-password", "value": value}
        assert lake.send("PUT", "/catalogs/pg", {"updates": [update]}).told == OK

    put("******")
    assert kept() == before
    put("other")
    assert kept()["jdbc-password"] != before["jdbc-password"]
    assert beside(lambda: Event.objects.filter(data__icontains="hunter2").exists()) is False


def test_connections_reach_only_allowed_hosts(lake: Lake, site: Any) -> None:
    def told(address: str) -> Any:
        body = {
            "name": "c",
            "type": "relational",
            "provider": "hive",
            "properties": {"metastore.uris": address},
        }
        return lake.send("POST", "/catalogs/testConnection", body).told

    failed = (502, 1007, "ConnectionFailedException")
    assert told(site.url) == OK
    assert told("thrift://127.0.0.1:1") == failed
    assert told("thrift://10.0.0.1:9083") == failed
    assert told("jdbc:postgresql://metadata.example/x") == failed
    assert lake.send("GET", "/catalogs").body["identifiers"] == []


@pytest.mark.parametrize(
    ("type_", "provider", "status"),
    [
        ("relational", "lakehouse-iceberg", 200),
        ("messaging", "kafka", 200),
        ("fileset", None, 200),
        ("model", None, 200),
        ("relational", "oracle", 400),
        ("fileset", "hive", 400),
        ("relational", None, 400),
        ("other", "hive", 400),
    ],
)
def test_kinds_of_catalogs(lake: Lake, type_: str, provider: str | None, status: int) -> None:
    assert lake.send("POST", "/catalogs", {"name": "c", "type": type_, "provider": provider}).status == status


def test_objects_stand_in_catalogs_of_their_kind(shop: Lake) -> None:
    for many, body in (
        ("topics", {"name": "x"}),
        ("filesets", {"name": "x", "storageLocations": {"unknown": "file:/x"}}),
        ("models", {"name": "x"}),
    ):
        assert shop.send("POST", f"/catalogs/rel/schemas/s/{many}", body).status == 405


def test_nested_schemas(shop: Lake) -> None:
    schemas = "/catalogs/rel/schemas"
    assert shop.make(schemas, {"name": "a%3Ab%3Ac"})["schema"]["name"] == "a:b:c"
    assert _names(shop.send("GET", schemas)) == ["a", "s"]
    assert _names(shop.send("GET", f"{schemas}?parentSchema=a")) == ["a:b"]
    assert _names(shop.send("GET", f"{schemas}?parentSchema=a%3Ab")) == ["a:b:c"]
    assert shop.send("POST", schemas, {"name": "a:b"}).told == (409, 1004, "SchemaAlreadyExistsException")
    shop.make(f"{schemas}/a%3Ab/tables", {"name": "t", "columns": []})
    shop.role("r", "allow USE_CATALOG catalog rel", "allow USE_SCHEMA schema rel.a", to=("ana",))
    assert shop.send("GET", f"{schemas}/a:b", who="ana").told == OK
    assert shop.send("GET", f"{schemas}/a:none", who="ana").told == gone("Schema")
    assert shop.send("GET", f"{schemas}/s", who="ana").told == FORBIDDEN
    for parent, expected in (("a", OK), ("a:none", gone("Schema")), ("s", FORBIDDEN), ("none", FORBIDDEN)):
        assert shop.send("GET", f"{schemas}?parentSchema={parent}", who="ana").told == expected
    assert shop.send("PUT", "/owners/schema/rel.a", {"name": "ana", "type": "user"}).told == OK
    assert shop.send("POST", schemas, {"name": "a:d"}, who="ana").told == OK
    assert shop.send("POST", schemas, {"name": "d"}, who="ana").told == FORBIDDEN


def _names(reply: Any) -> list[str]:
    return [item["name"] for item in reply.body["identifiers"]]


# what the Python client lacks


def test_topics(lake: Lake) -> None:
    lake.make("/catalogs", {"name": "k", "type": "messaging", "provider": "kafka"})
    topics = "/catalogs/k/schemas/default/topics"
    assert lake.make(topics, {"name": "t", "comment": "c"})["topic"]["comment"] == "c"
    updates = [
        {"@type": "updateComment", "newComment": "d"},
        {"@type": "setProperty", "property": "a", "value": "b"},
    ]
    topic = lake.send("PUT", f"{topics}/t", {"updates": updates}).body["topic"]
    assert (topic["comment"], topic["properties"]) == ("d", {"a": "b"})
    assert _names(lake.send("GET", topics)) == ["t"]
    assert lake.send("DELETE", f"{topics}/t").body["dropped"] is True


def test_policies(shop: Lake) -> None:
    content = {"customRules": {}, "supportedObjectTypes": ["table"], "properties": {}}
    body = {"name": "p", "comment": "c", "policyType": "custom", "enabled": True, "content": content}
    assert shop.make("/policies", body)["policy"]["content"] == content
    assert shop.send("POST", "/policies", body).told == (409, 1004, "PolicyAlreadyExistsException")
    assert shop.send("PATCH", "/policies/p", {"enable": False}).told == OK
    assert shop.send("GET", "/policies/p").body["policy"]["enabled"] is False
    new = {**content, "customRules": {"days": 3}}
    updates = [{"@type": "updateContent", "policyType": "custom", "newContent": new}]
    assert shop.send("PUT", "/policies/p", {"updates": updates}).body["policy"]["content"] == new
    on = "/objects/table/rel.s.t/policies"
    put = {"policiesToAdd": ["p"], "policiesToRemove": []}
    assert shop.send("POST", on, put).body["names"] == ["p"]
    assert shop.send("POST", on, put).told == (409, 1004, "PolicyAlreadyAssociatedException")
    assert shop.send("GET", f"{on}/p").body["policy"]["inherited"] is False
    objects = shop.send("GET", "/policies/p/objects").body["metadataObjects"]
    assert objects == [{"fullName": "rel.s.t", "type": "table"}]
    assert shop.send("GET", "/policies?details=true").body["policies"][0]["name"] == "p"
    assert shop.send("POST", on, {"policiesToAdd": ["x"]}).told == gone("Policy")
    assert shop.send("DELETE", "/policies/p").body["dropped"] is True
    assert shop.send("GET", on).body["names"] == []


def test_tags_on_columns_and_from_above(shop: Lake) -> None:
    for name in ("pii", "gold"):
        shop.make("/tags", {"name": name})
    column, put = "/objects/column/rel.s.t.a/tags", {"tagsToAdd": ["pii"]}
    assert shop.send("POST", column, put).body["names"] == ["pii"]
    assert shop.send("POST", column, put).told == (409, 1004, "TagAlreadyAssociatedException")
    assert shop.send("POST", "/objects/column/rel.s.t.none/tags", put).told == gone("MetadataObject")
    assert shop.send("POST", "/tags/catalog/rel", {"tagsToAdd": ["gold"]}).told == OK
    tags = shop.send("GET", f"{column}?details=true").body["tags"]
    assert {item["name"]: item["inherited"] for item in tags} == {"pii": False, "gold": True}
    assert shop.send("GET", "/objects/table/rel.s.t/tags").body["names"] == ["gold"]
    objects = shop.send("GET", "/tags/pii/objects").body["metadataObjects"]
    assert objects == [{"fullName": "rel.s.t.a", "type": "column"}]
    # each tag is asked about by itself, and so is the object
    shop.role("r", "allow APPLY_TAG tag pii", "allow USE_CATALOG catalog rel", to=("ana",))
    both = {"tagsToAdd": ["pii"], "tagsToRemove": ["gold"]}
    assert shop.send("POST", "/objects/catalog/rel/tags", both, who="ana").told == FORBIDDEN
    assert shop.send("POST", "/objects/catalog/rel/tags", put, who="ana").told == OK
    assert shop.send("POST", "/objects/schema/rel.s/tags", put, who="ana").told == FORBIDDEN
    assert shop.send("GET", "/objects/catalog/rel/tags", who="ana").body["names"] == ["pii"]


def test_partition_statistics(shop: Lake) -> None:
    on = "/objects/table/rel.s.t/statistics/partitions"
    single = {"partitionName": "p", "statistics": {"custom-rows": 3}}
    assert shop.send("PUT", on, {"updates": [single]}).told == OK
    statistics = shop.send("GET", f"{on}?from=a&to=z").body["partitionStatistics"]
    assert [(item["partitionName"], item["statistics"][0]["value"]) for item in statistics] == [("p", 3)]
    assert shop.send("GET", f"{on}?from=q").body["partitionStatistics"] == []
    gone_ = {"partitionName": "p", "statisticNames": ["custom-rows"]}
    assert shop.send("POST", on, {"drops": [gone_]}).body["dropped"] is True


def test_running_asks_for_the_template_too(shop: Lake) -> None:
    template = {"jobType": "shell", "name": "jt", "executable": "/bin/echo"}
    assert shop.send("POST", "/jobs/templates", {"jobTemplate": template}).told == OK
    run = {"jobTemplateName": "jt", "jobConf": {}}
    shop.role("r", f"allow RUN_JOB metalake {shop.name}", to=("ana",))
    assert shop.send("POST", "/jobs/runs", run, who="ana").told == FORBIDDEN
    shop.role("r2", "allow USE_JOB_TEMPLATE job_template jt", to=("ana",))
    assert shop.send("POST", "/jobs/runs", run, who="ana").status == 405
    assert shop.send("GET", "/jobs/runs/job-1", who="ana").told == FORBIDDEN
    assert shop.send("GET", "/jobs/runs/job-1").told == gone("Job")


# the record


def test_a_write_is_one_change_that_names_its_operation(shop: Lake) -> None:
    before = beside(lambda: Change.objects.count())
    shop.role("r", "allow USE_CATALOG catalog rel", "deny SELECT_TABLE table rel.s.t")
    assert beside(lambda: Change.objects.count()) == before + 1

    def last() -> Any:
        change = Change.objects.latest("revision")
        return change.via, {event.data["by"] for event in change.events.all()}

    assert beside(last) == ("gravitino", {"Role.createRole"})
    assert shop.send("PUT", "/catalogs/rel", {"updates": []}).told == OK
    assert beside(lambda: Change.objects.count()) == before + 1
    updates = [{"@type": "updateComment", "newComment": "x"}, {"@type": "rename", "newName": "rel2"}]
    assert shop.send("PUT", "/catalogs/rel", {"updates": updates}).told == OK
    assert beside(last) == ("gravitino", {"Catalog.alterCatalog"})
    assert (
        shop.send(
            "PUT", "/catalogs/rel2", {"updates": [*updates, {"@type": "rename", "newName": "%"}]}
        ).status
        == 400
    )
    assert shop.send("GET", "/catalogs/rel2").told == OK


def test_each_refusal_is_one_record(shop: Lake) -> None:
    for _ in range(3):
        shop.send("GET", "/catalogs/rel/schemas/s/tables/t", who="ana")
    shop.send("GET", "/catalogs/none", who="ana")

    def records() -> Any:
        repeats.write()
        ana = people.ensure("user", "ana")
        rows = AccessRecord.objects.filter(actor=ana.pseudonym, object_name__startswith=f"{shop.name}/")
        return [(row.operation, row.object_name, row.repeat.count) for row in rows.order_by("pk")]

    assert beside(records) == [
        ("Table.loadTable", f"{shop.name}/rel.s.t", 3),
        ("Catalog.loadCatalog", f"{shop.name}/none", 1),
    ]


def test_a_list_costs_the_same_however_long_it_is(client: Any, db: None, settings: Any) -> None:
    """In this thread, so that the queries can be counted."""
    settings.LAKEWARDEN_SERVICE_ADMINS = {ADMIN}
    settings.LAKEWARDEN_AUTHENTICATORS = {"simple", "token"}
    from tests.api_gravitino.world import basic

    headers = {"Authorization": basic(ADMIN)}

    def post(path: str, body: dict[str, Any]) -> None:
        assert client.post(path, body, content_type="application/json", headers=headers).status_code == 200

    post("/api/metalakes", {"name": "big"})

    def cost(path: str) -> int:
        with CaptureQueriesContext(connections["default"]) as seen:
            assert client.get(path, headers=headers).status_code == 200
        return len(seen)

    lists = [
        f"/api/metalakes/big/{many}{how}"
        for many in ("catalogs", "users", "tags")
        for how in ("", "?details=true")
    ]
    costs = []
    for round_ in range(2):
        for number in range(1 + 4 * round_):
            name = f"x{round_}{number}"
            post("/api/metalakes/big/catalogs", {"name": name, "type": "relational", "provider": "hive"})
            post("/api/metalakes/big/users", {"name": name})
            post("/api/metalakes/big/tags", {"name": name})
        costs.append([cost(path) for path in lists])
    assert costs[0] == costs[1]
    assert max(costs[0]) <= 12
