"""Laws that give privileges on texts: what a name means, whether the object exists or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakewarden.law.conditions import (
    ASKED,
    BELOW,
    HELD,
    MEMBER,
    OWNER,
    PARENT,
    SERVICE_ADMIN,
    Atom,
    Condition,
    atoms,
)
from lakewarden.law.dialects.base import Dialect, Operation, Test
from lakewarden.law.facts import Level, Lineage


@dataclass(frozen=True)
class Conditional:
    """A part of an operation that is asked for by the properties of a question.

    `name` is the property that names the second object it is about, of the type `beside`.
    """

    operation: str
    beside: str = ""
    name: str = ""


@dataclass(frozen=True)
class TextDialect(Dialect):
    """A law whose rules are about texts.

    `implied` are the privileges that one privilege stands for.  `conditional` are the parts of operations by
    their `condition` and `subject`.  Where it `inherits`, what is held above an entity counts on it.  Types
    that are not listed are asked about as `other`, if there is one.
    """

    implied: Mapping[str, frozenset[str]] = field(default_factory=dict)
    conditional: Mapping[str, Mapping[tuple[str, str], Conditional]] = field(default_factory=dict)
    other: str = ""
    inherits: bool = False
    chains: frozenset[tuple[str, ...]] = field(init=False)
    plain: Mapping[str, int] = field(init=False)
    """The bits of what is true of the principal, or of the realm, by kind of atom."""
    shifts: Mapping[str, int] = field(init=False)
    """How far the bits of what is held on a level lie above the privileges' own."""
    shown: Mapping[str, Test] = field(init=False)

    by_text = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _set(self, "chains", frozenset((self.root_type, *path) for path in self._paths()))
        _set(
            self, "shown", {name: self._listed(listing.condition) for name, listing in self.listings.items()}
        )

    def _numbered(self) -> dict[Atom, int]:
        numbers = super()._numbered()
        numbers[Atom(BELOW)] = 1 << len(numbers)
        levels, each = (ASKED, PARENT, *self.types), len(self.privileges)
        _set(self, "shifts", {on: len(numbers) + place * each for place, on in enumerate(levels)})
        for on, shift in self.shifts.items():
            numbers |= {
                Atom(HELD, code, on): privilege.bit << shift for code, privilege in self.privileges.items()
            }
        kinds = (Atom(MEMBER), Atom(SERVICE_ADMIN), Atom(BELOW), Atom(OWNER, self.root_type))
        _set(self, "plain", {atom.kind: numbers[atom] for atom in kinds})
        return numbers

    def tested(self, operation: Operation, condition: Condition) -> Test:
        # here `whole` says that what is below counts, the one thing that is expensive to ask
        test = super().tested(operation, condition)
        return test._replace(whole=any(atom.kind == BELOW for atom in atoms(condition)))

    def bits(self, privilege: str) -> int:
        """The bits of a privilege and of all that it stands for."""
        codes = (privilege, *self.implied.get(privilege, ()))
        return sum(self.privileges[code].bit for code in codes if code in self.privileges)

    def known_type(self, type: str) -> str:
        """The type itself, or what a type that is not listed counts as."""
        return type if type in self.children or not type else self.other

    def test(self, operation: str, type: str) -> Test | None:
        test = self.tests.get((operation, type))
        if test is None and type not in self.children and operation.startswith(f"{type}."):
            return self.tests.get((self.other + operation[len(type) :], self.other))
        return test

    def action(self, type: str, name: str) -> str | None:
        operation = self.actions.get(self.known_type(type), {}).get(name, name)
        if type not in self.children and operation.startswith(f"{self.other}."):
            operation = type + operation[len(self.other) :]
        return operation if self.test(operation, type) else None

    def actions_for(self, type: str) -> tuple[str, ...]:
        return super().actions_for(self.known_type(type))

    def steps_to(self, type: str, path: tuple[str, ...]) -> tuple[tuple[str, str], ...] | None:
        if type == "program" and len(path) == 4:
            path = (*path[:2], f"{path[2].lower()}.{path[3]}")
        elif type == "program" and path[2:] != ("*",):
            return None
        types = self.type_path(type, len(path))
        return None if types is None else tuple(zip(types, path))

    def type_path(self, type: str, length: int) -> tuple[str, ...] | None:
        if type in self.children or not self.other or not type:
            return super().type_path(type, length)
        return {1: (type,), 2: ("namespace", type)}.get(length)

    def narrowed(self, type: str, name: str, properties: Mapping[str, Mapping[str, object]]) -> str:
        """The part of an operation that a question's condition picks; no operation for an unknown one."""
        conditional, sent = self.conditional.get(self.action(type, name) or ""), properties.get("action", {})
        if conditional is None or "condition" not in sent:
            return name
        picked = self._picked(name, type, sent)
        return (
            picked.operation
            if picked and self.test(picked.operation, type)
            else f"{name} [unknown condition]"
        )

    def beside(self, type: str, name: str, sent: Mapping[str, object]) -> tuple[str, str] | None:
        """The type and name of the second object that the properties of an action name, in the namespace."""
        picked = self._picked(name, type, sent)
        value = sent.get(picked.name) if picked and picked.beside else None
        return (picked.beside, value) if picked and isinstance(value, str) and value else None

    def _picked(self, name: str, type: str, sent: Mapping[str, object]) -> Conditional | None:
        conditional = self.conditional.get(self.action(type, name) or "", {})
        condition, subject = sent.get("condition"), sent.get("subject", "")
        if not (isinstance(condition, str) and isinstance(subject, str)):
            return None
        return conditional.get((condition, subject)) or conditional.get((condition, ""))

    def lineage(self, realm: Level, type: str, path: tuple[str, ...]) -> Lineage:
        """The levels of a name below the realm's own, each known by its text; empty for what is no name."""
        steps = self.steps_to(type, path)
        if steps is None:
            return ()
        names: tuple[str, ...] = ()
        levels = [realm]
        for kind, name in steps:
            names = (*names, name)
            levels.append(Level(kind, f"{kind}:{'.'.join(names)}", name))
        return tuple(levels)

    def _paths(self) -> list[tuple[str, ...]]:
        paths: list[tuple[str, ...]] = [()]
        for path in paths:
            paths.extend((*path, child) for child in self.children[path[-1] if path else self.root_type])
        return paths

    def _listed(self, condition: Condition) -> Test:
        return self.tested(Operation("list", "List", {}), condition)


def _set(dialect: Dialect, name: str, value: object) -> None:
    object.__setattr__(dialect, name, value)
