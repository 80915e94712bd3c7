"""Plain action names and the operations they mean."""

import pytest

from .worlds import LAW

MEANINGS = {
    ("table", "read"): "Table.loadTable",
    ("table", "write"): "Table.alterTable",
    ("table", "drop"): "Table.dropTable",
    ("topic", "read"): "Topic.loadTopic",
    ("topic", "write"): "Topic.alterTopic",
    ("fileset", "write"): "Fileset.alterFileset",
    ("model", "read"): "Model.getModel",
    ("view", "read"): "View.loadView",
    ("function", "write"): "Function.alterFunction",
    ("catalog", "use"): "Catalog.loadCatalog",
    ("schema", "use"): "Schema.loadSchema",
    ("metalake", "create_catalog"): "Catalog.createCatalog",
    ("catalog", "create_schema"): "Schema.createSchema",
    ("schema", "create_schema"): "Schema.createSchema",
    ("schema", "create_table"): "Table.createTable",
    ("schema", "create_model"): "Model.registerModel",
    ("model", "create_model_version"): "Model.linkModelVersion",
    ("metalake", "create_role"): "Role.createRole",
    ("table", "grant"): "Permission.grantPrivilegeToRole",
    ("role", "grant"): "Permission.grantRolesToUser",
    ("role", "set_owner"): "Owner.setOwnerForObject",
    ("table", "Partition.addPartitions"): "Partition.addPartitions",
    ("schema", "Table.createTable"): "Table.createTable",
}


@pytest.mark.parametrize(("type", "name"), MEANINGS)
def test_an_action_means_an_operation(type, name):
    assert LAW.action(type, name) == MEANINGS[type, name]


@pytest.mark.parametrize(
    ("type", "name"),
    [
        ("table", "use"),
        ("table", "create_table"),
        ("table", "Table.createTable"),
        ("planet", "read"),
        ("table", ""),
        ("catalog", "write"),
    ],
)
def test_what_does_not_apply_means_nothing(type, name):
    assert LAW.action(type, name) is None


@pytest.mark.parametrize("type", LAW.types)
def test_every_name_that_is_offered_means_something(type):
    names = LAW.actions_for(type)
    assert names and all(LAW.action(type, name) in LAW.operations for name in names)


@pytest.mark.seed("S4-051", "S4-053")
def test_what_lies_below_what():
    assert LAW.child_types("catalog") == ("schema",)
    assert {"table", "topic", "fileset", "schema"} <= set(LAW.child_types("schema"))
    assert "catalog" in LAW.child_types("metalake") and LAW.root_type == "metalake"
    assert LAW.child_types("planet") == ()


def test_everything_that_can_be_owned_has_a_law_for_setting_and_seeing_the_owner():
    ownable = {"metalake", "catalog", "schema", "table", "view", "topic", "fileset", "model", "function"}
    ownable |= {"role", "tag", "policy", "job_template", "job"}
    assert set(LAW.operations["Owner.setOwnerForObject"].types) == ownable
    assert ownable <= set(LAW.operations["Owner.getOwnerForObject"].types)


@pytest.mark.seed("S4-038", "S4-039", "S4-040", "S4-042", "S4-043", "S4-044", "S4-045")
def test_the_types_of_metadata_objects():
    assert {"metalake", "catalog", "schema", "table", "column", "fileset", "topic", "role"} <= set(LAW.types)


def test_creating_a_metalake_is_asked_of_none():
    operation = LAW.operations["Metalake.createMetalake"]
    assert not operation.membership and "" in operation.conditions
    assert LAW.operations["Table.loadTable"].type == "table"
    assert LAW.operations["Owner.getOwnerForObject"].type is None
