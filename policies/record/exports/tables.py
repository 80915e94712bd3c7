"""What a snapshot of a realm holds: a statement for each of its tables, true at one revision.

Of people there is what decisions need: a number, a kind and a name, no mail address and no display name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from accounts import entering
from accounts.models import Principal
from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.facts import Level
from policies.decisions.facts import is_service_admin
from policies.record.columns import MOMENT, NUMBER, NUMBERS, TEXT, TRUTH, Row, streamed

WINDOW = (("from", MOMENT), ("until", MOMENT))
SINCE = ("since", MOMENT)
"""When a fact was recorded; null where that lies in the archive."""


@dataclass(frozen=True)
class Moment:
    """What is exported: a realm's state at a revision, its windows and who can come in judged by `at`."""

    root: Node
    realm: Realm
    revision: int
    at: datetime

    @property
    def values(self) -> dict[str, Any]:
        law = dialects.get(self.realm.law)
        return {"realm": self.realm.pk, "revision": self.revision, "open": law.open_to_all}


Finish = Callable[[Moment, Sequence[Row]], Sequence[Row]]


@dataclass(frozen=True)
class Table:
    """One table: its columns, the statement, and what makes rows of the statement's answer."""

    name: str
    columns: tuple[tuple[str, pa.DataType], ...]
    statement: str
    finish: Finish | None = None

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(list(self.columns))

    def rows(self, moment: Moment) -> Iterator[Sequence[Row]]:
        """Its rows, a batch at a time.  Needs a transaction."""
        for rows in streamed(_true_in(self.statement), moment.values):
            yield self.finish(moment, rows) if self.finish else rows


def _true(alias: str) -> str:
    open_ = f"({alias}.closed IS NULL OR {alias}.closed > %(revision)s)"
    return f"{alias}.opened <= %(revision)s AND {open_}"


def _true_in(text: str) -> str:
    """A statement with the conditions filled in by which its rows are true at the revision."""
    true = {alias: _true(alias) for alias in "amgopt"}
    return text.format(everybody=_EVERYBODY.format(direct=_DIRECT.format(**true), **true), **true)


_DIRECT = """
    SELECT m.principal_id AS id FROM policies_realmmember m WHERE m.realm_id = %(realm)s AND {m}
    UNION SELECT a.holder_id FROM policies_assignment a
      JOIN catalog_securable r ON r.id = a.role_id AND r.realm_id = %(realm)s WHERE {a}
    UNION SELECT o.owner_id FROM policies_ownership o
      JOIN catalog_securable s ON s.id = o.securable_id AND s.realm_id = %(realm)s WHERE {o}
    UNION SELECT g.holder_id FROM policies_grant g LEFT JOIN catalog_securable s ON s.id = g.securable_id
     WHERE g.holder_id IS NOT NULL AND coalesce(s.realm_id, g.realm_id) = %(realm)s AND {g}"""

_EVERYBODY = """
    direct AS ({direct}),
    everybody AS (
        SELECT id FROM direct
        UNION SELECT m.member_id FROM accounts_membership m JOIN direct ON direct.id = m.group_id WHERE {m}
        UNION SELECT id FROM accounts_principal WHERE %(open)s AND NOT erased)"""


def _objects(moment: Moment, rows: Sequence[Row]) -> list[Row]:
    law = moment.realm.law
    return [
        (key, parent, ancestors, type_, name, _full_name(moment, law, key, ancestors, types, names), owner)
        for key, parent, ancestors, types, names, owner in rows
        for type_, name in [(types[-1], names[-1])]
    ]


def _full_name(
    moment: Moment, law: str, key: int, ancestors: list[int], types: list[str], names: list[str]
) -> str:
    levels = tuple(Level(type_, at) for type_, at in zip(types, (*ancestors, key), strict=True))
    return Node(key, moment.realm.pk, law, levels, tuple(names)).ref.full_name


def _principals(moment: Moment, rows: Sequence[Row]) -> list[Row]:
    left_people = entering.gone([row[0] for row in rows], now=moment.at)
    return [
        (key, kind, name, key not in left_people, is_service_admin(Principal(kind=kind, name=name)))
        for key, kind, name in rows
    ]


