"""What is so in a realm held against what a file says: what applying the file would do, thing by thing.

A file removes nothing but what it owns.  What is said in it is added wherever it lacks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext

from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.policy_files import statements as kinds
from policies.policy_files.document import EVERYTHING, PolicyFile
from policies.policy_files.statements import RealmStatements, Statement

ADD, CHANGE, REMOVE = "add", "change", "remove"


@dataclass(frozen=True)
class Step:
    """What becomes of one thing: the statements about it that are so, and those that will be."""

    action: str
    before: tuple[Statement, ...]
    after: tuple[Statement, ...]

    @property
    def key(self) -> Statement:
        return (self.after or self.before)[0].key

    def __str__(self) -> str:
        if self.action == CHANGE:
            return f"{' and '.join(map(str, self.before))}, then {' and '.join(map(str, self.after))}"
        return " and ".join(map(str, self.lacking if self.action == ADD else self.in_excess))

    @property
    def words(self) -> str:
        """The same in the reader's language."""
        if self.action == CHANGE:
            before, after = _all(self.before), _all(self.after)
            return gettext("%(before)s, then %(after)s") % {"before": before, "after": after}
        return _all(self.lacking if self.action == ADD else self.in_excess)

    @property
    def lacking(self) -> tuple[Statement, ...]:
        """What the file says and is not so."""
        return tuple(statement for statement in self.after if statement not in self.before)

    @property
    def in_excess(self) -> tuple[Statement, ...]:
        """What is so and the file does not say."""
        return tuple(statement for statement in self.before if statement not in self.after)


class Comparison:
    """The steps from what is so to what a file says, in their order."""

    def __init__(self, root: Node, present: RealmStatements, file: PolicyFile) -> None:
        self.root, self.present, self.file = root, present, file

    @property
    def steps(self) -> list[Step]:
        return sorted(self._steps(), key=lambda step: (step.action, step.key))

    def decides(self, key: Statement) -> bool:
        """Whether the file says something of it, or owns it."""
        return key in self._stated or self._owns(key)

    @cached_property
    def _stated(self) -> dict[Statement, set[Statement]]:
        return _by_key(self.file.statements)

    def _steps(self) -> Iterator[Step]:
        wanted, present = self._stated, _by_key(self.present.statements)
        for key in wanted.keys() | present.keys():
            stated, so = wanted.get(key, set()), present.get(key, set())
            step = self._step(key, stated, so)
            if step is not None:
                yield step

    def _step(self, key: Statement, stated: set[Statement], so: set[Statement]) -> Step | None:
        before, after = tuple(sorted(so)), tuple(sorted(stated))
        if key.kind == kinds.OBJECT:
            return Step(ADD, (), after) if stated and not so else None
        if key.kind in kinds.OWNERS:
            if not stated or stated == so:
                return None  # a file that names no owner does not say that there is none
            return Step(CHANGE if so else ADD, before, after)
        gone = so - stated if self._owns(key) else set()
        if not gone:
            return Step(ADD, before, tuple(sorted(so | stated))) if stated - so else None
        return Step(CHANGE if stated else REMOVE, before, after)

    def _owns(self, key: Statement) -> bool:
        owns = self.file.owns
        if EVERYTHING in owns:
            return True
        if key.kind == kinds.MEMBER:
            return "members" in owns
        if key.kind in kinds.OF_ROLES:
            return "roles" in owns or f"role:{key.role}" in owns
        node = self.present.targets.get(key.target)
        if node is not None and not self._owned_nodes.isdisjoint(node.lineage):
            return True
        return dialects.get(self.root.kind).by_text and self._owns_text(key.target)

    @cached_property
    def _owned_nodes(self) -> frozenset[int]:
        return frozenset(
            self.present.targets[name].id for name in self.file.owns if name in self.present.targets
        )

    def _owns_text(self, text: str) -> bool:
        if "texts" in self.file.owns:
            return True
        parts = parse(text, others=True).parts
        within = (parse(name, others=True).parts for name in self.file.owns if name.startswith("namespace:"))
        return any(parts[: len(above)] == above for above in within)


def _all(some: Iterable[Statement]) -> str:
    return "; ".join(statement.words for statement in some)


def _by_key(some: Iterable[Statement]) -> dict[Statement, set[Statement]]:
    groups: dict[Statement, set[Statement]] = defaultdict(set)
    for statement in some:
        groups[statement.key].add(statement)
    return groups
