"""Each call that the real client can make, in an order in which each can succeed."""

from __future__ import annotations

from typing import Any

import pytest
from gravitino import Catalog
from gravitino.api.authorization.owner import Owner
from gravitino.api.authorization.privileges import Privilege
from gravitino.api.authorization.securable_objects import SecurableObjects
from gravitino.api.catalog_change import CatalogChange
from gravitino.api.file.fileset import Fileset
from gravitino.api.file.fileset_change import FilesetChange
from gravitino.api.function.function_change import FunctionChange
from gravitino.api.function.function_definition import FunctionDefinitions
from gravitino.api.function.function_impl import FunctionImpl
from gravitino.api.function.function_param import FunctionParams
from gravitino.api.function.function_type import FunctionType
from gravitino.api.function.sql_impl import SQLImpl
from gravitino.api.job.job_template_change import JobTemplateChange, ShellTemplateUpdate
from gravitino.api.job.shell_job_template import ShellJobTemplate
from gravitino.api.metadata_object import MetadataObject
from gravitino.api.metadata_objects import MetadataObjects
from gravitino.api.metalake_change import MetalakeChange
from gravitino.api.model_change import ModelChange
from gravitino.api.model_version_change import ModelVersionChange
from gravitino.api.rel.column import Column
from gravitino.api.rel.expressions.distributions.distributions import Distributions
from gravitino.api.rel.expressions.distributions.strategy import Strategy
from gravitino.api.rel.expressions.literals.literals import Literals
from gravitino.api.rel.expressions.named_reference import NamedReference
from gravitino.api.rel.expressions.sorts.sort_direction import SortDirection
from gravitino.api.rel.expressions.sorts.sort_orders import SortOrders
from gravitino.api.rel.expressions.transforms.transforms import Transforms
from gravitino.api.rel.indexes.index import Index
from gravitino.api.rel.indexes.indexes import Indexes
from gravitino.api.rel.partitions.partitions import Partitions
from gravitino.api.rel.sql_representation import SQLRepresentation
from gravitino.api.rel.table_change import TableChange
from gravitino.api.rel.types.types import Types
from gravitino.api.rel.view_change import ViewChange
from gravitino.api.schema_change import SchemaChange
from gravitino.api.stats.statistic_values import StatisticValues
from gravitino.api.tag.tag_change import TagChange
from gravitino.client.metadata_object_role_operations import MetadataObjectRoleOperations
from gravitino.exceptions import base as errors

from tests.api_gravitino.world import ADMIN, Lake, Site, ident, may, may_not, service_admin, space

TABLE, COLUMN = MetadataObject.Type.TABLE, MetadataObject.Type.COLUMN


def the(type: MetadataObject.Type, *names: str) -> MetadataObject:
    return MetadataObjects.of(list(names), type)


def test_metalakes(site: Site) -> None:
    admin = service_admin(site)
    admin.create_metalake("ml", "c", {"k": "v"})
    assert "ml" in [metalake.name() for metalake in admin.list_metalakes()]
    altered = admin.alter_metalake(
        "ml",
        MetalakeChange.rename("ml2"),
        MetalakeChange.update_comment("x"),
        MetalakeChange.set_property("a", "b"),
        MetalakeChange.remove_property("k"),
    )
    assert (altered.name(), altered.comment()) == ("ml2", "x")
    assert altered.properties() == {"a": "b", "in-use": "true"}
    assert altered.audit_info().creator() == ADMIN
    assert altered.audit_info().create_time() and altered.audit_info().last_modifier() == ADMIN
    with pytest.raises(errors.MetalakeInUseException):
        admin.drop_metalake("ml2")
    admin.disable_metalake("ml2")
    assert admin.load_metalake("ml2").properties()["in-use"] == "false"
    admin.enable_metalake("ml2")
    assert admin.drop_metalake("ml2", force=True) is True
    with pytest.raises(errors.ForbiddenException):
        admin.load_metalake("ml2")
    admin.close()


