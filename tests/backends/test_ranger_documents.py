"""What the page about Ranger says is written, is what the tables say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from lakewarden.backends import kinds
from policies.sync.backends.ranger.types import HIVE, TRINO
from policies.sync.connections.destinations import network

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "ranger.md").read_text()
ROWS = re.findall(r"^\| ([A-Z_]+) on an? (\w+) \| (.*?) \| (.*?) \|$", PAGE, re.M)


def test_the_page_has_every_right():
    kind = {"view": "table"}
    stated = {(privilege, kind.get(on, on)) for privilege, on, _, _ in ROWS}
    assert stated == {*HIVE.rights, *TRINO.rights}


@pytest.mark.parametrize(("privilege", "on", "hive", "trino"), ROWS)
def test_the_page_says_what_is_written(privilege, on, hive, trino):
    key = privilege, "table" if on == "view" else on
    for words, type_ in ((hive, HIVE), (trino, TRINO)):
        assert words == (", ".join(type_.rights.get(key, ())) or "-")


ADDRESSES = re.findall(r"^\| \w+ \| `(ranger-\w+)` \| .* \| `(.*?)` \|$", PAGE, re.M)


@pytest.mark.parametrize(
    ("code", "url"), [*ADDRESSES, *((kinds.get(code).code, kinds.get(code).example) for code, _ in ADDRESSES)]
)
def test_the_addresses_are_addresses(code, url):
    kinds.get(code).open(url, realm="prod", mark="m", network=network()).close()


def test_the_command_names_a_kind_and_an_address_of_it():
    [commands] = re.findall(r"```sh\n(.*?)\n```", PAGE, re.S)
    words = shlex.split(commands.splitlines()[0])
    kinds.get(words[4]).open(words[-1], realm="prod", mark="m", network=network()).close()
    assert words[:3] == ["python", "manage.py", "connect"]
