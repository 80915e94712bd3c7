"""What the tests of files on this machine ask of a tree."""

from __future__ import annotations

import os
from pathlib import Path

from lakewarden.backends import planning
from lakewarden.backends.base import Desired
from lakewarden.backends.testing.kit import look, settle
from tests.backends.files_world import (
    READ,
    WRITE,
    each,
    fileset,
    shown,
)

NOTHING = Desired({}, {})
ANA_READS = each(daemon=fileset("sales", "orders", *READ))
ANA_WRITES = each(daemon=fileset("sales", "orders", *WRITE))


def assert_settled(lake, desired):
    plan = planning.plan(desired, look(lake))
    assert plan.steps == ()


def done(lake, desired, **more):
    assert [item.error for item in settle(lake, desired, **more) if item.error] == []
    assert_settled(lake, desired)


def everything(root: Path) -> dict[str, str]:
    """All lists and all our marks of a tree."""
    lists = shown(root)
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            names = [name for name in os.listxattr(path) if ".lakewarden." in name and ".kept" not in name]
            lists[f"marks of {path}"] = str([os.getxattr(path, name) for name in names])
    return lists


def rights(seen, person) -> set[str]:
    return {right.right for right in seen.roles.get(f"person:{person}", ()) if right.kind == "fileset"}
