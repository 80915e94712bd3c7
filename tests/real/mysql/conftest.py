"""Each release of MySQL that there is, started once, and a fresh site on it for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.artifacts import class_paths
from tests.real.mysql.server import MySQL
from tests.real.mysql.site import MySite


@pytest.fixture(scope="session", params=class_paths("mysql"))
def mysql_server(request: pytest.FixtureRequest) -> Iterator[MySQL]:
    running = MySQL(request.param)
    yield running
    running.stop()


@pytest.fixture
def site(mysql_server: MySQL) -> Iterator[MySite]:
    mysql = MySite(mysql_server)
    yield mysql
    mysql.close()


@pytest.fixture
def ana(site: MySite) -> str:
    """A person beside two tables."""
    site.schema("sales")
    site.table("sales", "orders")
    site.table("sales", "costs")
    return site.person("ana")
