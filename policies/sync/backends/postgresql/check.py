"""What a person should know about a connection to PostgreSQL before it is trusted to sync."""

from __future__ import annotations

from collections.abc import Iterator

from psycopg import sql

from lakewarden.backends.base import Bypass, Finding
from lakewarden.backends.errors import BackendError
from policies.sync.backends.postgresql.client import Session, Transaction
from policies.sync.backends.postgresql.crowd import crowded
from policies.sync.backends.postgresql.observe import public_rights
from policies.sync.backends.postgresql.state import Reader

_OLDEST = 14
_SHUT_OUT = sql.SQL("""
    SELECT DISTINCT n.nspname AS schema, r.rolname AS owner
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles r ON r.oid = c.relowner
     WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
       AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
       AND NOT has_schema_privilege(r.oid, n.oid, 'USAGE')
     ORDER BY 1, 2
""")
_BECOMES = sql.SQL("SELECT oid FROM pg_roles WHERE pg_has_role(oid, %s) AND oid = ANY(%s)")


def check(session: Session) -> list[Finding]:
    """Findings in words; those that block come with what to do about it."""
    try:
        return session.read(lambda tx: list(_findings(tx, Reader(tx, session.identity))))
    except BackendError as error:
        return [Finding.unreachable(error)]


def _findings(tx: Transaction, reader: Reader) -> Iterator[Finding]:
    server = reader.server
    yield Finding(ok=True, text=f"connected to database {server.name} as {server.my_name}")
    yield _version(reader)
    if server.standby:
        yield Finding(ok=False, text="the server is a standby: connect to the primary", blocks=True)
    yield _may_create_roles(reader)
    yield from _owners(tx, reader)
    # owners who may not enter the schema of their own objects, so cannot even name them in a GRANT
    for row in tx.rows(_SHUT_OUT):
        grant = f"GRANT USAGE ON SCHEMA {_quoted(row.schema)} TO {_quoted(row.owner)}"
        yield Finding(ok=False, text=f"{row.owner} owns objects in {row.schema} and cannot enter it: {grant}")
    for name in reader.unknown:
        yield Finding(ok=False, text=f"role {name} looks like ours and does not carry our mark: left alone")
    yield from (Finding(ok=False, text=text) for text in crowded(reader))
    if Bypass("PUBLIC", "CONNECT", ()) in public_rights(reader):
        text = (
            f"everyone may connect to {server.name}, so USE_CATALOG keeps nobody out: "
            f"REVOKE CONNECT, TEMPORARY ON DATABASE {_quoted(server.name)} FROM PUBLIC"
        )
        yield Finding(ok=False, text=text)


def _version(reader: Reader) -> Finding:
    text = f"PostgreSQL {reader.version}"
    if reader.version < _OLDEST:
        old = f"PostgreSQL {reader.version} is too old: {_OLDEST} or newer is needed"
        return Finding(ok=False, text=old, blocks=True)
    if reader.version < 16:
        return Finding(
            ok=False,
            text=f"PostgreSQL {reader.version} cannot keep people from SET ROLE, "
            "nor the account from others' roles",
        )
    return Finding(ok=True, text=text)


def _may_create_roles(reader: Reader) -> Finding:
    server = reader.server
    if server.superuser:
        return Finding(ok=True, text=f"{server.my_name} is a superuser, which is more than it needs")
    if server.createrole:
        return Finding(ok=True, text=f"{server.my_name} may create roles")
    text = f"{server.my_name} may not create roles: ALTER ROLE {_quoted(server.my_name)} CREATEROLE"
    return Finding(ok=False, text=text, blocks=True)


def _owners(tx: Transaction, reader: Reader) -> Iterator[Finding]:
    """Owners the account cannot act as; nothing of theirs can be granted or taken."""
    owners = {place.owner for place in reader.places.values()}
    how = "SET" if reader.version >= 16 else "MEMBER"
    reached = {row.oid for row in tx.rows(_BECOMES, (how, list(owners)))}
    options = " WITH INHERIT FALSE, SET TRUE" if reader.version >= 16 else ""
    for owner in sorted(reader.name(oid) for oid in owners - reached):
        grant = f"GRANT {_quoted(owner)} TO {_quoted(reader.server.my_name)}{options}"
        yield Finding(ok=False, text=f"cannot act as {owner}, who owns objects: {grant}", blocks=True)
    if owners <= reached:
        yield Finding(ok=True, text="can act as every owner")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
