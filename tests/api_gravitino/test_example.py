"""The seed's example, from a site admin to tables of two catalogs; and its REST calls as written."""

from __future__ import annotations

from typing import Any

import pytest
from gravitino import Catalog, GravitinoAdminClient, GravitinoClient
from gravitino.api.authorization.owner import Owner
from gravitino.api.authorization.securable_objects import SecurableObjects
from gravitino.api.metadata_object import MetadataObject
from gravitino.api.metadata_objects import MetadataObjects
from gravitino.api.rel.column import Column
from gravitino.api.rel.types.types import Types
from gravitino.auth.basic_auth_provider import BasicAuthProvider
from gravitino.exceptions import base as errors

from accounts import people, tokens
from lakewarden.client import AccessDenied, Client
from policies.authority import OPERATOR, of_operator
from policies.services import members
from tests.api_gravitino.world import ADMIN, FORBIDDEN, OK, As, Lake, Site, beside, ident, may

HIVE = {"metastore.uris": "thrift://localhost:9083"}
MYSQL = {
    "jdbc-url": "jdbc:mysql://localhost:3306",
    "jdbc-driver": "com.mysql.cj.jdbc.Driver",
    "jdbc-user": "root",
    "jdbc-password": "123",
}


@pytest.mark.seed(*(f"S4-{number}" for number in range(212, 225)))
@pytest.mark.seed("S4-010", "S4-014", "S4-017", "S4-020", "S4-023", "S4-055", "S4-151", "S4-153")
def test_the_example_step_by_step(site: Site) -> None:
    admin = GravitinoAdminClient(site.url, auth_data_provider=As(ADMIN))
    admin.create_metalake("test", "comment", {})
    as_admin = GravitinoClient(site.url, "test", auth_data_provider=As(ADMIN))
    assert as_admin.list_user_names() == [ADMIN]
    as_admin.add_user("manager")
    lake = MetadataObjects.of(["test"], MetadataObject.Type.METALAKE)
    as_admin.set_owner(lake, "manager", Owner.Type.USER)
    manager = GravitinoClient(site.url, "test", auth_data_provider=As("manager"))
    with pytest.raises(errors.ForbiddenException):
        GravitinoClient(site.url, "test", auth_data_provider=As("staff"))
    manager.add_user("staff")
    manager.add_user("other")
    other = GravitinoClient(site.url, "test", auth_data_provider=As("other"))
    staff = GravitinoClient(site.url, "test", auth_data_provider=As("staff"))
    with pytest.raises(errors.ForbiddenException):
        staff.create_catalog("hive_catalog", Catalog.Type.RELATIONAL, "hive", "comment", HIVE)
    wanted = SecurableObjects.of_metalake("test", [may("CREATE_CATALOG")])
    manager.create_role("catalog_manager", {"k1": "v1"}, [wanted])
    role = MetadataObjects.of(["catalog_manager"], MetadataObject.Type.ROLE)
    assert manager.get_owner(role).name() == "manager"
    manager.grant_roles_to_user(["catalog_manager"], "staff")
    for catalog, provider, properties, schema, table in (
        ("hive_catalog", "hive", HIVE, "hive_db", "hive_table"),
        ("mysql_catalog", "jdbc-mysql", MYSQL, "mysql_db", "mysql_table"),
    ):
        columns = [Column.of("id", Types.IntegerType.get(), "id")]
        schemas = f"/api/metalakes/test/catalogs/{catalog}/schemas"
        assert site.send("POST", schemas, {"name": schema}, who="staff").told == FORBIDDEN
        made = staff.create_catalog(catalog, Catalog.Type.RELATIONAL, provider, "comment", properties)
        tables = made.as_table_catalog()
        with pytest.raises(errors.NoSuchSchemaException):
            tables.create_table(ident(schema, table), columns)
        assert site.send("POST", schemas, {"name": schema}, who="other").told == FORBIDDEN
        made.as_schemas().create_schema(schema, "", {})
        assert made.as_schemas().list_schemas() == [schema]
        tables.create_table(ident(schema, table), columns)
        assert tables.load_table(ident(schema, table)).name() == table
        with pytest.raises(errors.ForbiddenException):
            other.load_catalog(catalog)
        owner = staff.get_owner(MetadataObjects.of([catalog, schema, table], MetadataObject.Type.TABLE))
        assert owner.name() == "staff"
    assert staff.load_catalog("mysql_catalog").properties()["jdbc-password"] == "******"
    both = ("table:test/hive_catalog.hive_db.hive_table", "table:test/mysql_catalog.mysql_db.mysql_table")
    job_of(site, "staff").require_many([("user:staff", "read", table) for table in both])
    with pytest.raises(AccessDenied) as refused:
        job_of(site, "other").require_many([("user:other", "read", table) for table in both])
    assert [f"table:{each.question.resource.id}" for each in refused.value.refusals] == list(both)


