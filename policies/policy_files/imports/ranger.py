"""Policies of Apache Ranger for Hive and Trino, as its REST API and its export write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext

from policies.policy_files.imports.draft import Draft, Needs, Path, Right, check_is_one, json_of

DATA = ("catalog", "schema", "table")
ITSELF = "schema "
"""Before the accesses of a policy that names a database or schema and no table."""


def _needs(*write: str) -> Needs:
    """The privileges of the law; a catalog or schema gives for all tables in it."""
    data: dict[tuple[str, str], frozenset[str]] = {}
    for binds in DATA:
        data["MODIFY_TABLE", binds] = frozenset(("select", *write))
        data["SELECT_TABLE", binds] = frozenset(("select",))
        data["MANAGE_GRANTS", binds] = frozenset(("delegate admin",))
    return {
        **data,
        ("CREATE_SCHEMA", "catalog"): frozenset((f"{ITSELF}create",)),
        ("CREATE_TABLE", "schema"): frozenset(("create",)),
        ("CREATE_TABLE", "catalog"): frozenset(("create",)),
    }


HIVE = {
    **_needs("update", "alter"),
    ("USE_SCHEMA", "schema"): frozenset((f"{ITSELF}select",)),
}
TRINO = {
    **_needs("insert", "delete", "alter"),
    ("USE_CATALOG", "catalog"): frozenset(("use",)),
    ("USE_SCHEMA", "schema"): frozenset((f"{ITSELF}use",)),
}
SERVICES: Mapping[str, tuple[Needs, tuple[str, ...], frozenset[str]]] = {
    "hive": (
        HIVE,
        ("database", "table", "column"),
        frozenset(("select", "update", "create", "drop", "alter", "index", "lock")),
    ),
    "trino": (
        TRINO,
        ("catalog", "schema", "table", "column"),
        frozenset(("select", "insert", "create", "drop", "delete", "use", "alter", "show")),
    ),
}
"""By type of service: what is a privilege, the levels of its resources, and what `all` means."""
WHY = {
    "drop": "Only an owner drops, so name the owner.",
    f"{ITSELF}drop": "Only an owner drops, so name the owner.",
    "show": "What somebody has something on is shown to them anyway.",
    f"{ITSELF}show": "What somebody has something on is shown to them anyway.",
    "index": "The law has no indexes.",
    "lock": "The law has no locks.",
}
_NAMES = [(str, int, float)]
_ITEM = {"accesses": [{}], "users": _NAMES, "groups": _NAMES, "roles": _NAMES}
POLICY = {"resources": {...: {"values": _NAMES}}, "policyItems": [_ITEM], "denyPolicyItems": [_ITEM]}
"""How a policy is built, as far as it is read."""
OF_ITSELF = frozenset(f"{ITSELF}{access}" for access in ("alter", "index", "lock", "update"))
"""What `all` brings along on a schema itself, and is nothing there."""


def read(text: str, draft: Draft) -> None:
    """Read one policy, a list of them, or an export.  Raises Invalid."""
    value = json_of(text, "Ranger", (POLICY | {"policies": [POLICY]}, [POLICY]))
    entries = value.get("policies", [value]) if isinstance(value, dict) else value
    for type_ in SERVICES:
        mine = [policy for policy in entries if _type(policy) == type_]
        services = (str(policy["service"]) for policy in mine if policy.get("service"))
        check_is_one(gettext("services of %(type)s") % {"type": type_}, services)
    by_service: dict[str, list[Right]] = {}
    for policy in entries:
        service = _type(policy)
        by_service.setdefault(service, []).extend(_rights(policy, service, draft))
    for service, rights in by_service.items():
        if service in SERVICES:
            draft.say(rights, SERVICES[service][0], WHY)
    draft.add_the_way("Ranger needs no right on what is above.")


def _type(policy: Mapping[str, Any]) -> str:
    return str(policy.get("serviceType") or "hive")


def _rights(policy: Mapping[str, Any], service: str, draft: Draft) -> Iterator[Right]:
    name = f"policy {policy.get('name') or policy.get('id')}"
    if reason := _unsayable(policy, service):
        draft.leave_out(name, reason)
        return
    for what in ("allowExceptions", "denyExceptions"):
        if policy.get(what):
            draft.leave_out(
                f"{name}: {what}", "The law has no exceptions; name the people in a role instead."
            )
    if policy.get("policyPriority"):
        draft.leave_out(f"{name}: its priority", "A denial counts before every grant here.")
    places = list(_places(policy, service, name, draft))
    if not policy.get("allowExceptions"):  # without its exceptions it would give more
        yield from _items(policy, "policyItems", service, places, name, draft)
    elif policy.get("policyItems"):
        draft.leave_out(f"{name}: policyItems", "Without its exceptions it would give more.")
    yield from _items(policy, "denyPolicyItems", service, places, name, draft)


def _unsayable(policy: Mapping[str, Any], service: str) -> str:
    """Why a whole policy cannot be said; empty where it may."""
    if service not in SERVICES:
        return f"Policies of {service} are not read, only those of {' and '.join(SERVICES)}."
    if policy.get("isEnabled", True) is not True:
        return "It is disabled."
    if policy.get("policyType") in (1, 2) or policy.get("dataMaskPolicyItems"):
        return "Masks and row filters are not kept here. Who reads the table reads it whole."
    if policy.get("rowFilterPolicyItems"):
        return "Masks and row filters are not kept here. Who reads the table reads it whole."
    if policy.get("validitySchedules"):
        return "It counts only at some times. Give its grants a window by hand."
    if policy.get("conditions"):
        return "It has conditions, which the law does not have."
    if policy.get("isDenyAllElse"):
        return "The law cannot deny everything else."
    if policy.get("additionalResources"):
        return "It has further resources. Make each a policy of its own."
    return "It belongs to a security zone." if policy.get("zoneName") else ""


def _places(
    policy: Mapping[str, Any], service: str, name: str, draft: Draft
) -> Iterator[tuple[str, Path, bool]]:
    """The objects of a policy: type, path, and whether it is about a schema itself and not its tables."""
    levels = SERVICES[service][1]
    resources: Mapping[str, Any] = policy.get("resources") or {}
    if strange := sorted(set(resources) - set(levels)):
        draft.leave_out(name, f"The law has no {', '.join(strange)}.")
        return
    if any(entry.get("isExcludes") for entry in resources.values()):
        draft.leave_out(name, "It is about everything but some objects.")
        return
    if set(resources.get("column", {}).get("values", ("*",))) != {"*"}:
        draft.leave_out(name, "Rights on columns are not kept here.")
        return
    if not resources:
        draft.leave_out(name, "It names no objects.")
        return
    lines: list[tuple[str, ...]] = [()]
    for level in levels[:-1]:
        # Ranger compares names of both in any case, and both keep them in small letters
        values = dict.fromkeys(str(value).lower() for value in resources.get(level, {}).get("values", ()))
        draft.count(len(lines) * len(values))
        lines = [(*line, value) for line in lines for value in values] if values else lines
    itself = "table" not in resources
    for line in lines:
        parts = line if service == "trino" else (draft.in_catalog()[0], *line)
        while parts and parts[-1] == "*":
            parts = parts[:-1]
        if any(mark in part for part in parts for mark in "*?{}") or len(parts) not in (1, 2, 3):
            draft.leave_out(f"{name}: {'.'.join(line)}", "The law has no patterns; name the objects.")
        else:
            yield DATA[len(parts) - 1], parts, itself and len(line) > len(levels) - 3


def _items(
    policy: Mapping[str, Any],
    field: str,
    service: str,
    places: list[tuple[str, Path, bool]],
    name: str,
    draft: Draft,
) -> Iterator[Right]:
    for item in policy.get(field) or ():
        if item.get("conditions"):
            draft.leave_out(f"{name}: {field}", "It has conditions, which the law does not have.")
            continue
        entries = [entry for entry in item.get("accesses") or () if entry.get("isAllowed", True) is True]
        accesses = named = {str(entry.get("type", "")).lower() for entry in entries}
        if "all" in accesses:
            accesses = accesses - {"all"} | SERVICES[service][2]
        holders = list(_holders(item, name, draft))
        unknown = accesses - SERVICES[service][2]  # of those there are only so many
        draft.count(len(places) * max(1, len(holders)) * (1 + len(unknown)))
        for type_, path, itself in places:
            unasked = OF_ITSELF - {f"{ITSELF}{access}" for access in named}
            rights = {f"{ITSELF}{access}" for access in accesses} - unasked if itself else set(accesses)
            if item.get("delegateAdmin"):
                rights.add("delegate admin")
            for holder in holders:
                yield from (
                    Right(holder, type_, path, right, field == "denyPolicyItems") for right in sorted(rights)
                )


def _holders(item: Mapping[str, Any], name: str, draft: Draft) -> Iterator[str]:
    for field, kind in (("users", "user"), ("groups", "group"), ("roles", "role")):
        for who in item.get(field) or ():
            if (kind == "group" and who == "public") or str(who).startswith("{"):
                draft.leave_out(f"{name}: {who}", "It is about everybody. Name a group that they are in.")
            else:
                if kind == "role":
                    draft.leave_out(f"members of role {who}", "Policies do not say who holds a role.")
                yield f"{kind}:{who}"
