"""What was decided about a connected node, and the mirror that makes roles and memberships of it.

A console role is mirrored by one role in the backend.  A person whose mirrored roles add up to exactly what
the law gives them is a member of these; others (a DENY, an ownership, a way that is not open) are instead in
one role that holds their resolved rights, shared by all with equal rights.

Where reading one object shows the rows of another (a partitioned table those of its parts), who is denied one
does not get the other either: the backend would show them what they are denied.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol

from lakewarden.backends.base import Backend, Desired, FoundObject, ObjectKind, Right
from lakewarden.backends.console import Directory, Holder
from lakewarden.backends.kinds import Kind
from lakewarden.law import dialects, engine
from lakewarden.law.facts import Lineage, Rule, Slice, Window, contains

Path = tuple[str, ...]
NOTHING: Mapping[Path, Collection[Path]] = {}
WITHHELD = "is denied to people who therefore do not get the same right on what shows its rows:"
MOST_NAMED = 5
PERSON = "person:"
"""How the keys of roles begin that hold one person's rights, where there are no roles in the backend."""


@dataclass(frozen=True)
class Target:
    """An object of the catalog that the backend has too."""

    id: int
    kind: ObjectKind
    path: tuple[str, ...]
    levels: Lineage


class Facts(Protocol):
    """All facts about some holders, from one read."""

    @property
    def revision(self) -> int:
        """The change up to which they were read."""

    @property
    def groups(self) -> Mapping[int, Sequence[tuple[int, str, Window]]]:
        """The groups of each holder: number, name, when."""

    @property
    def roles(self) -> Mapping[int, Sequence[tuple[int, str, Window]]]:
        """The roles of each holder: number, name, when."""

    @property
    def grants(self) -> Mapping[int, Sequence[tuple[Any, str, bool, Window, int, int]]]:
        """What each role was given: object, privilege, whether allowed, when, since which change, number."""

    def slice_of(self, holder: Any) -> Slice:
        """What the law decides by for one of them."""

    def signature_of(self, holder: int) -> Hashable:
        """Equal for two holders exactly when all facts about them are."""

    def rules_of(self, holder: int) -> Iterable[Rule]:
        """Every rule that reaches a holder, by every path."""


class Decisions(Protocol):
    """What was decided about the connected node as of one moment; each call reads it when it is asked for."""

    @property
    def kind(self) -> Kind:
        """The kind of backend that it is asked for."""

    @property
    def now(self) -> datetime:
        """The moment: what begins later or has ended is not there."""

    @property
    def directory(self) -> Directory:
        """Who has to do with the realm."""

    @property
    def targets(self) -> Sequence[Target]:
        """The connected node and every object in it that this kind can hold rights on."""

    def is_off(self, target: Target) -> bool:
        """Whether an object, or what it lies in, is switched off: then nobody may use it."""

    def principals(self) -> Sequence[Holder]:
        """Every person and service that the realm admits, whenever that holds."""

    def named(self, names: Collection[str]) -> Sequence[Holder]:
        """The people and services of these names, admitted or not."""

    def facts_of(self, holders: Sequence[Holder]) -> Facts:
        """What is known of these, in one read."""

    def owners_of(self, objects: Collection[int]) -> Iterable[tuple[int, Holder]]:
        """Each of these objects that has an owner now, with them."""

    def with_property(self, objects: Collection[int], name: str) -> Collection[int]:
        """Those of these objects, or roles, that bear a property of this name."""


