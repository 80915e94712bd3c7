"""Which database this is, by the numbers that its server gives it: no address and no name is believed."""

from __future__ import annotations

from psycopg import sql

from lakewarden.backends.base import Source
from lakewarden.backends.errors import Misconfigured
from policies.sync.backends.postgresql.client import Transaction

_MAY_ASK = sql.SQL("SELECT has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') AS may")
_NUMBERS = sql.SQL("""
    SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system()) AS cluster,
           (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()) AS database
""")


def source(tx: Transaction) -> Source:
    """Raises Misconfigured when the account may not learn it: what cannot be known is not governed."""
    if not tx.rows(_MAY_ASK)[0].may:
        raise Misconfigured(
            "the server does not tell this account which server it is: "
            "GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO it"
        )
    row = tx.rows(_NUMBERS)[0]
    return database(row.cluster, row.database)


def database(cluster: int, number: int) -> Source:
    """The source that a database is, by the number of its cluster and its own."""
    return Source(f"postgresql {cluster}/{number}", (f"postgresql {cluster}",))
