"""The forms of the console as a browser finds them on its pages, and what may be sent with them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urljoin

from hypothesis import strategies as st

from tests.fuzzing.calls import Call
from tests.fuzzing.values import Draw, texts

FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Form:
    """Where it goes, and what its fields may hold as the page offers it; buttons are fields too."""

    who: str
    action: str
    method: str
    fields: dict[str, list[str]] = field(default_factory=dict)


class _Reader(HTMLParser):
    def __init__(self, who: str, page: str) -> None:
        super().__init__()
        self.who, self.page = who, page
        self.forms: list[Form] = []
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            action = urljoin(self.page, given.get("action", "") or self.page)
            self.forms.append(Form(self.who, action, given.get("method", "get").upper()))
        elif tag == "select":
            self._select = given.get("name", "")
        elif tag == "option":
            self._take(self._select, given.get("value", ""))
        elif tag in ("input", "textarea", "button"):
            self._take(given.get("name", ""), given.get("value", ""))

    def _take(self, name: str, value: str) -> None:
        if name and self.forms and name != "csrfmiddlewaretoken":
            self.forms[-1].fields.setdefault(name, []).append(value)


def different(forms: Iterable[Form]) -> list[Form]:
    """One of those that stand on every page, and one of those that differ in their numbers alone."""
    kept = {
        (form.who, re.sub(r"\d+", "", form.action.partition("?")[0]), *sorted(form.fields)): form
        for form in forms
        if form.action != "/sign-out"
    }
    return list(kept.values())


def forms_of(who: str, page: str, content: bytes) -> Iterable[Form]:
    reader = _Reader(who, page)
    reader.feed(content.decode())
    return reader.forms


@st.composite
def submitted(draw: Draw, forms: list[Form]) -> Call:
    """One of the forms, with what the page offers or anything else in its fields."""
    form = draw(st.sampled_from(forms))
    sent: list[tuple[str, Any]] = []
    for name, offered in form.fields.items():
        how = draw(st.integers(0, 9))
        if how < 6:
            sent.append((name, draw(st.sampled_from(offered))))
        elif how < 9:
            sent.append((name, draw(texts)))
    content = urlencode([(name, str(value).encode(errors="surrogatepass")) for name, value in sent])
    if form.method == "GET":
        return Call(form.who, "GET", f"{form.action.partition('?')[0]}?{content}")
    return Call(form.who, "POST", form.action, content.encode(), FORM)
