"""Policies of Apache Ranger for CDAP, read as privileges on texts.

Only what is understood allows: a condition, a schedule with recurrences, a zone or a list of what is left out
lets nothing in, and where it stands at a denial the denial holds always.  A permission that a denial touches,
even in part, is no permission, because privileges on texts have no exceptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Optional

from lakewarden.law.globs import edges, is_glob, like

ACCESSES = ("READ", "WRITE", "EXECUTE", "ADMIN")
LEVELS = ("instance", "namespace", "application", "program")
"""One way down; all others end below the namespace, and principals below the instance."""
IN_NAMESPACE = {
    "artifact": "artifact",
    "dataset": "dataset",
    "dataset_module": "dataset_module",
    "dataset_type": "dataset_type",
    "secure_key": "securekey",
    "stream": "stream",
}
KNOWN = frozenset({*LEVELS, *IN_NAMESPACE, "principal"})
PUBLIC = "public"
_MOMENT = "%Y/%m/%d %H:%M:%S"

Policy = Mapping[str, Any]
Target = tuple[str, tuple[str, ...]]
"""A type of entity and the parts of its name, patterns or not."""


@dataclass(frozen=True)
class Asker:
    """Whose privileges are looked for."""

    user: str
    groups: frozenset[str]
    roles: frozenset[str]


class NotUnderstood(ValueError):
    """The policies hold something whose meaning is not known here; nothing is read from them."""


def privileges(
    policies: Iterable[Policy], asker: Asker, instance: str, now: Optional[datetime] = None
) -> Iterator[tuple[str, str]]:
    """What somebody has in an instance: each text with an action, as far as no denial touches it.

    Raises NotUnderstood.
    """
    moment, policies = now or datetime.now(timezone.utc), list(policies)
    if not _has_shape(policies, [_POLICY]):
        raise NotUnderstood("a policy is not written as Ranger writes them")
    # what Ranger writes as null is as if it were left out: a policy is on unless it says that it is off
    live = [
        policy for policy in policies if policy.get("isEnabled") is not False and not policy.get("policyType")
    ]
    denials = [denial for policy in live for denial in _denials(policy, asker, instance, moment)]
    for policy in live:
        rank = int(policy.get("policyPriority") or 0)
        accesses = _allowed(policy, asker) if _is_plain(policy, moment) else frozenset[str]()
        for target in _targets(policy, instance) or () if accesses else ():
            for access in sorted(accesses):
                against = (on for on, denied, ranked in denials if access in denied and ranked >= rank)
                if _is_sayable(target) and not any(_touch(target, on) for on in against):
                    yield f"{target[0]}:{'.'.join(target[1])}", access


_ITEMS = [
    {
        "accesses": [{"type": str, "isAllowed": bool}],
        "users": [str],
        "groups": [str],
        "roles": [str],
    }
]
_LEVEL = {"values": [str], "isExcludes": bool, "isRecursive": bool}
_POLICY: Mapping[str, Any] = {
    "isEnabled": bool,
    "isDenyAllElse": bool,
    "policyType": int,
    "policyPriority": int,
    **dict.fromkeys(("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions"), _ITEMS),
    "resources": (_LEVEL,),
    "validitySchedules": [{}],
}
"""How Ranger writes what is read here: `[x]` is a list of such, `(x,)` has one under any name."""


def _has_shape(value: Any, shape: Any) -> bool:
    """Whether a value is written so; what is left out or null is.

    Without a look at types a text would pass for a list of its letters, and "false" for a yes.
    """
    if value is None:
        return True
    if isinstance(shape, list):
        return isinstance(value, list) and all(
            item is not None and _has_shape(item, shape[0]) for item in value
        )
    if isinstance(shape, tuple):
        return isinstance(value, dict) and all(
            item is not None and _has_shape(item, shape[0]) for item in value.values()
        )
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(_has_shape(value.get(name), shape[name]) for name in shape)
    return type(value) is shape


def roles_of(user: str, groups: Iterable[str], roles: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The roles somebody is in, also by a group or by a role in a role."""
    rows, mine, held = list(roles), {*groups, PUBLIC}, set[str]()
    while True:
        more = {
            str(role["name"])
            for role in rows
            if user in _names(role, "users") or mine & _names(role, "groups") or held & _names(role, "roles")
        }
        if more <= held:
            return frozenset(held)
        held |= more


def _names(role: Mapping[str, Any], members: str) -> set[str]:
    return {str(member["name"]) for member in role.get(members) or ()}


def _denials(
    policy: Policy, asker: Asker, instance: str, now: datetime
) -> Iterator[tuple[Optional[Target], frozenset[str], int]]:
    """What a policy denies somebody, and with which rank; on everything, where its resources are strange."""
    if not _may_hold(policy, now):
        return
    denied = _accesses(policy, "denyPolicyItems", asker, certain=False)
    denied -= _accesses(policy, "denyExceptions", asker, certain=True)
    if policy.get("isDenyAllElse"):
        denied |= frozenset(ACCESSES) - _allowed(policy, asker)
    targets = _targets(policy, instance) if denied else ()
    # ranks are compared for permissions that are understood; a denial that is not outranks them all
    rank = int(policy.get("policyPriority") or 0) if targets is not None else 1_000_000
    for target in [None] if targets is None else targets:
        yield target, denied, rank


def _allowed(policy: Policy, asker: Asker) -> frozenset[str]:
    given = _accesses(policy, "policyItems", asker, certain=True)
    return given - _accesses(policy, "allowExceptions", asker, certain=False)


