"""All calls, noun by noun."""

from __future__ import annotations

from collections.abc import Iterator

from authzsite.api.gravitino import (
    catalogs,
    jobs,
    leaf_objects,
    members,
    metalakes,
    models,
    owners,
    permissions,
    roles,
    schemas,
    site,
    table_parts,
    tables,
    tags,
)
from authzsite.api.gravitino.call import Route

MODULES = (
    *(site, metalakes, catalogs, schemas, tables, table_parts, leaf_objects, models),
    *(members, roles, permissions, owners, tags, jobs),
)


def every() -> Iterator[Route]:
    for module in MODULES:
        yield from module.ROUTES