TABLES = (
    Table(
        "realm",
        (
            ("key", NUMBER), ("root", NUMBER), ("name", TEXT), ("kind", TEXT), ("law", TEXT),
            ("settings", TEXT), ("mode", TEXT), ("revision", NUMBER), ("at", MOMENT),
        ),
        """
SELECT r.id, t.securable_id, t.name, r.kind, NULL, r.settings::text, m.mode
  FROM catalog_realm r
  JOIN catalog_securable s ON s.realm_id = r.id
  JOIN catalog_placement t ON t.securable_id = s.id AND t.parent_id IS NULL AND {t}
  JOIN catalog_mode m ON m.realm_id = r.id AND {m}
 WHERE r.id = %(realm)s""",
        lambda moment, rows: [
            (*row[:4], moment.realm.law, *row[5:], moment.revision, moment.at) for row in rows
        ],
    ),
    Table(
        "objects",
        (
            ("key", NUMBER), ("parent", NUMBER), ("ancestors", NUMBERS), ("type", TEXT), ("name", TEXT),
            ("full_name", TEXT), ("owner", NUMBER),
        ),
        """
SELECT p.securable_id, p.parent_id, p.ancestors, above.types || p.type::text, above.names || p.name::text,
       o.owner_id
  FROM catalog_placement p
  JOIN catalog_securable s ON s.id = p.securable_id AND s.realm_id = %(realm)s
  LEFT JOIN policies_ownership o ON o.securable_id = p.securable_id AND {o}
  LEFT JOIN LATERAL (
       SELECT array_agg(t.type::text ORDER BY way.place) AS types,
              array_agg(t.name::text ORDER BY way.place) AS names
         FROM unnest(p.ancestors) WITH ORDINALITY way(id, place)
         JOIN catalog_placement t ON t.securable_id = way.id AND {t}) above ON true
 WHERE {p}""",
        _objects,
    ),
    Table(
        "principals",
        (("key", NUMBER), ("kind", TEXT), ("name", TEXT), ("able", TRUTH), ("service_admin", TRUTH)),
        """
WITH {everybody}
SELECT q.id, q.kind, q.name FROM accounts_principal q JOIN everybody ON everybody.id = q.id""",
        _principals,
    ),
    Table(
        "memberships",
        (("group", NUMBER), ("member", NUMBER), *WINDOW, SINCE),
        """
WITH {everybody}
SELECT m.group_id, m.member_id, m.valid_from, m.valid_until, c.at
  FROM accounts_membership m
  JOIN everybody one ON one.id = m.group_id JOIN everybody other ON other.id = m.member_id
  LEFT JOIN policies_change c ON c.revision = m.opened
 WHERE {m}""",
    ),
    Table(
        "members",
        (("principal", NUMBER), *WINDOW),
        """
SELECT m.principal_id, m.valid_from, m.valid_until FROM policies_realmmember m
 WHERE m.realm_id = %(realm)s AND {m}""",
    ),
    Table(
        "roles",
        (("key", NUMBER), ("name", TEXT), ("holder", NUMBER)),
        """
SELECT p.securable_id, p.name,
       CASE WHEN p.name LIKE '~%%' THEN (
            SELECT a.holder_id FROM policies_assignment a WHERE a.role_id = p.securable_id AND {a} LIMIT 1)
       END
  FROM catalog_placement p
  JOIN catalog_securable s ON s.id = p.securable_id AND s.realm_id = %(realm)s
 WHERE p.type = 'role' AND {p}""",
    ),
    Table(
        "assignments",
        (("role", NUMBER), ("holder", NUMBER), *WINDOW, SINCE),
        """
SELECT a.role_id, a.holder_id, a.valid_from, a.valid_until, c.at
  FROM policies_assignment a JOIN catalog_securable r ON r.id = a.role_id AND r.realm_id = %(realm)s
  LEFT JOIN policies_change c ON c.revision = a.opened
 WHERE {a}""",
    ),
    Table(
        "grants",
        (
            ("key", NUMBER), ("role", NUMBER), ("holder", NUMBER), ("object", NUMBER), ("pattern", TEXT),
            ("privilege", TEXT), ("effect", TEXT), *WINDOW, SINCE, ("origin", TEXT),
        ),
        """
SELECT g.id, g.role_id, g.holder_id, g.securable_id, nullif(g.pattern, ''), g.privilege, g.effect,
       g.valid_from, g.valid_until, c.at, g.origin
  FROM policies_grant g
  LEFT JOIN catalog_securable r ON r.id = g.role_id
  LEFT JOIN catalog_securable s ON s.id = g.securable_id
  LEFT JOIN policies_change c ON c.revision = g.opened
 WHERE coalesce(r.realm_id, s.realm_id, g.realm_id) = %(realm)s AND {g}""",
    ),
    Table(
        "ownerships",
        (("object", NUMBER), ("owner", NUMBER), *WINDOW),
        """
SELECT o.securable_id, o.owner_id, o.valid_from, o.valid_until
  FROM policies_ownership o JOIN catalog_securable s ON s.id = o.securable_id AND s.realm_id = %(realm)s
 WHERE {o}""",
    ),
    Table(
        "uses",
        (("principal", NUMBER), ("object", NUMBER), ("action", TEXT), ("executed", TRUTH), ("at", MOMENT)),
        """
SELECT u.principal_id, u.securable_id, u.action, u.executed, u.at
  FROM policies_use u WHERE u.realm_id = %(realm)s""",
    ),
)  # fmt: skip