def test_catalogs_and_schemas(lake: Lake) -> None:
    owner = lake.owner
    made = owner.create_catalog("rel", Catalog.Type.RELATIONAL, "hive", "c", {"a": "b"})
    assert (made.name(), made.type(), made.provider(), made.comment()) == (
        "rel",
        Catalog.Type.RELATIONAL,
        "hive",
        "c",
    )
    assert owner.list_catalogs() == ["rel"]
    assert [item.name() for item in owner.list_catalogs_info()] == ["rel"]
    assert owner.load_catalog("rel").properties() == {"a": "b", "in-use": "true"}
    altered = owner.alter_catalog(
        "rel",
        CatalogChange.rename("x"),
        CatalogChange.update_comment("z"),
        CatalogChange.set_property("a", "b2"),
        CatalogChange.remove_property("a"),
    )
    assert (altered.name(), altered.comment(), altered.properties()) == ("x", "z", {"in-use": "true"})
    owner.test_connection("x")
    owner.test_connection("x", CatalogChange.set_property("a", "b"))
    schemas = owner.load_catalog("x").as_schemas()
    assert schemas.create_schema("s1", "c", {}).name() == "s1"
    assert schemas.create_schema("s1:inner", "", {}).name() == "s1:inner"
    assert schemas.list_schemas() == ["s1"]
    assert schemas.list_schemas("s1") == ["s1:inner"]
    assert schemas.load_schema("s1").comment() == "c"
    altered = schemas.alter_schema("s1", SchemaChange.set_property("a", "b"))
    assert altered.properties() == {"a": "b"}
    assert schemas.alter_schema("s1", SchemaChange.remove_property("a")).properties() == {}
    with pytest.raises(errors.NonEmptySchemaException):
        schemas.drop_schema("s1", False)
    assert schemas.drop_schema("s1", True) is True
    assert schemas.drop_schema("s1", True) is False
    with pytest.raises(errors.CatalogInUseException):
        owner.drop_catalog("x")
    owner.disable_catalog("x")
    with pytest.raises(errors.CatalogNotInUseException):
        schemas.create_schema("s2", "", {})
    owner.enable_catalog("x")
    assert owner.drop_catalog("x", force=True) is True
    owner.close()


@pytest.fixture
def rel(lake: Lake) -> Any:
    """A relational catalog with schema s1."""
    catalog = lake.owner.create_catalog("rel", Catalog.Type.RELATIONAL, "hive", "", {})
    catalog.as_schemas().create_schema("s1", "", {})
    return catalog


def columns() -> list[Column]:
    return [
        Column.of("id", Types.IntegerType.get(), "the key", False, True),
        Column.of("name", Types.VarCharType.of(20), default_value=Literals.string_literal("nobody")),
        Column.of("tags", Types.ListType.of(Types.StringType.get(), True)),
        Column.of("day", Types.DateType.get()),
    ]


