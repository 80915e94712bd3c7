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
    # name: how often at most in the code and in its tests, and what to write instead
    "one": ((22, 34), "the noun: grant, person, privilege, item"),
    "found": ((61, 45), "the noun: row, match, objects; or a verb for a function"),
    "told": ((30, 89), "the noun: words, message, answer, details"),
    "said": ((19, 31), "the noun: words, event, draft"),
    "asked": ((98, 297), "the noun: question, query, filter_, request"),
    "known": ((71, 62), "the noun: by_id, names, principals"),
    "there": ((33, 102), "the noun: node, by_id, existing"),
    "room": ((1, 16), "what the page shows: grant_list, role_detail; or page, view"),
    "Line": ((2, 1), "the noun in the line: GrantLine, MemberLine"),
    "Row": ((5, 2), "the noun in the row: RoleRow, RequestRow"),
    "Asked": ((4, 2), "the noun: Filter, Query, RequestForm"),
    "Found": ((4, 0), "the noun: Match, Located, ObjectFound"),
    "Told": ((0, 1), "the noun: Message, Details, Preview"),
    "Held": ((1, 2), "the noun: HeldRole, Entitlement"),
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


def count(*folders: str) -> Counter[str]:
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    kept = (path for path in paths if "migrations" not in path.parts)
    return Counter(name for path in kept for name in bound(ast.parse(path.read_text())))


@pytest.fixture(scope="module")
def counts() -> tuple[Counter[str], Counter[str]]:
    return count(*FLOORS), count("tests")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_says_nothing_becomes_rarer(name: str, counts: tuple[Counter[str], Counter[str]]) -> None:
    (in_code, in_tests), instead = NAMES[name]
    code, tests = counts
    assert code[name] <= in_code, f"`{name}` is no name; write {instead}"
    assert tests[name] <= in_tests, f"`{name}` is no name in a test either; write {instead}"


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
