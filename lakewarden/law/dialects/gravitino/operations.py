"""Every operation of Gravitino's interface and what it takes, a line each, by the interface's own names."""

from __future__ import annotations

from collections.abc import Mapping

from lakewarden.law.conditions import Condition, can, member, owns, self_, service_admin
from lakewarden.law.dialects.base import Operation
from lakewarden.law.dialects.gravitino.types import DATA
from lakewarden.law.dialects.gravitino.wording import (
    ACCESS,
    GRANT,
    LOAD_CATALOG,
    LOAD_JOB,
    LOAD_JOB_TEMPLATE,
    LOAD_POLICY,
    LOAD_ROLE,
    LOAD_SCHEMA,
    LOAD_TAG,
    MANAGE_SCHEMA,
    SET_OWNER,
    TOP,
    USE_CATALOG,
    alter,
    create,
    drop,
    load,
    within_schema,
)

_ACCESS_CONTROL = ("User.", "Group.", "Role.", "Permission.", "Owner.")
_OWNER = owns("metalake")
_DATA_ACCESS = {type: ACCESS[type] for type in DATA}
_TAGGING = {type: _OWNER | ACCESS[type] & (owns("tag") | can("APPLY_TAG")) for type in DATA}
_POLICING = {type: _OWNER | ACCESS[type] & (owns("policy") | can("APPLY_POLICY")) for type in DATA}


def _on(types: str, condition: Condition) -> dict[str, Condition]:
    return dict.fromkeys(types.split(), condition)


