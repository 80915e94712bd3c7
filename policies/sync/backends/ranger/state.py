"""The rows of a service of Ranger at one moment, and what follows from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from lakewarden.backends.base import Right
from lakewarden.backends.decisions import PERSON
from lakewarden.backends.errors import Misconfigured
from policies.sync.backends.ranger.client import Session
from policies.sync.backends.ranger.names import OPTION, Identity
from policies.sync.backends.ranger.policies import (
    DELEGATE,
    Entry,
    entries,
    is_as_made,
    is_exact,
    single_values,
)
from policies.sync.backends.ranger.types import LISTS, Shape, Type

ADMIN = "ROLE_SYS_ADMIN"
TRIES = 3


class Reader:
    """The rows of one look, read again when policies changed meanwhile; in the end it is not complete."""

    def __init__(self, session: Session, identity: Identity, type_: Type, fixed: str) -> None:
        self.identity, self.type, self.fixed = identity, type_, fixed
        self.profile = session.profile()
        self.service = checked_service(session, type_)
        for _ in range(TRIES):
            version = self.service.get("policyVersion")
            self.policies = [policy for policy in session.policies() if not policy.get("policyType")]
            self.role_rows = session.roles() if self.is_admin else []
            self.service = session.service()
            self.steady = self.service.get("policyVersion") == version
            if self.steady:
                break
        self.definition = session.definition(type_.code)
        self.user_rows = session.users()
        self.plugins = session.plugins()

    @property
    def is_admin(self) -> bool:
        return ADMIN in (self.profile.get("userRoleList") or ())

    @property
    def me(self) -> str:
        return str(self.profile.get("loginId") or "")

    @cached_property
    def people(self) -> frozenset[str]:
        """Everybody whom Ranger knows and does not hide."""
        return frozenset(row["name"] for row in self.user_rows if row.get("isVisible", 1))

    @cached_property
    def groups(self) -> dict[str, frozenset[str]]:
        """Groups and roles of others, as holders are called, and who is in them."""
        groups: dict[str, set[str]] = defaultdict(set)
        for row in self.user_rows:
            for group in row.get("groupNameList") or ():
                groups[f"group {group}"].add(row["name"])
        for role in self.role_rows:
            if role["name"] not in self.keys:
                groups[f"role {role['name']}"] |= names_in(role, "users")
        return {name: frozenset(people) for name, people in groups.items()}

    @cached_property
    def keys(self) -> dict[str, str]:
        """Our roles: the key of each by its name."""
        keys = {role["name"]: key_of(self.identity, role) for role in self.role_rows}
        return {name: key for name, key in keys.items() if key is not None}

    @cached_property
    def ours(self) -> list[tuple[Mapping[str, Any], list[tuple[Shape, tuple[str, ...]]]]]:
        """Our policies, each with the shapes and the path that it is for."""
        return [
            (policy, places)
            for policy in self.policies
            if (places := self.places(policy)) and not self.identity.faults(policy, single_values(policy))
        ]

    @cached_property
    def others(self) -> list[Mapping[str, Any]]:
        """The policies of others, and those that only look like ours."""
        ours = {policy["id"] for policy, _ in self.ours}
        return [policy for policy in self.policies if policy["id"] not in ours]

    def places(self, policy: Mapping[str, Any]) -> list[tuple[Shape, tuple[str, ...]]]:
        values = single_values(policy)
        return list(self.type.places(values, self.fixed)) if values is not None else []

    def rights(self) -> Iterator[tuple[str, Right, bool]]:
        """What each of our roles has by our policies, and whether it is as we make it."""
        for policy, places in self.ours:
            sound = is_as_made(policy) and is_exact(policy)
            for entry in entries(policy):
                key = self.key_of(entry)
                if key is None:
                    continue
                straight = sound and entry.plain and entry.access != DELEGATE
                yield key, as_right(places, entry.items, entry.access), straight

    def key_of(self, entry: Entry) -> str | None:
        """The key of the role of ours, or of the person, that an item of a policy of ours is for."""
        if self.type.by_person:
            return PERSON + entry.holder if entry.which == "users" else None
        return self.keys.get(entry.holder) if entry.which == "roles" else None

    def unknown(self) -> Iterator[str]:
        """What bears a part of our mark and not all of it; nobody touches it."""
        for policy in self.others:
            values = single_values(policy)
            if self.identity.claims(policy, values):
                yield contradiction("policy", policy["name"], self.identity.faults(policy, values))
        for role in self.role_rows:
            if self.identity.calls_role(role["name"]) and role["name"] not in self.keys:
                yield contradiction("role", role["name"], ["its options"])


def contradiction(what: str, name: str, faults: list[str]) -> str:
    """What is said of something that bears a part of our mark and not all of it."""
    reasons = " and ".join(faults or ["its resources"])
    return f"{what} {name} looks like ours, but {reasons} says otherwise; it is not touched"


def checked_service(session: Session, type_: Type) -> dict[str, Any]:
    """Our service.  Raises Misconfigured when it is of another type."""
    service = session.service()
    if service.get("type") != type_.code:
        raise Misconfigured(
            f"service {session.service_name} is of type {service.get('type')}, not {type_.code}"
        )
    return service


def key_of(identity: Identity, role: Mapping[str, Any]) -> str | None:
    """The key of a role of ours; None when it is somebody else's."""
    key = (role.get("options") or {}).get(OPTION)
    return str(key) if key is not None and identity.role_name(str(key)) == role["name"] else None


def as_right(places: list[tuple[Shape, tuple[str, ...]]], items: str, access: str) -> Right:
    """An access by a policy as a right, on the first of the objects that its resources can mean."""
    shape, path = places[0]
    return Right(shape.kind, path, LISTS[items] + shape.means + access)


def names_in(role: Mapping[str, Any], which: str) -> set[str]:
    return {member["name"] for member in role.get(which) or ()}
