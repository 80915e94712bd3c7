"""Names that say nothing: how often functions, classes, arguments and variables still bear them.

The table may only shrink.  Whoever makes a number smaller writes it down; nobody makes one larger.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("lakewarden", "accounts", "catalog", "policies", "authzsite")

NAMES = {
    # name: how often at most, and what to write instead
    "one": (285, "the noun: grant, person, privilege, item"),
    "found": (880, "the noun: row, match, objects; or a verb for a function"),
    "told": (371, "the noun: words, message, answer, details"),
    "said": (111, "the noun: words, event, draft"),
    "room": (13, "what the page shows: grant_list, role_detail; or page, view"),
    "Line": (2, "the noun in the line: GrantLine, MemberLine"),
    "Row": (5, "the noun in the row: RoleRow, RequestRow"),
    "Asked": (4, "the noun: Filter, Query, RequestForm"),
    "Found": (4, "the noun: Match, Located, ObjectFound"),
    "Told": (0, "the noun: Message, Details, Preview"),
    "Held": (1, "the noun: HeldRole, Entitlement"),
}


def bound(tree: ast.AST) -> Iterator[str]:
    """Every name that the code gives, without leading or trailing underscores."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name.strip("_")
        elif isinstance(node, ast.arg):
            yield node.arg.strip("_")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id.strip("_")


@pytest.fixture(scope="module")
def counted() -> Counter[str]:
    paths = (path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
    kept = (path for path in paths if "migrations" not in path.parts)
    return Counter(name for path in kept for name in bound(ast.parse(path.read_text())))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_says_nothing_becomes_rarer(name: str, counted: Counter[str]) -> None:
    most, instead = NAMES[name]
    assert counted[name] <= most, f"`{name}` is no name; write {instead}"


def test_every_way_to_give_a_name_is_seen() -> None:
    code = """
class Told: ...
def told(told, *, _told=None):
    for told in (): ...
    with open() as told: ...
    told = [told for told in ()]
    if told := told: ...
"""
    assert Counter(bound(ast.parse(code)))["told"] == 8
    assert Counter(bound(ast.parse(code)))["Told"] == 1