_ROWS: tuple[tuple[str, str, Mapping[str, Condition]], ...] = (
    # operation, what the screen calls it, what it takes on each type it can be asked of
    ("Metalake.createMetalake", "Create metalake", {"": service_admin, "metalake": service_admin}),
    ("Metalake.loadMetalake", "Open", _on("metalake", member)),
    ("Metalake.setMetalake", "Enable or disable", _on("metalake", _OWNER)),
    ("Metalake.alterMetalake", "Alter", _on("metalake", _OWNER)),
    ("Metalake.dropMetalake", "Drop", _on("metalake", _OWNER)),
    ("Catalog.listCatalogs", "List catalogs", _on("metalake", member)),
    ("Catalog.createCatalog", "Create catalog", _on("metalake", can("CREATE_CATALOG") | _OWNER)),
    ("Catalog.testConnection", "Test a connection", _on("metalake", can("CREATE_CATALOG") | _OWNER)),
    ("Catalog.setCatalog", "Enable or disable", _on("catalog", TOP)),
    ("Catalog.loadCatalog", "Open", _on("catalog", LOAD_CATALOG)),
    ("Catalog.alterCatalog", "Alter", _on("catalog", TOP)),
    ("Catalog.dropCatalog", "Drop", _on("catalog", TOP)),
    ("Schema.listSchemas", "List schemas", _on("catalog schema", LOAD_CATALOG)),
    (
        "Schema.createSchema",
        "Create schema",
        _on("catalog schema", owns("metalake", "catalog", "schema") | USE_CATALOG & can("CREATE_SCHEMA")),
    ),
    ("Schema.loadSchema", "Open", _on("schema", LOAD_SCHEMA)),
    ("Schema.alterSchema", "Alter", _on("schema", MANAGE_SCHEMA)),
    ("Schema.dropSchema", "Drop", _on("schema", MANAGE_SCHEMA)),
    ("Table.listTables", "List tables", _on("schema", LOAD_SCHEMA)),
    ("Table.createTable", "Create table", _on("schema", create("CREATE_TABLE"))),
    ("Table.loadTable", "Read", _on("table", load("table"))),
    ("Table.alterTable", "Write", _on("table", alter("table", "MODIFY_TABLE"))),
    ("Table.dropTable", "Drop", _on("table", drop("table"))),
    ("Partition.listPartitionNames", "List partitions", _on("table", load("table"))),
    ("Partition.getPartition", "Read partition", _on("table", load("table"))),
    ("Partition.addPartitions", "Add partitions", _on("table", alter("table", "MODIFY_TABLE"))),
    ("Partition.dropPartition", "Drop partition", _on("table", alter("table", "MODIFY_TABLE"))),
    ("Statistic.listStatistics", "Read statistics", _on("table", load("table"))),
    ("Statistic.updateStatistics", "Update statistics", _on("table", alter("table", "MODIFY_TABLE"))),
    ("Statistic.dropStatistics", "Drop statistics", _on("table", alter("table", "MODIFY_TABLE"))),
    ("Statistic.listPartitionStatistics", "Read partition statistics", _on("table", load("table"))),
    (
        "Statistic.updatePartitionStatistics",
        "Update partition statistics",
        _on("table", alter("table", "MODIFY_TABLE")),
    ),
    (
        "Statistic.dropPartitionStatistics",
        "Drop partition statistics",
        _on("table", alter("table", "MODIFY_TABLE")),
    ),
    ("View.listViews", "List views", _on("schema", LOAD_SCHEMA)),
    ("View.createView", "Create view", _on("schema", create("CREATE_VIEW"))),
    ("View.loadView", "Read", _on("view", load("view"))),
    ("View.alterView", "Write", _on("view", drop("view"))),
    ("View.dropView", "Drop", _on("view", drop("view"))),
    ("Topic.listTopics", "List topics", _on("schema", LOAD_SCHEMA)),
    ("Topic.createTopic", "Create topic", _on("schema", create("CREATE_TOPIC"))),
    ("Topic.loadTopic", "Read", _on("topic", load("topic"))),
    ("Topic.alterTopic", "Write", _on("topic", alter("topic", "PRODUCE_TOPIC"))),
    ("Topic.dropTopic", "Drop", _on("topic", drop("topic"))),
    ("Fileset.listFilesets", "List filesets", _on("schema", LOAD_SCHEMA)),
    ("Fileset.createFileset", "Create fileset", _on("schema", create("CREATE_FILESET"))),
    ("Fileset.loadFileset", "Read", _on("fileset", load("fileset"))),
    ("Fileset.listFiles", "List files", _on("fileset", load("fileset"))),
    ("Fileset.getFileLocation", "Locate files", _on("fileset", load("fileset"))),
    ("Fileset.alterFileset", "Write", _on("fileset", alter("fileset", "WRITE_FILESET"))),
    ("Fileset.dropFileset", "Drop", _on("fileset", drop("fileset"))),
    ("Model.listModels", "List models", _on("schema", LOAD_SCHEMA)),
    ("Model.registerModel", "Register model", _on("schema", create("REGISTER_MODEL"))),
    ("Model.getModel", "Read", _on("model", load("model"))),
    ("Model.alterModel", "Write", _on("model", drop("model"))),
    ("Model.deleteModel", "Drop", _on("model", drop("model"))),
    ("Model.listModelVersions", "List versions", _on("model", load("model"))),
    ("Model.getModelVersion", "Read version", _on("model", load("model"))),
    ("Model.getModelVersionByAlias", "Read version by alias", _on("model", load("model"))),
    ("Model.getModelVersionUri", "Locate version", _on("model", load("model"))),
    ("Model.getModelVersionUriByAlias", "Locate version by alias", _on("model", load("model"))),
    (
        "Model.linkModelVersion",
        "Link version",
        _on("model", within_schema(owns("model") | can("USE_MODEL") & can("LINK_MODEL_VERSION"))),
    ),
    ("Model.alterModelVersion", "Alter version", _on("model", drop("model"))),
    ("Model.alterModelVersionByAlias", "Alter version by alias", _on("model", drop("model"))),
    ("Model.deleteModelVersion", "Delete version", _on("model", drop("model"))),
    ("Model.deleteModelVersionByAlias", "Delete version by alias", _on("model", drop("model"))),
    ("Function.listFunctions", "List functions", _on("schema", LOAD_SCHEMA)),
    ("Function.registerFunction", "Register function", _on("schema", create("REGISTER_FUNCTION"))),
    ("Function.getFunction", "Read", _on("function", load("function"))),
    ("Function.alterFunction", "Write", _on("function", alter("function", "MODIFY_FUNCTION"))),
    ("Function.dropFunction", "Drop", _on("function", drop("function"))),
    ("User.listUsers", "List users", _on("metalake", member)),
    ("User.getUser", "Open", _on("user metalake", _OWNER | can("MANAGE_USERS") | self_)),
    ("User.addUser", "Add user", _on("metalake", _OWNER | can("MANAGE_USERS"))),
    ("User.removeUser", "Remove user", _on("user metalake", _OWNER | can("MANAGE_USERS"))),
    ("Group.listGroups", "List groups", _on("metalake", member)),
    ("Group.getGroup", "Open", _on("group metalake", _OWNER | can("MANAGE_GROUPS") | self_)),
    ("Group.addGroup", "Add group", _on("metalake", _OWNER | can("MANAGE_GROUPS"))),
    ("Group.removeGroup", "Remove group", _on("group metalake", _OWNER | can("MANAGE_GROUPS"))),
    ("Role.listRoles", "List roles", _on("metalake", member)),
    ("Role.getRole", "Open", _on("role", LOAD_ROLE)),
    ("Role.createRole", "Create role", _on("metalake", _OWNER | can("CREATE_ROLE"))),
    ("Role.deleteRole", "Delete role", _on("role", owns("metalake", "role"))),
    ("Permission.grantRolesToUser", "Grant role", _on("user role metalake", _OWNER | can("MANAGE_GRANTS"))),
    ("Permission.grantRolesToGroup", "Grant role", _on("group role metalake", _OWNER | can("MANAGE_GRANTS"))),
    (
        "Permission.revokeRolesFromUser",
        "Revoke role",
        _on("user role metalake", _OWNER | can("MANAGE_GRANTS")),
    ),
    (
        "Permission.revokeRolesFromGroup",
        "Revoke role",
        _on("group role metalake", _OWNER | can("MANAGE_GRANTS")),
    ),
    ("Permission.grantPrivilegeToRole", "Grant access", GRANT),
    ("Permission.revokePrivilegeFromRole", "Revoke access", GRANT),
    (
        "Permission.overrideRolePrivileges",
        "Replace privileges",
        _on("role metalake", _OWNER | can("MANAGE_GRANTS")),
    ),
    ("Owner.getOwnerForObject", "See owner", ACCESS),
    ("Owner.setOwnerForObject", "Set owner", SET_OWNER),
    ("Tag.listTags", "List tags", _on("metalake", member)),
    ("Tag.createTag", "Create tag", _on("metalake", _OWNER | can("CREATE_TAG"))),
    ("Tag.getTag", "Open", _on("tag", LOAD_TAG)),
    ("Tag.alterTag", "Alter", _on("tag", owns("metalake", "tag"))),
    ("Tag.deleteTag", "Delete", _on("tag", owns("metalake", "tag"))),
    ("Tag.listMetadataObjectsForTag", "List tagged objects", _on("tag", LOAD_TAG)),
    ("Tag.listTagsForMetadataObject", "List tags of an object", _DATA_ACCESS),
    ("Tag.getTagForObject", "See a tag of an object", _TAGGING),
    ("Tag.associateTagsForObject", "Tag an object", _TAGGING),
    ("MetadataObjectTag.listTagsForMetadataObject", "List tags of an object", _DATA_ACCESS),
    ("MetadataObjectTag.getTagForObject", "See a tag of an object", _TAGGING),
    ("MetadataObjectTag.associateTagsForObject", "Tag an object", _TAGGING),
    ("MetadataObjectCredential.getCredentials", "Get credentials", _DATA_ACCESS),
    ("Policy.listPolicies", "List policies", _on("metalake", member)),
    ("Policy.createPolicy", "Create policy", _on("metalake", _OWNER | can("CREATE_POLICY"))),
    ("Policy.getPolicy", "Open", _on("policy", LOAD_POLICY)),
    ("Policy.alterPolicy", "Alter", _on("policy", owns("metalake", "policy"))),
    ("Policy.setPolicy", "Enable or disable", _on("policy", owns("metalake", "policy"))),
    ("Policy.deletePolicy", "Delete", _on("policy", owns("metalake", "policy"))),
    ("Policy.listMetadataObjectsForPolicy", "List governed objects", _on("policy", LOAD_POLICY)),
    ("MetadataObjectPolicy.listPoliciesForMetadataObject", "List policies of an object", _DATA_ACCESS),
    ("MetadataObjectPolicy.getPolicyForObject", "See a policy of an object", _POLICING),
    ("MetadataObjectPolicy.associatePoliciesForObject", "Put a policy on an object", _POLICING),
    ("Job.listJobTemplates", "List job templates", _on("metalake", member)),
    (
        "Job.registerJobTemplate",
        "Register job template",
        _on("metalake", _OWNER | can("REGISTER_JOB_TEMPLATE")),
    ),
    ("Job.getJobTemplate", "Open", _on("job_template", LOAD_JOB_TEMPLATE)),
    ("Job.alterJobTemplate", "Alter", _on("job_template", owns("metalake", "job_template"))),
    ("Job.deleteJobTemplate", "Delete", _on("job_template", owns("metalake", "job_template"))),
    ("Job.listJobs", "List jobs", _on("metalake", member)),
    ("Job.getJob", "Open", _on("job", LOAD_JOB)),
    (
        "Job.runJob",
        "Run",
        _on(
            "job_template metalake",
            _OWNER | can("RUN_JOB") & (can("USE_JOB_TEMPLATE") | owns("job_template")),
        ),
    ),
    ("Job.cancelJob", "Cancel", _on("job", LOAD_JOB)),
)

_BESIDE = {
    "Tag.getTagForObject": "tag",
    "Tag.associateTagsForObject": "tag",
    "MetadataObjectTag.getTagForObject": "tag",
    "MetadataObjectTag.associateTagsForObject": "tag",
    "MetadataObjectPolicy.getPolicyForObject": "policy",
    "MetadataObjectPolicy.associatePoliciesForObject": "policy",
    "Job.runJob": "job_template",
}

OPERATIONS = {
    name: Operation(
        name,
        label,
        conditions,
        beside=_BESIDE.get(name, ""),
        access_control=name.startswith(_ACCESS_CONTROL),
        membership=name != "Metalake.createMetalake",
    )
    for name, label, conditions in _ROWS
}
