"""Words that this project does not use, in prose, on pages or in names; each with what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENDINGS = {".css", ".html", ".js", ".md", ".py", ".sh", ".toml", ".txt"}
QUOTES = ("CHANGELOG.md", "docs/seeds.md", "tests/seeds/", "tests/house/test_words.py")
"""What has the words of others, of the past, or the words themselves."""

BANNED = (
    # a word or phrase in any case, also as a part of a name; what to write instead
    ("he", "they, or the noun: the grantee, the owner, the caller"),
    ("him", "them, or the noun"),
    ("his", "their, or the noun's: the owner's"),
    ("himself", "themselves, or directly"),
    ("she", "they, or the name"),
    ("her", "them or their, or the name"),
    ("hers", "theirs, or the name"),
    ("herself", "themselves"),
    ("out there", "in the backend, or there"),
    ("dear to", "expensive to"),
    ("how dear", "how expensive"),
    ("for as long as", "as long as, or while"),
    ("one's own", "the viewer's own, their own"),
    ("one may see", "the viewer may see"),
    ("one may not", "the viewer may not, hidden"),
    ("put back from a copy", "restored from a copy"),
    ("hands of its own", "a separate queue"),
    ("this side tells", "the preview shows"),
    ("for who may", "for viewers who may, for people who may"),
    ("for who has", "for holders of"),
    ("by who may", "by people who may"),
    ("by who has", "by holders of"),
    ("to who may", "to people who may"),
    ("to who has", "to holders of"),
    ("whoever asked", "the requester"),
    ("whoever leads", "the leader"),
    ("whoever runs", "the operator"),
    ("whoever started", "the starter"),
    ("service admin", "site admin"),
)
ALLOWED: dict[str, tuple[str, ...]] = {
    # for a word, patterns of the text in which it is right
    "out there": (r"Signed out there",),
    "service admin": (r"only (a )?service admins? may",),  # what programs read
}


def texts() -> Iterator[tuple[str, str]]:
    """Every text of the project by its path; what git does not keep is none of it."""
    folders = [path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith((".", "var"))]
    for path in sorted([*ROOT.glob("*"), *(path for folder in folders for path in folder.rglob("*"))]):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in ENDINGS and not name.startswith(QUOTES) and path.is_file():
            yield name, path.read_text()


def found_in(text: str, word: str) -> Iterator[int]:
    """The lines that have a word, by number; a phrase may go on over the end of a line."""
    spaced = r"[\s#]+".join(map(re.escape, word.split()))
    for allowed in ALLOWED.get(word, ()):
        text = re.sub(allowed, lambda match: "\n" * match[0].count("\n"), text)
    for occurrence in re.finditer(rf"(?<![a-z]){spaced}(?![a-z])", text, re.I):
        yield text.count("\n", 0, occurrence.start()) + 1


@pytest.fixture(scope="module")
def project() -> dict[str, str]:
    return dict(texts())


@pytest.mark.parametrize(("word", "instead"), BANNED, ids=[word for word, _ in BANNED])
def test_a_banned_word_does_not_come_back(project: dict[str, str], word: str, instead: str) -> None:
    places = [f"{name}:{line}" for name, text in project.items() for line in found_in(text, word)]
    assert places == [], f"“{word}”: write {instead}"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("What he may do", [1]),
        ("\nNobody sees it. His own", [2]),
        ("def test_nobody_loses_what_he_keeps() -> None:", [1]),
        ("The header of the shell", []),
    ],
)
def test_a_banned_word_would_be_seen(text: str, lines: list[int]) -> None:
    assert [line for word in ("he", "his") for line in found_in(text, word)] == lines
