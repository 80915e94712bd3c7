"""docs/seeds.md is as `make seeds` would write it now, told by marks and rows, without running anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from lakewarden.law import dialects
from tests.seeds import reasons, rows
from tests.seeds.report import REPORT, Recorder, write
from tests.seeds.trying import chapter, chapters, questions

ROOT = Path(__file__).resolve().parents[2]
MEND = "run `make seeds`"


@cache
def page() -> str:
    return (ROOT / REPORT).read_text(encoding="utf-8")


@cache
def shown() -> dict[str, list[str]]:
    """What the page says: each row that is shown, with its tests."""
    lines = re.findall(r"^\| (S\d-\d{3}) \|.*\| ((?:`[^`|]+`(?:<br>)?)+) \|$", page(), re.M)
    return {row: re.findall(r"`([^`]+)`", tests) for row, tests in lines}


@cache
def definitions(path: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """The functions and classes of a file by their names; none where there is no such file."""
    file = ROOT / path
    tree = ast.parse(file.read_text()) if file.exists() else ast.Module([], [])
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def rows_in(nodes: list[ast.expr]) -> Iterator[str]:
    """The rows that marks name in so many words; others are made while tests are collected."""
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.seed":
            yield from (str(item.value) for item in node.args if isinstance(item, ast.Constant))


def marked() -> Iterator[tuple[str, str]]:
    """Each row that a test names in so many words, with the test."""
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        path = file.relative_to(ROOT).as_posix()
        for name, node in definitions(path).items():
            if name.startswith("test_"):
                yield from ((row, f"{path}::{name}") for row in rows_in(node.decorator_list))


def test_the_page_has_every_row_as_it_is() -> None:
    assert page() == write(shown(), rows().values()), MEND


def test_every_test_that_the_page_names_is_there() -> None:
    named = {test for tests in shown().values() for test in tests}
    parts = {test: test.split("::") for test in named}
    assert not [test for test, (path, name, *_) in parts.items() if name not in definitions(path)], MEND


def test_every_test_that_names_a_row_is_on_the_page() -> None:
    missing = [(row, test) for row, test in marked() if test not in shown().get(row, [])]
    assert not missing, MEND


def test_no_reason_is_given_for_a_row_that_is_shown() -> None:
    assert not reasons().keys() & shown().keys()


def test_every_row_is_shown_or_has_its_reason() -> None:
    assert rows().keys() == shown().keys() | reasons().keys()


@pytest.mark.parametrize("outcome", ["", "<failure/>", "<error/>", "<skipped/>"])
def test_outcomes_are_read_from_a_run_that_is_over(tmp_path: Path, outcome: str) -> None:
    case = f'<testcase classname="tests.a.test_b" name="test_c[1]">{outcome}</testcase>'
    (tmp_path / "run.xml").write_text(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
    recorder = Recorder()
    recorder.named["tests/a/test_b.py::test_c[1]"] = {"S1-001"}
    recorder.read_junit(tmp_path / "run.xml")
    assert recorder.shown() == ({} if outcome else {"S1-001": ["tests/a/test_b.py::test_c"]})


@pytest.mark.parametrize("law", ["cdap34", "cdap35", "cdap43", "herd"])
def test_what_the_page_says_to_ask_is_understood(law: str) -> None:
    known = dialects.get(law).operations.keys()
    of_the_law = [row.id for row in rows().values() if row.law == law]
    asked = [text.split(", {")[0] for row in of_the_law for text in questions().get(row, ())]
    assert asked and not [name for name in asked if name not in known]


def test_every_chapter_stands_beside_a_row() -> None:
    beside = {chapter(row) for row in rows().values()}
    assert {link for _, _, link in chapters()} - beside == set()
