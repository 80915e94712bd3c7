"""What was changed since policy files were applied last, thing by thing: by whom, when and why.

It is what applying the same file again would do, read backwards.  What several files decide counts for the
one that was applied last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from django.utils import timezone

from catalog.models import Placement
from catalog.nodes import Node, as_placed_last
from lakewarden.law.facts import Level
from policies.models import Change
from policies.policy_files import applied_files, document
from policies.policy_files import statements as kinds
from policies.policy_files.applied_files import KeptFile
from policies.policy_files.comparison import ADD, CHANGE, REMOVE, Comparison, Step
from policies.policy_files.document import PolicyFile
from policies.policy_files.statements import RealmStatements, Statement, ended_since, of_realm, target_of

ADDED, CHANGED, REMOVED = "added", "changed", "removed"
BACKWARDS = {REMOVE: ADDED, CHANGE: CHANGED, ADD: REMOVED}


@dataclass(frozen=True)
class DriftLine:
    """One thing that is not as the file says: what is so, what the file says, and the change that made it so.

    `change` is None where the record that is live does not tell it.
    """

    action: str
    is_so: tuple[Statement, ...]
    file_says: tuple[Statement, ...]
    change: Change | None

    def __str__(self) -> str:
        so, stated = " and ".join(map(str, self.is_so)), " and ".join(map(str, self.file_says))
        if self.action == CHANGED:
            return f"{so}; the file says {stated}"
        return so if self.action == ADDED else stated


@dataclass(frozen=True)
class PartsToPaste:
    """The parts of a file that differ, as far as somebody pastes them.

    `whole` has the shorter ones.  Of the `long` ones, by name with their number of lines, there is only what
    differs: what to put in and what to take out.  `more` lines are in neither; the whole file has them.
    """

    whole: str
    long: tuple[tuple[str, int], ...]
    put_in: str
    take_out: str
    more: int


@dataclass(frozen=True)
class FileDrift:
    """What became of what one file says."""

    root: Node
    kept: KeptFile
    steps: tuple[Step, ...]
    lines: tuple[DriftLine, ...]

    @property
    def text(self) -> str:
        """What the file said when it was applied, to plan it again."""
        return self._text(self.kept.file.statements) if self.kept.file else ""

    @property
    def text_with_drift(self) -> str:
        """The same file with all that was changed since taken into it."""
        return self._text(self._taken_in)

    @property
    def sections(self) -> str:
        """The parts of that file that differ, to paste."""
        places = {_section(step.key) for step in self.steps}
        return document.sections_of(self.root.kind, (s for s in self._taken_in if _section(s) in places))

    def parts(self, most: int) -> PartsToPaste:
        """The same where parts may be long, such as a role that thousands hold: so many lines of each."""
        by_section, steps = defaultdict(list), defaultdict(list)
        for statement in self._taken_in:
            by_section[_section(statement)].append(statement)
        for step in self.steps:
            steps[_section(step.key)].append(step)
        short, left = list[Statement](), most
        long = sorted(steps, key=lambda place: (len(by_section[place]), place))
        while long and len(by_section[long[0]]) <= left:
            place = long.pop(0)
            short += by_section[place]
            left -= len(by_section[place])
        differing = [step for place in long for step in steps[place]]
        put_in = sorted(statement for step in differing for statement in step.in_excess)
        take_out = sorted(statement for step in differing for statement in step.lacking)
        return PartsToPaste(
            document.sections_of(self.root.kind, short),
            tuple((_called(place), len(by_section[place])) for place in long),
            document.sections_of(self.root.kind, put_in[:most]),
            document.sections_of(self.root.kind, take_out[:most]),
            len(put_in[most:]) + len(take_out[most:]),
        )

    @property
    def gone(self) -> list[str]:
        """The roles and objects of which that file would say nothing any more."""
        left = {_section(statement) for statement in self._taken_in}
        return sorted(name for _part, name in {_section(step.key) for step in self.steps} - left if name)

    @cached_property
    def _taken_in(self) -> frozenset[Statement]:
        left = set(self.kept.file.statements if self.kept.file else ())
        for step in self.steps:
            left -= set(step.lacking)
            left |= set(step.in_excess)
        return frozenset(left)

    def _text(self, some: Iterable[Statement]) -> str:
        file = self.kept.file
        registers = file is not None and file.registers_objects
        owns = sorted(self.kept.owns)
        return document.text_of(self.root.name, self.root.kind, some, owns=owns, registers_objects=registers)


def of_root(root: Node) -> list[FileDrift]:
    """Every file of a realm with what was changed since, those applied last first."""
    files = applied_files.of_realm(root)
    present = of_realm(root) if files else RealmStatements()
    compared = list(_compared(root, present, files))
    makers = _Makers(root, present, [(kept, steps) for kept, steps in compared if steps])
    drifts = {kept.scope: FileDrift(root, kept, steps, makers.lines(kept, steps)) for kept, steps in compared}
    return [drifts.get(kept.scope) or FileDrift(root, kept, (), ()) for kept in files]


def _compared(
    root: Node, present: RealmStatements, files: Sequence[KeptFile]
) -> Iterator[tuple[KeptFile, tuple[Step, ...]]]:
    """What applying each file again would do, of what no file decides that was applied later."""
    now, later = timezone.now().isoformat(), list[Comparison]()
    for kept in files:
        if kept.file is not None:
            comparison = Comparison(root, present, _still(kept.file, now))
            mine = (step for step in comparison.steps if not any(other.decides(step.key) for other in later))
            yield kept, tuple(mine)
            later.append(comparison)


def _still(file: PolicyFile, now: str) -> PolicyFile:
    """What the file says but for what ran out by itself."""
    left = frozenset(item for item in file.statements if not item.end or item.end > now)
    return replace(file, statements=left)


def _section(statement: Statement) -> tuple[str, str]:
    """Where in a file it stands."""
    if statement.kind == kinds.MEMBER:
        return "members", ""
    if statement.kind in kinds.OF_ROLES:
        return "roles", statement.role
    return "objects", statement.target


def _called(place: tuple[str, str]) -> str:
    """A part of a file as `owns` names it."""
    part, name = place
    return f"role:{name}" if part == "roles" else name or part


class _Makers:
    """The changes by which things came to differ.  A fixed number of queries; none where nothing differs."""

    def __init__(
        self,
        root: Node,
        present: RealmStatements,
        differing: Sequence[tuple[KeptFile, tuple[Step, ...]]],
    ) -> None:
        self.present = present.revisions
        self.ended: dict[Statement, int] = {}
        self.former: dict[str, int] = {}
        if differing:
            first = min(kept.revision for kept, _steps in differing)
            for statement, at in ended_since(root, first).revisions.items():
                self.ended[statement.key] = max(at, self.ended.get(statement.key, 0))
            self.former = dict(_former_names(root, first))
        wanted = {self._revision(step) for _kept, steps in differing for step in steps}
        self.changes = Change.objects.in_bulk(wanted - {0})

    def lines(self, kept: KeptFile, steps: Iterable[Step]) -> tuple[DriftLine, ...]:
        return tuple(self._line(kept, step) for step in steps)

    def _line(self, kept: KeptFile, step: Step) -> DriftLine:
        revision = self._revision(step)
        change = self.changes.get(revision) if revision > kept.revision else None
        is_change = step.action == CHANGE
        so = step.before if is_change else step.in_excess
        stated = step.after if is_change else step.lacking
        return DriftLine(BACKWARDS[step.action], so, stated, change)

    def _revision(self, step: Step) -> int:
        """The last change that had to do with it; 0 where the live record tells of none."""
        began = (self.present.get(statement, 0) for statement in step.in_excess)
        ended = (self._ended(statement) for statement in step.lacking)
        return max((*began, *ended), default=0)

    def _ended(self, statement: Statement) -> int:
        names = [name for name in (statement.target, statement.role and f"role:{statement.role}") if name]
        renamed = (at for name in names for at in self._renamed(name))
        return max((self.ended.get(statement.key, 0), *renamed))

    def _renamed(self, target: str) -> Iterator[int]:
        path = target.partition(":")[2]
        for former, at in self.former.items():
            above = former.partition(":")[2]
            if target == former or path.startswith(f"{above}."):
                yield at


def _former_names(root: Node, revision: int) -> Iterator[tuple[str, int]]:
    """The names that objects and roles had until a change after that one, and which change."""
    rows = Placement.objects.filter(securable__realm=root.realm_id, closed__gt=revision).order_by("closed")
    places = [place for place in rows if place.parent_id is not None]
    above = as_placed_last({place.parent_id or 0 for place in places})
    for place in places:
        parent = above.get(place.parent_id or 0)
        if parent is not None:
            levels = (*parent.levels, Level(place.type, place.securable_id))
            names = (*parent.names, place.name)
            node = Node(place.securable_id, root.realm_id, root.kind, levels, names)
            yield target_of(root, node), place.closed or 0
