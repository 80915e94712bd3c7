"""Exported, applied to an empty realm and exported again, the file is the same: in the three laws."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from accounts import people
from catalog.nodes import Node
from lakewarden.client import policy_trees
from lakewarden.client.transport import Unavailable
from policies.errors import Invalid
from policies.policy_files import document
from policies.policy_files.statements import of_realm
from policies.services import realms
from tests.factories import AUTHORITY, BY
from tests.simulation.worlds import WORLDS

from .world import applied, exported, plan

FEW, MANY = 1, 12
CASES = [
    pytest.param(law, seed, marks=[pytest.mark.slow] if seed >= FEW else [])
    for law in WORLDS
    for seed in range(MANY)
]


def an_empty_realm_like(root: Node) -> Node:
    kind, owner = root.kind[:4] if root.kind.startswith("cdap") else root.kind, "marek"
    if kind == "gravitino":
        return realms.create(kind, "copy", owner=people.ensure("user", owner), by=BY, authority=AUTHORITY)
    settings = {"policy": f"{root.kind[4]}.{root.kind[5]}", "authentication": "on"} if kind == "cdap" else {}
    admin = people.ensure("user", "admin")
    return realms.create(kind, "copy", owner=admin, by=BY, authority=AUTHORITY, settings=settings)


@pytest.mark.parametrize(("law", "seed"), CASES)
def test_an_export_applied_to_an_empty_realm_is_the_same_export(db: None, law: str, seed: int) -> None:
    world = WORLDS[law](random.Random(f"export {law} {seed}"))
    text = exported(world.root)
    assert exported(world.root) == text
    assert plan(world.root, text).steps == []
    copy = an_empty_realm_like(world.root)
    moved = text.replace(f"realm: {world.root.name}\n", "realm: copy\n")
    applied(copy, moved)
    again = exported(copy)
    assert again.split("\n", 1)[1] == moved.split("\n", 1)[1]
    assert plan(copy, moved).steps == []


@pytest.mark.parametrize(("law", "seed"), CASES)
def test_a_tree_of_files_says_what_one_file_says(db: None, law: str, seed: int, tmp_path: Path) -> None:
    root = WORLDS[law](random.Random(f"export {law} {seed}")).root
    tree = document.tree_of(root, of_realm(root))
    assert document.tree_of(root, of_realm(root)) == tree
    many, others = policy_trees.write(tmp_path, tree)
    assert (many, others) == (len(list(tmp_path.rglob("*.yaml"))), []) and many > 2
    read, whole = document.read(policy_trees.read(tmp_path)), document.read(exported(root))
    assert replace(read, text="") == replace(whole, text="")
    assert plan(root, policy_trees.read(tmp_path)).steps == []


def test_names_of_files_are_safe_and_differ_where_a_disk_knows_no_capitals(tmp_path: Path) -> None:
    paths = policy_trees.Paths()
    names = ("Readers", "readers", "../../up", ".hidden", "a/b", "naïve 店", "x" * 400, "x" * 399)
    given = [paths.of("roles", name) for name in names]
    assert len({path.casefold() for path in given}) == len(names)
    assert [paths.of("roles", name) for name in names] == given
    text = policy_trees.joined(dict.fromkeys(given, "format: 1"))
    assert policy_trees.write(tmp_path, text) == (len(names), [])
    assert {path.parent for path in tmp_path.rglob("*.yaml")} == {tmp_path / "roles"}


@pytest.mark.parametrize("path", ["../up.yaml", "/etc/x.yaml", "a/b/c.yaml", "x.txt", "roles/.x.yaml", ""])
def test_no_file_is_written_beside_the_tree(path: str, tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        policy_trees.write(tmp_path / "tree", f"--- # {path}\nformat: 1\n")
    assert not list(tmp_path.iterdir())


PART = "format: 1\nrealm: demo\n"


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("roles: {reader: {}}", "reader is described in two documents"),
        ("law: herd", "Two documents disagree about law"),
        ("role: {}", "In document 2 at"),
    ],
)
def test_documents_that_contradict_each_other_are_refused(other: str, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        document.read(f"{PART}law: gravitino\nroles: {{reader: {{}}}}\n---\n{PART}{other}\n")
