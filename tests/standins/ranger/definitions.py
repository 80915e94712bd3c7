"""Service definitions: the levels of resources and the kinds of access that each type of service has."""

from __future__ import annotations

from typing import Any

Levels = tuple[str, ...]

HIERARCHIES: dict[str, tuple[Levels, ...]] = {
    "hive": (
        ("database", "table", "column"),
        ("database", "udf"),
        ("url",),
        ("hiveservice",),
        ("global",),
    ),
    "trino": (
        ("catalog", "schema", "table", "column"),
        ("catalog", "sessionproperty"),
        ("catalog", "schema", "procedure"),
        ("trinouser",),
        ("function",),
        ("queryid",),
    ),
    "cdap": (
        *(
            ("instance", "namespace", level)
            for level in ("artifact", "dataset", "dataset_module", "dataset_type", "secure_key", "stream")
        ),
        ("instance", "namespace", "application", "program"),
        ("instance", "principal"),
    ),
}
LEAVES: dict[str, frozenset[str]] = {
    "hive": frozenset({"database", "table", "column", "udf", "url", "hiveservice", "global"}),
    "trino": frozenset(
        {"catalog", "schema", "table", "column", "sessionproperty", "procedure", "trinouser"}
        | {"function", "queryid"}
    ),
    "cdap": frozenset(level for levels in HIERARCHIES["cdap"] for level in levels),
}
ACCESSES: dict[str, tuple[str, ...]] = {
    "hive": (
        *("select", "update", "create", "drop", "alter", "index", "lock", "read", "write", "repladmin"),
        *("serviceadmin", "tempudfadmin", "refresh", "all"),
    ),
    "trino": (
        *("select", "insert", "create", "drop", "delete", "use", "alter", "grant", "revoke", "show"),
        *("impersonate", "execute", "read_sysinfo", "write_sysinfo", "all"),
    ),
    "cdap": ("read", "write", "execute", "admin"),
}
NOT_IMPLIED = {"tempudfadmin"}
IGNORES_CASE = {"hive": True, "trino": True, "cdap": False}


def implied(type_: str, access: str) -> frozenset[str]:
    """The accesses that one stands for; `all` for nearly all of them."""
    if access != "all":
        return frozenset({access})
    return frozenset(ACCESSES[type_]) - NOT_IMPLIED


def definition(type_: str) -> dict[str, Any]:
    """A service definition as the server sends it, as far as it is asked for."""
    levels: dict[str, dict[str, Any]] = {}
    for chain in HIERARCHIES[type_]:
        for depth, name in enumerate(chain):
            levels[name] = {
                "name": name,
                "level": 10 * (depth + 1),
                "parent": chain[depth - 1] if depth else "",
                "isValidLeaf": name in LEAVES[type_],
                "matcherOptions": {"wildCard": "true", "ignoreCase": str(IGNORES_CASE[type_]).lower()},
            }
    return {
        "name": type_,
        "resources": list(levels.values()),
        "accessTypes": [
            {"name": name, "impliedGrants": sorted(implied(type_, name) - {name})} for name in ACCESSES[type_]
        ],
        "options": {"enableDenyAndExceptionsInPolicies": "true"},
    }
