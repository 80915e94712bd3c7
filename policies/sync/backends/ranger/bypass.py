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
from policies.sync.backends.shared import powers

_CONFIGS = {
    "ranger.plugin.super.users": ("", powers.RANGER_SUPERUSER),
    "ranger.plugin.super.groups": ("group ", powers.RANGER_SUPERUSERS),
    "service.admin.users": ("", powers.SERVICE_ADMINISTRATOR),
    "service.admin.groups": ("group ", powers.SERVICE_ADMINISTRATOR),
}


def bypasses(reader: Reader) -> Iterator[Bypass]:
    """Each such power, with the object it is about where there is one."""
    for row in reader.user_rows:
        if "ROLE_SYS_ADMIN" in (row.get("userRoleList") or ()) and row["name"] != reader.me:
            yield Bypass(row["name"], powers.RANGER_ADMINISTRATOR.english())
    configs = reader.service.get("configs") or {}
    for name, (begins, power) in _CONFIGS.items():
        for holder in filter(None, (item.strip() for item in str(configs.get(name) or "").split(","))):
            yield Bypass(begins + holder, power.english())
    if reader.service.get("tagService"):
        yield Bypass(f"tag service {reader.service['tagService']}", powers.TAG_SERVICE.english())
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
    where = {"policy": policy["name"], "resources": readable(policy)}
    overrides, place = bool(policy.get("policyPriority")), _path(reader, policy)
    for entry in entries(policy):
        if entry.access == DELEGATE:
            yield Bypass(entry.called, powers.DELEGATES.english(**where), place)
        elif overrides and _opens(entry):
            yield Bypass(entry.called, powers.OVERRIDES.english(right=entry.word, **where), place)
            yield from _past_denials(reader, policy, entry)
    if policy.get("isDenyAllElse"):
        yield Bypass("everybody else", powers.DENIES_ALL_ELSE.english(**where), place)


def _past_denials(reader: Reader, policy: Mapping[str, Any], entry: Entry) -> Iterator[Bypass]:
    """An access by a policy of others, on each object on which we deny it."""
    what = powers.PASSES_DENIAL.english(right=entry.access, policy=policy["name"], resources=readable(policy))
    for path in sorted(_denied(reader, policy, entry.access)):
        yield Bypass(entry.called, what, path)


def _without_denials(reader: Reader) -> Iterator[Bypass]:
    yield Bypass("everybody", powers.DENIALS_OFF.english())
    for policy in reader.others:
        for entry in entries(policy):
            if entry.items == "policyItems":
                yield from _past_denials(reader, policy, entry)


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
