"""Every page in a language made of English: what is left in plain English was not marked for translation.

`untranslated.json` says how many such texts each page has.  The numbers may only go down;
with LAKEWARDEN_COUNT_UNTRANSLATED=1 in the environment they are written anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
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

LEDGER = Path(__file__).with_name("untranslated.json")
ATTRIBUTES = ("alt", "aria-label", "content", "data-label", "placeholder", "title")
UNREAD = {"bdi", "code", "head", "kbd", "pre", "script", "style", "q", "blockquote"}
"""What is code, or somebody's own words."""
UNTRANSLATED = {"zone", "language", "formats"}
"""Lists of names that each language writes alike."""
WORD = re.compile(r"[^\W\d_]{2,}")
NAME = re.compile(r"[\w*]*[._:*/@=-][\w.*:/@=-]*")
"""One word with a dot, a colon, an underscore: the name of an object, a person, a role."""
PROPER = {
    *("AWS", "Apache", "CDAP", "CSV", "Ctrl", "Gravitino", "HDFS", "Herd", "Lakewarden"),
    *("MariaDB", "Metalake", "MySQL", "PostgreSQL", "UTC", "WebHDFS"),
}


class Texts(HTMLParser):
    """The texts of a page that somebody reads or hears."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[str] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        for name in ATTRIBUTES:
            if tag != "meta" and name in given:
                self.found.append(outside_marks(given[name] or "")[0])
        looks = (given.get("class") or "").split()
        says_so = tag != "html" and given.get("lang") == "en"  # what is kept in English, and read out as such
        if tag in UNREAD or {"mono", "face"} & set(looks) or given.get("name") in UNTRANSLATED or says_so:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def close(self) -> None:
        """The page is at its end: what is open now hid all that followed it."""
        super().close()
        assert not self._open, f"{self._open[-1]} was never closed"
        assert self._depth == 0, "a marked text was cut, so what follows it was taken for a part of it"

    def handle_data(self, data: str) -> None:
        text, self._depth = outside_marks(data, self._depth)  # a text may have marks of HTML within
        if not self._open:
            self.found.append(text)


def outside_marks(text: str, depth: int = 0) -> tuple[str, int]:
    """What stands outside all brackets, and how many are open at the end."""
    left = []
    for letter in text:
        depth += (letter == "⟦") - (letter == "⟧")
        left.append(letter if depth == 0 else " ")
    return "".join(left), depth


def unmarked(page: str, names: re.Pattern[str]) -> Iterator[str]:
    """Each text of a page with words that are neither marked nor names."""
    read = Texts()
    read.feed(page)
    read.close()
    for text in read.found:
        if text.strip() in TOLD:
            continue  # the code of what a token may do, and nothing else
        left = NAME.sub(" ", names.sub(" ", text))
        if set(WORD.findall(left)) - PROPER:
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
        {*people, *written, *Placement.objects.values_list("name", flat=True), *NAMES.values()},
        key=len,
        reverse=True,
    )
    return re.compile("|".join(rf"\b{re.escape(name)}\b" for name in known if name))


@pytest.mark.parametrize(
    "text, many",
    [
        ("⟦Ĝŕåñţ <b>⟦åççéšš⟧</b> ö⟧ Grant", 1),
        ("⟦Ĝŕåñţ⟧ sales.orders", 0),
        ("–", 0),
        (" request ", 0),
        ("request access", 1),
        ("Check", 1),
    ],
)
def test_words_outside_the_marks_are_found(text: str, many: int) -> None:
    page = f"<p>{text}</p><input placeholder='{text}'><code>Grant</code>"
    assert len(list(unmarked(page, re.compile("Olivia")))) == 2 * many


def test_no_page_has_more_texts_that_cannot_be_translated(
    shop: Node, signed_in: Callable[[str], Client], settings: Any
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})
    numbers, names = furnish(shop), names_there()
    clients = {who: signed_in(who) if who else Client() for _, who, _ in ROOMS}
    User.objects.update(language=pseudo.CODE)
    with pseudo.offered(settings):
        unmarked_texts = {
            room: sorted(unmarked(_page(clients[who], address.format(**numbers)), names))
            for room, who, address in ROOMS
        }
    counted = {room: len(texts) for room, texts in unmarked_texts.items()}
    if os.environ.get("LAKEWARDEN_COUNT_UNTRANSLATED"):
        LEDGER.write_text(json.dumps(counted, indent=1) + "\n")
    allowed = json.loads(LEDGER.read_text())
    assert {
        room: unmarked_texts[room] for room in unmarked_texts if counted[room] > allowed.get(room, 0)
    } == {}


def _page(client: Client, address: str) -> str:
    return client.get(address, HTTP_ACCEPT_LANGUAGE=pseudo.CODE).content.decode()