class Mirror:
    """Works out the desired state of one connected node at one moment, from one read of the facts."""

    def __init__(
        self,
        backend: Backend,
        decisions: Decisions,
        targets: Iterable[Target],
        same_rows: Mapping[Path, Collection[Path]] = NOTHING,
    ) -> None:
        """`same_rows` are the objects that hold rows of others, by path: see `same_rows`."""
        self.backend, self.decisions, self.kind = backend, decisions, decisions.kind
        self.same_rows = same_rows
        self._withheld: dict[Path, set[Path]] = defaultdict(set)
        self.moment = decisions.now.timestamp()
        self.targets = tuple(target for target in targets if not decisions.is_off(target))
        self._resolved: dict[Hashable, frozenset[Right]] = {}
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
        return Desired(roles, frozen, labels, self.facts.revision)

    def with_login(self, people: frozenset[str]) -> list[Holder]:
        """One principal a login: where a person and a service share its name, neither gets it."""
        by_name: dict[str, list[Holder]] = defaultdict(list)
        for principal in self.principals:
            by_name[principal.name].append(principal)
        return [same[0] for name, same in sorted(by_name.items()) if name in people and len(same) == 1]

    def _roles_for(self, principal: Holder) -> list[tuple[str, str, frozenset[Right]]]:
        resolved = self._resolve(principal)
        if not resolved:
            return []
        if self.kind.by_person:
            return [(f"{PERSON}{principal.name}", principal.name, resolved)]
        mirrored = list(self._mirrors(principal))
        if frozenset().union(*(rights for _, _, rights in mirrored)) == resolved:
            return mirrored
        return [(f"rights:{fingerprint(resolved)}", "resolved rights", resolved)]

    def _mirrors(self, principal: Holder) -> Iterable[tuple[str, str, frozenset[Right]]]:
        groups = self.facts.groups.get(principal.pk, ())
        holders = [principal.pk, *(group for group, _, window in groups if self._now(window))]
        seen = set()
        for holder in holders:
            for role, name, window in self.facts.roles.get(holder, ()):
                if role not in self._mirrored:
                    self._mirrored[role] = self._mirror(role)
                rights = self._mirrored[role]
                if role not in seen and rights and self._now(window):
                    seen.add(role)
                    yield f"role:{role}", role_label(name), rights

    def _now(self, window: Window) -> bool:
        return contains(window, self.moment)

    def _mirror(self, role: int) -> frozenset[Right]:
        given: dict[Any, set[str]] = defaultdict(set)
        for securable, privilege, allow, window, *_ in self.facts.grants.get(role, ()):
            if allow and self._now(window):
                given[securable].add(privilege)
        return frozenset(
            Right(target.kind, target.path, right)
            for target in self.targets
            for level in target.levels
            for privilege in given.get(level.key, ())
            for right in self.backend.rights_for(privilege, target.kind)
        )

    def _resolve(self, principal: Holder) -> frozenset[Right]:
        signature = self.facts.signature_of(principal.pk)
        if signature not in self._resolved:
            slice_ = self.facts.slice_of(principal)
            self._resolved[signature] = self._without_denied(frozenset(self._rights(slice_)), slice_)
        return self._resolved[signature]

    def _rights(self, slice_: Slice) -> Iterable[Right]:
        for target in self.targets:
            for operation, privilege in self.kind.carried.get(target.kind, ()):
                if engine.decide(slice_, operation, target.levels, now=self.moment):
                    for right in self.backend.rights_for(privilege, target.kind):
                        yield Right(target.kind, target.path, right)

    def withheld(self) -> list[str]:
        """In words, what `desired` left out since it shows rows that somebody is denied."""
        return [
            f"{'.'.join(denied)} {WITHHELD} {_some_names(others)}"
            for denied, others in sorted(self._withheld.items())
        ]

    def _without_denied(self, rights: frozenset[Right], slice_: Slice) -> frozenset[Right]:
        if not self.same_rows:
            return rights
        denied = frozenset(self._denied(slice_))
        taken = set()
        for right in rights:
            for other in self.same_rows.get(right.path, ()):
                if Right(right.kind, other, right.right) in denied:
                    taken.add(right)
                    self._withheld[other].add(right.path)
        return rights - taken

    def _denied(self, slice_: Slice) -> Iterable[Right]:
        """The rights on objects that share rows with others that somebody is denied, whatever gives them."""
        law, slice_ = dialects.get(slice_.dialect), engine.at(slice_, self.moment)
        for target in self.targets:
            if target.path not in self.same_rows:
                continue
            reach = engine.reach(slice_, law, target.levels)
            for operation, privilege in self.kind.carried.get(target.kind, ()):
                bit = law.privileges[privilege].bit
                decision = engine.decide(slice_, operation, target.levels, now=self.moment)
                if decision.reason == engine.DENIED or (not decision and reach and reach[1] & bit):
                    for right in self.backend.rights_for(privilege, target.kind):
                        yield Right(target.kind, target.path, right)

    @cached_property
    def principals(self) -> Sequence[Holder]:
        """Those whose rights are worked out."""
        return self.decisions.principals()

    @cached_property
    def facts(self) -> Facts:
        """Everything about them, in one read."""
        return self.decisions.facts_of(self.principals)


def same_rows(objects: Iterable[FoundObject]) -> dict[Path, frozenset[Path]]:
    """Which objects show rows of which others, by what they are parts of; each way, however deep.

    Two that a third is a part of show its rows both.
    """
    wholes: dict[Path, set[Path]] = defaultdict(set)
    for item in objects:
        wholes[item.path] |= set(item.part_of)
    shared: dict[Path, set[Path]] = defaultdict(set)
    for path in wholes:
        above, waiting = set[Path](), list(wholes[path])
        while waiting:
            whole = waiting.pop()
            if whole not in above:
                above.add(whole)
                waiting += wholes.get(whole, ())
        family = above | {path}
        for member in family if above else ():
            shared[member] |= family - {member}
    return {path: frozenset(others) for path, others in shared.items()}


def _some_names(paths: Collection[Path]) -> str:
    names = ", ".join(".".join(path) for path in sorted(paths)[:MOST_NAMED])
    more = len(paths) - MOST_NAMED
    return f"{names} and {more} more" if more > 0 else names


def role_label(name: str) -> str:
    """What a mirrored role is for, in words."""
    return "personal role" if name.startswith("~") else f"role {name}"


def fingerprint(rights: frozenset[Right]) -> str:
    """The same for equal sets of rights."""
    text = "\n".join(f"{right.kind}\t{chr(31).join(right.path)}\t{right.right}" for right in sorted(rights))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
