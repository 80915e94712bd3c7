"""Each guide, followed to the letter in a copy of the tree: it works, and takes four files at most."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.development.guides import Step, followed, run_tests

MOST = 4


def test_a_page_is_added(tmp_path: Path) -> None:
    touched = followed("adding-a-page.md", tmp_path)
    assert len(touched) <= MOST
    done = run_tests(
        tmp_path,
        "tests/pages/test_expiring.py",
        "tests/pages/test_who_may.py::test_every_route_has_a_row",
        "tests/pages/test_who_may.py::test_each_page_answers_each_visitor[stranger]",
    )
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def test_a_change_at_no_place_or_at_two_is_refused(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text("one = 1\none = 1\n")
    for text in ("-one = 1\n+two = 2\n", " three = 3\n+four = 4\n"):
        with pytest.raises(ValueError, match="places that look like"):
            Step("twice.py", "diff", text).follow(tmp_path)


def test_a_new_file_takes_no_place_of_another(tmp_path: Path) -> None:
    (tmp_path / "there.py").write_text("")
    with pytest.raises(ValueError, match="is there already"):
        Step("there.py", "python", "").follow(tmp_path)
