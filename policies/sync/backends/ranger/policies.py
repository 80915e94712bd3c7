"""Reading and changing the items of a policy, as Ranger sends and takes it.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from typing import Any

from policies.sync.backends.ranger.names import Identity
from policies.sync.backends.ranger.types import LISTS

Policy = Mapping[str, Any]
DELEGATE = "delegate admin"
"""The word for the right to change the policy itself."""
HOLDERS = {"users": "", "groups": "group ", "roles": "role "}
"""The lists of holders of an item, and how a holder of each is called."""
_AS_MADE: dict[str, Any] = {
    "policyType": 0,
    "policyPriority": 0,
    "isEnabled": True,
    "isDenyAllElse": False,
    "zoneName": "",
    "conditions": [],
    "additionalResources": [],
}

SINCE = "2000/01/01 00:00:00"
"""From when on our policies are valid where they stand beside others: to Ranger that is another resource."""


@dataclass(frozen=True)
class Entry:
    """One kind of access that one holder has by one list of a policy; `plain` without conditions."""

    items: str
    which: str
    holder: str
    access: str
    plain: bool

    @property
    def word(self) -> str:
        return LISTS[self.items] + self.access

    @property
    def called(self) -> str:
        return HOLDERS[self.which] + self.holder


def entries(policy: Policy) -> Iterator[Entry]:
    """Every access of every holder in a policy."""
    for items in LISTS:
        for item in policy.get(items) or ():
            plain = not item.get("conditions") and not item.get("delegateAdmin")
            for access in _accesses(item):
                for which in HOLDERS:
                    for holder in item.get(which) or ():
                        yield Entry(items, which, holder, access, plain)


def _accesses(item: Mapping[str, Any]) -> list[str]:
    words = [entry["type"].lower() for entry in item.get("accesses") or () if entry.get("isAllowed", True)]
    return [*words, DELEGATE] if item.get("delegateAdmin") else words


def new_policy(
    identity: Identity, values: Mapping[str, str], text: str, *, beside: bool = False
) -> dict[str, Any]:
    """A policy of ours on these resources, without items yet; `beside` one of others on just the same."""
    always: dict[str, Any] = {"startTime": SINCE, "endTime": None, "timeZone": "UTC", "recurrences": []}
    return {
        "validitySchedules": [always] if beside else [],
        "service": identity.service,
        "name": identity.policy_name(values),
        "guid": identity.guid(values),
        "description": text,
        "isAuditEnabled": True,
        "policyLabels": [identity.label],
        "resources": {
            level: {"values": [value], "isExcludes": False, "isRecursive": False}
            for level, value in values.items()
        },
        **{items: [] for items in LISTS},
        **deepcopy(_AS_MADE),
    }


def is_as_made(policy: Policy) -> bool:
    """Whether nothing beside the items bends what a policy means."""
    return _always(policy) and all(
        (policy.get(name) or type(value)()) == value for name, value in _AS_MADE.items()
    )


def _always(policy: Policy) -> bool:
    ends = ("endTime", "recurrences")
    schedules = policy.get("validitySchedules") or ()
    return all(
        schedule.get("startTime") == SINCE and not any(map(schedule.get, ends)) for schedule in schedules
    )


def as_made(policy: Policy) -> dict[str, Any]:
    """A copy with what bends it straightened."""
    straight = {**deepcopy(dict(policy)), **deepcopy(_AS_MADE)}
    return straight if _always(policy) else {**straight, "validitySchedules": []}


def single_values(policy: Policy) -> dict[str, str] | None:
    """The value of each level, None where one has several, or all but some."""
    single = list(values_of(policy))
    return single[0] if len(single) == 1 and is_exact(policy) else None


def is_exact(policy: Policy) -> bool:
    """Whether the resources are what they say, and nothing else than it."""
    wanted = (policy.get("resources") or {}).values()
    bent = any(resource.get("isExcludes") or resource.get("isRecursive") for resource in wanted)
    return not bent and not policy.get("additionalResources")


def values_of(policy: Policy, most: int = 100) -> Iterator[dict[str, str]]:
    """Each value of each level with each of the others, at most so many."""
    resources = policy.get("resources") or {}
    every = product(*(wanted.get("values") or () for wanted in resources.values()))
    for _, values in zip(range(most), every, strict=False):
        yield dict(zip(resources, values, strict=True))


def readable(policy: Policy) -> str:
    """The resources of a policy in one line."""
    parts = []
    for level, wanted in (policy.get("resources") or {}).items():
        but = "not " if wanted.get("isExcludes") else ""
        parts.append(f"{level} {but}{', '.join(wanted.get('values') or ())}")
    return "; ".join(parts)


def with_items(policy: Policy, which: str, holder: str, wanted: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """A copy in which a holder has these accesses of these lists in items of its own, without conditions."""
    changed = deepcopy(dict(policy))
    for items, access in sorted(set(wanted)):
        rest = without(changed, items, which, holder, access)
        own = next((item for item in rest if _is_own(item, which, holder)), None)
        if own is None:
            empty: dict[str, Any] = {name: [] for name in HOLDERS}
            own = {**empty, "conditions": [], "delegateAdmin": False, which: [holder], "accesses": []}
            rest.append(own)
        own["accesses"] = [*own["accesses"], {"type": access, "isAllowed": True}]
        changed[items] = rest
    return changed


def without_items(
    policy: Policy, which: str, holder: str, taken: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """A copy in which a holder no longer has these accesses of these lists; others keep theirs."""
    changed = deepcopy(dict(policy))
    for items, access in taken:
        changed[items] = without(changed, items, which, holder, access)
    return changed


def without(policy: Policy, items: str, which: str, holder: str, access: str) -> list[dict[str, Any]]:
    """The items of a list, an item of several holders split where one of them loses something."""
    policies = []
    for item in policy.get(items) or ():
        if holder not in (item.get(which) or ()) or access not in _accesses(item):
            policies.append(dict(item))
            continue
        others = {**item, which: [entry for entry in item[which] if entry != holder]}
        own = {**item, **{name: [] for name in HOLDERS}, which: [holder]}
        own |= {
            "accesses": [entry for entry in item.get("accesses") or () if entry["type"].lower() != access]
        }
        if access == DELEGATE:
            own["delegateAdmin"] = False
        policies += [
            policy_item
            for policy_item in (others, own)
            if any(policy_item.get(name) for name in HOLDERS) and _accesses(policy_item)
        ]
    return policies


def has_items(policy: Policy) -> bool:
    """Whether anybody has anything by a policy."""
    return any(policy.get(items) for items in LISTS)


def same(policy: Policy, other: Policy) -> bool:
    """Whether two policies mean the same, whatever else the server has put into them."""
    return _meaning(policy) == _meaning(other)


def _meaning(policy: Policy) -> tuple[Any, ...]:
    flags = [policy.get(name) or type(value)() for name, value in _AS_MADE.items()]
    flags.append(
        [(part.get("startTime"), part.get("endTime")) for part in policy.get("validitySchedules") or ()]
    )
    labels = sorted(policy.get("policyLabels") or ())
    resources = {level: sorted(part["values"]) for level, part in (policy.get("resources") or {}).items()}
    return policy.get("name"), policy.get("guid"), labels, resources, flags, set(entries(policy))


def _is_own(item: Mapping[str, Any], which: str, holder: str) -> bool:
    holders = {name: item.get(name) or [] for name in HOLDERS}
    alone = holders == {**{name: [] for name in HOLDERS}, which: [holder]}
    return alone and not item.get("conditions") and not item.get("delegateAdmin")
