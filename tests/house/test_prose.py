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
    (r"\b(is|are) told\b|\btells\b", "gets a notice, shows, says"),
    (r"\b(of|by) who\b", "the noun"),
    (r"\bnone of the 1\b", "a sentence for one"),
    (r"\bright(s)? to nothing\b", "no access"),
    (r"\b(some|any|every)body\b", "someone, anyone, everyone; better the noun: an owner, an approver"),
    (r"\bpast the console\b", "outside the console"),
    (r"\banswers? for\b", "is responsible for"),
    (r"^make (an?|the|new)\b(?!.*\bowner\b)|\bis made;", "create, is created"),
    (r"\bgives? access\b", "grant access"),
    (r"(?<!there )\bis no (?!longer)\w+", "is not a"),
    (r"\bworked out\b", "calculated"),
    (r"\bfor ever\b", "permanently"),
    (r"\blook at (it|them|this) again\b", "check it again"),
    (r"\bfrom a copy\b", "from a backup"),
    (r"\brecord is (broken|whole)\b|\bthe record (says|has)\b", "the audit log is damaged, is intact"),
    (r"\ball the same\b", "still, unchanged"),
    (r"\b(not|is|are) yours to (do|see|give)\b", "you cannot"),
    (r"\bopens? nothing\b", "gives no access, does not work"),
    (r"^say (why|what|how|which)\b", "give a reason, describe"),
    (r"\b(take[ns]?|taking|took) (away|back)\b", "revoke, withdraw, undo"),
    (r"\bby now\b", "now, in the meantime"),
    (r"\bnobody of that name\b|\byou know nobody\b", "no person has that name"),
    (r"\bcall(ed)? (it )?off\b", "cancel"),
    (r"\bno more$|\bnot any more$", "no longer"),
    (r"\bmend(s|ed)?\b", "fix, repair"),
    (r"\b(and|the) looks\b", "views"),
    (r"\bonly watched\b", "only reports"),
)
"""Each also names what the words hid: whose it is, what happens, what to do next."""

SPOKEN_ELSEWHERE = {
    # a text, and why it keeps such words
    "%(realm)s is no CDAP instance": "an answer of CDAP's interface, which clients compare",
    "%(unknown)s is no action; known are %(privileges)s": "an answer of CDAP's interface",
    "'%(parts)s' is no type of program; known are %(program_types)s.": "an answer of CDAP's interface",
}

BANNED_IN_GERMAN = (
    (r"\bman\b", "Sie, or the noun"),
    (r"(?<!E-)\bMails?\b|\bper Mail\b", "E-Mail"),
    (r"\bfür immer\b", "dauerhaft"),
    (r"\bSichten\b|\bDateis[aä]tz|\bDatens[aä]tz", "Views, Filesets, Datasets"),
    (r"\bAufzeichnung ist\b", "Audit-Protokoll"),
    (r"\bhält (sie|beides|die Rolle)\b", "hat"),
    (r"\baus einer Kopie\b", "aus einer Sicherung"),
    (r"\bwird nur beobachtet\b", "meldet nur"),
)