def job_of(site: Site, name: str) -> Client:
    """What a job asks with, of all that it will read, before it reads anything."""
    return Client(site.url, beside(lambda: tokens.create(people.ensure("user", name))), timeout=60)


def test_the_client_comes_with_a_token_too(lake: Lake) -> None:
    token = beside(lambda: tokens.create(people.ensure("user", ADMIN)))
    client = GravitinoClient(lake.site.url, lake.name, auth_data_provider=BasicAuthProvider(ADMIN, token))
    assert client.list_user_names() == [ADMIN]


# REST, as the seed writes it

TABLE = "catalog1.schema1.table1"
ON_SCHEMA, ON_TABLE = (
    f"/permissions/roles/role1/{on}" for on in ("schema/catalog1.schema1", f"table/{TABLE}")
)
TO_USER, TO_GROUP = "/permissions/users/user1", "/permissions/groups/group1"
GIVEN = {"privileges": [{"name": "SELECT_TABLE", "condition": "ALLOW"}]}
ROLE = {
    "name": "role1",
    "properties": {"k1": "v1"},
    "securableObjects": [
        {
            "fullName": "catalog1.schema1.table1",
            "type": "TABLE",
            "privileges": [{"name": "SELECT_TABLE", "condition": "ALLOW"}],
        }
    ],
}

CALLS: list[tuple[str, str, str, Any, dict[str, Any]]] = [
    ("S4-154", "POST", "/users", {"name": "user1"}, {"user.name": "user1"}),
    ("S4-155", "GET", "/users", None, {"names": [ADMIN, "user1"]}),
    ("S4-156", "GET", "/users?details=true", None, {"users.1.name": "user1", "users.1.roles": []}),
    ("S4-157", "GET", "/users/user1", None, {"user.name": "user1"}),
    ("S4-159", "POST", "/groups", {"name": "group1"}, {"group.name": "group1"}),
    ("S4-160", "GET", "/groups", None, {"names": ["group1"]}),
    ("S4-161", "GET", "/groups?details=true", None, {"groups.0.name": "group1"}),
    ("S4-162", "GET", "/groups/group1", None, {"group.roles": []}),
    ("S4-164", "POST", "/roles", ROLE, {"role.name": "role1", "role.properties": {"k1": "v1"}}),
    ("S4-165", "GET", "/roles", None, {"names": ["role1"]}),
    ("S4-168", "GET", "/roles/role1", None, {"role.securableObjects.0.fullName": TABLE}),
    (
        "S4-170",
        "PUT",
        f"{ON_SCHEMA}/grant",
        GIVEN,
        {
            "role.name": "role1",
            "role.securableObjects.1.fullName": "catalog1.schema1",
            "role.securableObjects.1.privileges": [{"name": "select_table", "condition": "allow"}],
        },
    ),
    ("S4-171", "PUT", f"{ON_TABLE}/grant", GIVEN, {"role.name": "role1"}),
    ("S4-166", "GET", "/objects/catalog/catalog1/roles", None, {"names": []}),
    ("S4-167", "GET", "/objects/schema/catalog1.schema1/roles", None, {"names": ["role1"]}),
    (
        "S4-172",
        "PUT",
        f"{ON_SCHEMA}/revoke",
        GIVEN,
        {"role.securableObjects.0.fullName": TABLE},
    ),
    ("S4-173", "PUT", f"{ON_TABLE}/revoke", GIVEN, {"role.securableObjects": []}),
    ("S4-174", "PUT", f"{TO_USER}/grant", {"roleNames": ["role1"]}, {"user.roles": ["role1"]}),
    ("S4-175", "PUT", f"{TO_USER}/revoke", {"roleNames": ["role1"]}, {"user.roles": []}),
    (
        "S4-176",
        "PUT",
        f"{TO_GROUP}/grant",
        {"roleNames": ["role1"]},
        {"group.roles": ["role1"]},
    ),
    ("S4-177", "PUT", f"{TO_GROUP}/revoke", {"roleNames": ["role1"]}, {"group.roles": []}),
    ("S4-179", "PUT", f"/owners/table/{TABLE}", {"name": "user1", "type": "USER"}, {"set": True}),
    ("S4-178", "GET", f"/owners/table/{TABLE}", None, {"owner.name": "user1", "owner.type": "user"}),
    ("S4-169", "DELETE", "/roles/role1", None, {"dropped": True, "deleted": True}),
    ("S4-158", "DELETE", "/users/user1", None, {"removed": True}),
    ("S4-163", "DELETE", "/groups/group1", None, {"removed": True}),
]


