"""The shape of a law: types, privileges, operations, lists, and the numbers that decisions are made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lakewarden.law.conditions import (
    HELD,
    MEMBER,
    NO_DENIAL,
    OWNER,
    RIGHT,
    SELF,
    SERVICE_ADMIN,
    Atom,
    Condition,
    atoms,
    numbered,
)

WEIGHTS = {"use": 1, "read": 1, "create": 2, "write": 2, "manage": 3}
"""How much a privilege of a category opens; explanations offer the least first."""


@dataclass(frozen=True)
class Privilege:
    """One privilege: `bit` is its place among the dialect's numbers, `binds` the types it may be given on.

    `kind` is the kind of catalog it makes sense in, empty for any.
    """

    code: str
    bit: int
    label: str
    description: str
    binds: frozenset[str]
    category: str
    kind: str = ""


@dataclass(frozen=True)
class Operation:
    """One question: on which types it can be asked, and what it takes there.

    The type "" is asked of no object.  `beside` is the type of a second object that the question is about
    (the tag to be put on a table); its lineage is passed as `also`.  `each` is what must be allowed on
    everything of the types `every` in the object, whose lineages are passed as `inside`.  `membership` means
    that one must belong to the realm.
    """

    name: str
    label: str
    conditions: Mapping[str, Condition]
    beside: str = ""
    each: str = ""
    every: tuple[str, ...] = ()
    access_control: bool = False
    membership: bool = True

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(type for type in self.conditions if type)

    @property
    def type(self) -> str | None:
        """The one type it is asked of; None when there are several, or none."""
        return self.types[0] if len(self.types) == 1 else None


@dataclass(frozen=True)
class Listing:
    """A list of children: which operation on the container opens it, and what it takes to see a child."""

    type: str
    condition: Condition
    gates: Mapping[str, str]


class Variants(NamedTuple):
    """Parts of an operation that can be asked for alone: which property of the question's `place`
    ("action" or "resource") picks one, and the operation that each value of it means."""

    place: str
    property: str
    choices: Mapping[str, str]


class Step(NamedTuple):
    """A level on the way down: what can bind there, the bit of owning it, and what may follow."""

    mask: int
    owner: int
    below: Mapping[str, Step]


class Test(NamedTuple):
    """An operation's condition on one type, numbered; `whole` if it asks for more than rights and owners.

    `levels` are those whose texts it asks about.
    """

    ways: tuple[int, ...]
    whole: bool
    operation: Operation
    condition: Condition
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dialect:
    """A law as data.  `children` maps each type to what lies directly below it.

    `synonyms` are other spellings of operations, `roles` those that every realm has and what they give on
    its root.  `grantees` are the kinds of principals that privileges are given to directly; none: to roles
    alone.  Where it is `open_to_all`, everybody belongs to the realm.  Where it `ignores_case`, names of
    people and objects are the same in any case, and a pattern `*suffix` is everybody whose name ends so.
    `kind` is the kind of realm, where several laws are laws of one kind.
    """

    code: str
    root_type: str
    children: Mapping[str, tuple[str, ...]]
    privileges: Mapping[str, Privilege]
    aliases: Mapping[str, str]
    operations: Mapping[str, Operation]
    listings: Mapping[str, Listing]
    actions: Mapping[str, Mapping[str, str]]
    synonyms: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, Variants] = field(default_factory=dict)
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    grantees: frozenset[str] = frozenset()
    open_to_all: bool = False
    ignores_case: bool = False
    kind: str = ""
    numbers: Mapping[Atom, int] = field(init=False)
    steps: Mapping[str, Step] = field(init=False)
    tests: Mapping[tuple[str, str], Test] = field(init=False)
    paths: Mapping[str, tuple[str, ...]] = field(init=False)

    by_text = False
    """Whether rules are about texts, which name objects that need not exist."""

    def __post_init__(self) -> None:
        _set(self, kind=self.kind or self.code)
        _set(self, numbers=self._numbered())
        _set(self, steps={self.root_type: _steps(self)[self.root_type]})
        _set(self, tests=dict(self._tests()))
        paths: dict[str, tuple[str, ...]] = {self.root_type: ()}
        waiting = [self.root_type]
        for parent in waiting:
            for child in self.children[parent]:
                if child not in paths:
                    paths[child] = (*paths[parent], child)
                    waiting.append(child)
        _set(self, paths=paths)

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(self.children)

    @property
    def filters(self) -> dict[str, Condition]:
        """What it takes to see an object in a list of its kind."""
        return {name: listing.condition for name, listing in self.listings.items()}

    @property
    def denial_shift(self) -> int:
        """How far a privilege's bit lies below the bit that says it is not denied."""
        return len(self.privileges)

    def privilege(self, name: str) -> Privilege | None:
        """The privilege of that name, older names included."""
        return self.privileges.get(self.aliases.get(name, name))

    def child_types(self, type: str) -> tuple[str, ...]:
        return self.children.get(type, ())

    def type_path(self, type: str, length: int) -> tuple[str, ...] | None:
        """The types of the parts of a name of `length` parts below the realm, ending in `type`; None if none.

        A schema in a schema is one part of a name, so it does not lengthen the path.
        """
        path = self.paths.get(type)
        return path if path is not None and len(path) == length else None

    def steps_to(self, type: str, path: tuple[str, ...]) -> tuple[tuple[str, str], ...] | None:
        """The type and name of each object on the way to that of a path below the realm; None if no such."""
        types = self.type_path(type, len(path))
        return None if types is None else tuple(zip(types, path))

    def test(self, operation: str, type: str) -> Test | None:
        """What an operation takes on a type; None where it cannot be asked."""
        return self.tests.get((operation, type))

    def action(self, type: str, name: str) -> str | None:
        """The operation that an action's name means on a type; an operation's own name means itself."""
        operation = self.actions.get(type, {}).get(name) or self.synonyms.get(name, name)
        return operation if self.test(operation, type) else None

    def narrowed(self, type: str, name: str, properties: Mapping[str, Mapping[str, object]]) -> str:
        """An action's name, or the part of it that the properties of a question (by place) pick out.

        Only what a law itself names is picked; any other property leaves the whole.
        """
        conditional = self.variants.get(self.action(type, name) or "")
        if conditional is None:
            return name
        value = properties.get(conditional.place, {}).get(conditional.property)
        picked = conditional.choices.get(value) if isinstance(value, str) else None
        return picked if picked is not None and (picked, type) in self.tests else name

    def actions_for(self, type: str) -> tuple[str, ...]:
        """The names of what can be done to an object of a type, in the order people read them."""
        return tuple(self.actions.get(type, ()))

    def bindable(self, privilege: str, type: str, catalog_kind: str | None = None) -> str | None:
        """None when the privilege may be given on such an object, else the reason why not, as a sentence."""
        privilege_ = self.privilege(privilege)
        if privilege_ is None:
            return f"{privilege} is no privilege"
        if type not in privilege_.binds:
            return f"{privilege} cannot be granted on a {type}"
        if (
            privilege_.kind
            and catalog_kind
            and privilege_.kind != catalog_kind
            and type in ("catalog", "schema")
        ):
            return f"{privilege} needs a {privilege_.kind} catalog; this one is {catalog_kind}"
        return None

    def number(self, condition: Condition) -> tuple[int, ...]:
        return numbered(condition, self.numbers)

    def _numbered(self) -> dict[Atom, int]:
        # rights first, at the privileges' own bits; then no-denials in that order; then owners and the rest
        rights = {Atom(RIGHT, code): p.bit for code, p in self.privileges.items()}
        denials = {Atom(NO_DENIAL, code): p.bit << self.denial_shift for code, p in self.privileges.items()}
        others = [Atom(OWNER, type) for type in self.types] + [
            Atom(kind) for kind in (MEMBER, SERVICE_ADMIN, SELF)
        ]
        start = 2 * len(self.privileges)
        return {**rights, **denials, **{atom: 1 << start + place for place, atom in enumerate(others)}}

    def _tests(self) -> Iterable[tuple[tuple[str, str], Test]]:
        for name, operation in self.operations.items():
            for type, condition in operation.conditions.items():
                yield (name, type), self.tested(operation, condition)

    def tested(self, operation: Operation, condition: Condition) -> Test:
        levels = tuple(dict.fromkeys(atom.on for atom in atoms(condition) if atom.kind == HELD))
        return Test(self.number(condition), asks_whole(condition), operation, condition, levels)


def asks_whole(condition: Condition) -> bool:
    """Whether it asks for more than rights and owners, so that the whole word must be made."""
    return any(atom.kind not in (RIGHT, OWNER) for atom in atoms(condition))


def _set(dialect: Dialect, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(dialect, name, value)


def _steps(dialect: Dialect) -> dict[str, Step]:
    below: dict[str, dict[str, Step]] = {type: {} for type in dialect.types}
    steps = {
        type: Step(
            sum(p.bit for p in dialect.privileges.values() if type in p.binds),
            dialect.numbers[Atom(OWNER, type)],
            below[type],
        )
        for type in dialect.types
    }
    for type, children in dialect.children.items():
        below[type].update((child, steps[child]) for child in children)
    return steps
