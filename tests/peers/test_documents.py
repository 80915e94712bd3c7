"""What the page about other servers shows: the states of a written right, and how to connect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lakewarden.backends import kinds
from lakewarden.backends.errors import Misconfigured
from policies.models.applied_rights import WRITTEN
from policies.sync.connections.opening import check_allowed

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


def test_where_tokens_are_fetched_is_judged_as_the_server_is() -> None:
    url = "herd+https://id:secret@herd.example.org/?oauth=https://idp.example.org/token"
    with pytest.raises(Misconfigured, match="is not among the hosts"):
        check_allowed(kinds.get("herd"), url.replace("herd.example.org", "localhost"))


@pytest.mark.parametrize("code", ["gravitino", "herd", "cdap"])
@pytest.mark.parametrize("way", ["password", "token"])
def test_what_a_form_says_is_what_is_read(code: str, way: str) -> None:
    kind = kinds.get(code)
    stated_parts = {
        "host": "far.example.org",
        "port": "8443",
        "user": "token",
        "password": "p@ss/w",
        "tls": "http",
    }
    own = {"database": "" if code == "cdap" else "lake", "way": way}
    parts = kind.parts(kind.address({**stated_parts, **own}))
    assert {name: parts[name] for name in stated_parts} == stated_parts
    assert (parts["way"], parts["dbname"]) == (way, own["database"])


def test_every_kind_of_this_page_is_shown() -> None:
    assert {code for _, code, _ in SHOWN} == {"gravitino", "herd", "cdap"}
