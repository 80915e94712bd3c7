"""What a test of a connection finds reads in the reader's language, whichever line of a kind it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from policies.sentences import read_back
from policies.sync.connections.finding_words import CODES, in_readers_language

BACKENDS = Path(__file__).parents[2] / "policies/sync/backends"
CHECKS = ("postgresql/check.py", "posix/check.py", "mariadb/kind.py")


def texts(tree: ast.AST) -> Iterator[ast.expr]:
    """What is handed to a Finding as its text, and what is kept under that name before."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Call) and getattr(part.func, "id", "") == "Finding":
            yield from (word.value for word in part.keywords if word.arg == "text")
        if isinstance(part, ast.Assign) and [getattr(name, "id", "") for name in part.targets] == ["text"]:
            yield part.value


def filled(text: ast.expr) -> str:
    """A text of the source with something filled in; nothing for one that comes from elsewhere."""
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    if not all(isinstance(part, ast.Constant | ast.FormattedValue) for part in parts):
        return ""
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "5" for part in parts)


@pytest.mark.parametrize("file", CHECKS)
def test_each_line_of_a_check_is_known(file: str) -> None:
    lines = [filled(text) for text in texts(ast.parse((BACKENDS / file).read_text()))]
    sentences = [line for line in lines if " " in line]
    assert len(sentences) >= 4
    assert not [line for line in sentences if read_back(line, CODES) is None]


@pytest.mark.parametrize(
    "english, german",
    [
        ("connected to database books as ada", "mit Datenbank books verbunden, als ada"),
        ("PostgreSQL 16", "PostgreSQL 16"),
        (
            "PostgreSQL 13 is too old: 14 or newer is needed",
            "PostgreSQL 13 ist zu alt: nötig ist 14 oder neuer",
        ),
        ("the account lacks CREATE USER on *.*", "dem Konto fehlt CREATE USER auf *.*"),
        ("it is mounted read only", "es ist schreibgeschützt eingehängt"),
        ("what a kind of another's says", "what a kind of another's says"),
    ],
)
def test_a_line_is_read_in_german(english: str, german: str) -> None:
    with translation.override("de"):
        assert in_readers_language(english) == german
    assert in_readers_language(english) == english
