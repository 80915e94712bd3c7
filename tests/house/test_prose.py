"""Texts of pages are short: sentences, and the words on buttons, labels and headings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
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
    "It gives exactly the requested access; {{ note }}.": "what a choice does, below its name",
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
    (r"\bwork(ed|ing) out\b", "calculated"),
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
    (r"\bask(ed)? back\b", "ask a question"),
    (r"^(give|gave) .*\b(role|roles|duty|duties)\b", "assign"),
    (r"\bis foreign\b|^foreign\b", "granted outside Lakewarden"),
    (r"\bas the file says\b", "matches the file"),
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


MARKED = re.compile(
    r'{% translate "([^"]*)"|{% blocktranslate[^%]*%}(.*?){% (?:plural|endblocktranslate)', re.S
)
UNSEEN = re.compile(r'<span\s+class="sr">.*?</span>', re.S)
"""What only a screen reader says."""


def signs_of_template(source: str) -> Iterator[str]:
    """What stands on its buttons, labels and headings."""
    for sign in SIGNS.finditer(source):
        for plain, filled in MARKED.findall(sign[2]):
            yield " ".join((plain or UNSEEN.sub("", filled)).split())


def signs_of_code(source: str) -> Iterator[str]:
    """What a module puts on buttons and pages as labels and headings."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="Action"), args=[text, *_]):
                yield from marked(text)
            case ast.keyword(arg="label" | "heading", value=text):
                yield from marked(text)
            case ast.Dict(keys=keys, values=values):
                for key, text in zip(keys, values, strict=True):
                    yield from marked(text) if getattr(key, "value", "") == "heading" else ()
            case ast.FunctionDef(name="button" | "heading", body=body):
                returned = [item for line in body for item in ast.walk(line) if isinstance(item, ast.Return)]
                yield from (text for item in returned if item.value for text in marked(item.value))


def marked(node: ast.expr) -> Iterator[str]:
    """The texts that an expression translates."""
    match node:
        case ast.Call(
            func=ast.Name(id="_" | "gettext" | "gettext_lazy"), args=[ast.Constant(value=str(text))]
        ):
            yield text
        case ast.BinOp(left=left):
            yield from marked(left)
        case ast.IfExp(body=one, orelse=other):
            yield from (*marked(one), *marked(other))


def long_signs(signs: Iterable[str]) -> list[str]:
    """Those of more words than a sign has; what is filled in counts as none."""
    return [text for text in signs if len(FILLED_IN.sub("", MARKS.sub("", text)).split()) > SIGN]


def long_sentences(some: Iterable[str]) -> list[str]:
    return [line for text in some for line in sentences(text) if len(line.split()) > SENTENCE]


def test_sentences_are_short() -> None:
    assert long_sentences(texts()) == []


def test_a_long_sentence_is_found() -> None:
    short, long = ("Open it. " + "word " * many for many in (SENTENCE, SENTENCE + 1))
    assert (len(long_sentences([short])), len(long_sentences([long]))) == (0, 1)


def signs() -> Iterator[str]:
    for path in (ROOT / "templates").rglob("*.html"):
        yield from signs_of_template(path.read_text())
    for path in (ROOT / "authzsite" / "console").rglob("*.py"):
        yield from signs_of_code(path.read_text())


def test_buttons_labels_and_headings_are_short() -> None:
    assert [text for text in long_signs(signs()) if text not in LONGER] == []


def test_each_sign_that_is_longer_is_still_there() -> None:
    assert LONGER.keys() <= set(signs())


SIX = "one two three four five six"


@pytest.mark.parametrize(
    "source",
    [
        f'<button type="submit">{{% translate "{SIX}" %}}</button>',
        f'<h2 id="a">{{% translate "{SIX}" %}}</h2>',
        f'<label for="a">{{% translate "{SIX}" %}} <b>?</b></label>',
        f"<legend>{{% blocktranslate trimmed %}}{SIX}\n {{{{ a }}}}{{% endblocktranslate %}}</legend>",
        f'<th scope="col">{{% translate "{SIX}" %}}</th>',
    ],
)
def test_a_long_sign_planted_in_a_template_is_found(source: str) -> None:
    assert len(long_signs(signs_of_template(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        f'Action(_("{SIX}"), url)',
        f'Action(_("{SIX} %(a)s") % values if values else "", url)',
        f'TextField(label=gettext_lazy("{SIX}"))',
        f'context = {{"heading": _("{SIX}")}}',
        f'def heading(self):\n    if self.own:\n        return _("{SIX}")\n    return ""',
        f'def button(self):\n    return _("{SIX}") if self.own else _("Save")',
    ],
)
def test_a_long_sign_planted_in_code_is_found(source: str) -> None:
    assert len(long_signs(signs_of_code(source))) == 1


@pytest.mark.parametrize("text", ["Revoke %(a)s on %(b)s from %(c)s?", "<b>One</b> two three four five"])
def test_a_short_sign_may_stay(text: str) -> None:
    assert not long_signs([text])


PLANTED = (
    # of each rule a text that it finds, in the same order
    *("Ask whoever owns it", "One may read it", "Owners are told", "The name of who asked", "None of the 1"),
    *("It gives rights to nothing", "Ask somebody", "Written past the console", "Olivia answers for it"),
    *(
        "Make a role",
        "Olivia gives access to it",
        "It is no owner",
        "The effect is worked out",
        "Kept for ever",
    ),
    *("Look at it again", "Taken from a copy", "The record says so", "Saved all the same"),
    *("It is not yours to give", "It opens nothing", "Say why it is needed", "Take away the right"),
    *("It may be gone by now", "There is nobody of that name", "Call it off", "It exists no more"),
    *("It can be mended", "Changes and looks", "It is only watched", "Olivia asked back"),
    *("Give the role", "It is foreign again", "All is as the file says"),
)
PLANTED_IN_GERMAN = (
    *(
        "Was man sieht",
        "Ihre Mails",
        "Es bleibt für immer",
        "Ihre Sichten",
        "Die Aufzeichnung ist unversehrt",
    ),
    *("Wer die Rolle hat, hält beides", "Stand aus einer Kopie", "Es wird nur beobachtet"),
)
PLANTED_IN_DOCS = (
    *("Ask somebody", "Written past the console", "The effect is worked out", "Restored from a copy"),
    *("Who may read it, reads on", "All that one may read", "It is told as a change"),
    *(
        "It stays, however long ago",
        "The command leaves with 2",
        "It applies the very plan",
        "A gift of rights",
    ),
    "See what becomes of it",
)


@pytest.mark.parametrize(
    ("rules", "planted"),
    [(BANNED, PLANTED), (BANNED_IN_GERMAN, PLANTED_IN_GERMAN), (BANNED_IN_DOCS, PLANTED_IN_DOCS)],
    ids=["texts", "German", "documents"],
)
def test_each_rule_finds_what_it_bans(rules: tuple[tuple[str, str], ...], planted: tuple[str, ...]) -> None:
    pairs = zip(rules, planted, strict=True)
    flags = re.I if rules is BANNED else re.M
    assert [(words, text) for (words, _), text in pairs if not re.search(words, text, flags)] == []


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
