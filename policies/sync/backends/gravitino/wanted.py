"""What should be true in a metalake of another server: our roles as they are, in its own words.

Roles, denials and owners mean there what they mean here, so they are carried over one by one, unresolved.
What only this side knows is worked out as of now: a grant outside its window is not there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

from lakewarden.backends.base import Desired, Observation, Right
from lakewarden.backends.console import PEOPLE, Directory, Holder
from lakewarden.backends.decisions import Decisions, Facts, Target, role_label
from lakewarden.law.facts import Window, contains
from policies.sync.backends.gravitino.names import (
    DENY,
    HERE,
    MARK,
    METALAKE,
    OWNER,
    group,
    owner_key,
    user,
)


def admitted(directory: Directory, *, native_groups: bool) -> list[str]:
    """Whom a realm admits now, as they would be called over there."""
    return [_name_there(holder) for holder in _members(directory, native_groups=native_groups)]


def _members(directory: Directory, *, native_groups: bool) -> list[Holder]:
    """Who gets roles over there: people, and with equal groups on both sides the groups themselves."""
    people = directory.admitted(*PEOPLE, *(("group",) if native_groups else ()))
    # a person and a service of one name cannot be told apart over there, so neither gets anything
    names = Counter(map(_name_there, people))
    return [holder for holder in people if names[_name_there(holder)] == 1]


def _name_there(holder: Holder) -> str:
    return group(holder.name) if holder.kind == "group" else user(holder.name)


def wanted(backend: Any, decisions: Decisions, seen: Observation) -> tuple[Desired, list[str]]:
    """The roles, memberships and owners of a realm, and the objects that are not there."""
    keys_seen = {(item.kind, item.path) for item in seen.objects}
    present, absent = {}, []
    for target in decisions.targets:
        if (target.kind, target.path) in keys_seen:
            present[target.id] = target
        else:
            absent.append(".".join(target.path))
    mirror = _Mirror(decisions, present, native_groups=backend.native_groups)
    return mirror.desired(), [*absent, *mirror.inexpressible]


class _Mirror:
    def __init__(self, decisions: Decisions, targets: dict[int, Target], *, native_groups: bool) -> None:
        self.decisions, self.targets, self.native_groups = decisions, targets, native_groups
        self.inexpressible: list[str] = []
        self.off = {key for key, target in targets.items() if decisions.is_off(target)}

    def desired(self) -> Desired:
        roles: dict[str, frozenset[Right]] = {}
        members: dict[str, set[str]] = defaultdict(set)
        labels: dict[str, str] = {}
        for holder in self.holders:
            for role, name in self._roles_of(holder.pk):
                key = f"role:{role}"
                rights = frozenset(
                    Right(target.kind, target.path, code if allow else DENY + code)
                    for securable, code, allow, window, *_ in self.facts.grants.get(role, ())
                    if self._holds(window) and code not in HERE and (target := self.targets.get(securable))
                    if not (allow and securable in self.off)
                )
                roles[key], labels[key] = rights, role_label(name)
                members[key].add(_name_there(holder))
        for owner, owned in self._owned().items():
            key = owner_key(owner)
            roles[key], labels[key] = frozenset(owned), f"what {owner} owns"
            members[key].add(owner)
        return Desired(roles, {key: frozenset(who) for key, who in members.items()}, labels)

    @cached_property
    def holders(self) -> list[Holder]:
        """Who gets roles over there."""
        return _members(self.decisions.directory, native_groups=self.native_groups)

    @cached_property
    def facts(self) -> Facts:
        return self.decisions.facts_of(self.holders)

    @cached_property
    def _carried_here(self) -> Collection[int]:
        """Roles that another console carried into this realm; passed on, they could go in circles."""
        held = {role for rows in self.facts.roles.values() for role, *_ in rows}
        return self.decisions.with_property(held, MARK)

    def _roles_of(self, holder: int) -> Iterator[tuple[int, str]]:
        holders = [holder]
        if not self.native_groups:
            rows = self.facts.groups.get(holder, ())
            holders += [group_ for group_, _, window in rows if self._holds(window)]
        seen = set()
        for holder in holders:
            for role, name, window in self.facts.roles.get(holder, ()):
                if role not in seen and role not in self._carried_here and self._holds(window):
                    seen.add(role)
                    yield role, name

    def _owned(self) -> dict[str, set[Right]]:
        """What has an owner here; the metalake itself belongs to this console's account over there."""
        ids = [id_ for id_, target in self.targets.items() if target.kind != METALAKE]
        rights: dict[str, set[Right]] = defaultdict(set)
        holder_ids = {holder.pk for holder in self.holders}
        for id_, owner in self.decisions.owners_of(ids):
            target = self.targets[id_]
            if owner.pk in holder_ids:
                rights[_name_there(owner)].add(Right(target.kind, target.path, OWNER))
            elif owner.kind == "group":
                self.inexpressible.append(f"{'.'.join(target.path)} belongs to the group {owner.name}")
        return rights

    def _holds(self, window: Window) -> bool:
        return contains(window, self.decisions.now.timestamp())
