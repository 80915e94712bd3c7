"""Gravitino's lists: what opens a list, and what shows an object in it."""

from __future__ import annotations

from lakewarden.law.conditions import ANYTHING, can, member, owns, self_
from lakewarden.law.dialects.base import Listing
from lakewarden.law.dialects.gravitino.types import LEAVES
from lakewarden.law.dialects.gravitino.wording import (
    LOAD_CATALOG,
    LOAD_JOB,
    LOAD_JOB_TEMPLATE,
    LOAD_POLICY,
    LOAD_ROLE,
    LOAD_TAG,
    USE_SCHEMA,
    listed,
)

_OWNER = owns("metalake")
_SCHEMA_SHOWN = owns("metalake", "catalog", "schema") | USE_SCHEMA

LISTINGS = {
    "metalake": Listing("metalake", member, {}),
    "catalog": Listing("catalog", LOAD_CATALOG, {"metalake": "Catalog.listCatalogs"}),
    "schema": Listing(
        "schema", _SCHEMA_SHOWN, {"catalog": "Schema.listSchemas", "schema": "Schema.listSchemas"}
    ),
    **{type: Listing(type, listed(type), {"schema": "Schema.loadSchema"}) for type in LEAVES},
    "column": Listing("column", ANYTHING, {"table": "Table.loadTable"}),
    "user": Listing("user", _OWNER | can("MANAGE_USERS") | self_, {"metalake": "User.listUsers"}),
    "group": Listing("group", _OWNER | can("MANAGE_GROUPS") | self_, {"metalake": "Group.listGroups"}),
    "role": Listing("role", LOAD_ROLE, {"metalake": "Role.listRoles"}),
    "bound_role": Listing("role", owns("metalake", "role") | self_, {"metalake": "Role.listRoles"}),
    "tag": Listing("tag", LOAD_TAG, {"metalake": "Tag.listTags"}),
    "policy": Listing("policy", LOAD_POLICY, {"metalake": "Policy.listPolicies"}),
    "job_template": Listing("job_template", LOAD_JOB_TEMPLATE, {"metalake": "Job.listJobTemplates"}),
    "job": Listing("job", LOAD_JOB, {"metalake": "Job.listJobs"}),
}
"""By the children's type; `bound_role` is the list of roles that hold something on one object.  Holders of
MANAGE_GRANTS see less of it than of the list of all roles."""
