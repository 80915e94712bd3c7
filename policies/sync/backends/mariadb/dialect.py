"""What a server of the family is asked and told in its own way: where it keeps roles, how it names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lakewarden.backends.errors import Rejected
from policies.sync.backends.mariadb.names import Identity


def quoted(name: str) -> str:
    """A name as an identifier.  Raises Rejected for a NUL."""
    if "\0" in name:
        raise Rejected("a name holds a NUL")
    return f"`{name.replace('`', '``')}`"


@dataclass(frozen=True)
class Dialect:
    """One server's statements.  Roles have the host "" in all rows, whatever the server keeps for them.

    `accounts` tells user, host and `priv`, a JSON object of `is_role`, `default_roles` and, as `access`, the
    bits of what there is on everything where `many_roles` do not show it; `mapped` who is in which role;
    `numbers` what survives a rename: a number for each table, of which one that is made again gets another.
    `roles`, `hosts`, `inside` and `holders` ask for one name.  `sessions` tells a user's connections where a
    name cannot end them, `keys` the key of each role that bears our mark where its name does not hold it.
    `source` tells what no other server tells.  `named` is a role as a statement has it.  `by_letter` asks
    whether a grant on a database means that name and no pattern, `everybodys` which roles everybody has.
    """

    label: str
    scheme: str
    known: Callable[[str, tuple[int, ...]], bool]
    oldest: str
    needed: tuple[str, ...]
    identity: type[Identity]
    settings: tuple[str, ...]
    accounts: str
    mapped: str
    numbers: str
    roles: str
    hosts: str
    inside: str
    holders: str
    make: Callable[[str, str], str]
    default: Callable[[str, Sequence[str]], str]
    source: str
    many_roles: bool = False
    sessions: str = ""
    keys: str = ""
    named: Callable[[str], str] = quoted
    by_letter: str = ""
    everybodys: str = ""


def _default(account: str, roles: Sequence[str]) -> str:
    return f"SET DEFAULT ROLE {quoted(roles[0]) if roles else 'NONE'} FOR {account}"


# names are kept in the letters of files; by the letter, as names that differ in case are two tables
NUMBERS = """
    SELECT CONVERT(CAST(CAST(SUBSTRING_INDEX(NAME, '/', 1) AS BINARY) AS CHAR CHARACTER SET filename)
                   USING utf8mb4) COLLATE utf8mb4_bin AS db,
           CONVERT(CAST(CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(NAME, '/', -1), '#', 1) AS BINARY)
                   AS CHAR CHARACTER SET filename) USING utf8mb4) COLLATE utf8mb4_bin AS name,
           MIN(TABLE_ID) AS id
      FROM information_schema.INNODB_SYS_TABLES WHERE NAME LIKE '%/%' GROUP BY 1, 2
"""
MARIADB = Dialect(
    label="MariaDB",
    scheme="mariadb",
    known=lambda text, number: "MariaDB" in text and number >= (10, 11),
    oldest="MariaDB 10.11",
    needed=("CREATE USER", "PROCESS", "CONNECTION ADMIN"),
    identity=Identity,
    # it has no number of its own before 10.11.9, and one that follows machine and port since
    source="SELECT @@global.hostname AS a, @@global.port AS b, @@global.datadir AS c",
    # a global read lock is waited for without end unless the statement itself may not last
    settings=("SET SESSION max_statement_time = 30", "SET SESSION lock_wait_timeout = 5"),
    accounts="""
        SELECT User AS user, Host AS host, JSON_OBJECT(
               'is_role', COALESCE(JSON_VALUE(Priv, '$.is_role'), 0) + 0,
               'access', COALESCE(JSON_VALUE(Priv, '$.access'), 0) + 0,
               'default_roles', JSON_ARRAY(JSON_VALUE(Priv, '$.default_role'))) AS priv
          FROM mysql.global_priv
    """,
    mapped="SELECT Host AS host, User AS user, Role AS role, Admin_option AS admin FROM mysql.roles_mapping",
    numbers=NUMBERS,
    roles="SELECT User AS name FROM mysql.global_priv WHERE JSON_VALUE(Priv, '$.is_role') AND User = %s",
    hosts="""
        SELECT Host AS host, JSON_ARRAY(JSON_VALUE(Priv, '$.default_role')) AS chosen FROM mysql.global_priv
         WHERE User = %s AND NOT COALESCE(JSON_VALUE(Priv, '$.is_role'), 0)
    """,
    inside="SELECT Role AS role FROM mysql.roles_mapping WHERE User = %s AND Host = %s",
    holders="SELECT User AS user, Host AS host FROM mysql.roles_mapping WHERE Role = %s",
    make=lambda name, key: f"CREATE ROLE IF NOT EXISTS {quoted(name)}",
    default=_default,
)
