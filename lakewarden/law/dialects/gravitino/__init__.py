"""Gravitino's law, as its release 1.3.1 decides: roles, owners, ALLOW and DENY over a metalake's tree."""

from __future__ import annotations

from lakewarden.law.dialects.base import Dialect
from lakewarden.law.dialects.gravitino.actions import ACTIONS
from lakewarden.law.dialects.gravitino.listings import LISTINGS
from lakewarden.law.dialects.gravitino.operations import OPERATIONS
from lakewarden.law.dialects.gravitino.privileges import ALIASES, PRIVILEGES
from lakewarden.law.dialects.gravitino.types import CHILDREN

DIALECT = Dialect(
    code="gravitino",
    root_type="metalake",
    children=CHILDREN,
    privileges=PRIVILEGES,
    aliases=ALIASES,
    operations=OPERATIONS,
    listings=LISTINGS,
    actions=ACTIONS,
)
