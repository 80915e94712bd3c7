"""All calls, noun by noun."""

from __future__ import annotations

from collections.abc import Iterator

from authzsite.api.gravitino import (
    catalogs,
    jobs,
    leaves,
    marks,
    metalakes,
    models,
    owners,
    people,
    permissions,
    roles,
    schemas,
    site,
    table_parts,
    tables,
)
from authzsite.api.gravitino.routing import Route

MODULES = (
    *(site, metalakes, catalogs, schemas, tables, table_parts, leaves, models),
    *(people, roles, permissions, owners, marks, jobs),
)


def every() -> Iterator[Route]:
    for module in MODULES:
        yield from module.ROUTES
