"""How many people hold rights on what somebody owns, and how often that changed: numbers for overviews."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, datetime
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Count, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from catalog.nodes import Numbers, any_along
from policies.models import Event


def people(owned: Collection[int], *, at: Sequence[datetime]) -> list[int]:
    """How many people and services are given something on objects, below or above them, at each moment.

    Rights that are held, not decisions: who is denied elsewhere counts too.  One query a moment.
    """
    return [_people(Numbers.of(owned), moment) for moment in at]


def _people(owned: Numbers, moment: datetime) -> int:
    parameters: dict[str, Any] = {"rest": owned.told, "holding": owned.holding.text, "at": moment}
    listed = ["SELECT unnest(%(rest)s::bigint[])"]
    for rows in owned.rows:
        sql, values = rows.order_by().values_list("securable").query.sql_with_params()
        names = [f"value{len(parameters) + at}" for at in range(len(values))]
        listed.append(sql % tuple(f"%({name})s" for name in names))
        parameters |= dict(zip(names, values, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(_statement(" UNION ALL ".join(listed)), parameters)
        [many] = cursor.fetchone() or (0,)
        return int(many)


_PEOPLE = """
WITH as_of AS MATERIALIZED (
    SELECT coalesce((SELECT revision FROM policies_change WHERE at <= %(at)s
                      ORDER BY at DESC, revision DESC LIMIT 1), 0) AS revision),
place AS MATERIALIZED (
    SELECT id FROM ({owned}) AS owned (id)
    UNION
    SELECT p.securable_id FROM unnest(%(holding)s::bigint[]) AS above
      JOIN catalog_placement p ON p.ancestors @> ARRAY[above], as_of
     WHERE {open_p}),
gift AS MATERIALIZED (
    SELECT g.role_id, g.holder_id FROM policies_grant g JOIN place ON place.id = g.securable_id, as_of
     WHERE g.effect = 'allow' AND {open_g} AND {now_g}),
holder AS MATERIALIZED (
    SELECT holder_id AS id FROM gift WHERE holder_id IS NOT NULL
    UNION
    SELECT a.holder_id FROM policies_assignment a, as_of
     WHERE a.role_id IN (SELECT role_id FROM gift) AND {open_a} AND {now_a}
    UNION
    SELECT o.owner_id FROM policies_ownership o JOIN place ON place.id = o.securable_id, as_of
     WHERE {open_o} GROUP BY 1)
SELECT count(*) FROM (
    SELECT p.id FROM holder JOIN accounts_principal p ON p.id = holder.id AND p.kind <> 'group'
    UNION
    SELECT m.member_id FROM accounts_membership m JOIN holder ON holder.id = m.group_id, as_of
     WHERE {open_m} AND {now_m}) AS alone
"""
_OPEN = "({0}.opened <= as_of.revision AND ({0}.closed IS NULL OR {0}.closed > as_of.revision))"
_NOW = """
(({0}.valid_from IS NULL OR {0}.valid_from <= %(at)s)
 AND ({0}.valid_until IS NULL OR {0}.valid_until > %(at)s))
"""


@cache
def _statement(owned: str) -> str:
    parameters = {f"open_{alias}": _OPEN.format(alias) for alias in "pgaom"}
    return _PEOPLE.format(
        owned=owned, **parameters, **{f"now_{alias}": _NOW.format(alias) for alias in "gam"}
    )


def changes_by_day(owned: Collection[int], kinds: Sequence[str], *, since: datetime) -> dict[date, int]:
    """How many such events there were on objects and below them, by the reader's day.  One query."""
    zone = timezone.get_current_timezone()
    rows: QuerySet[Event] = Event.objects.filter(
        any_along("object_key", "lineage", owned), kind__in=kinds, change__at__gte=since
    )
    days = rows.annotate(day=TruncDate("change__at", tzinfo=zone)).values("day").order_by("day")
    return {row["day"]: row["many"] for row in days.annotate(many=Count("pk"))}
