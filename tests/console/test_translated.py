"""Every page in a language made of English: what is left in plain English was not marked for translation.

A page shows only the branches that are taken, and no mail: `tests/house/test_marked.py` reads the sources of
all of them, and scripts.  A text that one of the two does not find, the other does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from accounts.models import Principal, User
from authzsite.console.accounts.tokens import TOLD
from catalog.models import Placement
from catalog.nodes import Node
from policies.models import AccessRequest, Change, RequestStep, Review, SeparationRule
from tests import pseudo
from tests.console.conftest import NAMES
from tests.console.site_pages import ADMIN, ROOMS, furnish
from tests.unmarked import WORD, spoken

UNREAD = {"bdi", "code", "kbd", "pre", "script", "style", "q", "blockquote"}
"""What is code, or somebody's own words."""
NOWHERE = "zzz"
"""What visitors look for and do not find."""
UNTRANSLATED = {"zone", "language", "formats"}
"""Lists of names that each language writes alike."""
NAME = re.compile(r"[*~]?\w+(?:[._:*/@=-][\w*]+)*[._:*/@=][\w*~]+(?:[._:*/@=-][\w*~]+)*|\w+-\w*\d[\w-]*")
"""One word with a dot, a colon, an underscore within: the name of an object, a person, a role."""
PROPER = {
    *("AWS", "Apache", "CDAP", "CSV", "Ctrl", "Gravitino", "HDFS", "Herd", "Lakewarden"),
    *("MariaDB", "Metalake", "MySQL", "PostgreSQL", "UTC", "WebHDFS"),
}


class Texts(HTMLParser):
    """The texts of a page that somebody reads or hears, its title too."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += spoken(tag, attrs)
        given = dict(attrs)
        says_so = tag != "html" and given.get("lang") == "en"  # what is kept in English, and read out as such
        initials = "face" in (given.get("class") or "").split()
        if tag in UNREAD or initials or given.get("name") in UNTRANSLATED or says_so:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def close(self) -> None:
        """The page is at its end: what is open now hid all that followed it."""
        super().close()
        assert not self._open, f"{self._open[-1]} was never closed"

    def handle_data(self, data: str) -> None:
        if not self._open:
            self.found.append(data)


def plain_words(text: str) -> set[str]:
    """Words in English letters, also those filled into a marked text, whose own words all have accents."""
    return {word for word in WORD.findall(text) if pseudo.LETTERS & set(word)}


def unmarked(page: str, names: re.Pattern[str]) -> Iterator[str]:
    """Each text of a page with words that are neither marked nor names."""
    read = Texts()
    read.feed(page)
    read.close()
    for text in read.found:
        if text.strip() in TOLD:
            continue  # the code of what a token may do, and nothing else
        # a name may have a reason's words within it, and a reason names
        left = (names.sub(" ", NAME.sub(" ", text)), NAME.sub(" ", names.sub(" ", text)))
        if all(plain_words(rest) - PROPER for rest in left):
            yield " ".join(text.split())


def names_there() -> re.Pattern[str]:
    """Names of people and objects, and what people wrote, which nobody translates."""
    people = [name for row in Principal.objects.all() for name in (row.name, row.label)]
    written = [
        *Change.objects.values_list("reason", flat=True),
        *RequestStep.objects.values_list("text", flat=True),
        *AccessRequest.objects.values_list("reason", flat=True),
        *Review.objects.values_list("title", flat=True),
        *SeparationRule.objects.values_list("name", flat=True),
    ]
    known = sorted(
        {*people, *written, *Placement.objects.values_list("name", flat=True), *NAMES.values(), NOWHERE},
        key=len,
        reverse=True,
    )
    return re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in known if name))


@pytest.mark.parametrize(
    "text, many",
    [
        ("⟦Ĝŕåñţ <b>⟦åççéšš⟧</b> ö⟧ Grant", 1),
        ("⟦Ĝŕåñţ⟧ sales.orders", 0),
        ("⟦åçţš åš you ñöŵ⟧", 1),
        ("⟦šöļð by sales.orders⟧", 1),
        ("–", 0),
        (" request ", 0),
        ("request access", 1),
        ("Check", 1),
    ],
)
def test_words_outside_the_marks_are_found(text: str, many: int) -> None:
    page = f"<p>{text}</p><input placeholder='{text}'><code>Grant</code>"
    assert len(list(unmarked(page, re.compile("Olivia")))) == 2 * many


@pytest.mark.parametrize(
    "page, many",
    [
        ("<head><title>Owners</title></head>", 1),
        ('<body data-leaving="Close without saving?">', 1),
        ('<input type="submit" value="Save"><input type="text" value="Save">', 1),
        ('<a aria-label="Owner of ⟦ŝåļéš⟧"></a>', 1),
        ('<p class="mono">Save it</p>', 1),
        ('<span class="face">OO</span>', 0),
        ('<p lang="en">Saved</p><bdi>Saved</bdi>', 0),
        ("<p>Saved.</p><p>Owner:</p><p>read-only</p>", 3),
        ("<p>user:olivia</p><p>shop.sales.orders</p><p>*@corp.com</p><p>rule-4</p>", 0),
    ],
)
def test_what_people_read_or_hear_of_a_page_is_read(page: str, many: int) -> None:
    assert len(list(unmarked(page, re.compile("Olivia")))) == many


def test_no_page_has_a_text_that_cannot_be_translated(
    shop: Node, signed_in: Callable[[str], Client], settings: Any
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})
    numbers, names = furnish(shop), names_there()
    clients = {who: signed_in(who) if who else Client() for _, who, _ in ROOMS}
    User.objects.update(language=pseudo.CODE)
    with pseudo.offered(settings):
        left = {
            room: sorted(unmarked(_page(clients[who], address.format(**numbers)), names))
            for room, who, address in ROOMS
        }
    assert {room: texts for room, texts in left.items() if texts} == {}


def _page(client: Client, address: str) -> str:
    answer = client.get(address, HTTP_ACCEPT_LANGUAGE=pseudo.CODE)
    assert answer.headers["Content-Language"] == pseudo.CODE, f"{address} was not answered with a page"
    return answer.content.decode()
