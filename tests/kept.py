"""Worlds that the tests of a file share: made once, in transactions that lie around them.

Each test works inside a savepoint, so it finds the world as it was made and leaves it so.  A world may stand
on another, which then stays when a test needs no more than that one.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

Make = Callable[..., Any]


@dataclass(frozen=True)
class Open:
    """A world that is there now, and the transaction that it goes with."""

    path: Path
    make: Make
    atomic: transaction.Atomic
    made: Any


_open: list[Open] = []
"""The last stands on those before it."""


def kept(make: Make, *, on: str = "") -> Any:
    """A fixture of what `make` makes, from what the fixture `on` gave if there is one.

    A test that commits, as others must see it, has one of its own.
    """

    def world(**given: Any) -> Any:
        for here in _open:
            if here.make is make:
                return copy.deepcopy(here.made)
        return make(given[on]) if on else make()

    needs = [name for name in ("db", on) if name]
    world.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in needs]
    )
    world.makes, world.on = make, on  # type: ignore[attr-defined]
    world.__doc__ = make.__doc__
    return pytest.fixture(world)


def enter(item: pytest.Item) -> None:
    """Before a test's own transaction: make the worlds that it asks for, unless they are there."""
    wanted = _wanted(item)
    if not wanted:
        return
    leave(unless=item)
    for make in wanted[len(_open) :]:
        atomic = transaction.atomic()
        atomic._from_testcase = True  # a change refuses to be part of anything but a test
        atomic.__enter__()
        try:
            made = make(copy.deepcopy(_open[-1].made)) if _open else make()
        except BaseException:
            _roll_back(atomic)
            raise
        _open.append(Open(item.path, make, atomic, made))


def leave(unless: pytest.Item | None = None) -> None:
    """The worlds go, unless the next test asks for the same."""
    stay = _wanted(unless) if unless else []
    while _open and ([here.make for here in _open] != stay[: len(_open)] or _open[-1].path != unless.path):
        _roll_back(_open.pop().atomic)


def _roll_back(atomic: transaction.Atomic) -> None:
    transaction.set_rollback(True)
    atomic.__exit__(None, None, None)


def _wanted(item: pytest.Item) -> list[Make]:
    """What a test's world is made by, from the ground up; nothing where the test commits."""
    names = getattr(item, "fixturenames", ())
    mark = item.get_closest_marker("django_db")
    if (mark and mark.kwargs) or {"transactional_db", "live_server"} & set(names):
        return []
    known = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    fixtures = {name: known[name][-1].func for name in names if name in known}
    worlds = [_stack(function, fixtures) for function in fixtures.values() if hasattr(function, "makes")]
    return max(worlds, key=len, default=[])


def _stack(function: Any, fixtures: dict[str, Any]) -> list[Make]:
    below = _stack(fixtures[function.on], fixtures) if function.on else []
    return [*below, function.makes]
