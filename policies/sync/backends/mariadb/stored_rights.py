"""How the tables of a MariaDB server write rights: as switches, lists or bits, and databases as patterns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lakewarden.backends.base import ObjectKind

_WORDS = {
    "Grant": "GRANT OPTION",
    "Create_tmp_table": "CREATE TEMPORARY TABLES",
    "Delete_history": "DELETE HISTORY",
    "Delete versioning rows": "DELETE HISTORY",
}
_BITS = (
    *("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "RELOAD", "SHUTDOWN", "PROCESS", "FILE"),
    *("GRANT OPTION", "REFERENCES", "INDEX", "ALTER", "SHOW DATABASES", "SUPER", "CREATE TEMPORARY TABLES"),
    *("LOCK TABLES", "EXECUTE", "REPLICATION SLAVE", "BINLOG MONITOR", "CREATE VIEW", "SHOW VIEW"),
    *("CREATE ROUTINE", "ALTER ROUTINE", "CREATE USER", "EVENT", "TRIGGER", "CREATE TABLESPACE"),
    *("DELETE HISTORY", "SET USER", "FEDERATED ADMIN", "CONNECTION ADMIN", "READ_ONLY ADMIN"),
    *("REPLICATION SLAVE ADMIN", "REPLICATION MASTER ADMIN", "BINLOG ADMIN", "BINLOG REPLAY"),
    *("SLAVE MONITOR", "SHOW CREATE ROUTINE"),
)
"""What can be given on everything, by the bit in which the server keeps it."""


def database_of(pattern: str, *, by_letter: bool) -> tuple[ObjectKind, tuple[str, ...], str]:
    """The database a stored name means; one with a bare `_` or `%` means many, and stays a pattern."""
    if by_letter:
        return "schema", (pattern,), ""
    name, at, wild = "", 0, False
    while at < len(pattern):
        if pattern[at] == "\\" and at + 1 < len(pattern):
            at += 1
        elif pattern[at] in "_%":
            wild = True
        name += pattern[at]
        at += 1
    return ("catalog", (), f" ON {pattern}.*") if wild else ("schema", (name,), "")


def switched_on(row: dict[str, Any]) -> Iterable[str]:
    """The rights for which a row says Y."""
    for column, value in row.items():
        if column.endswith("_priv") and value == "Y":
            yield _word(column.removesuffix("_priv"))


def listed(rights: str | Iterable[str]) -> Iterable[str]:
    """The rights of a set."""
    names = rights.split(",") if isinstance(rights, str) else rights
    return (_word(name) for name in names if name)


def everywhere(bits: float) -> Iterable[str]:
    """The rights on everything; what a newer server calls the others is not known, so it is told as one."""
    held = int(bits)
    named = [word for bit, word in enumerate(_BITS) if held >> bit & 1]
    return [*named, f"RIGHTS FROM BIT {len(_BITS)} ON"] if held >> len(_BITS) else named


def _word(name: str) -> str:
    return _WORDS.get(name, name.replace("_", " ").upper())
