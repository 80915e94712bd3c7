"""What should be true in Ranger: roles mirrored with their denials where that gives exactly the law's answer.

Denials are written as such, and yet nothing rests on them: people get by our roles what the law gives them
even if no denial worked, so that a denial that could not be written, or not yet, opens nothing.  What a
denial adds is that it also holds against what others gave.  See docs/adr/0018.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from lakewarden.backends.base import DENY, Desired, Observation, Right
from lakewarden.backends.console import Holder
from lakewarden.backends.decisions import Decisions, Mirror, Target, fingerprint
from lakewarden.law import engine
from lakewarden.law.facts import Slice

CARRIED: dict[str, tuple[tuple[str, str], ...]] = {
    "catalog": (("Catalog.loadCatalog", "USE_CATALOG"), ("Schema.createSchema", "CREATE_SCHEMA")),
    "schema": (
        ("Schema.loadSchema", "USE_SCHEMA"),
        ("Table.createTable", "CREATE_TABLE"),
        ("Schema.dropSchema", "DROP"),
    ),
    "table": (
        ("Table.loadTable", "SELECT_TABLE"),
        ("Table.alterTable", "MODIFY_TABLE"),
        ("Table.dropTable", "DROP"),
    ),
    "view": (("View.loadView", "SELECT_VIEW"), ("View.dropView", "DROP")),
}
"""By the type of an object: the operation of the law that each privilege stands for.

Ranger's plugins ask for the same to make a table and a view, so that goes by the right to make tables.
"""

ALIKE = "is not written: to Ranger its name, or that of its schema, is another's in other capitals"


def wanted(backend: Any, decisions: Decisions, seen: Observation) -> tuple[Desired, list[str]]:
    """What should be there, and what is not written because Ranger could not tell it apart."""
    targets, alike = distinct(decisions.targets)
    return RangerMirror(backend, decisions, targets).desired(seen.people), alike


def distinct(targets: Iterable[Target]) -> tuple[list[Target], list[str]]:
    """The objects whose names are nobody else's in any case, and in words what is with the others.

    A policy on one of two that differ in case alone would be one on both.
    """
    same: dict[tuple[str, ...], list[Target]] = defaultdict(list)
    for target in targets:
        same[tuple(part.lower() for part in target.path)].append(target)
    alike = {path for path, ones in same.items() if len(ones) > 1}
    apart = [
        target
        for path, ones in same.items()
        for target in ones
        if not any(path[:depth] in alike for depth in range(1, len(path) + 1))
    ]
    apart_ids = {target.id for target in apart}
    others = [target for ones in same.values() for target in ones if target.id not in apart_ids]
    return apart, sorted(f"{'.'.join(target.path)} {ALIKE}" for target in others)


class RangerMirror(Mirror):
    """The desired state with denials: rights whose words begin with DENY."""

    def _roles_for(self, principal: Holder) -> list[tuple[str, str, frozenset[Right]]]:
        resolved = self._resolve(principal)
        mirrored = list(self._mirrors(principal))
        denied = frozenset[Right]().union(*(_denied(rights) for _, _, rights in mirrored))
        given = frozenset[Right]().union(*(_net(rights) for _, _, rights in mirrored))
        if given == resolved and not denied & resolved:
            return mirrored
        # a denial that somebody's ownership or another privilege outweighs must not take what the law gives
        rights = resolved | {_deny(right) for right in denied - resolved}
        return [(f"rights:{fingerprint(rights)}", "resolved rights", rights)] if rights else []

    def _mirror(self, role: int) -> frozenset[Right]:
        given: dict[Any, set[tuple[str, bool]]] = defaultdict(set)
        for securable, privilege, allow, window, *_ in self.facts.grants.get(role, ()):
            if self._now(window):
                given[securable].add((privilege, allow))
        return frozenset(
            right
            for target in self.targets
            for level in target.levels
            for privilege, allow in given.get(level.key, ())
            for right in self._carried(target, privilege, allow=allow)
        )

    def _carried(self, target: Target, privilege: str, *, allow: bool) -> Iterable[Right]:
        carried = {privilege for _, privilege in CARRIED.get(target.levels[-1].type, ())}
        if privilege not in carried:
            return
        words = set(self.backend.rights_for(privilege, target.kind))
        if not allow:
            # to deny more than reading is not to deny reading
            smaller = (set(self.backend.rights_for(other, target.kind)) for other in carried - {privilege})
            words -= set().union(*(other for other in smaller if other < words))
        for word in words:
            right = Right(target.kind, target.path, word)
            yield right if allow else _deny(right)

    def _rights(self, slice_: Slice) -> Iterable[Right]:
        for target in self.targets:
            for operation, privilege in CARRIED.get(target.levels[-1].type, ()):
                if engine.decide(slice_, operation, target.levels, now=self.moment):
                    for right in self.backend.rights_for(privilege, target.kind):
                        yield Right(target.kind, target.path, right)


def _deny(right: Right) -> Right:
    return Right(right.kind, right.path, DENY + right.right)


def _denied(rights: Iterable[Right]) -> frozenset[Right]:
    """What is denied, as the rights that it takes."""
    return frozenset(
        Right(right.kind, right.path, right.right[len(DENY) :])
        for right in rights
        if right.right.startswith(DENY)
    )


def _net(rights: frozenset[Right]) -> frozenset[Right]:
    """What a role gives, its own denials taken off."""
    given = frozenset(right for right in rights if not right.right.startswith(DENY))
    return given - _denied(rights)
