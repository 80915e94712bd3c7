"""What privileges are given on: `dataset:ns1.orders`, or every entity like `dataset:ns1.*`.

A text names no object: the entity may not be there yet, and may be gone again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from lakewarden.law.globs import is_glob, like

INSTANCE, PROGRAM = "instance", "program"
ONE_PART = (INSTANCE, "namespace", "kerberosprincipal")
DOTTED = ("dataset", "dataset_type", "dataset_module")
TWO_PARTS = ("application", *DOTTED, "stream", "artifact", "securekey")
TYPES = ("namespace", "kerberosprincipal", "application", PROGRAM, *DOTTED, "stream", "artifact", "securekey")
PROGRAM_TYPES = ("flow", "mapreduce", "service", "spark", "worker", "workflow")
_FORMS = {
    1: "<{type}-name>",
    2: "<namespace-name>.<entity-name>",
    4: "<namespace-name>.<app-name>.<type>.<name>",
}
_VERSIONED = {"artifact": 3, "application": 3}
"""How many parts a name has when a version was put into it, too."""


class BadEntity(ValueError):
    """The text names nothing that privileges can be given on."""


@dataclass(frozen=True)
class Authorizable:
    """A type in lower case and the parts of a name, each exact or a pattern.

    A program has four parts, or three of which the last is `*`: all programs of an application.
    """

    type: str
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.type}:{'.'.join(self.parts)}"

    @property
    def is_pattern(self) -> bool:
        return any(map(is_glob, self.parts))

    @property
    def whole(self) -> tuple[str, ...]:
        """The parts with a program's type and name apart, as matching compares them."""
        if self.type == PROGRAM and len(self.parts) == 3:
            return (*self.parts, "*")
        return self.parts

    @property
    def parent(self) -> Authorizable | None:
        """What holds the entity; None for what stands in the instance itself."""
        if len(self.parts) < 2:
            return None
        if self.type == PROGRAM:
            return Authorizable("application", self.parts[:2])
        return Authorizable("namespace", self.parts[:1])


def of(type: str, *parts: str) -> Authorizable:
    """The same as `parse`, from parts: the type in any case, a program's type too."""
    kind = type.lower()
    if kind == PROGRAM and len(parts) == 4:
        parts = (*parts[:2], parts[2].lower(), parts[3])
    return Authorizable(kind, parts)


def parse(text: str, *, others: bool = False) -> Authorizable:
    """Read `<type>:<name>` as CDAP does.  Raises BadEntity with CDAP's own words.

    `others` also takes types that CDAP does not know, with one part or two.
    """
    if not text:
        raise BadEntity("Null or empty entity string.")
    type, colon, name = text.partition(":")
    if not colon:
        raise BadEntity(f"Cannot extract the entity type from {text}")
    kind = type.strip().lower()
    if kind not in (*ONE_PART, *TWO_PARTS, PROGRAM) and not (others and kind):
        raise BadEntity(f"Entity type {type.upper()} does not support authorization.")
    parts = split(kind, name)
    _check(kind, parts)
    return of(kind, *parts)


def split(type: str, name: str) -> tuple[str, ...]:
    """The parts of a name: the names of some types may hold dots themselves."""
    if type == "kerberosprincipal":
        return (name,)
    return tuple(name.split(".", 1 if type in DOTTED else -1))


def _check(type: str, parts: tuple[str, ...]) -> None:
    given = f"given entity: [{', '.join(parts)}]"
    if len(parts) == _VERSIONED.get(type):
        raise BadEntity(
            "Privilege can only be granted at the artifact/application level. If you are including version "
            f"please remove it. G{given[1:]}"
        )
    if type == PROGRAM and len(parts) == 3 and parts[2] != "*":
        raise BadEntity("When program type is not given, a program name can only contain a *")
    if len(parts) not in lengths(type) or not all(parts):
        form = _FORMS[max(lengths(type))].format(type=type)
        message = f"Entity value is missing some parts or containing more parts. Expected: {form}, {given}"
        raise BadEntity(message)


def lengths(type: str) -> Collection[int]:
    """How many parts a name of a type may have."""
    if type == PROGRAM:
        return (3, 4)
    if type in ONE_PART:
        return (1,)
    return (2,) if type in TWO_PARTS else (1, 2)


def matches(target: Authorizable, entity: Authorizable) -> bool:
    """Whether privileges given on the target count for the entity: the plain meaning of a pattern."""
    alike = target.type == entity.type and len(target.whole) == len(entity.whole)
    return alike and all(map(like, target.whole, entity.whole))


def below(target: Authorizable, entity: Authorizable) -> bool:
    """Whether the target can name something that stands in the entity."""
    deeper = {"namespace": len(target.parts) > 1, "application": target.type == PROGRAM}
    return deeper.get(entity.type, False) and all(map(like, target.whole, entity.parts))
