"""Where the rows of a review come from: the facts as they were at its revision, piece by piece.

Each source goes through its facts in one order, so that a build that was killed goes on where it was; facts
are closed and never changed, so it finds then what it would have found before.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import connection

from catalog.nodes import Node
from lakewarden.law import dialects
from policies.models import Review, ReviewRow
from policies.reviews.campaign_plans import Scope

Kind = ReviewRow.Kind
GIVEN = 20
"""So many objects are named of what a role or group gives."""


@dataclass
class RowDraft:
    """One row before anything is said about it."""

    kind: str
    holder: int | None = None
    group: int | None = None
    role: int | None = None
    securable: int | None = None
    pattern: str = ""
    effect: str = "allow"
    privileges: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    since: int | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    gives: list[list[Any]] = field(default_factory=list)
    given: int = 0
    """On how many objects the role or group gives something."""
    outside: dict[str, Any] = field(default_factory=dict)


Cursor = list[Any]
"""Where a source goes on: the last place it gave; empty at the beginning."""
BEGINNING: Cursor = [-1, -1, "", ""]
"""Before every row, however many columns a source goes on by."""

_OPEN = "{a}.opened <= %(revision)s AND ({a}.closed IS NULL OR {a}.closed > %(revision)s)"
_LASTS = "({a}.valid_until IS NULL OR {a}.valid_until > %(started)s)"
"""Not ended by itself before the review began: nobody decides about what nobody has."""

_IN_SCOPE = """(
    %(everything)s OR EXISTS (
        SELECT FROM catalog_placement p WHERE p.securable_id = g.securable_id AND {p}
           AND (p.securable_id = ANY(%(objects)s) OR p.ancestors && %(objects)s::bigint[]))
    OR g.securable_id IS NULL AND split_part(substr(g.pattern, strpos(g.pattern, ':') + 1), '.', 1)
       = ANY(%(names)s))"""

_IN_REALM = "coalesce(g.realm_id, s.realm_id) = %(realm)s"

_OF_HOLDER = """(%(people)s::bigint[] = '{{}}' OR {h} = ANY(%(people)s))
   AND (NOT %(services)s
        OR EXISTS (SELECT FROM accounts_principal k WHERE k.id = {h} AND k.kind = 'service'))"""

_PERSONAL = """SELECT a.role_id, a.holder_id FROM policies_assignment a
     WHERE a.origin = 'system' AND {a}"""

DIRECT = """
WITH personal AS ({personal}),
given AS (
    SELECT coalesce(g.holder_id, o.holder_id) AS holder, coalesce(g.securable_id, 0) AS securable,
           g.pattern, g.effect, g.id, g.privilege, g.opened, g.valid_from, g.valid_until
      FROM policies_grant g LEFT JOIN personal o ON o.role_id = g.role_id
      LEFT JOIN catalog_securable s ON s.id = g.securable_id
     WHERE {in_realm} AND {g} AND {g_lasts} AND {in_scope} AND coalesce(g.holder_id, o.holder_id) IS NOT NULL)
SELECT holder, securable, pattern, effect, array_agg(DISTINCT privilege), array_agg(DISTINCT id),
       max(opened), min(valid_from),
       CASE WHEN bool_or(valid_until IS NULL) THEN NULL ELSE max(valid_until) END
  FROM given g
 WHERE (holder, securable, pattern, effect) > (%(after0)s, %(after1)s, %(after2)s, %(after3)s) AND {of_holder}
 GROUP BY holder, securable, pattern, effect ORDER BY holder, securable, pattern, effect LIMIT %(limit)s
"""

_ROLES = """
touched AS (
    SELECT DISTINCT g.role_id FROM policies_grant g
      LEFT JOIN catalog_securable s ON s.id = g.securable_id
     WHERE g.role_id IS NOT NULL AND {in_realm} AND {g} AND {in_scope}
    UNION
    SELECT r.id FROM catalog_securable r
     WHERE %(everything)s AND r.realm_id = %(realm)s AND r.type = 'role'
    UNION
    SELECT unnest(%(roles)s::bigint[])),
