"""A backend in memory: the twin of the real ones in the contract suite, and a place to try a plan.

It keeps their habits: rights hang on objects, not on names, so a rename keeps and a re-creation loses them;
what can be given is given though an object of the same step is gone; rights given by others stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from threading import RLock

from lakewarden.backends.base import (
    Bypass,
    Finding,
    Foreign,
    FoundObject,
    ObjectKind,
    Observation,
    Outcome,
    Plan,
    Right,
    Step,
)
from lakewarden.backends.errors import BackendError, Gone, Rejected, Transient, worst
from lakewarden.backends.steps import in_turn

RIGHTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("USE_CATALOG", "catalog"): ("CONNECT",),
    ("USE_SCHEMA", "schema"): ("USAGE",),
    ("CREATE_SCHEMA", "catalog"): ("CREATE",),
    ("CREATE_TABLE", "schema"): ("CREATE",),
    ("CREATE_VIEW", "schema"): ("CREATE",),
    ("SELECT_TABLE", "table"): ("SELECT",),
    ("MODIFY_TABLE", "table"): ("SELECT", "INSERT", "UPDATE", "DELETE"),
    ("SELECT_VIEW", "view"): ("SELECT",),
}
_WORDS = frozenset(word for words in RIGHTS.values() for word in words)


@dataclass
class World:
    """What a server of this kind holds; tests change it behind the backend's back."""

    objects: dict[str, FoundObject] = field(default_factory=dict)
    people: set[str] = field(default_factory=set)
    roles: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)
    foreign: set[tuple[str, str, str, str]] = field(default_factory=set)
    bypasses: set[Bypass] = field(default_factory=set)
    readable: bool = True
    version: int = 0
    lock: RLock = field(default_factory=RLock)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.create("catalog", ())

    def create(self, kind: ObjectKind, path: tuple[str, ...], owner: str = "owner") -> FoundObject:
        """Make an object that nobody has rights on."""
        with self.lock:
            item = FoundObject(kind, path, id=str(next(self._ids)), owner=owner)
            self.objects[item.id] = item
            return item

    def drop(self, path: tuple[str, ...]) -> None:
        """Let an object and everything below it vanish, and every right on it."""
        with self.lock:
            dropped = {item.id for item in self.objects.values() if item.path[: len(path)] == path}
            self.objects = {id_: item for id_, item in self.objects.items() if id_ not in dropped}
            self.foreign = {grant for grant in self.foreign if grant[0] not in dropped}
            for held in self.roles.values():
                held -= {entry for entry in held if entry[0] in dropped}

    def rename(self, path: tuple[str, ...], name: str) -> None:
        """Give an object another name; it and its rights stay what they are."""
        with self.lock:
            for item in list(self.objects.values()):
                if item.path[: len(path)] == path:
                    moved = (*path[:-1], name, *item.path[len(path) :])
                    self.objects[item.id] = replace(item, path=moved)

    def give_foreign(self, right: Right, holder: str, grantor: str) -> None:
        """Somebody else gives a right."""
        with self.lock:
            self.foreign.add((self.find(right).id, right.right, holder, grantor))

    def find(self, right: Right) -> FoundObject:
        """The object a right is on.  Raises Gone."""
        for item in self.objects.values():
            if (item.kind, item.path) == (right.kind, right.path):
                return item
        raise Gone(f"{right.kind} {'.'.join(right.path)} does not exist")


class Memory:
    """The backend over a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def rights_for(self, privilege: str, kind: ObjectKind) -> tuple[str, ...]:
        """The rights of this backend that carry a console privilege; () when it has none."""
        return RIGHTS.get((privilege, kind), ())

    def observe(self) -> Observation:
        """A copy of the world as it is now."""
        world = self._world
        with world.lock:
            return Observation(
                complete=world.readable,
                position=str(world.version),
                objects=tuple(sorted(world.objects.values(), key=lambda item: (item.kind, item.path))),
                people=frozenset(world.people),
                roles={
                    key: frozenset(self._right(*entry) for entry in held) for key, held in world.roles.items()
                },
                members={key: frozenset(world.members.get(key, ())) for key in world.roles},
                foreign=tuple(
                    Foreign(self._right(id_, right), holder, grantor)
                    for id_, right, holder, grantor in sorted(world.foreign)
                ),
                bypasses=tuple(sorted(world.bypasses, key=str)),
            )

    def apply(self, plan: Plan) -> Iterator[Outcome]:
        """Carry out each step under the world's lock."""
        return in_turn(plan.steps, self._locked)

    def check(self) -> Iterable[Finding]:
        """There is nothing to mend in memory but what a test made unreadable."""
        if not self._world.readable:
            return [Finding(ok=False, text="the world cannot be read wholly", blocks=True)]
        return [Finding(ok=True, text="in memory")]

    def close(self) -> None:
        """Nothing is held."""

    def _right(self, id_: str, right: str) -> Right:
        item = self._world.objects[id_]
        return Right(item.kind, item.path, right)

    def _locked(self, step: Step) -> None:
        with self._world.lock:
            operations = {
                "make_role": self._make,
                "give": self._give,
                "take": self._take,
                "switch": self._switch,
                "drop_role": self._drop,
                "take_foreign": self._take_foreign,
            }
            operations[step.kind](step)
            self._world.version += 1

    def _make(self, step: Step) -> None:
        self._world.roles.setdefault(step.role, set())
        self._world.members.setdefault(step.role, set())

    def _give(self, step: Step) -> None:
        held, errors = self._held(step.role), list[BackendError]()
        for right in step.rights:
            try:
                if right.right not in _WORDS:
                    raise Rejected(f"{right.right} is no right here")
                held.add((self._world.find(right).id, right.right))
            except (Gone, Rejected) as error:
                errors.append(error)
        if errors:
            raise worst(errors)

    def _take(self, step: Step) -> None:
        held = self._world.roles.get(step.role, set())
        held -= {entry for entry in held if self._right(*entry) in step.rights}

    def _take_foreign(self, step: Step) -> None:
        self._world.foreign -= {
            grant
            for grant in self._world.foreign
            if grant[2:] == (step.person, step.grantor) and self._right(*grant[:2]) in step.rights
        }

    def _switch(self, step: Step) -> None:
        if step.person not in self._world.people:
            raise Gone(f"{step.person} does not exist")
        current = {key for key, people in self._world.members.items() if step.person in people}
        if not current <= {*step.joins, *step.leaves, *step.keeps}:
            raise Transient(f"the memberships of {step.person} changed since they were read")
        for key in step.joins:
            self._held(key)
        for key in step.joins:
            self._world.members[key].add(step.person)
        for key in step.leaves:
            self._world.members.get(key, set()).discard(step.person)

    def _drop(self, step: Step) -> None:
        key = step.role
        if self._world.roles.get(key) or self._world.members.get(key):
            raise Rejected(f"{key} still holds rights or has members")
        self._world.roles.pop(key, None)
        self._world.members.pop(key, None)

    def _held(self, key: str) -> set[tuple[str, str]]:
        if key not in self._world.roles:
            raise Gone(f"role {key} does not exist")
        return self._world.roles[key]
