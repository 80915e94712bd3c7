"""Each guide, followed to the letter in a copy of the tree: it works, and takes four files at most."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.development.guides import ROOT, Step, followed, run_tests

MOST = 4


def test_a_page_is_added(tmp_path: Path) -> None:
    touched = followed("adding-a-page.md", tmp_path)
    assert len(touched) <= MOST
    done = run_tests(
        tmp_path,
        "tests/console/people/test_expiring.py",
        "tests/console/test_who_may.py::test_every_route_has_a_row",
        "tests/console/test_who_may.py::test_each_page_answers_each_visitor[stranger]",
    )
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def test_a_privilege_is_added(tmp_path: Path) -> None:
    touched = followed("adding-a-privilege.md", tmp_path)
    assert len(touched) <= MOST
    shutil.copyfile(
        ROOT / "tests/development/new_privilege.py", tmp_path / "tests/console/roles/test_new_privilege.py"
    )
    done = run_tests(
        tmp_path,
        "tests/law/test_privileges.py",
        "tests/law/test_expressions.py",
        "tests/law/test_actions.py",
        "tests/console/roles/test_new_privilege.py",
    )
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


def test_a_backend_is_added(tmp_path: Path) -> None:
    touched = followed("adding-a-backend.md", tmp_path)
    guide = (ROOT / "docs/development/adding-a-backend.md").read_text()
    shown = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", (ROOT / "docs/backends.md").read_text(), re.S))
    for path, name in re.findall(r"^\| `([\w/.]+)` \| `(\w+\.py)`", guide, re.M):
        code = shown[name].replace("from shelf import", "from policies.sync.backends.shelf.kind import")
        Step(path, "python", code).follow(tmp_path)
        touched.add(path)
    assert len(touched) <= MOST
    done = run_tests(
        tmp_path,
        "tests/backends/test_shelf.py",
        "tests/backends/test_own_backend.py::"
        "test_the_page_names_every_kind_that_is_built_in_and_what_it_is_connected_to",
    )
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) > 40


def test_a_change_at_no_place_or_at_two_is_refused(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text("one = 1\none = 1\n")
    for text in ("-one = 1\n+two = 2\n", " three = 3\n+four = 4\n"):
        with pytest.raises(ValueError, match="places that look like"):
            Step("twice.py", "diff", text).follow(tmp_path)


def test_a_new_file_takes_no_place_of_another(tmp_path: Path) -> None:
    (tmp_path / "there.py").write_text("")
    with pytest.raises(ValueError, match="is there already"):
        Step("there.py", "python", "").follow(tmp_path)