def test_tables(rel: Any) -> None:
    tables, t1, t2 = rel.as_table_catalog(), ident("s1", "t1"), ident("s1", "t2")
    made = tables.create_table(
        t1,
        columns(),
        "c",
        {"p": "q"},
        partitioning=[Transforms.identity("day"), Transforms.bucket(4, ["id"])],
        distribution=Distributions.of(Strategy.HASH, 8, NamedReference.field(["id"])),
        sort_orders=[SortOrders.of(NamedReference.field(["id"]), SortDirection.DESCENDING)],
        indexes=[Indexes.of(Index.IndexType.PRIMARY_KEY, "pk", [["id"]])],
    )
    loaded = tables.load_table(t1)
    for table in (made, loaded):
        assert [column.name() for column in table.columns()] == ["id", "name", "tags", "day"]
        assert [column.data_type() for column in table.columns()] == [
            column.data_type() for column in columns()
        ]
        assert table.columns()[1].default_value() == Literals.string_literal("nobody")
        assert (table.comment(), table.properties()) == ("c", {"p": "q"})
        assert len(table.partitioning()) == 2
        assert table.distribution().number() == 8
        assert table.sort_order()[0].direction() == SortDirection.DESCENDING
        assert table.index()[0].name() == "pk"
        assert table.audit_info().creator() == ADMIN
    assert [str(item) for item in tables.list_tables(space("s1"))] == ["s1.t1"]
    assert tables.load_table(t1, {Privilege.Name.SELECT_TABLE, Privilege.Name.MODIFY_TABLE}).name() == "t1"
    altered = tables.alter_table(
        t1,
        TableChange.rename("t2"),
        TableChange.update_comment("x"),
        TableChange.set_property("a", "b"),
        TableChange.remove_property("p"),
        TableChange.add_column(
            ["age"], Types.LongType.get(), "years", TableChange.ColumnPosition.first(), True, False
        ),
        TableChange.rename_column(["name"], "full_name"),
        TableChange.update_column_default_value(["full_name"], Literals.string_literal("some")),
        TableChange.update_column_type(["age"], Types.IntegerType.get()),
        TableChange.update_column_comment(["age"], "in years"),
        TableChange.update_column_position(["id"], TableChange.ColumnPosition.after("age")),
        TableChange.update_column_nullability(["age"], False),
        TableChange.update_column_auto_increment(["id"], False),
        TableChange.delete_column(["tags"], False),
        TableChange.delete_column(["nothing"], True),
        TableChange.add_index(Index.IndexType.UNIQUE_KEY, "u", [["age"]]),
        TableChange.delete_index("pk", False),
    )
    assert [column.name() for column in altered.columns()] == ["age", "id", "full_name", "day"]
    assert (altered.name(), altered.properties()) == ("t2", {"a": "b"})
    assert [item.name() for item in altered.index()] == ["u"]
    with pytest.raises(errors.NoSuchTableException):
        tables.load_table(t1)
    assert tables.drop_table(t2) is True
    assert tables.drop_table(t2) is False
    tables.create_table(t2, columns())
    assert tables.purge_table(t2) is True


def test_partitions_and_statistics(rel: Any) -> None:
    tables = rel.as_table_catalog()
    table = tables.create_table(ident("s1", "t1"), columns(), partitioning=[Transforms.identity("day")])
    part = Partitions.identity("p", [["day"]], [Literals.date_literal("2026-01-01")], {"k": "v"})
    assert table.add_partition(part).name() == "p"
    assert table.list_partition_names() == ["p"]
    assert [partition.name() for partition in table.list_partitions()] == ["p"]
    assert table.get_partition("p").properties() == {"k": "v"}
    with pytest.raises(errors.NoSuchPartitionException):
        table.get_partition("q")
    assert table.drop_partition("p") is True
    assert table.drop_partition("p") is False
    table.update_statistics({"custom-a": StatisticValues.long_value(1)})
    assert [(statistic.name(), statistic.value().value()) for statistic in table.list_statistics()] == [
        ("custom-a", 1)
    ]
    assert table.drop_statistics(["custom-a"]) is True
    assert table.list_statistics() == []
    with pytest.raises(errors.UnmodifiableStatisticException):
        table.update_statistics({"rows": StatisticValues.long_value(1)})


def test_views(rel: Any) -> None:
    views = rel.as_view_catalog()
    sql = SQLRepresentation("spark", "SELECT 1")
    made = views.create_view(ident("s1", "v1"), columns()[:1], [sql], "c")
    assert made.name() == "v1"
    assert [view.name() for view in views.list_views(space("s1"))] == ["v1"]
    assert views.load_view(ident("s1", "v1")).sql_for("spark").sql() == "SELECT 1"
    altered = views.alter_view(ident("s1", "v1"), ViewChange.rename("v2"), ViewChange.set_property("a", "b"))
    assert (altered.name(), altered.properties()) == ("v2", {"a": "b"})
    assert views.drop_view(ident("s1", "v2")) is True


def test_functions(rel: Any) -> None:
    functions, fn = rel.as_function_catalog(), ident("s1", "fn")
    param = FunctionParams.of("x", Types.IntegerType.get())
    spark = SQLImpl(FunctionImpl.RuntimeType.SPARK, "x + 1")
    trino = SQLImpl(FunctionImpl.RuntimeType.TRINO, "x + 1")
    definition = FunctionDefinitions.of([param], Types.IntegerType.get(), [spark])
    none = FunctionDefinitions.of([], Types.IntegerType.get(), [spark])
    assert functions.register_function(fn, "c", FunctionType.SCALAR, True, [definition]).name() == "fn"
    assert [str(function) for function in functions.list_functions(space("s1"))] == ["s1.fn"]
    assert [info.name() for info in functions.list_function_infos(space("s1"))] == ["fn"]
    assert functions.get_function(fn).deterministic() is True
    altered = functions.alter_function(
        fn,
        FunctionChange.update_comment("x"),
        FunctionChange.add_definition(none),
        FunctionChange.add_impl([param], trino),
        FunctionChange.update_impl([param], FunctionImpl.RuntimeType.TRINO, trino),
        FunctionChange.remove_impl([param], FunctionImpl.RuntimeType.TRINO),
        FunctionChange.remove_definition([]),
    )
    assert (altered.comment(), len(altered.definitions())) == ("x", 1)
    assert functions.drop_function(fn) is True


