"""All calls, noun by noun."""

from __future__ import annotations

from collections.abc import Iterator

from authzsite.api.gravitino import (
    catalogs,
    metalakes,
    owners,
    people,
    permissions,
    roles,
    schemas,
    site,
)
from authzsite.api.gravitino.routing import Route

MODULES = (site, metalakes, catalogs, schemas, people, roles, permissions, owners)


def every() -> Iterator[Route]:
    for module in MODULES:
        yield from module.ROUTES
