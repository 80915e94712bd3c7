"""What lies in storage keeps its own permissions; privileges count where it is reached through CDAP."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts import people
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.authority import OPERATOR
from policies.services import entities, patterns
from tests.cdap.world import Caller, a_cdap, give

pytestmark = pytest.mark.django_db
CALLS = {"namespace": "ns2", "dataset": "calls", "entity": "DATASET"}


class FileSet:
    """A fileset of ns2 in a folder that is shut to whom programs of ns1 run as."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "part-0"
        self.file.write_text("one call")
        self.shut()

    def shut(self) -> None:
        self.folder.chmod(0o700 if os.geteuid() == 0 else 0)

    def open_up(self) -> None:
        self.folder.chmod(0o755)

    def permissions(self) -> list[object]:
        return [
            (path.stat().st_mode, path.stat().st_uid, os.listxattr(path))
            for path in (self.folder, self.folder.parent)
        ]

    def is_opened(self) -> bool:
        """Whether the account of the program reads the file by its path, past any CDAP."""
        account = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        read = subprocess.run(["cat", self.file], check=False, capture_output=True, **account)  # type: ignore[call-overload]
        return bool(read.stdout == b"one call")


@pytest.fixture
def files() -> Iterator[FileSet]:
    home = Path(tempfile.mkdtemp(prefix="lw-storage-"))  # the tests' own folder is shut to other accounts
    home.chmod(0o755)
    (home / "calls").mkdir()
    made = FileSet(home / "calls")
    yield made
    made.open_up()
    shutil.rmtree(home)


@pytest.fixture
def root(files: FileSet) -> Node:
    """A CDAP 4.3 whose dataset ns2.calls is that fileset."""
    root = a_cdap("4.3")
    for name in ("namespace:ns1", "namespace:ns2"):
        entities.create(root, parse(name), by=OPERATOR)
    give(root, "dataset:ns2.calls", "keeper", "ADMIN")
    made = {"typeName": "fileSet", "properties": {"base.path": str(files.folder)}}
    assert Caller("keeper").send("PUT", "/v3/namespaces/ns2/data/datasets/calls", made).status_code == 200
    return root


def through_cdap(files: FileSet) -> bool:
    """What CDAP does for a program that runs as nobody: ask, and only then open."""
    return Caller("nobody").may("nobody", "READ", CALLS) and files.is_opened()


@pytest.mark.seed("S1-220", "S1-221")
def test_a_program_needs_the_privilege_and_the_permission_in_storage(root: Node, files: FileSet) -> None:
    assert not through_cdap(files), "neither"
    before = files.permissions()
    give(root, "dataset:ns2.calls", "nobody", "READ")
    assert Caller("nobody").may("nobody", "READ", CALLS)
    assert not through_cdap(files), "the privilege alone: nothing is pushed"
    assert files.permissions() == before
    files.open_up()
    assert through_cdap(files), "both"
    opened = files.permissions()
    patterns.revoke(root, parse("dataset:ns2.calls"), people.ensure("user", "nobody"), ["READ"], by=OPERATOR)
    assert not through_cdap(files), "the permission alone"
    assert files.is_opened(), "reached directly, the new policy is not asked"
    assert files.permissions() == opened
