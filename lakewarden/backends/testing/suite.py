"""What a suite of backends' tests stands on: what a backend can do, and its rights for two operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Callable, TypeVar

import pytest

from lakewarden.backends.base import Desired, Right
from lakewarden.backends.testing.kit import by_person, wanted

ODD_NAMES = (
    "with.dot",
    'with "quotes"',
    "with space",
    "Größe",
    "表",
    "🙂",
    "semi;colon -- x",
    "%s{}",
    "back\\slash",
    "ü" * 31 + "x",  # 63 bytes
)
ORDERS = ("sales", "orders")
Test = TypeVar("Test", bound=Callable[..., None])


def needs(ability: str) -> Callable[[Test], Test]:
    """A test that is only there for backends that have an ability."""

    def mark(test: Test) -> Test:
        test.needs = ability  # type: ignore[attr-defined]
        return test

    return mark


def on(schema: str, table: str, *words: str) -> frozenset[Right]:
    """Rights on a table and the way to it, as databases call them."""
    way = {Right("catalog", (), "CONNECT"), Right("schema", (schema,), "USAGE")}
    return frozenset({*way, *(Right("table", (schema, table), word) for word in words)})


class Suite:
    """Subclasses give the fixture `site`, `on` where rights are called otherwise, and what they cannot do.

    `READ` and `WRITE` are what reading and writing the table `sales.orders` take, `COSTS` what reading
    `sales.costs` takes.  Abilities: `has_roles`; `others_grant`, what others gave can be told from ours;
    `sees_objects`, and by `has_ids` of the source's own; `rights_follow` objects or names when those are
    renamed or made again; `blinds`, the site has `blinded`; `denies`, `denial(schema, table)` are the rights
    that forbid; `refuses`, it says no to giving `never`, a right that it does not know.  `odd_names` are
    tried as names of everything, `seeds` are rounds of workers that die.
    """

    READ = on(*ORDERS, "SELECT")
    WRITE = on(*ORDERS, "SELECT", "INSERT", "UPDATE", "DELETE")
    COSTS = on("sales", "costs", "SELECT")
    on = staticmethod(on)
    has_roles = True
    others_grant = True
    sees_objects = True
    has_ids = True
    denies = False
    refuses = False
    blinds = False
    rights_follow = "objects"
    odd_names: Iterable[Any] = ODD_NAMES
    seeds: Iterable[Any] = range(20)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # in one order, else processes that share the tests collect them differently
        for name in [each for each in dir(cls) if each not in vars(cls)]:
            # what a class in between is not able to do is not lost for those below it
            tests = [vars(above)[name] for above in cls.__mro__ if vars(above).get(name) is not None]
            ability = getattr(tests[0], "needs", "") if tests else ""
            if ability:
                setattr(cls, name, tests[0] if getattr(cls, ability) else None)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Names and rounds are the subclass's."""
        for argument, values in (("odd_name", self.odd_names), ("seed", self.seeds)):
            if argument in metafunc.fixturenames:
                metafunc.parametrize(argument, values)

    def wanted(self, roles: Mapping[str, frozenset[Right]], **members: Iterable[str]) -> Desired:
        """Roles and who is in each, as this backend is told."""
        return self.as_told(wanted(roles, **members))

    def as_told(self, desired: Desired) -> Desired:
        return desired if self.has_roles else by_person(desired)

    @property
    def never(self) -> Right:
        """A right that no backend knows, on a table that is there."""
        return replace(self.one, path=("sales", "costs"), right="NO SUCH RIGHT")

    @property
    def one(self) -> Right:
        """A right on the table itself that reading takes."""
        return max(right for right in self.READ if right.path == ORDERS)

    @property
    def more(self) -> Right:
        """A right on the table itself that writing takes and reading does not."""
        return min(right for right in self.WRITE - self.READ if right.path == ORDERS)
