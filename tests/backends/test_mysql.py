"""MySQL 8: its names and statements here; the contract on a server that LAKEWARDEN_TEST_MYSQL_URL names."""

from __future__ import annotations

import json
import os
import re

import pymysql
import pytest

from lakewarden.backends import kinds
from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.testing.contract import Contract
from lakewarden.backends.testing.suite import ODD_NAMES
from policies.sync.backends.mariadb.client import Address
from policies.sync.backends.mariadb.dialect import quoted
from policies.sync.backends.mysql import kind as mysql
from policies.sync.backends.mysql.kind import MYSQL, Named
from policies.sync.connections.destinations import network
from tests.backends.mariadb_world import RIGHTS, MariaSite
from tests.backends.test_mariadb import COSTS, NAMES, READ, WRITE, on
from tests.backends.worlds import ROUNDS

URL = os.environ.get("LAKEWARDEN_TEST_MYSQL_URL", "")
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


def test_the_kind_says_that_it_is_experimental() -> None:
    kind = kinds.get("mysql")
    assert "not yet run" in kind.experimental
    assert kind.parts("mysql://u:p%23@db:3307/") == {
        "host": "db",
        "port": "3307",
        "dbname": "",
        "user": "u",
        "password": "p#",
    }
    with pytest.raises(Misconfigured):
        kind.parts("mysql://u:sesame@db:port/")


class MySite(MariaSite):
    """Databases and accounts of one test on a server that is not ours alone."""

    def __init__(self, at: Address) -> None:
        self.at = at
        super().__init__(self)  # type: ignore[arg-type]

    def connect(self, user: str = "", password: str = "") -> pymysql.Connection:
        user, password = (user, password) if user else (self.at.user, self.at.password)
        return pymysql.connect(
            user=user,
            password=password,
            host=self.at.host,
            port=self.at.port,
            charset="utf8mb4",
            autocommit=True,
        )

    def pushes(self) -> None:
        self.do(f"CREATE USER {self.pusher} IDENTIFIED BY 'secret'")
        self.do(f"GRANT CREATE USER, PROCESS, CONNECTION_ADMIN, ROLE_ADMIN ON *.* TO {self.pusher}")
        self.do(f"GRANT {RIGHTS} ON *.* TO {self.pusher} WITH GRANT OPTION")
        self.do(f"GRANT SELECT, UPDATE ON mysql.* TO {self.pusher}")

    def backend(self):
        url = f"mysql://{self.pusher}:secret@{self.at.host}:{self.at.port}/"
        return mysql.open(url, realm=self.identity.realm, mark=self.identity.mark, network=network())

    def role(self, key: str) -> str:
        return quoted(Named(self.identity.realm, self.identity.mark).role_name(key))

    def gives_role(self, role: str, person: str) -> list[str]:
        return [f"GRANT {role} TO {self.account(person)}", f"SET DEFAULT ROLE ALL TO {self.account(person)}"]

    def kill_workers(self) -> None:
        for (number,) in self.do(
            f"SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '{self.pusher}'"
        ):
            self.do(f"KILL CONNECTION {number}")

    def clear_accounts(self) -> None:
        ours = (
            "SELECT USER FROM information_schema.USER_ATTRIBUTES WHERE ATTRIBUTE->>'$.lakewarden' IS NOT NULL"
        )
        for (role,) in self.do(ours):
            self.do(f"DROP ROLE {quoted(role)}")
        for person in self._people:
            self.do(f"DROP USER {self.account(person)}")
        self.do(f"DROP USER {self.pusher}")


class TestMySQL(Contract):
    __test__ = bool(URL)  # an optional server
    READ, WRITE, COSTS = READ, WRITE, COSTS
    on = staticmethod(on)
    rights_follow = "names"
    odd_names = NAMES
    seeds = ROUNDS

    @pytest.fixture
    def site(self):
        there = MySite(Address.read(URL))
        yield there
        there.close()
