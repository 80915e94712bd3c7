"""Texts of pages are short: sentences, and the words on buttons, labels and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest

ROOT = Path(__file__).resolve().parents[2]
SENTENCE, SIGN = 25, 5
"""Words that a sentence, and a button, label or heading, has at most."""
FILLED_IN = re.compile(r"%\(\w+\)s|\{\{.*?\}\}")
MARKS = re.compile(r"</?\w+[^>]*>")
SIGNS = re.compile(r"<(button|h[1-4]|label|legend|th)\b[^>]*>(.*?)</\1>", re.S)
LONGER = {
    # a sign, and why it has more words
    "User id, or a wildcard such as *@corp.com": "the example is what people need",
    "or an object and everything inside, by its full name": "the second half of a label",
    "Pairs of a person and an object": "a definition, in a table of figures",
}
BANNED = (
    # what no text of a page says; what to write instead
    (r"\bwho(m)?ever\b", "the noun: the owner, the approver"),
    (r"\bone may\b|\bone's\b", "you, or the noun"),
    (r"\b(is|are) told\b", "gets a notice"),
    (r"\b(of|by) who\b", "the noun"),
    (r"\bnone of the 1\b", "a sentence for one"),
    (r"\bright(s)? to nothing\b", "no access"),
)


def texts() -> Iterator[str]:
    for entry in polib.pofile(str(ROOT / "authzsite/locale/de/LC_MESSAGES/django.po")):
        if not entry.obsolete:
            yield from filter(None, (entry.msgid, entry.msgid_plural))


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?:;])\s+", MARKS.sub("", FILLED_IN.sub("X", text)))


def signs() -> Iterator[tuple[str, str]]:
    """What stands on buttons, labels and headings of templates, with its file."""
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for found in SIGNS.finditer(path.read_text()):
            yield from ((path.name, text) for text in re.findall(r'{% translate "([^"]*)"', found[2]) if text)


def test_sentences_are_short() -> None:
    assert [line for text in texts() for line in sentences(text) if len(line.split()) > SENTENCE] == []


def test_buttons_labels_and_headings_are_short() -> None:
    long = [(name, text) for name, text in signs() if len(text.split()) > SIGN and text not in LONGER]
    assert long == []


@pytest.mark.parametrize(("words", "instead"), BANNED, ids=[words for words, _ in BANNED])
def test_no_text_has_words_that_must_be_decoded(words: str, instead: str) -> None:
    assert [text for text in texts() if re.search(words, text, re.I)] == [], f"write {instead}"


def test_a_long_sentence_and_a_long_button_would_be_seen() -> None:
    assert len(sentences("One two. Three <b>four</b> %(five)s: six")) == 3
    assert ("button", "Send it") in [
        (found[1], "Send it") for found in SIGNS.finditer('<button type="submit">Send it</button>')
    ]
