"""What a plugin makes of policies: which match a resource, and who may do what there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import translate
from typing import Any

from tests.standins.ranger.definitions import HIERARCHIES, IGNORES_CASE, implied

Policy = Mapping[str, Any]
ANY = "_any"
SELF, BELOW, ABOVE, NONE = "self", "self and all below", "descendant", "none"


@dataclass(frozen=True)
class Asker:
    """Who asks: a user with the groups and roles the plugin knows them in."""

    user: str
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()

    def named_in(self, item: Mapping[str, Any]) -> bool:
        return bool(
            {self.user, "{USER}"} & set(item.get("users") or ())
            or {*self.groups, "public"} & set(item.get("groups") or ())
            or self.roles & set(item.get("roles") or ())
        )


@dataclass
class Policies:
    """The policies of one service as a plugin loaded them."""

    type: str
    policies: Iterable[Policy]
    deny_works: bool = True

    def allows(self, asker: Asker, access: str, resource: Mapping[str, str]) -> bool:
        """Overriding policies before normal ones; in each rank any denial before any permission."""
        matching = [policy for policy in self.policies if self._applies(policy, resource, access)]
        for priority in sorted({policy.get("policyPriority") or 0 for policy in matching}, reverse=True):
            ranked = [policy for policy in matching if (policy.get("policyPriority") or 0) == priority]
            verdicts = [self._verdict(policy, asker, access, resource) for policy in ranked]
            if False in verdicts:
                return False
            if True in verdicts:
                return True
        return False

    def _applies(self, policy: Policy, resource: Mapping[str, str], access: str) -> bool:
        if not policy.get("isEnabled", True) or policy.get("policyType") or policy.get("conditions"):
            return False
        if not _in_time(policy.get("validitySchedules") or ()):
            return False
        how = self.match(policy["resources"], resource)
        return how != NONE if access == ANY else how in (SELF, BELOW)

    def _verdict(self, policy: Policy, asker: Asker, access: str, resource: Mapping[str, str]) -> bool | None:
        how = self.match(policy["resources"], resource)
        denied = self._in(policy, "denyPolicyItems", asker, access) and not self._in(
            policy, "denyExceptions", asker, access
        )
        # a denial further down does not close what lies above it
        if self.deny_works and denied and not (access == ANY and how == ABOVE):
            return False
        excepted = self.deny_works and self._in(policy, "allowExceptions", asker, access)
        if self._in(policy, "policyItems", asker, access) and not excepted:
            return True
        return False if policy.get("isDenyAllElse") else None

    def _in(self, policy: Policy, items: str, asker: Asker, access: str) -> bool:
        return any(
            asker.named_in(item) and (access == ANY or access in self._accesses(item))
            for item in policy.get(items) or ()
            if not item.get("conditions")
        )

    def _accesses(self, item: Mapping[str, Any]) -> set[str]:
        given = [access["type"] for access in item["accesses"] if access.get("isAllowed", True)]
        return {access for granted_access in given for access in implied(self.type, granted_access)}

    def match(self, wanted: Mapping[str, Any], resource: Mapping[str, str]) -> str:
        """How a policy's resources and a resource fit."""
        for levels in HIERARCHIES[self.type]:
            if {*wanted, *resource} <= set(levels):
                return self._match(levels, wanted, resource)
        return NONE

    def _match(self, levels: Iterable[str], wanted: Mapping[str, Any], resource: Mapping[str, str]) -> str:
        answer = SELF
        for level in levels:
            if level in wanted and level in resource:
                if not self._value_fits(wanted[level], resource[level]):
                    return NONE
            elif level in wanted:
                if wanted[level]["values"] != ["*"] or wanted[level].get("isExcludes"):
                    return ABOVE
                answer = BELOW
            elif level in resource:
                return NONE
        return answer

    def _value_fits(self, wanted: Mapping[str, Any], value: str) -> bool:
        flags = re.DOTALL | (re.IGNORECASE if IGNORES_CASE[self.type] else 0)
        fits = any(re.match(_pattern(text), value, flags) for text in wanted["values"])
        return fits != bool(wanted.get("isExcludes"))


def _in_time(schedules: Collection[Mapping[str, Any]]) -> bool:
    now = datetime.now(UTC).strftime("%Y/%m/%d %H:%M:%S")
    return not schedules or any(
        (schedule.get("startTime") or "") <= now <= (schedule.get("endTime") or "9") for schedule in schedules
    )


def _pattern(text: str) -> str:
    # Ranger knows * and ?, and no classes of letters
    return translate(text.replace("[", "[[]"))


def roles_of(user: str, groups: Collection[str], roles: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The roles somebody is in, also by a group or by a role in a role."""
    rows = list(roles)
    role_names: set[str] = set()
    while True:
        more = {
            row["name"]
            for row in rows
            if user in _names(row, "users")
            or set(groups) & _names(row, "groups")
            or role_names & _names(row, "roles")
        }
        if more <= role_names:
            return frozenset(role_names)
        role_names |= more


def _names(row: Mapping[str, Any], which: str) -> set[str]:
    return {member["name"] for member in row.get(which) or ()}
