"""Worlds that the tests of a file share: made once, in a transaction that lies around them.

Each test works inside a savepoint, so it finds the world as it was made and leaves it so.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

Make = Callable[[], Any]


@dataclass(frozen=True)
class Open:
    """The world that is there now, and the transaction that it goes with."""

    path: Path
    make: Make
    atomic: transaction.Atomic
    made: Any


_open: Open | None = None


def kept(make: Make) -> Any:
    """A fixture of what `make` makes; a test that commits, as others must see it, has one of its own."""

    def world(db: None) -> Any:
        return copy.deepcopy(_open.made) if _open and _open.make is make else make()

    world.makes = make  # type: ignore[attr-defined]
    world.__doc__ = make.__doc__
    return pytest.fixture(world)


def enter(item: pytest.Item) -> None:
    """Before a test's own transaction: make the world that it asks for, unless that is there."""
    global _open
    make = _wanted(item)
    if make is None or _stays(item):
        return
    leave()
    atomic = transaction.atomic()
    atomic._from_testcase = True  # a change refuses to be part of anything but a test
    atomic.__enter__()
    try:
        _open = Open(item.path, make, atomic, make())
    except BaseException:
        _roll_back(atomic)
        raise


def leave(unless: pytest.Item | None = None) -> None:
    """The world goes, unless the next test asks for the same."""
    global _open
    if _open is not None and (unless is None or not _stays(unless)):
        here, _open = _open, None
        _roll_back(here.atomic)


def _roll_back(atomic: transaction.Atomic) -> None:
    transaction.set_rollback(True)
    atomic.__exit__(None, None, None)


def _stays(item: pytest.Item) -> bool:
    return _open is not None and (_open.path, _open.make) == (item.path, _wanted(item))


def _wanted(item: pytest.Item) -> Make | None:
    names = getattr(item, "fixturenames", ())
    mark = item.get_closest_marker("django_db")
    if (mark and mark.kwargs) or {"transactional_db", "live_server"} & set(names):
        return None
    known = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    makes = (getattr(known[name][-1].func, "makes", None) for name in names if name in known)
    return next(filter(None, makes), None)
