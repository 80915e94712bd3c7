"""Private helpers that are called from one place: one reads them by jumping, so their share may only shrink.

Whoever makes a number smaller writes it down; nobody makes one larger.  A helper that is longer than its
caller can bear, or whose name says what its code cannot, stays.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("lakewarden", "accounts", "catalog", "policies", "authzsite")
PRIVATE = re.compile(r"(?<!\w)_[a-z]\w*")
SHORT = 6
"""Shorter than so many lines, one belongs in its caller."""

MOST = 19.4
MOST_SHORT = 5.3
"""Per cent of all functions.  The aim is ten and none."""


def called_once(source: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The private functions and methods of a module that it names in one place, which is a call."""
    return _called_once(source, list(ast.walk(ast.parse(source))))


def _called_once(source: str, nodes: list[ast.AST]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    names = Counter(PRIVATE.findall(source))
    called = {
        call.func.id if isinstance(call.func, ast.Name) else call.func.attr
        for call in nodes
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute)
    }
    for owner in nodes:
        for item in owner.body if isinstance(owner, ast.Module | ast.ClassDef) else ():
            if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if PRIVATE.fullmatch(item.name) and names[item.name] == 2 and item.name in called:
                yield item


def test_helpers_called_once_become_fewer() -> None:
    paths = (path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
    once, functions = [], 0
    for path in paths:
        if "migrations" not in path.parts:
            source = path.read_text()
            nodes = list(ast.walk(ast.parse(source)))
            once += _called_once(source, nodes)
            functions += sum(isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) for item in nodes)
    short = [item for item in once if (item.end_lineno or 0) - item.lineno + 1 < SHORT]
    assert 100 * len(once) / functions <= MOST, "put helpers that are called once into their callers"
    assert 100 * len(short) / functions <= MOST_SHORT, "five lines that are called once belong in the caller"


def test_what_is_called_once_is_seen() -> None:
    source = """
def shown():
    return _once() + _twice() + _twice() + sum(map(_given, ()))
def _once(): ...
def _twice(): ...
def _given(): ...
class Page:
    def shown(self):
        return self._method()
    def _method(self): ...
"""
    assert [item.name for item in called_once(source)] == ["_once", "_method"]
