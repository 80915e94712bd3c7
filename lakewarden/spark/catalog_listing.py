"""`spark.catalog.listDatabases()` under a guard: what the user may use, and no failure at the others."""

from __future__ import annotations

from typing import Any, Optional

from lakewarden.client import AccessDenied


def list_the_open(catalog: Any) -> None:
    """Let the catalog of one session list what may be used; Spark itself describes all or none."""

    def list_databases(pattern: Optional[str] = None) -> list[Any]:
        quoted = (pattern or "*").replace("\\", "\\\\").replace("'", "\\'")
        names = [row[0] for row in catalog._sparkSession.sql(f"SHOW DATABASES LIKE '{quoted}'").collect()]
        databases = []
        for name in names:
            try:
                databases.append(catalog.getDatabase(name))
            except AccessDenied:
                continue
        return databases

    catalog.listDatabases = list_databases