def test_filesets(lake: Lake) -> None:
    catalog = lake.owner.create_catalog("fs", Catalog.Type.FILESET, None, "", {"location": "file:/data"})
    catalog.as_schemas().create_schema("s1", "", {})
    filesets, f1 = catalog.as_fileset_catalog(), ident("s1", "f1")
    made = filesets.create_fileset(f1, "c", Fileset.Type.EXTERNAL, "file:/data/x", {})
    assert (made.name(), made.type(), made.storage_location()) == (
        "f1",
        Fileset.Type.EXTERNAL,
        "file:/data/x",
    )
    usual = filesets.create_fileset(ident("s1", "f2"), "", Fileset.Type.MANAGED, None, {})
    assert usual.storage_location() == "file:/data/s1/f2"
    assert [fileset.name() for fileset in filesets.list_filesets(space("s1"))] == ["f1", "f2"]
    assert filesets.load_fileset(f1).comment() == "c"
    assert filesets.get_file_location(f1, "/a/b") == "file:/data/x/a/b"
    altered = filesets.alter_fileset(
        f1,
        FilesetChange.rename("z"),
        FilesetChange.update_comment("n"),
        FilesetChange.set_property("a", "b"),
        FilesetChange.remove_property("a"),
    )
    assert (altered.name(), altered.comment()) == ("z", "n")
    with pytest.raises(errors.NoSuchCredentialException):
        filesets.load_fileset(ident("s1", "z")).support_credentials().get_credentials()
    assert filesets.drop_fileset(ident("s1", "z")) is True


def test_models(lake: Lake) -> None:
    catalog = lake.owner.create_catalog("md", Catalog.Type.MODEL, None, "", {})
    catalog.as_schemas().create_schema("s1", "", {})
    models, m1, m2 = catalog.as_model_catalog(), ident("s1", "m1"), ident("s1", "m2")
    assert models.register_model(m1, "c", {}).latest_version() == 0
    assert [model.name() for model in models.list_models(space("s1"))] == ["m1"]
    models.link_model_version(m1, "s3://x", ["prod"], "c", {})
    models.link_model_version_with_multiple_uris(m1, {"a": "s3://a", "b": "s3://b"}, ["next"], "", {})
    assert models.get_model(m1).latest_version() == 2
    assert models.list_model_versions(m1) == [0, 1]
    assert [info.version() for info in models.list_model_version_infos(m1)] == [0, 1]
    assert models.get_model_version(m1, 0).uri() == "s3://x"
    assert models.get_model_version_by_alias(m1, "next").version() == 1
    altered = models.alter_model_version(
        m1,
        0,
        ModelVersionChange.update_comment("x"),
        ModelVersionChange.update_uri("s3://y"),
        ModelVersionChange.update_aliases(["a"], ["prod"]),
        ModelVersionChange.set_property("k", "v"),
    )
    assert (altered.uri(), altered.aliases(), altered.properties()) == ("s3://y", ["a"], {"k": "v"})
    assert (
        models.alter_model_version_by_alias(m1, "a", ModelVersionChange.update_comment("w")).comment() == "w"
    )
    assert models.get_model_version_uri(m1, 0) == "s3://y"
    assert models.get_model_version_uri_by_alias(m1, "next", "b") == "s3://b"
    with pytest.raises(errors.NoSuchModelVersionURINameException):
        models.get_model_version_uri_by_alias(m1, "next", "c")
    with pytest.raises(errors.ModelVersionAliasesAlreadyExistException):
        models.link_model_version(m1, "s3://x", ["next"], "", {})
    assert models.delete_model_version(m1, 0) is True
    assert models.delete_model_version_by_alias(m1, "next") is True
    assert models.delete_model_version(m1, 0) is False
    altered = models.alter_model(m1, ModelChange.rename("m2"), ModelChange.update_comment("x"))
    assert (altered.name(), altered.comment()) == ("m2", "x")
    assert models.delete_model(m2) is True
    assert models.register_model_version(m1, "s3://x", ["prod"], "", {}).name() == "m1"
    assert models.list_model_versions(m1) == [0]


