"""The kinds of backend that the console brings along, each a file below `backends/` and a line here."""

from __future__ import annotations

from lakewarden.backends import kinds

BUILT_IN = {
    "postgresql": "policies.sync.backends.postgresql.kind:KIND",
    "mariadb": "policies.sync.backends.mariadb.kind:KIND",
    "mysql": "policies.sync.backends.mysql.kind:KIND",
    "gravitino": "policies.sync.backends.gravitino.kind:KIND",
    "herd": "policies.sync.backends.herd.kind:KIND",
    "cdap": "policies.sync.backends.cdap.kind:KIND",
    "posix": "policies.sync.backends.posix.kind:KIND",
    "webhdfs": "policies.sync.backends.webhdfs.kind:KIND",
    "ranger-hive": "policies.sync.backends.ranger.kind:KIND_HIVE",
    "ranger-trino": "policies.sync.backends.ranger.kind:KIND_TRINO",
    "ranger-cdap": "policies.sync.backends.ranger.kind:KIND_CDAP",
}


def register() -> None:
    """Make them known, without importing any."""
    for code, where in BUILT_IN.items():
        kinds.register(code, where)
