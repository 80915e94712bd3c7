"""MySQL as a backend, by the files of MariaDB: a role is a locked account, and many may be active at once.

A name has 32 characters there, so it does not hold the key of a role: that stands in the account's attribute,
and the name proves it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lakewarden.backends.base import Backend
from lakewarden.backends.kinds import Kind
from lakewarden.backends.network import Network
from policies.sync.backends.mariadb.client import Session
from policies.sync.backends.mariadb.dialect import Dialect, quoted
from policies.sync.backends.mariadb.kind import MariaDB, parts
from policies.sync.backends.mariadb.names import Identity

ATTRIBUTE = "lakewarden"
# CHAR(37) is the host `%`, from everywhere, in queries with values and in those without
IS_ROLE = "(u.account_locked = 'Y' AND u.authentication_string = '' AND u.Host = CHAR(37))"
ROLE = "IF({0}HOST = CHAR(37), {0}USER, CONCAT('`', REPLACE({0}USER, '`', '``'), '`@`', {0}HOST, '`'))"
"""A role by its name, and with its host where it comes from one: that is another role."""
_WITH_HOST = re.compile(r"`(?:[^`]|``)+`@`[^`]+`", re.DOTALL)
DEFAULTS = f"""(SELECT JSON_ARRAYAGG({ROLE.format("d.DEFAULT_ROLE_")}) FROM mysql.default_roles d
                 WHERE d.USER = u.User AND d.HOST = u.Host)"""
# names are kept in the letters of files, which no statement reads; a table's own file bears its name in plain
# letters.  Where each part ends follows from how many letters it has, as `@` and four digits, or `@` and two,
# are one.  Of tables that share a file only plain names are known.
CODED_DATABASE = "SUBSTRING_INDEX(t.NAME, '/', 1)"
CODED_TABLE = "SUBSTRING_INDEX(SUBSTRING_INDEX(t.NAME, '/', -1), '#', 1)"
LETTERS = "CHAR_LENGTH(REGEXP_REPLACE({}, '@([0-9a-f]{{4}}|..)', '_'))"
NUMBERS = f"""
    SELECT db COLLATE utf8mb3_bin AS db, name COLLATE utf8mb3_bin AS name, MIN(id) AS id FROM (
        SELECT IFNULL(LEFT(s.NAME, {LETTERS.format(CODED_DATABASE)}), {CODED_DATABASE}) AS db,
               IFNULL(SUBSTRING(s.NAME, {LETTERS.format(CODED_DATABASE)} + 2, {LETTERS.format(CODED_TABLE)}),
                      {CODED_TABLE}) AS name,
               t.TABLE_ID AS id
          FROM information_schema.INNODB_TABLES t LEFT JOIN information_schema.INNODB_TABLESPACES s
            ON s.SPACE = t.SPACE AND t.SPACE_TYPE = 'Single'
         WHERE t.NAME LIKE '%/%' AND (s.NAME IS NOT NULL OR t.NAME NOT LIKE '%@%')
        ) AS numbered GROUP BY 1, 2
"""


@dataclass(frozen=True)
class Named(Identity):
    """Roles whose names are digests of their keys; `keys` says which of them the server bears."""

    keys: dict[str, str] = field(default_factory=dict)

    def role_name(self, key: str) -> str:
        """`lw_` and a digest: 27 characters, whatever the key."""
        return f"lw_{self._long_digest(key)}"

    def _own(self, name: str) -> str | None:
        key = self.keys.get(name)
        return key if key is not None and self.role_name(key) == name else None


def _make(name: str, key: str) -> str:
    """In one statement, so that no role of ours is ever without its mark."""
    attribute = json.dumps({ATTRIBUTE: key}).replace("\\", "\\\\").replace("'", "''")
    return f"CREATE USER IF NOT EXISTS {quoted(name)} ACCOUNT LOCK ATTRIBUTE '{attribute}'"


def _named(role: str) -> str:
    return role if _WITH_HOST.fullmatch(role) else quoted(role)


def _default(account: str, roles: Sequence[str]) -> str:
    return f"SET DEFAULT ROLE {', '.join(map(_named, roles)) or 'NONE'} TO {account}"


MYSQL = Dialect(
    label="MySQL",
    scheme="mysql",
    known=lambda text, number: "MariaDB" not in text and number >= (8, 0),
    oldest="MySQL 8.0.21",
    needed=("CREATE USER", "PROCESS", "CONNECTION_ADMIN", "ROLE_ADMIN"),
    identity=Named,
    source="SELECT @@global.server_uuid AS number",
    settings=("SET SESSION lock_wait_timeout = 5",),
    accounts=f"""
        SELECT u.User AS user, IF({IS_ROLE}, '', u.Host) AS host,
               JSON_OBJECT('is_role', {IS_ROLE}, 'default_roles', {DEFAULTS},
                           'restrictions', u.User_attributes->'$.Restrictions') AS priv FROM mysql.user u
    """,
    mapped=f"""
        SELECT IF({IS_ROLE}, '', e.TO_HOST) AS host, e.TO_USER AS user, {ROLE.format("e.FROM_")} AS role,
               e.WITH_ADMIN_OPTION AS admin
          FROM mysql.role_edges e JOIN mysql.user u ON u.User = e.TO_USER AND u.Host = e.TO_HOST
    """,
    numbers=NUMBERS,
    roles=f"SELECT u.User AS name FROM mysql.user u WHERE {IS_ROLE} AND u.User = %s",
    hosts=f"""
        SELECT u.Host AS host, {DEFAULTS} AS chosen FROM mysql.user u WHERE u.User = %s AND NOT {IS_ROLE}
    """,
    inside=f"""
        SELECT {ROLE.format("FROM_")} AS role FROM mysql.role_edges
         WHERE TO_USER = %s AND TO_HOST = COALESCE(NULLIF(%s, ''), CHAR(37))
    """,
    holders="""
        SELECT TO_USER AS user, TO_HOST AS host FROM mysql.role_edges
         WHERE FROM_USER = %s AND FROM_HOST = CHAR(37)
    """,
    sessions="SELECT ID AS id FROM information_schema.PROCESSLIST WHERE USER = %s",
    make=_make,
    default=_default,
    many_roles=True,
    named=_named,
    by_letter="SELECT @@global.partial_revokes AS holds",
    everybodys="SELECT @@global.mandatory_roles AS roles",
    keys=f"""
        SELECT USER AS name, ATTRIBUTE->>'$.{ATTRIBUTE}' AS mark FROM information_schema.USER_ATTRIBUTES
         WHERE ATTRIBUTE->>'$.{ATTRIBUTE}' IS NOT NULL
    """,
)


def open(url: str, *, realm: str, mark: str, network: Network) -> Backend:
    """The backend behind a `mysql://` URL, connected when first used.  Raises Misconfigured."""
    return MariaDB(Session(url, Named(realm, mark), network, MYSQL))


KIND = Kind(
    code="mysql",
    label="MySQL",
    open=open,
    schemes=("mysql://",),
    example="mysql://user:password@host:port/",
    provider="jdbc-mysql",
    parts=parts,
    needs=("network",),
)