@pytest.mark.seed(*(f"S4-{number}" for number in (180, 181, 182, 183, 184, 185, 186, 187, 188, 189)))
@pytest.mark.seed(
    *(f"S4-{number}" for number in (190, 191, 194, 195, 197, 199, 200, 201, 202, 203, 204, 205))
)
@pytest.mark.seed("S4-005", "S4-026", "S4-035")
def test_users_groups_and_roles(lake: Lake, rel: Any) -> None:
    owner = lake.owner
    rel.as_table_catalog().create_table(ident("s1", "t1"), columns())
    assert owner.add_user("u1").roles() == []
    assert owner.add_group("g1").name() == "g1"
    for taken in (owner.add_user, owner.add_group):
        with pytest.raises((errors.UserAlreadyExistsException, errors.GroupAlreadyExistsException)):
            taken("u1" if taken == owner.add_user else "g1")
    assert owner.list_user_names() == [ADMIN, "u1"]
    assert owner.list_group_names() == ["g1"]
    wanted = [
        SecurableObjects.of_catalog("rel", [may("USE_CATALOG"), may_not("CREATE_SCHEMA")]),
        SecurableObjects.parse("rel.s1.t1", TABLE, [may("SELECT_TABLE")]),
    ]
    role = owner.create_role("r1", {"k": "v"}, wanted)
    assert (role.name(), role.properties()) == ("r1", {"k": "v"})
    assert owner.create_role("r2", None, []).securable_objects() == []
    privileges = {
        object_.full_name(): object_.privileges() for object_ in owner.get_role("r1").securable_objects()
    }
    assert privileges["rel.s1.t1"] == [may("SELECT_TABLE")]
    assert len(privileges) == len(privileges["rel"]) == 2
    assert all(item in privileges["rel"] for item in (may("USE_CATALOG"), may_not("CREATE_SCHEMA")))
    assert owner.list_role_names() == ["r1", "r2"]
    assert owner.grant_roles_to_user(["r1", "r2"], "u1").roles() == ["r1", "r2"]
    assert owner.grant_roles_to_group(["r1"], "g1").roles() == ["r1"]
    assert {user.name(): user.roles() for user in owner.list_users()}["u1"] == ["r1", "r2"]
    assert [group.roles() for group in owner.list_groups()] == [["r1"]]
    assert owner.get_user("u1").roles() == ["r1", "r2"]
    assert owner.get_group("g1").roles() == ["r1"]
    assert owner.revoke_roles_from_user(["r2"], "u1").roles() == ["r1"]
    assert owner.revoke_roles_from_group(["r1"], "g1").roles() == []
    table = the(TABLE, "rel", "s1", "t1")
    for _ in range(2):  # granting and revoking again changes nothing and is no error
        given = owner.grant_privileges_to_role("r2", table, [may("MODIFY_TABLE")])
        assert [object_.full_name() for object_ in given.securable_objects()] == ["rel.s1.t1"]
    assert MetadataObjectRoleOperations(lake.name, table, owner._rest_client).list_binding_role_names() == [
        "r1",
        "r2",
    ]
    for _ in range(2):
        taken_ = owner.revoke_privileges_from_role("r2", table, [may("MODIFY_TABLE")])
        assert taken_.securable_objects() == []
    assert (owner.delete_role("r2"), owner.delete_role("r2")) == (True, False)
    assert (owner.get_owner(table).name(), owner.get_owner(table).type()) == (ADMIN, Owner.Type.USER)
    owner.set_owner(table, "u1", Owner.Type.USER)
    assert owner.get_owner(table).name() == "u1"
    owner.set_owner(table, "g1", Owner.Type.GROUP)
    assert owner.get_owner(table).type() == Owner.Type.GROUP
    lake_ = the(MetadataObject.Type.METALAKE, lake.name)
    assert owner.get_owner(lake_).name() == ADMIN
    assert (owner.remove_group("g1"), owner.remove_group("g1")) == (True, False)
    assert owner.get_owner(table) is None
    assert (owner.remove_user("u1"), owner.remove_user("u1")) == (True, False)


