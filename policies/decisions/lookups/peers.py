"""Comparable people: who shares a group or a made role with somebody, and how many of them have the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

from accounts.models import Principal
from catalog.nodes import Node

MOST = 200
"""So many comparable people are looked at, those of the smallest groups and roles first."""
LARGEST = 1000
"""A group or role with more people in it makes nobody comparable."""


class Share(NamedTuple):
    """How many of the comparable people have it, of how many."""

    have: int
    of: int


@dataclass(frozen=True)
class Question:
    """How many of the people comparable to `person` have any of these privileges on the object of a lineage.

    A text, where the law gives rights on texts, stands in the place of the lineage.
    """

    person: int
    lineage: Sequence[int]
    privileges: Sequence[str]
    text: str = ""


_CIRCLES = """
WITH asked AS (
    SELECT * FROM jsonb_to_recordset(%(asked)s::jsonb)
        AS a(number int, person bigint, objects bigint[], privileges text[], pattern text)),
persons AS (SELECT DISTINCT person FROM asked),
circle AS (
    SELECT p.person, 'g' AS kind, m.group_id AS key
      FROM persons p JOIN accounts_membership m ON m.member_id = p.person AND {m}
    UNION
    SELECT p.person, 'r', a.role_id
      FROM persons p JOIN policies_assignment a ON a.holder_id = p.person AND {a} AND a.origin <> 'system'
      JOIN catalog_securable s ON s.id = a.role_id AND s.realm_id = %(realm)s),
inside AS (
    SELECT 'g' AS kind, m.group_id AS key, m.member_id AS mate FROM accounts_membership m
     WHERE m.group_id IN (SELECT key FROM circle WHERE kind = 'g') AND {m}
    UNION
    SELECT 'r', a.role_id, a.holder_id FROM policies_assignment a
     WHERE a.role_id IN (SELECT key FROM circle WHERE kind = 'r') AND {a}),
sized AS (SELECT *, count(*) OVER (PARTITION BY kind, key) AS size FROM inside),
ranked AS (
    SELECT c.person, s.mate, row_number() OVER (PARTITION BY c.person ORDER BY min(s.size), s.mate) AS place
      FROM circle c JOIN sized s ON s.kind = c.kind AND s.key = c.key AND s.size <= %(largest)s
      JOIN accounts_principal p ON p.id = s.mate AND p.kind IN ('user', 'service')
     WHERE s.mate <> c.person GROUP BY c.person, s.mate),
peer AS (SELECT person, mate FROM ranked WHERE place <= %(most)s)
"""

_OF = _CIRCLES + "SELECT mate FROM peer ORDER BY mate"  # noqa: S608 - no outside text

_SHARED = """,
given AS (
    SELECT q.number, coalesce(g.holder_id, a.holder_id) AS holder
      FROM asked q JOIN policies_grant g ON g.privilege = ANY(q.privileges) AND g.effect = 'allow' AND {g}
       AND (g.securable_id = ANY(q.objects) OR q.pattern <> '' AND g.realm_id = %(realm)s
            AND g.pattern = q.pattern)
      LEFT JOIN policies_assignment a ON a.role_id = g.role_id AND {a}
    UNION
    SELECT q.number, o.owner_id FROM asked q
      JOIN policies_ownership o ON o.securable_id = ANY(q.objects) AND o.closed IS NULL),
reached AS (
    SELECT number, holder FROM given
    UNION
    SELECT v.number, m.member_id FROM given v
      JOIN accounts_membership m ON m.group_id = v.holder AND {m})
SELECT q.number, count(r.holder), count(*)
  FROM asked q JOIN peer p ON p.person = q.person
  LEFT JOIN reached r ON r.number = q.number AND r.holder = p.mate
 GROUP BY q.number
"""
_SHARES = _CIRCLES + _SHARED


def _holds(alias: str) -> str:
    window = (
        f"coalesce({alias}.valid_from <= %(now)s, true) AND coalesce({alias}.valid_until > %(now)s, true)"
    )
    return f"{alias}.closed IS NULL AND {window}"


_HOLDING = {alias: _holds(alias) for alias in "mag"}


def of(person: Principal, root: Node, *, now: datetime | None = None) -> tuple[Principal, ...]:
    """The people and services who share a group, or a made role of the realm, with somebody.  Two queries."""
    keys = [key for (key,) in _rows(_OF, [Question(person.pk, (), ())], root.realm_id, now)]
    return tuple(Principal.objects.filter(pk__in=keys).order_by("pk"))


def share(
    person: Principal, root: Node, node: Node, privileges: Sequence[str], *, now: datetime | None = None
) -> Share:
    """How many of the comparable people have any of the privileges on an object, by any path.  One query."""
    shares_ = shares([Question(person.pk, node.lineage, privileges)], root.realm_id, now=now)
    return shares_[0]


def shares(
    questions: Sequence[Question], realm_id: int, *, now: datetime | None = None
) -> Mapping[int, Share]:
    """The same for many questions about one realm, by their place in the list.  One query."""
    nobody = dict.fromkeys(range(len(questions)), Share(0, 0))
    if not questions:
        return nobody
    rows = _rows(_SHARES, questions, realm_id, now)
    return nobody | {number: Share(have, of) for number, have, of in rows}


def _rows(
    statement: str, questions: Sequence[Question], realm_id: int, now: datetime | None
) -> list[tuple[int, ...]]:
    question_rows = [
        {
            "number": number,
            "person": question.person,
            "objects": list(question.lineage),
            "privileges": list(question.privileges),
            "pattern": question.text,
        }
        for number, question in enumerate(questions)
    ]
    values: dict[str, str | int | datetime] = {
        "asked": json.dumps(question_rows),
        "realm": realm_id,
        "largest": LARGEST,
        "most": MOST,
        "now": now or timezone.now(),
    }
    with connection.cursor() as cursor:
        cursor.execute(statement.format(**_HOLDING), values)
        return list(cursor.fetchall())


__all__ = ["LARGEST", "MOST", "Question", "Share", "of", "share", "shares"]
