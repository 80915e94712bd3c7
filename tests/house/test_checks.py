"""CI makes every check that needs this tree alone, and each fails when what it is for is broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.checks import ROOT, check

AMONG_THE_TESTS = {"house"}
ASKS_ANOTHER_SITE = {"audit"}
"""What is known against a package changes without any change here."""


def names_in(pattern: str, path: str) -> set[str]:
    match = re.search(pattern, (ROOT / path).read_text(), re.MULTILINE)
    assert match, f"{path} has no line like {pattern}"
    return set(match[1].split())


def test_ci_makes_every_check_that_asks_no_other_site() -> None:
    there = names_in(r'^checks="(.*)"$', "scripts/check.sh")
    called = names_in(r"^scripts/check.sh ([a-z ]+)", ".ci/run")
    branches = set(re.findall(r"^    ([a-z]+)\) ", (ROOT / "scripts/check.sh").read_text(), re.MULTILINE))
    assert there == branches == called | AMONG_THE_TESTS | ASKS_ANOTHER_SITE
    assert {"format", "lint", "migrations", "layers", "types"} <= called
    assert "make --no-print-directory test" in (ROOT / ".ci/run").read_text()


def test_a_check_that_is_not_there_fails() -> None:
    done = check("spelling", ROOT)
    assert done.returncode == 1
    assert "there is no check spelling" in done.stdout


BROKEN = {
    "format": ("accounts/text.py", "x  =  1\n"),
    "lint": ("accounts/text.py", "import os\n"),
    "migrations": (
        "catalog/models/__init__.py",
        "class Unmade(models.Model):\n    class Meta:\n        app_label = 'catalog'\n",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_check_fails_on_what_it_is_for(name: str, tree: Path) -> None:
    path, line = BROKEN[name]
    file = tree / path
    text = file.read_text()
    file.write_text(("from django.db import models\n" if name == "migrations" else "") + text + "\n\n" + line)
    done = check(name, tree)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith(f"failed: {name}")


@pytest.mark.slow
def test_a_type_error_fails(tree: Path) -> None:
    with (tree / "accounts/text.py").open("a") as file:
        file.write('\n\nlength: int = "three"\n')
    done = check("types", tree)
    assert done.returncode == 1
    assert "accounts/text.py" in done.stdout
    assert done.stdout.rstrip().endswith("failed: types")