made AS (
    SELECT t.role_id FROM touched t JOIN catalog_placement n ON n.securable_id = t.role_id AND {n}
     WHERE n.name NOT LIKE '~%%' AND (%(roles)s::bigint[] = '{{}}' OR t.role_id = ANY(%(roles)s)))"""

ASSIGNED = """
WITH {roles}
SELECT a.role_id, a.holder_id, array_agg(a.id), max(a.opened), min(a.valid_from),
       CASE WHEN bool_or(a.valid_until IS NULL) THEN NULL ELSE max(a.valid_until) END
  FROM policies_assignment a JOIN made ON made.role_id = a.role_id
 WHERE {a} AND {a_lasts} AND a.origin <> 'system'
   AND (a.role_id, a.holder_id) > (%(after0)s, %(after1)s) AND {of_holder}
 GROUP BY a.role_id, a.holder_id ORDER BY a.role_id, a.holder_id LIMIT %(limit)s
"""

RULES = """
WITH {roles}
SELECT g.role_id, coalesce(g.securable_id, 0), g.pattern, g.effect, array_agg(DISTINCT g.privilege),
       array_agg(DISTINCT g.id), max(g.opened), min(g.valid_from),
       CASE WHEN bool_or(g.valid_until IS NULL) THEN NULL ELSE max(g.valid_until) END
  FROM policies_grant g JOIN made ON made.role_id = g.role_id
 WHERE {g} AND {g_lasts} AND ({in_scope} OR %(everything_of_roles)s)
   AND (g.role_id, coalesce(g.securable_id, 0), g.pattern, g.effect)
       > (%(after0)s, %(after1)s, %(after2)s, %(after3)s)
 GROUP BY g.role_id, coalesce(g.securable_id, 0), g.pattern, g.effect
 ORDER BY 1, 2, 3, 4 LIMIT %(limit)s
"""

MEMBERS = """
WITH personal AS ({personal}),
{roles},
holding AS (
    SELECT coalesce(g.holder_id, o.holder_id) AS id
      FROM policies_grant g LEFT JOIN personal o ON o.role_id = g.role_id
      LEFT JOIN catalog_securable s ON s.id = g.securable_id
     WHERE {in_realm} AND {g} AND {in_scope}
    UNION SELECT a.holder_id FROM policies_assignment a JOIN made ON made.role_id = a.role_id WHERE {a})
SELECT m.group_id, m.member_id, array_agg(m.id), max(m.opened), min(m.valid_from),
       CASE WHEN bool_or(m.valid_until IS NULL) THEN NULL ELSE max(m.valid_until) END
  FROM accounts_membership m JOIN holding h ON h.id = m.group_id
 WHERE {m} AND {m_lasts} AND (m.group_id, m.member_id) > (%(after0)s, %(after1)s) AND {of_member}
 GROUP BY m.group_id, m.member_id ORDER BY m.group_id, m.member_id LIMIT %(limit)s
"""

OWNED = """
SELECT g.securable_id, g.owner_id, array_agg(g.id), max(g.opened)
  FROM (SELECT o.*, ''::text AS pattern FROM policies_ownership o) g
  JOIN catalog_securable s ON s.id = g.securable_id AND s.realm_id = %(realm)s
 WHERE {g} AND {in_scope} AND s.type <> 'role' AND (g.securable_id, g.owner_id) > (%(after0)s, %(after1)s)
   AND {of_holder}
 GROUP BY g.securable_id, g.owner_id ORDER BY 1, 2 LIMIT %(limit)s
"""

FOREIGN = """
SELECT min(f.id), f.backend_id, coalesce(f.securable_id, 0), f.holder, f.grantor, array_agg(f.what),
       array_agg(f.id), b.kind, min(f.first_seen),
       (SELECT min(p.id) FROM policies_realmmember r JOIN accounts_principal p ON p.id = r.principal_id
         WHERE r.realm_id = %(realm)s AND r.closed IS NULL AND p.name = f.holder
           AND p.kind IN ('user', 'service')), min(f.place)
  FROM policies_backendfinding f JOIN policies_backend b ON b.id = f.backend_id AND b.realm_id = %(realm)s
  LEFT JOIN (SELECT id, securable_id, ''::text AS pattern FROM policies_backendfinding) g ON g.id = f.id
 WHERE f.kind = 'foreign' AND (f.accepted_until IS NULL OR f.accepted_until < now()) AND {in_scope}
 GROUP BY f.backend_id, f.securable_id, f.place, f.type, f.holder, f.grantor, b.kind
