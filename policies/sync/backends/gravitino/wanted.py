"""What should be true in a metalake of another server: our roles as they are, in its own words.

Roles, denials and owners mean there what they mean here, so they are carried over one by one, unresolved.
What only this side knows is worked out as of now: a grant outside its window is not there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.utils import timezone

from accounts.models import Principal
from catalog.models import Detail, Realm
from catalog.nodes import Node
from catalog.queries import realm_named
from lakewarden.backends import kinds
from lakewarden.backends.base import Desired, Observation, Right
from policies.decisions import facts, switches
from policies.models import Ownership, RealmMember
from policies.sync.backends.gravitino.names import (
    DENY,
    HERE,
    LAKE,
    MARK,
    OWNER,
    group,
    owner_key,
    user,
)
from policies.sync.desired import Target, targets_below

PEOPLE = (Principal.Kind.USER, Principal.Kind.SERVICE)


def admitted(realm: str, *, native_groups: bool) -> list[str]:
    """Whom a realm admits now, as they would be called over there."""
    row = realm_named(realm)
    if row is None:
        return []
    kinds_ = (*PEOPLE, Principal.Kind.GROUP) if native_groups else PEOPLE
    return [_called(one) for one in _members(row.pk, kinds_, timezone.now())]


def _members(realm: int, kinds_: Iterable[str], now: datetime) -> list[Principal]:
    rows = RealmMember.objects.open().within(now).filter(realm=realm, principal__kind__in=kinds_)
    found = [row.principal for row in rows.select_related("principal").order_by("principal")]
    # a person and a service of one name cannot be told apart over there, so neither gets anything
    names = Counter(_called(one) for one in found)
    return [one for one in found if names[_called(one)] == 1]


def _called(one: Principal) -> str:
    return group(one.name) if one.kind == Principal.Kind.GROUP else user(one.name)


def wanted(backend: Any, node: Node, seen: Observation, now: datetime) -> tuple[Desired, list[str]]:
    """The roles, memberships and owners of a realm, and the objects that are not there."""
    there = {(one.kind, one.path) for one in seen.objects}
    present, absent = {}, []
    for one in targets_below(node, kinds.get("gravitino")):
        if (one.kind, one.path) in there:
            present[one.id] = one
        else:
            absent.append(".".join(one.path))
    mirror = _Mirror(backend, node, present, now)
    return mirror.desired(), [*absent, *mirror.inexpressible]


@dataclass
class _Mirror:
    backend: Any
    node: Node
    targets: dict[int, Target]
    now: datetime

    def __post_init__(self) -> None:
        self.inexpressible: list[str] = []
        off = switches.now()
        self.off = {key for key, one in self.targets.items() if switches.is_off(one.levels, off)}

    def desired(self) -> Desired:
        roles: dict[str, frozenset[Right]] = {}
        members: dict[str, set[str]] = defaultdict(set)
        labels: dict[str, str] = {}
        for holder in self.holders:
            for role, name in self._roles_of(holder.pk):
                key = f"role:{role}"
                roles[key], labels[key] = self._rights(role), _label(name)
                members[key].add(_called(holder))
        for owner, owned in self._owned().items():
            key = owner_key(owner)
            roles[key], labels[key] = frozenset(owned), f"what {owner} owns"
            members[key].add(owner)
        return Desired(roles, {key: frozenset(who) for key, who in members.items()}, labels)

    @cached_property
    def holders(self) -> list[Principal]:
        """Who gets roles over there: people, and with equal groups on both sides the groups themselves."""
        kinds_ = (*PEOPLE, Principal.Kind.GROUP) if self.backend.native_groups else PEOPLE
        return _members(self.node.realm_id, kinds_, self.now)

    @cached_property
    def loaded(self) -> facts.Loaded:
        realm = Realm(pk=self.node.realm_id, kind=self.node.kind)
        return facts.load(realm, self.node.realm, [one.pk for one in self.holders], now=self.now)

    @cached_property
    def _carried_here(self) -> set[int]:
        """Roles that another console carried into this realm; passed on, they could go in circles."""
        held = {role for rows in self.loaded.roles.values() for role, *_ in rows}
        rows = Detail.objects.filter(securable__in=held, properties__has_key=MARK)
        return set(rows.values_list("securable", flat=True))

    def _roles_of(self, holder: int) -> Iterator[tuple[int, str]]:
        holders = [holder]
        if not self.backend.native_groups:
            rows = self.loaded.groups.get(holder, ())
            holders += [group_ for group_, _, window in rows if self._holds(window)]
        seen = set()
        for one in holders:
            for role, name, window in self.loaded.roles.get(one, ()):
                if role not in seen and role not in self._carried_here and self._holds(window):
                    seen.add(role)
                    yield role, name

    def _rights(self, role: int) -> frozenset[Right]:
        return frozenset(
            Right(target.kind, target.path, code if allow else DENY + code)
            for securable, code, allow, window, *_ in self.loaded.grants.get(role, ())
            if self._holds(window) and code not in HERE and (target := self.targets.get(securable))
            if not (allow and securable in self.off)
        )

    def _owned(self) -> dict[str, set[Right]]:
        """What has an owner here; the metalake itself belongs to this console's account over there."""
        ids = [id_ for id_, target in self.targets.items() if target.kind != LAKE]
        found: dict[str, set[Right]] = defaultdict(set)
        rows = Ownership.objects.open().within(self.now).filter(securable__in=ids).select_related("owner")
        known = {one.pk for one in self.holders}
        for row in rows:
            target = self.targets[row.securable_id]
            if row.owner_id in known:
                found[_called(row.owner)].add(Right(target.kind, target.path, OWNER))
            elif row.owner.kind == Principal.Kind.GROUP:
                self.inexpressible.append(f"{'.'.join(target.path)} belongs to the group {row.owner.name}")
        return found

    def _holds(self, window: facts.Window) -> bool:
        return facts.contains(window, self.now.timestamp())


def _label(name: str) -> str:
    return f"role {name}" if not name.startswith("~") else "personal role"
