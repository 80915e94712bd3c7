"""A field that offers names while somebody types: Enter takes none that was found for another text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

SCRIPT = Path(settings.BASE_DIR) / "static" / "js" / "combo.js"
FIELD = '<form><div><input id="f" name="find" data-combo="/n" data-adds="add" data-asks="find"></div></form>'
SLOW_SERVER = """() => {
  window.taken = []; window.typed = []; window.waiting = [];
  document.forms[0].addEventListener("submit", event => {
    event.preventDefault();
    event.submitter ? taken.push(event.submitter.value) : typed.push(f.value);
  });
  window.fetch = (address, { signal }) => new Promise((answer, fail) => {
    signal.addEventListener("abort", () => fail(new DOMException("", "AbortError")));
    waiting.push(text => answer({ ok: true, text: async () => text }));
  });
}"""


def offered(*names: str) -> str:
    return "".join(f'<div role="option" data-value="user:{name}">{name}</div>' for name in names)


def answer(page: Any, *names: str) -> None:
    page.evaluate("text => waiting.at(-1)(text)", offered(*names))
    page.wait_for_function(f"document.querySelectorAll('[role=option]').length == {len(names)}")


@pytest.fixture
def field(chromium: Any) -> Any:
    page = chromium.new_page()
    page.set_content(FIELD)
    page.evaluate(SLOW_SERVER)
    page.add_script_tag(content=SCRIPT.read_text().replace("location.href", '"http://console/"'))
    page.focus("#f")
    yield page
    page.close()


def test_enter_takes_no_name_that_was_found_for_what_stood_there_before(field: Any) -> None:
    field.keyboard.type("a")
    field.wait_for_function("waiting.length == 1")
    answer(field, "alma", "ana")
    field.keyboard.type("na")
    field.keyboard.press("Enter")
    assert field.evaluate("[taken, typed]") == [[], ["ana"]]


def test_enter_takes_the_first_name_of_what_stands_there(field: Any) -> None:
    field.keyboard.type("a")
    field.wait_for_function("waiting.length == 1")
    answer(field, "alma", "ana")
    field.keyboard.press("Enter")
    assert field.evaluate("[taken, typed]") == [["user:alma"], []]
