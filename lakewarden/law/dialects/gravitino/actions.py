"""Plain names for what can be done to an object, and the operation each of them asks for."""

from __future__ import annotations

_GRANT = "Permission.grantPrivilegeToRole"
_SET_OWNER = "Owner.setOwnerForObject"


def _leaf(noun: str, read: str, alter: str, drop: str) -> dict[str, str]:
    loading, altering = f"{noun}.{read}", f"{noun}.{alter}"
    return {
        "read": loading,
        "write": altering,
        "alter": altering,
        "drop": f"{noun}.{drop}",
        "grant": _GRANT,
        "set_owner": _SET_OWNER,
    }


ACTIONS: dict[str, dict[str, str]] = {
    "metalake": {
        "read": "Metalake.loadMetalake",
        "use": "Metalake.loadMetalake",
        "create_catalog": "Catalog.createCatalog",
        "create_role": "Role.createRole",
        "create_tag": "Tag.createTag",
        "create_policy": "Policy.createPolicy",
        "create_job_template": "Job.registerJobTemplate",
        "create_user": "User.addUser",
        "create_group": "Group.addGroup",
        "alter": "Metalake.alterMetalake",
        "drop": "Metalake.dropMetalake",
        "grant": _GRANT,
        "set_owner": _SET_OWNER,
    },
    "catalog": {
        "read": "Catalog.loadCatalog",
        "use": "Catalog.loadCatalog",
        "create_schema": "Schema.createSchema",
        "alter": "Catalog.alterCatalog",
        "drop": "Catalog.dropCatalog",
        "grant": _GRANT,
        "set_owner": _SET_OWNER,
    },
    "schema": {
        "read": "Schema.loadSchema",
        "use": "Schema.loadSchema",
        "create_schema": "Schema.createSchema",
        "create_table": "Table.createTable",
        "create_view": "View.createView",
        "create_topic": "Topic.createTopic",
        "create_fileset": "Fileset.createFileset",
        "create_model": "Model.registerModel",
        "create_function": "Function.registerFunction",
        "alter": "Schema.alterSchema",
        "drop": "Schema.dropSchema",
        "grant": _GRANT,
        "set_owner": _SET_OWNER,
    },
    "table": _leaf("Table", "loadTable", "alterTable", "dropTable"),
    "view": _leaf("View", "loadView", "alterView", "dropView"),
    "topic": _leaf("Topic", "loadTopic", "alterTopic", "dropTopic"),
    "fileset": _leaf("Fileset", "loadFileset", "alterFileset", "dropFileset"),
    "model": {
        "read": "Model.getModel",
        "use": "Model.getModel",
        "write": "Model.alterModel",
        "create_model_version": "Model.linkModelVersion",
        "alter": "Model.alterModel",
        "drop": "Model.deleteModel",
        "grant": _GRANT,
        "set_owner": _SET_OWNER,
    },
    "function": {
        "use": "Function.getFunction",
        **_leaf("Function", "getFunction", "alterFunction", "dropFunction"),
    },
    "column": {"read": "MetadataObjectTag.listTagsForMetadataObject"},
    "role": {
        "read": "Role.getRole",
        "drop": "Role.deleteRole",
        "grant": "Permission.grantRolesToUser",
        "set_owner": _SET_OWNER,
    },
    "tag": {
        "read": "Tag.getTag",
        "use": "Tag.getTag",
        "alter": "Tag.alterTag",
        "drop": "Tag.deleteTag",
        "grant": _GRANT,
        "set_owner": _SET_OWNER,
    },
    "policy": {
        "read": "Policy.getPolicy",
        "use": "Policy.getPolicy",
        "alter": "Policy.alterPolicy",
        "drop": "Policy.deletePolicy",
        "grant": _GRANT,
        "set_owner": _SET_OWNER,
    },
    "job_template": {
        "read": "Job.getJobTemplate",
        "use": "Job.runJob",
        "alter": "Job.alterJobTemplate",
        "drop": "Job.deleteJobTemplate",
        "grant": _GRANT,
        "set_owner": _SET_OWNER,
    },
    "job": {"read": "Job.getJob", "set_owner": _SET_OWNER},
    "user": {"read": "User.getUser", "drop": "User.removeUser", "grant": "Permission.grantRolesToUser"},
    "group": {"read": "Group.getGroup", "drop": "Group.removeGroup", "grant": "Permission.grantRolesToGroup"},
}
