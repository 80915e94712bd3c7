"""The phrases Gravitino's conditions are made of; most operations are one of them."""

from __future__ import annotations

from lakewarden.law.conditions import ANYTHING, Condition, can, member, not_denied, owns, self_
from lakewarden.law.dialects.gravitino.types import ASIDE, LEAVES

TOP = owns("metalake", "catalog")
USE_CATALOG = can("USE_CATALOG")
USE_SCHEMA = can("USE_SCHEMA")

LOAD_CATALOG = USE_CATALOG | TOP
LOAD_SCHEMA = TOP | USE_CATALOG & (owns("schema") | USE_SCHEMA)
MANAGE_SCHEMA = TOP | owns("schema") & USE_CATALOG

READERS: dict[str, tuple[str, ...]] = {
    "table": ("SELECT_TABLE", "MODIFY_TABLE"),
    "view": ("SELECT_VIEW",),
    "topic": ("CONSUME_TOPIC", "PRODUCE_TOPIC"),
    "fileset": ("READ_FILESET", "WRITE_FILESET"),
    "model": ("USE_MODEL",),
    "function": ("EXECUTE_FUNCTION", "MODIFY_FUNCTION"),
}
"""The privileges that let one load an object of a type, the narrowest first."""


def within_schema(what: Condition) -> Condition:
    """Owners from the schema up, or someone who may use catalog and schema and for whom `what` holds."""
    return MANAGE_SCHEMA | USE_CATALOG & USE_SCHEMA & what


def any_right(privileges: tuple[str, ...]) -> tuple[Condition, ...]:
    return tuple(can(privilege) for privilege in privileges)


def either(*parts: Condition) -> Condition:
    whole = parts[0]
    for part in parts[1:]:
        whole = whole | part
    return whole


def load(type: str) -> Condition:
    return within_schema(either(owns(type), *any_right(READERS[type])))


def listed(type: str) -> Condition:
    """What shows an object in a list: nothing of usage, because the list itself has asked for that."""
    return either(owns("metalake", "catalog", "schema", type), *any_right(READERS[type]))


def alter(type: str, privilege: str) -> Condition:
    return within_schema(owns(type) | can(privilege))


def drop(type: str) -> Condition:
    return within_schema(owns(type))


def create(privilege: str) -> Condition:
    return within_schema(can(privilege))


LOAD_ROLE = owns("metalake") | can("MANAGE_GRANTS") | owns("role") | self_
LOAD_TAG = owns("metalake", "tag") | can("APPLY_TAG")
LOAD_POLICY = owns("metalake", "policy") | can("APPLY_POLICY")
LOAD_JOB_TEMPLATE = owns("metalake", "job_template") | can("USE_JOB_TEMPLATE")
LOAD_JOB = owns("metalake", "job")

ACCESS: dict[str, Condition] = {
    "metalake": member,
    "catalog": LOAD_CATALOG,
    "schema": LOAD_SCHEMA,
    **{type: load(type) for type in LEAVES},
    "column": load("table"),
    "role": LOAD_ROLE,
    "tag": LOAD_TAG,
    "policy": LOAD_POLICY,
    "job_template": LOAD_JOB_TEMPLATE,
    "job": LOAD_JOB,
}
"""What it takes to look at an object of each type; Gravitino says CAN_ACCESS_METADATA."""

_LEAF_USAGE = USE_SCHEMA & not_denied("USE_CATALOG")

SET_OWNER: dict[str, Condition] = {
    "metalake": owns("metalake"),
    "catalog": TOP,
    "schema": MANAGE_SCHEMA,
    **{type: MANAGE_SCHEMA | owns(type) & _LEAF_USAGE for type in LEAVES},
    **{type: owns("metalake", type) for type in ASIDE},
}
"""An owner of the object or of anything above it, as long as they may use what lies around what they own."""

_USAGE: dict[str, Condition] = {"schema": USE_CATALOG, **dict.fromkeys(LEAVES, _LEAF_USAGE)}

GRANT: dict[str, Condition] = {
    type: can("MANAGE_GRANTS") & _USAGE.get(type, ANYTHING) | SET_OWNER[type]
    for type in ("metalake", "catalog", "schema", *LEAVES, "tag", "policy", "job_template")
}
"""MANAGE_GRANTS on the object or above it, with usage, or whoever may set its owner."""