PAGES_OF_DOCS = [
    ROOT / "README.md",
    *(
        path
        for path in sorted((ROOT / "docs").glob("*.md"))
        if path.name not in {"cdap-operations.md", "real.md", "reliability.md", "seeds.md", "settings.md"}
    ),
]
"""What people read; the pages left out are made by programs from what other tests hold."""
BANNED_IN_DOCS = (
    (r"\b(some|any|every)body\b", "someone, anyone, everyone; better the noun"),
    (r"\bpast the console\b", "outside the console"),
    (r"\bworked out\b", "calculated"),
    (r"\bfrom a copy\b", "from a backup"),
    (r"\bwho would rather\b|^Who (may|wants|leaves|comes)\b", "If you …, People who …"),
    (r"\bwhile one (types|may)\b|\bthat one (may|can|holds)\b", "you, or the noun"),
    (r"\b(is|are) told as\b|\btells everyone\b", "counts as, is listed as"),
    (r"\bhowever long ago\b|\bas they are there\b", "however old; unchanged"),
    (r"\b(leaves|leave) with \d", "exits with"),
    (r"\bthe very (plan|text|right)\b", "exactly that"),
    (r"\bgift(s)?\b", "grant"),
    (r"\bwhat becomes of\b", "what happens to"),
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
        for match in SIGNS.finditer(path.read_text()):
            yield from ((path.name, text) for text in re.findall(r'{% translate "([^"]*)"', match[2]) if text)


def test_sentences_are_short() -> None:
    assert [line for text in texts() for line in sentences(text) if len(line.split()) > SENTENCE] == []


def test_buttons_labels_and_headings_are_short() -> None:
    long = [(name, text) for name, text in signs() if len(text.split()) > SIGN and text not in LONGER]
    assert long == []


@pytest.mark.parametrize(("words", "instead"), BANNED, ids=[words for words, _ in BANNED])
def test_no_text_has_words_that_must_be_decoded(words: str, instead: str) -> None:
    plain = {text: FILLED_IN.sub("X", text) for text in texts() if text not in SPOKEN_ELSEWHERE}
    assert [text for text in plain if re.search(words, plain[text], re.I)] == [], f"write {instead}"


def test_each_text_that_keeps_such_words_is_still_there() -> None:
    assert SPOKEN_ELSEWHERE.keys() <= set(texts())


@pytest.mark.parametrize(("words", "instead"), BANNED_IN_GERMAN, ids=[words for words, _ in BANNED_IN_GERMAN])
def test_no_german_text_has_words_that_must_be_decoded(words: str, instead: str) -> None:
    entries = polib.pofile(str(ROOT / "authzsite/locale/de/LC_MESSAGES/django.po"))
    german = [text for entry in entries for text in (entry.msgstr, *entry.msgstr_plural.values())]
    assert [text for text in german if re.search(words, text)] == [], f"write {instead}"


def read(page: Path) -> str:
    """What a document says, without code and the addresses of links; each line stays where it is."""
    text = re.sub(
        r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), page.read_text(), flags=re.M | re.S
    )
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)", "X", text)


@pytest.mark.parametrize(("words", "instead"), BANNED_IN_DOCS, ids=[words for words, _ in BANNED_IN_DOCS])
def test_no_document_has_words_that_must_be_decoded(words: str, instead: str) -> None:
    found = [
        f"{page.name}:{text.count(chr(10), 0, hit.start()) + 1}: {hit[0]}"
        for page, text in ((page, read(page)) for page in PAGES_OF_DOCS)
        for hit in re.finditer(words, text, re.M)
    ]
    assert found == [], f"write {instead}"


SPOKEN_BY_SCRIPTS = re.compile(
    r"""(?:\b(?:confirm|alert|append|prepend|replaceChildren)\(|\b(?:textContent|innerText|innerHTML|title"""
    r"""|placeholder|ariaLabel)\s*\+?=|setAttribute\(\s*["'](?:aria-label|title|placeholder)["']\s*,)"""
    r"""\s*(["'`])[^"'`$]*[A-Za-z]{2,}[^"'`]*\1"""
)
"""A text that a script itself shows: a template has to hand it over, translated, as `data-…`."""


def test_scripts_show_no_texts_of_their_own() -> None:
    found = [
        f"{script.name}: {hit[0]}"
        for script in sorted((ROOT / "static" / "js").glob("*.js"))
        for hit in SPOKEN_BY_SCRIPTS.finditer(script.read_text())
    ]
    assert found == [], "mark the text in a template and read it from the element's dataset"


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ('if (begun && !confirm("Close without saving?")) return;', True),
        ("button.textContent = 'Save it';", True),
        ('field.setAttribute("aria-label", "Find a person");', True),
        ("list.textContent = ` ${seconds} s`;", False),
        ("confirm(document.body.dataset.leaving)", False),
        ('line.textContent = "";', False),
    ],
)
def test_a_text_in_a_script_would_be_seen(line: str, seen: bool) -> None:
    assert bool(SPOKEN_BY_SCRIPTS.search(line)) == seen


def test_a_long_sentence_and_a_long_button_would_be_seen() -> None:
    assert len(sentences("One two. Three <b>four</b> %(five)s: six")) == 3
    assert ("button", "Send it") in [
        (match[1], "Send it") for match in SIGNS.finditer('<button type="submit">Send it</button>')
    ]
