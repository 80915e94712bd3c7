"""What the page about other servers shows: the states of a written right, and how to connect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lakewarden.backends import kinds
from policies.models.written import WRITTEN

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "peers.md").read_text()
SHOWN = re.findall(r"manage.py connect (\S+) (\S+) --mode \S+ --url '([^']+)'", PAGE)


def test_the_states_are_those_of_the_code() -> None:
    assert WRITTEN.drawn() in PAGE


@pytest.mark.parametrize(("realm", "code", "url"), SHOWN, ids=[code for _, code, _ in SHOWN])
def test_a_connection_that_is_shown_can_be_read(realm: str, code: str, url: str) -> None:
    kind = kinds.get(code)
    assert kind.whole_realm
    assert kind.takes(url)
    assert kind.parts(url)["host"] == f"{code}.example.org"
    assert "$" not in str(kind.parts(url))


def test_every_kind_of_this_page_is_shown() -> None:
    assert {code for _, code, _ in SHOWN} == {"gravitino", "herd", "cdap"}
