"""The kinds of backend that the console brings along, each a file below `backends/` and a line here."""

from __future__ import annotations

from lakewarden.backends import kinds

BUILT_IN = {
    "postgresql": "policies.sync.backends.postgresql:KIND",
    "mariadb": "policies.sync.backends.mariadb:KIND",
    "mysql": "policies.sync.backends.mysql:KIND",
    "gravitino": "policies.sync.backends.gravitino:KIND",
    "herd": "policies.sync.backends.herd:KIND",
    "cdap": "policies.sync.backends.cdap:KIND",
    "posix": "policies.sync.backends.posix:KIND",
    "webhdfs": "policies.sync.backends.webhdfs:KIND",
    "ranger-hive": "policies.sync.backends.ranger:KIND_HIVE",
    "ranger-trino": "policies.sync.backends.ranger:KIND_TRINO",
    "ranger-cdap": "policies.sync.backends.ranger:KIND_CDAP",
}


def register() -> None:
    """Make them known, without importing any."""
    for code, where in BUILT_IN.items():
        kinds.register(code, where)