def _at(body: Any, path: str) -> Any:
    for part in path.split("."):
        body = body[int(part)] if isinstance(body, list) else body[part]
    return body


@pytest.mark.seed(*(seed for seed, *_ in CALLS), *(f"S4-{number}" for number in range(206, 212)))
@pytest.mark.parametrize("slash", ["", "/"], ids=["", "with a slash at the end"])
def test_the_calls_as_written(lake: Lake, slash: str) -> None:
    lake.make("/catalogs", {"name": "catalog1", "type": "RELATIONAL", "provider": "hive"})
    lake.make("/catalogs/catalog1/schemas", {"name": "schema1"})
    lake.make("/catalogs/catalog1/schemas/schema1/tables", {"name": "table1", "columns": []})
    for seed, method, path, body, expected in CALLS:
        at, _, query = path.partition("?")
        reply = lake.send(
            method, f"{at}{slash}{'?' * bool(query)}{query}", body, Accept="application/vnd.gravitino.v1+json"
        )
        assert reply.told == OK, (seed, reply.body)
        for where, value in expected.items():
            assert _at(reply.body, where) == value, (seed, where)
        if method == "DELETE":
            assert lake.send("GET", path).status == 404, seed
            assert lake.send("DELETE", path).body[next(iter(expected))] is False, seed


# what the seed says of owners, groups and names

OWNABLE = [
    ("S4-027", "metalake", "{lake}"),
    ("S4-028", "catalog", "catalog1"),
    ("S4-029", "schema", "catalog1.schema1"),
    ("S4-030", "table", TABLE),
    ("S4-031", "topic", "msg.default.topic1"),
    ("S4-032", "fileset", "fs.s.fileset1"),
    ("S4-033", "role", "role1"),
    ("S4-034", "model", "md.s.model1"),
]


@pytest.fixture
def kinds(lake: Lake) -> Lake:
    """One object of each kind, by the seed's names."""
    for name, type_, provider in (
        ("catalog1", "relational", "hive"),
        ("msg", "messaging", "kafka"),
        ("fs", "fileset", None),
        ("md", "model", None),
    ):
        lake.make("/catalogs", {"name": name, "type": type_, "provider": provider})
    for catalog, schema in (("catalog1", "schema1"), ("fs", "s"), ("md", "s")):
        lake.make(f"/catalogs/{catalog}/schemas", {"name": schema})
    lake.make("/catalogs/catalog1/schemas/schema1/tables", {"name": "table1", "columns": []})
    lake.make("/catalogs/msg/schemas/default/topics", {"name": "topic1"})
    locations = {"storageLocations": {"unknown": "file:/x"}}
    lake.make("/catalogs/fs/schemas/s/filesets", {"name": "fileset1", **locations})
    lake.make("/catalogs/md/schemas/s/models", {"name": "model1"})
    lake.make("/roles", {"name": "role1"})
    return lake


NAMED = {
    "S4-046": ("catalog", "catalog1", "USE_CATALOG"),
    "S4-047": ("schema", "catalog1.schema1", "USE_SCHEMA"),
    "S4-048": ("table", TABLE, "SELECT_TABLE"),
    "S4-049": ("topic", "msg.default.topic1", "CONSUME_TOPIC"),
    "S4-052": ("fileset", "fs.s.fileset1", "READ_FILESET"),
}


