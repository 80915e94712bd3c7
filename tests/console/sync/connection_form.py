"""The form that connects a PostgreSQL of the tests, as somebody fills it in."""

from __future__ import annotations

from psycopg.conninfo import conninfo_to_dict

from tests.sync.conftest import Source


def filled(source: Source, **changed: str) -> dict[str, str]:
    """By Olivia's account, which only reports, unless `changed`."""
    there = conninfo_to_dict(source.url("olivia"))  # a socket: these servers listen nowhere else
    form = {
        "kind": "postgresql",
        "catalog": "shop",
        "host": str(there["host"]),
        "port": "",
        "its-database": source.database,
        "user": "olivia",
        "password": "secret",
        "its-tls": "prefer",
        "policy": "report",
    }
    return {**form, **changed}


def repairing(source: Source, **changed: str) -> dict[str, str]:
    """By the superuser's account, which repairs."""
    password = str(conninfo_to_dict(source.url())["password"])
    return filled(source, **{"user": "postgres", "password": password, "policy": "repair", **changed})
