"""What should be true in a backend: the law's answers for everybody, in the backend's own rights.

A console role is mirrored by one role in the backend.  A person whose mirrored roles add up to exactly what
the law gives them is a member of these; others (a DENY, an ownership, a way that is not open) are instead in
one role that holds their resolved rights, shared by all with equal rights.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from accounts.models import Principal
from catalog.models import Placement, Realm
from catalog.nodes import Node, number
from catalog.queries import all_below
from lakewarden.backends.base import Backend, Desired, ObjectKind, Right
from lakewarden.backends.kinds import Kind
from lakewarden.law import dialects, engine
from lakewarden.law.facts import Level, Lineage, Slice
from policies.decisions import facts, switches
from policies.models import RealmMember


@dataclass(frozen=True)
class Target:
    """An object of the catalog that the backend has too."""

    id: int
    kind: ObjectKind
    path: tuple[str, ...]
    levels: Lineage


class Wanted:
    """Works out the desired state of one connected node at one moment, from one read of the facts."""

    def __init__(
        self, backend: Backend, kind: Kind, catalog: Node, targets: Iterable[Target], *, now: datetime
    ):
        self.backend, self.kind, self.catalog, self.now = backend, kind, catalog, now
        off = switches.now()
        self.targets = tuple(one for one in targets if not switches.is_off(one.levels, off))
        self.law = dialects.get(catalog.kind)
        self._resolved: dict[facts.Signature, frozenset[Right]] = {}
        self._mirrored: dict[int, frozenset[Right]] = {}

    def desired(self, people: frozenset[str]) -> Desired:
        """The roles and memberships wanted for those people whom the backend has a login for."""
        members: dict[str, set[str]] = defaultdict(set)
        roles: dict[str, frozenset[Right]] = {}
        labels: dict[str, str] = {}
        for principal in self.with_login(people):
            for key, label, rights in self._roles_for(principal):
                roles[key], labels[key] = rights, label
                members[key].add(principal.name)
        frozen = {key: frozenset(names) for key, names in members.items()}
        return Desired(roles, frozen, labels, self.loaded.revision)

    def with_login(self, people: frozenset[str]) -> list[Principal]:
        """One principal a login: where a person and a service share its name, neither gets it."""
        by_name: dict[str, list[Principal]] = defaultdict(list)
        for row in self.principals:
            by_name[row.name].append(row)
        return [rows[0] for name, rows in sorted(by_name.items()) if name in people and len(rows) == 1]

    def _roles_for(self, principal: Principal) -> list[tuple[str, str, frozenset[Right]]]:
        resolved = self._resolve(principal)
        if not resolved:
            return []
        if self.kind.by_person:
            return [(f"{PERSON}{principal.name}", principal.name, resolved)]
        mirrored = list(self._mirrors(principal))
        if frozenset().union(*(rights for _, _, rights in mirrored)) == resolved:
            return mirrored
        return [(f"rights:{fingerprint(resolved)}", "resolved rights", resolved)]

    def _mirrors(self, principal: Principal) -> Iterable[tuple[str, str, frozenset[Right]]]:
        groups = self.loaded.groups.get(principal.pk, ())
        holders = [principal.pk, *(group for group, _, window in groups if self._now(window))]
        seen = set()
        for holder in holders:
            for role, name, window in self.loaded.roles.get(holder, ()):
                rights = self._mirror_of(role)
                if role not in seen and rights and self._now(window):
                    seen.add(role)
                    yield (
                        f"role:{role}",
                        f"role {name}" if not name.startswith("~") else "personal role",
                        rights,
                    )

    def _now(self, window: facts.Window) -> bool:
        return facts.contains(window, self.now.timestamp())

    def _mirror_of(self, role: int) -> frozenset[Right]:
        if role not in self._mirrored:
            self._mirrored[role] = self._mirror(role)
        return self._mirrored[role]

    def _mirror(self, role: int) -> frozenset[Right]:
        given = [
            (securable, privilege)
            for securable, privilege, allow, window, *_ in self.loaded.grants.get(role, ())
            if allow and self._now(window)
        ]
        on: dict[int, set[str]] = defaultdict(set)
        for securable, privilege in given:
            on[securable].add(privilege)
        return frozenset(
            Right(target.kind, target.path, right)
            for target in self.targets
            for level in target.levels
            for privilege in on.get(number(level), ())
            for right in self.backend.rights_for(privilege, target.kind)
        )

    def _resolve(self, principal: Principal) -> frozenset[Right]:
        signature = self.loaded.signature_of(principal.pk)
        if signature not in self._resolved:
            slice_ = self.loaded.slice_of(principal)
            self._resolved[signature] = frozenset(self._rights(slice_))
        return self._resolved[signature]

    def _rights(self, slice_: Slice) -> Iterable[Right]:
        moment = self.now.timestamp()
        for target in self.targets:
            for operation, privilege in self.kind.carried.get(target.kind, ()):
                if engine.decide(slice_, operation, target.levels, now=moment):
                    for right in self.backend.rights_for(privilege, target.kind):
                        yield Right(target.kind, target.path, right)

    @cached_property
    def principals(self) -> list[Principal]:
        """Every person and service that the realm admits."""
        members = RealmMember.objects.open().filter(realm=self.catalog.realm_id)
        kinds = [Principal.Kind.USER, Principal.Kind.SERVICE]
        return list(
            Principal.objects.filter(pk__in=members.values("principal"), kind__in=kinds).order_by("pk")
        )

    @cached_property
    def loaded(self) -> facts.Loaded:
        realm = Realm(pk=self.catalog.realm_id, kind=self.catalog.kind)
        return facts.load(realm, self.catalog.realm, [row.pk for row in self.principals], now=self.now)


PERSON = "person:"
"""How the keys of roles begin that hold one person's rights, where there are no roles in the backend."""


def targets_below(node: Node, kind: Kind) -> list[Target]:
    """The connected node and every object in it that a backend of this kind can hold rights on."""
    top = Target(node.id, kind.objects.get(node.type, node.type), (), node.levels)
    found = {node.id: top}
    rows = all_below(node.id).filter(type__in=kind.objects).order_by("ancestors", "pk")
    for row in sorted(rows, key=lambda row: len(row.ancestors)):
        if row.ancestors[-1] in found:  # else it lies in something that this kind does not know
            found[row.securable_id] = _target(row, found[row.ancestors[-1]], kind)
    return list(found.values())


def _target(row: Placement, above: Target, kind: Kind) -> Target:
    levels = (*above.levels, Level(row.type, row.securable_id))
    nested = row.type == "schema" and above.levels[-1].type == "schema"
    path = (*above.path[: len(above.path) - nested], row.name)
    return Target(row.securable_id, kind.objects[row.type], path, levels)


def fingerprint(rights: frozenset[Right]) -> str:
    """The same for equal sets of rights."""
    text = "\n".join(f"{one.kind}\t{chr(31).join(one.path)}\t{one.right}" for one in sorted(rights))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
