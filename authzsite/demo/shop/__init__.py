"""The database of a web shop, in an embedded PostgreSQL 16 of its own: what the demo governs.

Six schemas of tables and views with rows, an owner role, people with their own logins, and grants made by
hand. Lakewarden itself comes in as `lakewarden`, which may make roles and act as the owner: no superuser.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from authzsite import embedded
from authzsite.demo import passwords

if TYPE_CHECKING:
    from collections.abc import Mapping

DATABASE = "shop"
OWNER = "shop_owner"
PUSHER = "lakewarden"
GROUP = "report_readers"
VERSION = 16
SCRIPTS = ("sales", "billing", "crm", "marketing", "stock", "raw_events", "grants")


@dataclass(frozen=True)
class ShopInfo:
    """The running server of the shop; `superuser_url` is for tests that look behind the console."""

    server: embedded.PostgreSQL
    passwords: Mapping[str, str]

    def url_for(self, user: str = PUSHER) -> str:
        """Where `user` connects, with the password.  Raises KeyError for a login the shop does not have."""
        return self.server.url(user, DATABASE, self.passwords[user])

    @property
    def superuser_url(self) -> str:
        return self.server.url("postgres", DATABASE)


def server(var: Path, *, version: int = VERSION) -> embedded.PostgreSQL:
    return embedded.PostgreSQL(var / "shop", version=version, passwords=True)


def ensure(var: Path | None = None, *, on: embedded.PostgreSQL | None = None) -> ShopInfo:
    """The shop, made when absent, running from now until this process ends; a killed making is begun anew.

    Without `var` the settings name the place.  Raises embedded.CannotStart.
    """
    if var is None:
        from django.conf import settings

        var = settings.VAR
    shop = ShopInfo(on or server(var), passwords.load(var).database)
    shop.server.start()
    with psycopg.connect(shop.server.url(), autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(7227)")  # two commands may prepare at once
        _make_roles(connection, shop.passwords)
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS shop_new"))
            connection.execute(sql.SQL("CREATE DATABASE shop_new OWNER {}").format(sql.Identifier(OWNER)))
            _fill(shop.server.url("postgres", "shop_new"))
            connection.execute(
                sql.SQL("ALTER DATABASE shop_new RENAME TO {}").format(sql.Identifier(DATABASE))
            )
    return shop


def _is_role(connection: psycopg.Connection, name: str) -> bool:
    return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone() is not None


def _make_roles(connection: psycopg.Connection, logins: Mapping[str, str]) -> None:
    for name in (OWNER, GROUP):
        if not _is_role(connection, name):
            connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(name)))
    for name, password in logins.items():
        verb = sql.SQL("ALTER" if _is_role(connection, name) else "CREATE")
        connection.execute(
            sql.SQL("{} ROLE {} LOGIN PASSWORD {}").format(verb, sql.Identifier(name), sql.Literal(password))
        )
    for line in _memberships(connection.info.server_version):
        connection.execute(line)


def _memberships(version: int) -> Iterable[sql.SQL]:
    """The account of the console may act as the owner, but never has the owner's rights without saying so."""
    yield sql.SQL("ALTER ROLE lakewarden CREATEROLE")
    options = sql.SQL(" WITH INHERIT FALSE, SET TRUE" if version >= 160000 else "")
    yield sql.SQL("GRANT shop_owner TO lakewarden") + options  # type: ignore[misc]
    yield sql.SQL("GRANT report_readers TO noah")


def _fill(url: str) -> None:
    """Everything in one transaction, as the owner, so that the owner is the grantor."""
    with psycopg.connect(url) as connection:
        for name in SCRIPTS:
            connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(OWNER)))
            script = (Path(__file__).parent / f"{name}.sql").read_bytes()
            connection.execute(script)