HAVING min(f.id) > %(after0)s ORDER BY 1 LIMIT %(limit)s
"""

GIVES = """
SELECT role_id, count(*) OVER (PARTITION BY role_id) AS many, securable_id, pattern, effect, privileges FROM (
    SELECT g.role_id, g.securable_id, g.pattern, g.effect, array_agg(DISTINCT g.privilege) AS privileges
      FROM policies_grant g WHERE g.role_id = ANY(%(of)s) AND {g} AND ({in_scope} OR %(everything_of_roles)s)
     GROUP BY 1, 2, 3, 4) each
 ORDER BY role_id, securable_id, pattern, effect
"""


def removable(draft: RowDraft, scope: Scope, *, assignable: bool) -> bool:
    """Whether a draft is to be in the review of a starter who may, or may not, give its role away.

    Who may not take a role from people takes from what the role says.
    """
    if draft.kind == Kind.ROLE:
        return assignable
    is_rule = draft.kind == Kind.RULE and not scope.roles and draft.effect == "allow"
    return not (is_rule and assignable)


HELD = """
WITH held AS (
    SELECT a.holder_id, a.role_id FROM policies_assignment a WHERE a.holder_id = ANY(%(of)s) AND {a}),
given AS (
    SELECT coalesce(g.holder_id, h.holder_id) AS holder, g.securable_id, g.pattern, g.effect, g.privilege
      FROM policies_grant g LEFT JOIN held h ON h.role_id = g.role_id
      LEFT JOIN catalog_securable s ON s.id = g.securable_id
     WHERE {in_realm} AND {g} AND {in_scope} AND coalesce(g.holder_id, h.holder_id) = ANY(%(of)s))
SELECT holder, count(*) OVER (PARTITION BY holder) AS many, securable_id, pattern, effect, privileges FROM (
    SELECT holder, securable_id, pattern, effect, array_agg(DISTINCT privilege) AS privileges
      FROM given GROUP BY 1, 2, 3, 4) each
 ORDER BY holder, securable_id, pattern, effect