def _accesses(policy: Policy, items: str, asker: Asker, *, certain: bool) -> frozenset[str]:
    """The kinds of access of the items that name somebody; `certain`: of those whose meaning is known."""
    accesses = set[str]()
    for item in policy.get(items) or ():
        if certain and (item.get("conditions") or not _is_named(item, asker)):
            continue
        if certain or _is_named(item, asker) or _names_anybody(item):
            entries = [
                entry
                for entry in item.get("accesses") or ()
                if not certain or entry.get("isAllowed") is not False
            ]
            words = [str(entry.get("type", "")).upper() for entry in entries]
            strange = not certain and any(word not in ACCESSES for word in words)
            accesses |= set(ACCESSES if strange else words)
    return frozenset(accesses) & frozenset(ACCESSES)


def _is_named(item: Mapping[str, Any], asker: Asker) -> bool:
    return bool(
        asker.user in (item.get("users") or ())
        or {*asker.groups, PUBLIC} & set(item.get("groups") or ())
        or asker.roles & set(item.get("roles") or ())
    )


def _names_anybody(item: Mapping[str, Any]) -> bool:
    """Whether it speaks of somebody by a macro, such as {USER} or {OWNER}."""
    return any(str(name).startswith("{") for name in item.get("users") or ())


def _is_plain(policy: Policy, now: datetime) -> bool:
    """Whether nothing beside its resources and items says when or where a policy counts; schedules may."""
    strange = ("conditions", "zoneName", "additionalResources")
    return not any(policy.get(name) for name in strange) and _in_time(policy, now) is True


def _may_hold(policy: Policy, now: datetime) -> bool:
    return _in_time(policy, now) is not False


def _in_time(policy: Policy, now: datetime) -> Optional[bool]:
    """Whether one of its schedules is on; None where they are not understood."""
    schedules = policy.get("validitySchedules") or ()
    if not schedules:
        return True
    answers = [_is_on(schedule, now) for schedule in schedules]
    return True if True in answers else None if None in answers else False


def _is_on(schedule: Mapping[str, Any], now: datetime) -> Optional[bool]:
    if schedule.get("recurrences") or schedule.get("timeZone") not in (None, "", "UTC"):
        return None
    try:
        edges_ = [
            datetime.strptime(schedule[name], _MOMENT).replace(tzinfo=timezone.utc)
            if schedule.get(name)
            else now
            for name in ("startTime", "endTime")
        ]
    except (TypeError, ValueError):
        return None
    return edges_[0] <= now <= edges_[1]


def _targets(policy: Policy, instance: str) -> Optional[list[Target]]:
    """The entities that a policy is about, as texts are; None where that is not understood.

    A level of which all is left out (`*` with excludes) is no level: so a policy is about a namespace alone.
    """
    resources = dict(policy.get("resources") or {})
    levels = {name: wanted for name, wanted in resources.items() if not _is_left_out(wanted)}
    if any(wanted.get("isExcludes") or wanted.get("isRecursive") for wanted in levels.values()):
        return None
    values = {name: [str(value) for value in wanted.get("values") or ()] for name, wanted in levels.items()}
    if not values.keys() <= KNOWN or any("{" in value for each in values.values() for value in each):
        return None
    if not any(like(value, instance) for value in values.pop("instance", [])):
        return []
    return [*dict.fromkeys(_named(values))]


def _is_left_out(wanted: Mapping[str, Any]) -> bool:
    return bool(wanted.get("isExcludes")) and list(wanted.get("values") or ()) == ["*"]


def _named(values: Mapping[str, Sequence[str]]) -> Iterator[Target]:
    """Each entity that values of levels name.  `*` on the last level means what is above it as well."""
    order = [name for name in (*LEVELS[1:], *IN_NAMESPACE, "principal") if name in values]
    if not order or order != _way_to(order[-1]):
        return
    parts: list[tuple[str, ...]] = [()]
    for name in order:
        parts = [(*before, "*" if value == "?*" else value) for before in parts for value in values[name]]
    type_ = {**IN_NAMESPACE, "principal": "kerberosprincipal"}.get(order[-1], order[-1])
    yield from ((type_, each) for each in parts)
    if "*" in values[order[-1]] and len(order) > 1:
        yield from _named({name: values[name] for name in order[:-1]})


def _way_to(last: str) -> list[str]:
    if last == "principal":
        return [last]
    return ["namespace", last] if last in IN_NAMESPACE else list(LEVELS[1 : LEVELS.index(last) + 1])


def _is_sayable(target: Target) -> bool:
    """Whether the text of it has the same parts: a dot before the last would begin another."""
    return not any("." in part for part in target[1][:-1])


def _touch(allowed: Target, denied: Optional[Target]) -> bool:
    """Whether a denial is about anything that a permission is about."""
    if denied is None:
        return True
    same = allowed[0] == denied[0] and len(allowed[1]) == len(denied[1])
    return same and all(map(_overlap, allowed[1], denied[1]))


def _overlap(pattern: str, other: str) -> bool:
    """Whether some name can be like both; yes where that is not clear."""
    if not is_glob(pattern) or not is_glob(other):
        return pattern == other or like(pattern, other) or like(other, pattern)
    (first, last), (begins, ends) = edges(pattern), edges(other)
    heads = first.startswith(begins) or begins.startswith(first)
    return heads and (last.endswith(ends) or ends.endswith(last))
