"""The house rules that a machine can hold: which way imports go, and that the law leaves the house alone."""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest
from grimp import ImportGraph

from tests.house.checks import check

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


@pytest.fixture(scope="module")
def graph() -> ImportGraph:
    """Every module and what it imports, for types alone and inside functions too."""
    return grimp.build_graph(*FLOORS, cache_dir=None)


def circle(graph: ImportGraph) -> list[str]:
    """Modules that import each other in a ring, if there are any."""
    modules = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    try:
        TopologicalSorter(modules).prepare()
    except CycleError as error:
        ring: list[str] = error.args[1]
        return ring
    return []


def test_no_modules_import_each_other_in_a_circle(graph: ImportGraph) -> None:
    assert circle(graph) == []


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("accounts.people", "accounts.text"),
        ("policies.record.pending", "policies.record.change"),
        ("authzsite.console.kit.sign_in", "authzsite.console.kit.auth"),
    ],
)
def test_a_circle_would_be_seen(graph: ImportGraph, importer: str, imported: str) -> None:
    changed = copy.deepcopy(graph)
    changed.add_import(importer=importer, imported=imported)
    changed.add_import(importer=imported, imported=importer)
    assert {importer, imported} <= set(circle(changed))


def test_imports_keep_the_contracts() -> None:
    done = check("layers", ROOT)
    assert done.returncode == 0, done.stdout


def test_imports_that_break_a_contract_are_seen(tree: Path) -> None:
    for module, line in WRONG.items():
        with (tree / module).open("a") as file:
            file.write(f"\n\n{line}\n")
    done = check("layers", tree)
    assert done.returncode == 1
    assert "failed: layers" in done.stdout
    for sentence in (
        "catalog is not allowed to import policies",
        "lakewarden is not allowed to import accounts",
        "policies.decisions is not allowed to import policies.services",
        "policies.errors is not allowed to import policies.models",
        "No cycles are allowed in policies.record.",
    ):
        assert sentence in " ".join(done.stdout.split())


WRONG = {
    "catalog/nodes.py": "from policies import errors",
    "lakewarden/law/engine.py": "def late():\n    from accounts import people",
    "policies/decisions/duties.py": "from policies.services import duties",
    "policies/errors.py": "if TYPE_CHECKING:\n    from policies.models import Grant",
    "policies/record/pending.py": "if TYPE_CHECKING:\n    from policies.record.change import change",
}
"""Upward plainly, inside a function, from package to package, for types alone; and a circle of two."""


def test_the_web_framework_stays_in_the_api() -> None:
    offences = [
        f"{path.relative_to(ROOT)}:{line}"
        for floor in FLOORS
        for path in modules(floor)
        if not path.is_relative_to(ROOT / "authzsite" / "api")
        for line, name in imports(ast.parse(path.read_text()))
        if top(name) in WEB
    ]
    assert offences == []


def test_the_law_needs_the_standard_library_only() -> None:
    known = set(sys.stdlib_module_names) | {"lakewarden"}
    offences = []
    for path in modules("lakewarden"):
        lazily = LAZY if path.is_relative_to(ROOT / "lakewarden" / "spark") else set()
        if path.is_relative_to(ROOT / "lakewarden" / "record"):
            lazily = {"cryptography"}  # only whoever checks a signature needs it
        if path in SUITE:
            lazily = {"pytest"}
        for line, name in imports(ast.parse(path.read_text())):
            if top(name) not in known | lazily:
                offences.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert offences == []


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
    long_files = [
        f"{name}: {length} lines"
        for path in modules(floor)
        if (length := len(path.read_text().splitlines())) > 500
        and (name := str(path.relative_to(ROOT))) not in LONG
        and "migrations" not in path.parts
    ]
    assert long_files == []
