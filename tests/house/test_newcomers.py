"""What somebody new reads and runs first: the drawing of the house, and the hooks of git."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from authzsite.console.help.glossary import AVOIDED, GERMAN, IN_CODE, WORDS

ROOT = Path(__file__).resolve().parents[2]


def test_each_package_stands_in_the_drawing_and_no_other() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "drawing.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"`make drawing` draws it again\n{done.stdout}{done.stderr}"


def test_the_table_of_words_says_what_the_console_says() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "words.py"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0, "`make words` writes it again"


def test_no_word_is_avoided_that_is_none() -> None:
    assert {word.code for word in (*WORDS.values(), *IN_CODE)} >= AVOIDED.keys() | GERMAN.keys()


def test_the_hooks_call_targets_of_make() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    targets = re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(), re.M)
    entries = re.findall(r"^ +entry: (.*)$", hooks, re.M)
    assert entries
    assert {entry for entry in entries if entry.removeprefix("make ") not in targets} == set()


def test_every_page_for_developers_is_listed() -> None:
    folder = ROOT / "docs" / "development"
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (folder / "README.md").read_text())
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
