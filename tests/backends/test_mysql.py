"""MySQL: its names and statements; `make real ONLY=mysql` runs the contract on servers."""

from __future__ import annotations

import json
import re

import pytest

from lakewarden.backends import kinds
from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.testing.suite import ODD_NAMES
from policies.sync.backends.mysql.kind import MYSQL, Named

KEYS = ("role:17", "rights:0123456789abcdef", *(f"role {name}" for name in ODD_NAMES), "it's \\ all")


@pytest.mark.parametrize("key", KEYS)
def test_a_role_bears_its_key_in_an_attribute_as_its_name_is_short(key: str) -> None:
    name = Named("acme", "backend-1").role_name(key)
    assert len(name) <= 32
    statement = re.fullmatch(
        r"CREATE USER IF NOT EXISTS `(.*)` ACCOUNT LOCK ATTRIBUTE '(.*)'", MYSQL.make(name, key), re.S
    )
    assert statement is not None and statement[1] == name
    unescaped = re.sub(r"\\(.)|''", lambda match: match[1] or "'", statement[2])  # as the server reads a text
    assert json.loads(unescaped) == {"lakewarden": key}


def test_a_name_is_ours_only_with_the_key_that_proves_it() -> None:
    name = Named("acme", "backend-1").role_name("role:1")
    assert Named("acme", "backend-1", {name: "role:1"}).key_of(name) == "role:1"
    for realm, mark, key in (("acme", "backend-2", "role:1"), ("acme", "backend-1", "role:2")):
        assert Named(realm, mark, {name: key}).key_of(name) is None
    assert Named("acme", "backend-1").key_of(name) is None


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        (["r`1", "theirs"], "SET DEFAULT ROLE `r``1`, `theirs` TO 'ana'@'%'"),
        ([], "SET DEFAULT ROLE NONE TO 'ana'@'%'"),
    ],
)
def test_default_roles_are_named_all_at_once(roles: list[str], said: str) -> None:
    assert MYSQL.default("'ana'@'%'", roles) == said


@pytest.mark.parametrize(
    ("text", "number", "known"),
    [
        ("8.0.36", (8, 0), True),
        ("8.4.1", (8, 4), True),
        ("5.7.44", (5, 7), False),
        ("10.11.6-MariaDB", (10, 11), False),
    ],
)
def test_which_servers_are_known(text: str, number: tuple[int, ...], known: bool) -> None:
    assert MYSQL.known(text, number) is known


def test_what_a_url_says_is_told_in_parts() -> None:
    kind = kinds.get("mysql")
    assert kind.parts("mysql://u:p%23@db:3307/") == {
        "host": "db",
        "port": "3307",
        "dbname": "",
        "user": "u",
        "password": "p#",
    }
    with pytest.raises(Misconfigured):
        kind.parts("mysql://u:sesame@db:port/")
