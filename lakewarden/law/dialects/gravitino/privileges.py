"""The privileges of a metalake: where each may be given, its word on the screen, what it lets one do."""

from __future__ import annotations

from lakewarden.law.dialects.base import Privilege
from lakewarden.law.dialects.gravitino.types import LEAVES

_METALAKE = ("metalake",)
_CATALOG = ("metalake", "catalog")
_SCHEMA = ("metalake", "catalog", "schema")

_ROWS = (
    # code, label, what it lets one do, category, kind of catalog, where it may be given
    ("USE_CATALOG", "Use catalog", "Needed to use anything in the catalog", "use", "", _CATALOG),
    ("USE_SCHEMA", "Use schema", "Needed to use anything in the schema", "use", "", _SCHEMA),
    ("SELECT_TABLE", "Read", "Read the table", "read", "relational", (*_SCHEMA, "table")),
    ("MODIFY_TABLE", "Write", "Read, write and alter the table", "write", "relational", (*_SCHEMA, "table")),
    ("CREATE_TABLE", "Create table", "Create tables in the schema", "create", "relational", _SCHEMA),
    ("SELECT_VIEW", "Read", "Read the view", "read", "", (*_SCHEMA, "view")),
    ("CREATE_VIEW", "Create view", "Create views in the schema", "create", "", _SCHEMA),
    ("READ_FILESET", "Read", "Read the fileset", "read", "fileset", (*_SCHEMA, "fileset")),
    (
        "WRITE_FILESET",
        "Write",
        "Read, write and alter the fileset",
        "write",
        "fileset",
        (*_SCHEMA, "fileset"),
    ),
    ("CREATE_FILESET", "Create fileset", "Create filesets in the schema", "create", "fileset", _SCHEMA),
    ("CONSUME_TOPIC", "Read", "Consume the topic", "read", "messaging", (*_SCHEMA, "topic")),
    (
        "PRODUCE_TOPIC",
        "Write",
        "Consume, produce and alter the topic",
        "write",
        "messaging",
        (*_SCHEMA, "topic"),
    ),
    ("CREATE_TOPIC", "Create topic", "Create topics in the schema", "create", "messaging", _SCHEMA),
    ("USE_MODEL", "Read", "View the model and download its versions", "read", "model", (*_SCHEMA, "model")),
    (
        "LINK_MODEL_VERSION",
        "Link version",
        "Link versions to the model",
        "write",
        "model",
        (*_SCHEMA, "model"),
    ),
    ("REGISTER_MODEL", "Register model", "Register models in the schema", "create", "model", _SCHEMA),
    ("EXECUTE_FUNCTION", "Execute", "View and execute the function", "read", "", (*_SCHEMA, "function")),
    ("MODIFY_FUNCTION", "Write", "View and alter the function", "write", "", (*_SCHEMA, "function")),
    ("REGISTER_FUNCTION", "Register function", "Register functions in the schema", "create", "", _SCHEMA),
    ("CREATE_SCHEMA", "Create schema", "Create schemas in the catalog", "create", "", _SCHEMA),
    ("CREATE_CATALOG", "Create catalog", "Create catalogs in the metalake", "create", "", _METALAKE),
    (
        "MANAGE_GRANTS",
        "Manage grants",
        "Grant and revoke roles and privileges",
        "manage",
        "",
        (*_SCHEMA, *LEAVES),
    ),
    ("MANAGE_USERS", "Manage users", "Add and remove users", "manage", "", _METALAKE),
    ("MANAGE_GROUPS", "Manage groups", "Add and remove groups", "manage", "", _METALAKE),
    ("CREATE_ROLE", "Create role", "Create roles", "manage", "", _METALAKE),
    ("CREATE_TAG", "Create tag", "Create tags", "create", "", _METALAKE),
    ("APPLY_TAG", "Apply tag", "Attach the tag to objects", "use", "", (*_METALAKE, "tag")),
    ("CREATE_POLICY", "Create policy", "Create policies", "create", "", _METALAKE),
    ("APPLY_POLICY", "Apply policy", "Attach the policy to objects", "use", "", (*_METALAKE, "policy")),
    ("REGISTER_JOB_TEMPLATE", "Register job template", "Register job templates", "create", "", _METALAKE),
    (
        "USE_JOB_TEMPLATE",
        "Use job template",
        "Run jobs of the template",
        "use",
        "",
        (*_METALAKE, "job_template"),
    ),
    ("RUN_JOB", "Run job", "Run jobs in the metalake", "use", "", _METALAKE),
)

PRIVILEGES = {
    code: Privilege(code, 1 << place, label, description, frozenset(binds), category, kind)
    for place, (code, label, description, category, kind, binds) in enumerate(_ROWS)
}

ALIASES = {"CREATE_MODEL": "REGISTER_MODEL", "CREATE_MODEL_VERSION": "LINK_MODEL_VERSION"}
"""Older names that are still understood."""