@pytest.mark.seed("S4-192", "S4-193", "S4-196", "S4-198")
def test_roles_of_a_catalog_and_a_schema(lake: Lake, rel: Any) -> None:
    owner, schema = lake.owner, the(MetadataObject.Type.SCHEMA, "rel", "s1")
    owner.create_role("r", None, [])
    owner.grant_privileges_to_role("r", schema, [may("USE_SCHEMA")])
    owner.create_role("c", None, [SecurableObjects.of_catalog("rel", [may("USE_CATALOG")])])

    def bound(object_: MetadataObject) -> list[str]:
        return MetadataObjectRoleOperations(lake.name, object_, owner._rest_client).list_binding_role_names()

    assert bound(schema) == ["r"]
    assert bound(the(MetadataObject.Type.CATALOG, "rel")) == ["c"]
    owner.revoke_privileges_from_role("r", schema, [may("USE_SCHEMA")])
    assert bound(schema) == []


def test_tags(lake: Lake, rel: Any) -> None:
    owner = lake.owner
    table = rel.as_table_catalog().create_table(ident("s1", "t1"), columns())
    assert owner.create_tag("tg", "c", {"key1": "v"}).properties() == {"key1": "v"}
    owner.create_tag("b", "", {})
    assert owner.list_tags() == ["b", "tg"]
    assert [item.name() for item in owner.list_tags_info()] == ["b", "tg"]
    assert owner.get_tag("tg").comment() == "c"
    tags = table.supports_tags()
    assert sorted(tags.associate_tags(["tg", "b"], [])) == ["b", "tg"]
    assert sorted(tags.list_tags()) == ["b", "tg"]
    assert tags.associate_tags([], ["b"]) == ["tg"]
    assert [item.name() for item in tags.list_tags_info()] == ["tg"]
    assert tags.get_tag("tg").name() == "tg"
    assert [object_.full_name() for object_ in owner.get_tag("tg").associated_objects().objects()] == [
        "rel.s1.t1"
    ]
    altered = owner.alter_tag(
        "tg",
        TagChange.rename("x"),
        TagChange.update_comment("y"),
        TagChange.set_property("a", "b"),
        TagChange.remove_property("key1"),
    )
    assert (altered.name(), altered.comment(), altered.properties()) == ("x", "y", {"a": "b"})
    assert (owner.delete_tag("x"), owner.delete_tag("x")) == (True, False)
    assert tags.list_tags() == []


def test_jobs(lake: Lake) -> None:
    owner = lake.owner
    builder = ShellJobTemplate.builder().with_name("jt").with_executable("/bin/echo").with_comment("c")
    owner.register_job_template(builder.with_arguments(["a"]).with_scripts(["b"]).build())
    assert [template.name for template in owner.list_job_templates()] == ["jt"]
    assert owner.get_job_template("jt").arguments == ["a"]
    altered = owner.alter_job_template(
        "jt",
        JobTemplateChange.rename("jt2"),
        JobTemplateChange.update_comment("x"),
        JobTemplateChange.update_template(ShellTemplateUpdate(new_executable="/bin/true")),
    )
    assert (altered.name, altered.comment, altered.executable) == ("jt2", "x", "/bin/true")
    assert owner.list_jobs() == [] == owner.list_jobs("jt2")
    with pytest.raises(errors.UnsupportedOperationException):
        owner.run_job("jt2", {"a": "b"})
    with pytest.raises(errors.NoSuchJobException):
        owner.get_job("job-1")
    with pytest.raises(errors.NoSuchJobException):
        owner.cancel_job("job-1")
    assert (owner.delete_job_template("jt2"), owner.delete_job_template("jt2")) == (True, False)
