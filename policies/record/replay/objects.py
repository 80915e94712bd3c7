"""Objects themselves: each that is there stands somewhere, in the realm of its root, as what stands there.

Where an object stands is a fact and compared as such; this holds the row of the object against that.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection

from catalog.models import Securable
from policies.record.replay.differences import Difference

_ROWS = """
SELECT s.id, s.type, s.closed, p.type, s.realm_id, r.realm_id
  FROM catalog_securable s
  LEFT JOIN catalog_placement p ON p.securable_id = s.id AND p.closed IS NULL
  LEFT JOIN catalog_securable r ON r.id = coalesce(p.ancestors[1], s.id)
 WHERE (s.closed IS NULL) <> (p.id IS NOT NULL)
    OR p.id IS NOT NULL AND (p.type <> s.type OR r.realm_id IS DISTINCT FROM s.realm_id)
 ORDER BY s.id"""


def differences() -> Iterator[Difference]:
    """Every object whose row does not fit where it stands.  One statement, so one snapshot."""
    table = Securable._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(_ROWS)
        for number, type_, closed, placed_as, realm, of_root in cursor:
            what = f"object {number}"
            if (closed is None) != (placed_as is not None):
                words = ("that it is there", "that it is gone")
                yield Difference(what, words[placed_as is None], words[closed is not None], table)
            elif placed_as != type_:
                yield Difference(what, f"the type {placed_as}", f"the type {type_}", table)
            else:
                yield Difference(what, f"the realm {of_root}", f"the realm {realm}", table)
