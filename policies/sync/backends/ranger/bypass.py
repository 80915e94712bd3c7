"""Who can do things whatever our policies say: administrators, superusers, overriding policies, tags."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import translate
from typing import Any

from lakewarden.backends.base import DENY, Bypass
from policies.sync.backends.ranger.foreign import concerns
from policies.sync.backends.ranger.policies import DELEGATE, Entry, entries, readable
from policies.sync.backends.ranger.state import Reader

_CONFIGS = {
    "ranger.plugin.super.users": ("", "is a superuser of the plugin: no policy is asked"),
    "ranger.plugin.super.groups": ("group ", "are superusers of the plugin: no policy is asked"),
    "service.admin.users": ("", "may change every policy of the service"),
    "service.admin.groups": ("group ", "may change every policy of the service"),
}


def bypasses(reader: Reader) -> Iterator[Bypass]:
    """Each such power, with the object it is about where there is one."""
    for row in reader.user_rows:
        if "ROLE_SYS_ADMIN" in (row.get("userRoleList") or ()) and row["name"] != reader.me:
            yield Bypass(row["name"], "is an administrator of Ranger: may change every policy and role")
    configs = reader.service.get("configs") or {}
    for name, (begins, what) in _CONFIGS.items():
        for holder in filter(None, (item.strip() for item in str(configs.get(name) or "").split(","))):
            yield Bypass(begins + holder, what)
    if reader.service.get("tagService"):
        yield Bypass(
            f"tag service {reader.service['tagService']}",
            "its policies are asked first, and are not read here",
        )
    for policy in reader.others:
        if policy.get("isEnabled", True) and concerns(policy, reader.type, reader.fixed):
            yield from _by_policy(reader, policy)
    if not denies_work(reader.definition):
        yield from _without_denials(reader)


def denies_work(definition: Mapping[str, Any]) -> bool:
    """Whether the service's type knows denials at all."""
    option = (definition.get("options") or {}).get("enableDenyAndExceptionsInPolicies", "true")
    return str(option).lower() != "false"


def _by_policy(reader: Reader, policy: Mapping[str, Any]) -> Iterator[Bypass]:
    where = f"by policy {policy['name']} on {readable(policy)}"
    overrides = bool(policy.get("policyPriority"))
    for entry in entries(policy):
        if entry.access == DELEGATE:
            yield Bypass(entry.called, f"may give rights to others, {where}", _path(reader, policy))
        elif overrides and _opens(entry):
            yield Bypass(
                entry.called, f"{entry.word} before every normal policy, {where}", _path(reader, policy)
            )
            for path in sorted(_denied(reader, policy, entry.access)):
                what = f"{entry.access} though it is denied here, {where}"
                yield Bypass(entry.called, what, path)
    if policy.get("isDenyAllElse"):
        yield Bypass(
            "everybody else", f"is denied all, also what is given here, {where}", _path(reader, policy)
        )


def _without_denials(reader: Reader) -> Iterator[Bypass]:
    yield Bypass("everybody", "no denial works: the service's definition has them switched off")
    for policy in reader.others:
        for entry in entries(policy):
            if entry.items != "policyItems":
                continue
            for path in sorted(_denied(reader, policy, entry.access)):
                what = f"{entry.access} though it is denied here, by policy {policy['name']}"
                yield Bypass(entry.called, what, path)


def _opens(entry: Entry) -> bool:
    return entry.items in ("policyItems", "denyExceptions")


def _path(reader: Reader, policy: Mapping[str, Any]) -> tuple[str, ...] | None:
    return min((path for _, path in reader.places(policy)), default=None)


def _denied(reader: Reader, policy: Mapping[str, Any], access: str) -> set[tuple[str, ...]]:
    """The objects on which we deny an access that a policy covers, too."""
    return {
        path
        for ours, places in reader.ours
        for _, path in places
        if covers(policy, ours)
        and any(
            entry.word in (DENY + access, DENY + "all") or access == "all"
            for entry in entries(ours)
            if entry.items == "denyPolicyItems"
        )
    }


def covers(policy: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a policy's resources hold those of another that names a single one."""
    mine, theirs = policy.get("resources") or {}, other.get("resources") or {}
    return set(mine) == set(theirs) and all(
        _fits(mine[level], theirs[level]["values"][0]) for level in theirs
    )


def _fits(wanted: Mapping[str, Any], value: str) -> bool:
    patterns = (translate(pattern.replace("[", "[[]")) for pattern in wanted.get("values") or ())
    return any(re.match(pattern, value, re.IGNORECASE) for pattern in patterns) != bool(
        wanted.get("isExcludes")
    )
