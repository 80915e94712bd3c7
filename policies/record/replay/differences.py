"""What differs between the audit log and the tables, and who could have made it so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

SHOWN = 20
"""Differences that are kept in words; the others are counted."""
NOTHING = "nothing of it"
_WRITERS = """
SELECT r.rolname, r.rolsuper, r.oid = c.relowner
  FROM pg_roles r, pg_class c
 WHERE c.oid = to_regclass(%s) AND r.rolcanlogin
   AND (r.rolsuper OR has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE'))
 ORDER BY r.rolname LIMIT 20"""


@dataclass(frozen=True)
class Difference:
    """One row that is not as the record says, of a `table` of the database."""

    what: str
    record: str
    found: str
    table: str
    claims: str = ""
    """The change that the row itself names, which says nothing of it."""

    def __str__(self) -> str:
        return f"{self.what}: the record says {self.record}; the table says {self.found}"


@dataclass
class Differences:
    """All that differs, counted; the first few in words."""

    count: int = 0
    first: list[Difference] = field(default_factory=list)

    def add(self, difference: Difference) -> None:
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(difference)

    def lines(self) -> list[str]:
        """Each in words, with who could have made it, as far as the server tells."""
        lines = [f"{item}. {self._who(item)}" for item in self.first]
        if self.count > len(self.first):
            lines.append(f"… and {self.count - len(self.first)} more")
        return lines

    def _who(self, difference: Difference) -> str:
        claims = f"It names {difference.claims}, which says nothing of it. " if difference.claims else ""
        return f"{claims}Outside the console it could be written by {writers(difference.table)}."


def writers(table: str) -> str:
    """The database's accounts that may write a table, which is all that is known of who did."""
    with connection.cursor() as cursor:
        cursor.execute(_WRITERS, [table])
        rows = cursor.fetchall()
    named = [f"{name}{_how(superuser=superuser, owner=owner)}" for name, superuser, owner in rows]
    return ", ".join(named) or "nobody that the server names"


def _how(*, superuser: bool, owner: bool) -> str:
    if superuser:
        return " (superuser)"
    return " (owner of the table)" if owner else ""


def in_words(values: Mapping[str, Any]) -> str:
    """Columns and their values, empty ones left out."""
    return ", ".join(f"{name} {value}" for name, value in values.items() if value not in (None, "", [])) or (
        "nothing"
    )
