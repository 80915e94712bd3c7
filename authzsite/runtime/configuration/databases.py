"""Where the console's database is, and as whom it is entered, from the variables of the environment."""

from __future__ import annotations

from collections.abc import Mapping

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

SAME = ("host", "hostaddr", "port", "dbname")


def parts_of(name: str, url: str) -> dict[str, str]:
    """libpq's words for what a variable says; empty without one.  Raises ValueError."""
    if not url:
        return {}
    wrong = ValueError(f"{name} must look like postgresql://user:password@host:port/database")
    if not url.startswith(("postgresql://", "postgres://")):
        raise wrong
    try:
        parts = {word: str(value) for word, value in conninfo_to_dict(url).items() if value is not None}
    except ProgrammingError:
        raise wrong from None
    if not parts.get("dbname"):
        raise wrong
    return parts


def check(database: Mapping[str, str], replica: Mapping[str, str], owner: Mapping[str, str]) -> None:
    """What no variable says by itself.  Raises ValueError."""
    for name, given in (("DATABASE_REPLICA_URL", replica), ("DATABASE_OWNER_URL", owner)):
        if given and not database:
            raise ValueError(f"{name} needs DATABASE_URL: the embedded server has neither replica nor owner")
    if not owner:
        return
    if any(owner.get(word) != database.get(word) for word in SAME):
        raise ValueError("DATABASE_OWNER_URL leads to another database than DATABASE_URL")
    if not (owner.get("user") and database.get("user")) or owner["user"] == database["user"]:
        raise ValueError("DATABASE_OWNER_URL and DATABASE_URL must name two users")