@pytest.mark.parametrize(
    ("type_", "name", "privilege"),
    [pytest.param(*named, marks=pytest.mark.seed(row)) for row, named in NAMED.items()],
)
def test_a_name_has_the_parts_of_its_type(kinds: Lake, type_: str, name: str, privilege: str) -> None:
    allowed = [{"name": privilege, "condition": "ALLOW"}]
    on = [{"type": type_, "fullName": name, "privileges": allowed}]
    role = kinds.make("/roles", {"name": "names", "securableObjects": on})["role"]["securableObjects"]
    assert [(item["type"], item["fullName"]) for item in role] == [(type_, name)]
    for wrong in (f"{name}.more", name.rpartition(".")[0] or ""):
        assert kinds.send("GET", f"/owners/{type_}/{wrong}").status in (400, 404)
        reply = kinds.send(
            "POST", "/roles", {"name": "no", "securableObjects": [{**on[0], "fullName": wrong}]}
        )
        assert reply.status == 400, (wrong, reply.body)


@pytest.mark.seed(*(seed for seed, *_ in OWNABLE), "S4-046", "S4-047", "S4-048", "S4-049", "S4-052")
def test_what_can_have_an_owner(kinds: Lake) -> None:
    kinds.join("user1")
    for _, type_, name in reversed(OWNABLE):
        on = f"/owners/{type_}/{name.format(lake=kinds.name)}"
        assert kinds.send("GET", on).body["owner"] == {"name": ADMIN, "type": "user"}
        assert kinds.send("PUT", on, {"name": "user1", "type": "user"}).told == OK
        assert kinds.send("GET", on).body["owner"] == {"name": "user1", "type": "user"}


@pytest.mark.seed("S4-009", "S4-026", "S4-036", "S4-037")
def test_groups_give_their_roles_and_their_ownership_to_all_members(kinds: Lake) -> None:
    kinds.join("mia", "carl", "ana")
    kinds.make("/groups", {"name": f"staff of {kinds.name}"})
    group = f"staff%20of%20{kinds.name}"

    def join() -> None:
        staff = people.ensure("group", f"staff of {kinds.name}")
        for name in ("mia", "carl"):
            members.join_group(
                staff, people.ensure("user", name), by=OPERATOR, authority=of_operator(OPERATOR)
            )

    beside(join)
    kinds.role("use", "allow USE_CATALOG catalog catalog1", "allow USE_SCHEMA catalog catalog1")
    assert kinds.send("PUT", f"/permissions/groups/{group}/grant", {"roleNames": ["use"]}).told == OK
    for who, status in (("mia", 200), ("carl", 200), ("ana", 403)):
        assert kinds.send("GET", "/catalogs/catalog1", who=who).status == status
        assert kinds.send("GET", f"/groups/{group}", who=who).status == status
    body = {"name": f"staff of {kinds.name}", "type": "group"}
    assert kinds.send("PUT", f"/owners/table/{TABLE}", body).told == OK
    table = "/catalogs/catalog1/schemas/schema1/tables/table1"
    for number, who in enumerate(("mia", "carl")):
        update = {"@type": "updateComment", "newComment": f"{number}"}
        assert kinds.send("PUT", table, {"updates": [update]}, who=who).told == OK
    assert kinds.send("PUT", table, {"updates": []}, who="ana").status == 403


@pytest.mark.seed("S4-143", "S4-144")
def test_a_denial_goes_before_what_is_allowed(kinds: Lake) -> None:
    kinds.join("ana")
    table = "/catalogs/catalog1/schemas/schema1/tables/table1"
    kinds.role(
        "reader",
        "allow USE_CATALOG catalog catalog1",
        "allow USE_SCHEMA catalog catalog1",
        "allow SELECT_TABLE catalog catalog1",
        to=("ana",),
    )
    assert kinds.send("GET", table, who="ana").told == OK
    kinds.role("not", f"deny SELECT_TABLE table {TABLE}", to=("ana",))
    assert kinds.send("GET", table, who="ana").status == 403
