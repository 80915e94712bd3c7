"""The house rules that a machine can hold: imports go left, the law leaves the house alone."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("lakewarden", "accounts", "catalog", "policies", "authzsite")
LAZY = {"pyspark", "py4j", "pyarrow", "grpc"}  # only inside lakewarden/spark, only inside functions
WEB = {"rest_framework"}
SUITE = {
    ROOT / "lakewarden" / "backends" / "testing" / name for name in ("contract.py", "suite.py")
}  # for pytest to run


def modules(floor: str) -> list[Path]:
    return sorted((ROOT / floor).rglob("*.py"))


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, node.module or ""


def top(name: str) -> str:
    return name.partition(".")[0]


def wrong(floor: str, allowed: set[str]) -> list[str]:
    found = []
    for path in modules(floor):
        for line, name in imports(ast.parse(path.read_text())):
            if top(name) in FLOORS and top(name) not in allowed:
                found.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    return found


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_go_left(floor: str) -> None:
    assert modules(floor)
    assert wrong(floor, set(FLOORS[: FLOORS.index(floor) + 1])) == []


def test_a_wrong_import_would_be_seen() -> None:
    assert wrong("authzsite", {"lakewarden"}) != []


def test_the_web_framework_stays_in_the_api() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for floor in FLOORS
        for path in modules(floor)
        if not path.is_relative_to(ROOT / "authzsite" / "api")
        for line, name in imports(ast.parse(path.read_text()))
        if top(name) in WEB
    ]
    assert found == []


def test_the_law_needs_the_standard_library_only() -> None:
    known = set(sys.stdlib_module_names) | {"lakewarden"}
    found = []
    for path in modules("lakewarden"):
        lazily = LAZY if path.is_relative_to(ROOT / "lakewarden" / "spark") else set()
        if path.is_relative_to(ROOT / "lakewarden" / "record"):
            lazily = {"cryptography"}  # only whoever checks a signature needs it
        if path in SUITE:
            lazily = {"pytest"}
        for line, name in imports(ast.parse(path.read_text())):
            if top(name) not in known | lazily:
                found.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert found == []


@pytest.mark.parametrize("path", modules("lakewarden"), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_law_reads_on_python_3_9(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    has_annotations = any(isinstance(node, ast.AnnAssign | ast.arg) for node in ast.walk(tree))
    late = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    assert late or not has_annotations, "needs `from __future__ import annotations`"


# 500 lines where one noun needs them; a table may be longer
LONG = {"lakewarden/law/dialects/gravitino.py"}


@pytest.mark.parametrize("floor", FLOORS)
def test_files_stay_short(floor: str) -> None:
    found = [
        f"{name}: {length} lines"
        for path in modules(floor)
        if (length := len(path.read_text().splitlines())) > 500
        and (name := str(path.relative_to(ROOT))) not in LONG
        and "migrations" not in path.parts
    ]
    assert found == []
