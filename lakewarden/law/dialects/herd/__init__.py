"""Herd's law: what each user, or each user whose name ends so, may do in a flat namespace."""

from __future__ import annotations

from lakewarden.law.conditions import ANYTHING
from lakewarden.law.dialects.base import Dialect, Listing
from lakewarden.law.dialects.herd.actions import ACTIONS, SYNONYMS
from lakewarden.law.dialects.herd.operations import MAY_GRANT, OPERATIONS, OWNER, READ, VARIANTS
from lakewarden.law.dialects.herd.permissions import PERMISSIONS, ROLES

BUSINESS_OBJECTS = (
    "data_definition",
    "business_object_format",
    "business_object_data",
    "storage_policy",
)
"""What of the data stands in a namespace; whoever may read there sees it."""

DIALECT = Dialect(
    code="herd",
    root_type="herd",
    children={
        "herd": ("namespace", "role"),
        "namespace": ("job_definition", *BUSINESS_OBJECTS, "data_notification"),
        "job_definition": (),
        **dict.fromkeys(BUSINESS_OBJECTS, ()),
        "data_notification": (),
        "role": (),
    },
    privileges=PERMISSIONS,
    aliases={},
    operations=OPERATIONS,
    listings={
        "namespace": Listing("namespace", ANYTHING, {"herd": "Namespace.getNamespaces"}),
        "readable_namespace": Listing("namespace", READ, {"herd": "Namespace.getNamespaces"}),
        "governed": Listing("namespace", MAY_GRANT, {"herd": "Namespace.getNamespaces"}),
        "job_definition": Listing("job_definition", READ, {"namespace": "READ"}),
        **{type: Listing(type, READ, {"namespace": "READ"}) for type in BUSINESS_OBJECTS},
        "data_notification": Listing("data_notification", READ, {"namespace": "READ"}),
        "role": Listing("role", OWNER, {"herd": "Namespace.getNamespaces"}),
    },
    actions=ACTIONS,
    synonyms=SYNONYMS,
    variants=VARIANTS,
    roles=ROLES,
    grantees=frozenset({"user", "service", "pattern"}),
    open_to_all=True,
    ignores_case=True,
)
