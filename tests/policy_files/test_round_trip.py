"""Exported, applied to an empty realm and exported again, the file is the same: in the three laws."""

from __future__ import annotations

import random
from typing import Any

import pytest

from accounts import people
from catalog.nodes import Node
from policies.authority import OPERATOR
from policies.policy_files import document
from policies.policy_files.applying import apply
from policies.policy_files.plan import Plan
from policies.policy_files.statements import of_realm
from policies.services import realms
from tests.factories import AUTHORITY, BY
from tests.simulation.worlds import WORLDS

FEW, MANY = 1, 12
CASES = [
    pytest.param(law, seed, marks=[pytest.mark.slow] if seed >= FEW else [])
    for law in WORLDS
    for seed in range(MANY)
]


def exported(root: Node, **options: Any) -> str:
    return document.write(root, of_realm(root), **options)


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
    assert Plan(world.root, document.read(text)).steps == []
    copy = an_empty_realm_like(world.root)
    moved = text.replace(f"realm: {world.root.name}\n", "realm: copy\n")
    file = document.read(moved)
    apply(copy, file, seen=Plan(copy, file).digest, by=OPERATOR)
    again = exported(copy)
    assert again.split("\n", 1)[1] == moved.split("\n", 1)[1]
    assert Plan(copy, file).steps == []