"""

Gives = dict[int, tuple[int, list[list[Any]]]]
"""Of each role or group on how many objects of the scope it gives something, and some of it."""


class Sources:
    """What a review draws its rows from, one source after the other."""

    def __init__(self, review: Review, scope: Scope, root: Node, *, members: bool) -> None:
        self.review, self.scope, self.root = review, scope, root
        of_some = bool(scope.people or scope.services)
        wanted = {
            "direct": not scope.roles,
            "assigned": True,
            "rules": not of_some,
            "members": members and not scope.roles,
            "owned": of_some and not scope.roles,
            "foreign": not (of_some or scope.roles),
        }
        self.order = [name for name, yes in wanted.items() if yes]

    def batch(self, source: str, after: Cursor, limit: int) -> tuple[list[RowDraft], Cursor | None]:
        """The next drafts of a source, and where to go on; None when it has no more."""
        statement, width, make = _SOURCES[source]
        rows = self._rows(statement, after or BEGINNING[:width], limit)
        drafts = [make(row) for row in rows]
        return drafts, (_last(rows[-1], width) if len(rows) == limit else None)

    def gives(self, roles: Sequence[int]) -> Gives:
        """What roles give.  One query."""
        return self._given(GIVES, roles)

    def gives_by_group(self, groups: Sequence[int]) -> Gives:
        """What places in groups give.  One query."""
        return self._given(HELD, groups)

    def _given(self, statement: str, keys: Sequence[int]) -> Gives:
        if not keys:
            return {}
        given: Gives = {}
        for key, many, securable, pattern, effect, privileges in self._rows(statement, [], 0, of=list(keys)):
            listed = given.setdefault(key, (many, []))[1]
            if len(listed) < GIVEN:
                listed.append([securable, pattern, sorted(privileges), effect])
        return given

    def _rows(self, statement: str, after: Cursor, limit: int, **more: Any) -> list[tuple[Any, ...]]:
        values = {**self._values(), "limit": limit, **more}
        values |= {f"after{number}": value for number, value in enumerate(after)}
        with connection.cursor() as cursor:
            cursor.execute(_whole(statement), values)
            return list(cursor.fetchall())

    def _values(self) -> dict[str, Any]:
        scope = self.scope
        whole = any(node.id == node.root_id for node in scope.where)
        by_text = dialects.get(self.root.kind).by_text
        return {
            "revision": self.review.revision,
            "started": self.review.started,
            "realm": self.review.realm_id,
            "everything": whole,
            "everything_of_roles": bool(scope.roles) and not scope.where,
            "objects": [node.id for node in scope.where],
            "names": [node.name for node in scope.where if by_text and node.type == "namespace"],
            "people": [person.pk for person in scope.people],
            "services": scope.services,
            "roles": [node.id for node in scope.roles],
        }


def _whole(statement: str) -> str:
    """The statement with the conditions that several share written out."""
    opened = {alias: _OPEN.format(a=alias) for alias in "gampn"}
    lasts = {f"{alias}_lasts": _LASTS.format(a=alias) for alias in "gam"}
    in_scope = _IN_SCOPE.format(**opened)
    shared = {"in_scope": in_scope, "in_realm": _IN_REALM}
    holder = {DIRECT: "g.holder", ASSIGNED: "a.holder_id", OWNED: "g.owner_id"}.get(statement, "m.member_id")
    return statement.format(
        **opened,
        **lasts,
        **shared,
        personal=_PERSONAL.format(**opened),
        roles=_ROLES.format(**opened, **shared),
        of_holder=_OF_HOLDER.format(h=holder),
        of_member=_OF_HOLDER.format(h="m.member_id"),
    )


def _last(row: Sequence[Any], width: int) -> Cursor:
    return json.loads(json.dumps(list(row[:width])))  # type: ignore[no-any-return]


def _direct(row: tuple[Any, ...]) -> RowDraft:
    holder, *terms = row
    return _privileged(RowDraft(Kind.GRANT, holder=holder), terms)


def _rule(row: tuple[Any, ...]) -> RowDraft:
    role, *terms = row
    return _privileged(RowDraft(Kind.RULE, role=role), terms)


def _privileged(draft: RowDraft, terms: Sequence[Any]) -> RowDraft:
    securable, pattern, effect, privileges, facts, since, start, end = terms
    return replace(
        draft,
        securable=securable or None,
        pattern=pattern,
        effect=effect,
        privileges=sorted(privileges),
        facts=_codes("grant", facts),
        since=since,
        valid_from=start,
        valid_until=end,
    )


def _assigned(row: tuple[Any, ...]) -> RowDraft:
    role, holder, *terms = row
    return _joined(RowDraft(Kind.ROLE, holder=holder, role=role), "assignment", terms)


def _member(row: tuple[Any, ...]) -> RowDraft:
    group, member, *terms = row
    return _joined(RowDraft(Kind.MEMBER, holder=member, group=group), "membership", terms)


def _joined(draft: RowDraft, kind: str, terms: Sequence[Any]) -> RowDraft:
    facts, since, start, end = terms
    return replace(draft, facts=_codes(kind, facts), since=since, valid_from=start, valid_until=end)


def _owned(row: tuple[Any, ...]) -> RowDraft:
    securable, owner, facts, since = row
    return RowDraft(
        Kind.OWNER, holder=owner, securable=securable, facts=_codes("ownership", facts), since=since
    )


def _foreign(row: tuple[Any, ...]) -> RowDraft:
    first, backend, securable, holder, grantor, rights, findings, kind, seen, member, place = row
    outside = {
        "backend": backend,
        "kind": kind,
        "holder": holder,
        "grantor": grantor,
        "seen": seen.isoformat(),
        "place": place,
        "finding": first,
    }
    return RowDraft(
        Kind.FOREIGN,
        holder=member,
        securable=securable or None,
        privileges=sorted(right[:32] for right in rights),
        facts=[f"finding:{finding}" for finding in sorted(findings)],
        outside=outside,
    )


def _codes(kind: str, numbers: Sequence[int]) -> list[str]:
    return [f"{kind}:{number}" for number in sorted(numbers)]


_SOURCES = {
    "direct": (DIRECT, 4, _direct),
    "assigned": (ASSIGNED, 2, _assigned),
    "rules": (RULES, 4, _rule),
    "members": (MEMBERS, 2, _member),
    "owned": (OWNED, 2, _owned),
    "foreign": (FOREIGN, 1, _foreign),
}
