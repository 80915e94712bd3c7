"""Each guide, followed to the letter in one copy of the tree: it works, and takes four files at most."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.development.guides import ROOT, Step, TestRun, copied, followed, run_tests

MOST = 4

pytestmark = pytest.mark.timeout(900)  # another run of tests in a copy of the tree: long on a busy machine

OF_THE_PAGE = (
    "tests/console/people/test_expiring.py",
    "tests/console/test_who_may.py::test_every_route_has_a_row",
    "tests/console/test_who_may.py::test_each_page_answers_each_visitor[stranger]",
)
OF_THE_PRIVILEGE = (
    "tests/law/test_privileges.py",
    "tests/law/test_expressions.py",
    "tests/law/test_actions.py",
    "tests/console/roles/test_new_privilege.py",
)
OF_THE_BACKEND = (
    "tests/backends/test_shelf.py",
    "tests/backends/test_own_backend.py::"
    "test_the_page_names_every_kind_that_is_built_in_and_what_it_is_connected_to",
)


@dataclass(frozen=True)
class Newcomer:
    """Who followed all guides in one copy of the tree: the files each touched, and what its tests say."""

    touched: dict[str, set[str]]
    run: TestRun


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    tree = copied(tmp_path_factory.mktemp("tree"))
    touched = {name: followed(f"adding-a-{name}.md", tree) for name in ("page", "privilege", "backend")}
    touched["backend"] |= written_from_the_page(tree)
    shutil.copyfile(
        ROOT / "tests/development/new_privilege.py", tree / "tests/console/roles/test_new_privilege.py"
    )
    return Newcomer(touched, run_tests(tree, *OF_THE_PAGE, *OF_THE_PRIVILEGE, *OF_THE_BACKEND))


def written_from_the_page(tree: Path) -> set[str]:
    """The files of a kind, as the page on backends shows them."""
    guide = (ROOT / "docs/development/adding-a-backend.md").read_text()
    shown = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", (ROOT / "docs/backends.md").read_text(), re.S))
    named = re.findall(r"^\| `([\w/.]+)` \| `(\w+\.py)`", guide, re.M)
    for path, name in named:
        code = shown[name].replace("from shelf import", "from policies.sync.backends.shelf.kind import")
        Step(path, "python", code).follow(tree)
    return {path for path, _ in named}


def test_a_page_is_added(newcomer: Newcomer) -> None:
    assert len(newcomer.touched["page"]) <= MOST
    assert newcomer.run.of(*OF_THE_PAGE) == {"PASSED": 6}, newcomer.run.output


def test_a_privilege_is_added(newcomer: Newcomer) -> None:
    assert len(newcomer.touched["privilege"]) <= MOST
    for file in OF_THE_PRIVILEGE:
        assert newcomer.run.of(file).keys() == {"PASSED"}, newcomer.run.output


def test_a_backend_is_added(newcomer: Newcomer) -> None:
    assert len(newcomer.touched["backend"]) <= MOST
    kit, page = (newcomer.run.of(file) for file in OF_THE_BACKEND)
    assert (kit.keys(), page) == ({"PASSED"}, {"PASSED": 1}), newcomer.run.output
    assert kit["PASSED"] > 40


def test_a_change_at_no_place_or_at_two_is_refused(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text("one = 1\none = 1\n")
    for text in ("-one = 1\n+two = 2\n", " three = 3\n+four = 4\n"):
        with pytest.raises(ValueError, match="places that look like"):
            Step("twice.py", "diff", text).follow(tmp_path)


def test_a_new_file_takes_no_place_of_another(tmp_path: Path) -> None:
    (tmp_path / "there.py").write_text("")
    with pytest.raises(ValueError, match="is there already"):
        Step("there.py", "python", "").follow(tmp_path)
