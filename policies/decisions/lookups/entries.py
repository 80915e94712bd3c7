"""What principals were given themselves, object by object: one entry for each principal on each object.

An entry is as old as the first grant since the principal last had none there; its number is that grant's, so
it stays while the privileges in it change and is never used again after the entry has ended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Upper
from django.utils import timezone

from accounts.models import Principal
from accounts.text import called, holdable
from catalog.nodes import Node
from catalog.queries import below
from policies.models import Grant


@dataclass(frozen=True)
class Entry:
    """The privileges of one principal on one object that hold now."""

    number: int
    holder: int
    kind: str
    name: str
    object: int
    object_name: str
    privileges: frozenset[str]


PAGE = 2000

_STATEMENT = """
WITH given AS (
    SELECT g.*, max(coalesce(g.closed, 9223372036854775807)) OVER (
               PARTITION BY g.holder_id, g.securable_id ORDER BY g.opened
               RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS lasted
      FROM policies_grant g JOIN catalog_securable s ON s.id = g.securable_id AND s.realm_id = %(realm)s
     WHERE g.holder_id IS NOT NULL
       AND (%(objects)s::bigint[] IS NULL OR g.securable_id = ANY(%(objects)s))
       AND (%(holders)s::bigint[] IS NULL OR g.holder_id = ANY(%(holders)s))),
entry AS (
    SELECT holder_id, securable_id,
           (array_agg(id ORDER BY opened DESC, id)
               FILTER (WHERE lasted IS NULL OR lasted < opened))[1] AS number,
           array_agg(DISTINCT privilege) FILTER (WHERE {open}) AS privileges
      FROM given GROUP BY holder_id, securable_id HAVING bool_or({open}))
SELECT e.number, p.id, p.kind, p.name, e.securable_id, n.name, e.privileges
  FROM entry e JOIN accounts_principal p ON p.id = e.holder_id
  JOIN catalog_placement n ON n.securable_id = e.securable_id AND n.closed IS NULL
 ORDER BY p.name COLLATE "C", p.kind, n.name COLLATE "C"
""".format(  # noqa: S608 - no outside text
    open="closed IS NULL AND coalesce(valid_from <= %(now)s, true) AND coalesce(valid_until > %(now)s, true)"
)


def entries(
    root: Node,
    *,
    objects: Collection[int] | None = None,
    holders: Collection[int] | None = None,
    now: datetime | None = None,
) -> list[Entry]:
    """The entries of a realm on some objects, of some holders, or both, by name.  One query."""
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT, _values(root, objects, holders, now))
        return [_entry(row) for row in cursor.fetchall()]


def each_on(node: Node, *, now: datetime | None = None) -> Iterator[Entry]:
    """The entries on one object by name, fetched page by page, so that many take little room.  One query."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(_STATEMENT, _values(node, [node.id], None, now))
        while rows := cursor.fetchmany(PAGE):
            yield from map(_entry, rows)


def _values(
    root: Node, objects: Collection[int] | None, holders: Collection[int] | None, now: datetime | None
) -> dict[str, Any]:
    return {
        "realm": root.realm_id,
        "objects": None if objects is None else list(objects),
        "holders": None if holders is None else list(holders),
        "now": now or timezone.now(),
    }


def _entry(row: tuple[Any, ...]) -> Entry:
    number, holder, kind, name, object_, object_name, privileges = row
    return Entry(number, holder, kind, name, object_, object_name, frozenset(privileges))


def holders_on(node: Node, *, text: str = "", now: datetime | None = None) -> QuerySet[Principal]:
    """Those who were given something on an object that holds now, whose name holds a text, by name
    in any case (`folded`)."""
    given = Grant.objects.open().within(now or timezone.now()).filter(securable=node.id)
    rows = Principal.objects.filter(pk__in=given.filter(holder__isnull=False).values("holder"))
    if not holdable(text):
        return rows.none()
    named = rows.filter(called(text)) if text else rows
    return named.annotate(folded=Upper("name")).order_by("folded", "pk")


def in_use(node: Node, *, apart_from: Principal) -> bool:
    """Whether anything lies below an object, or anybody else was given something on it."""
    others = holders_on(node).exclude(name__iexact=apart_from.name)
    return others.exists() or below(node).exists()


def bearers(name: str, kinds: Collection[str]) -> list[Principal]:
    """The principals of these kinds that bear a name, in any case of its letters."""
    return list(Principal.objects.filter(name__iexact=name, kind__in=kinds).order_by("pk"))
