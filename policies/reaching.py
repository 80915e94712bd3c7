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
    with connection.cursor() as cursor:
        told: dict[str, Any] = {"owned": owned.text, "holding": owned.holding.text, "at": moment}
        cursor.execute(_statement(), told)
        [many] = cursor.fetchone() or (0,)
        return int(many)


_PEOPLE = """
WITH as_of AS MATERIALIZED (
    SELECT coalesce((SELECT revision FROM policies_change WHERE at <= %(at)s
                      ORDER BY at DESC, revision DESC LIMIT 1), 0) AS revision),
below AS MATERIALIZED (
    SELECT p.securable_id AS id FROM unnest(%(holding)s::bigint[]) AS above
      JOIN catalog_placement p ON p.ancestors @> ARRAY[above], as_of
     WHERE {open_p}),
gift AS MATERIALIZED (
    SELECT g.role_id, g.holder_id FROM policies_grant g, as_of
     WHERE g.effect = 'allow' AND {open_g} AND {now_g}
       AND (g.securable_id = ANY(%(owned)s::bigint[]) OR g.securable_id IN (SELECT id FROM below))),
holder AS MATERIALIZED (
    SELECT holder_id AS id FROM gift WHERE holder_id IS NOT NULL
    UNION
    SELECT a.holder_id FROM policies_assignment a, as_of
     WHERE a.role_id IN (SELECT role_id FROM gift) AND {open_a} AND {now_a}
    UNION
    SELECT o.owner_id FROM policies_ownership o, as_of
     WHERE {open_o}
       AND (o.securable_id = ANY(%(owned)s::bigint[]) OR o.securable_id IN (SELECT id FROM below))
     GROUP BY 1)
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
def _statement() -> str:
    told = {f"open_{alias}": _OPEN.format(alias) for alias in "pgaom"}
    return _PEOPLE.format(**told, **{f"now_{alias}": _NOW.format(alias) for alias in "gam"})


def changes_by_day(owned: Collection[int], kinds: Sequence[str], *, since: datetime) -> dict[date, int]:
    """How many such events there were on objects and below them, by the reader's day.  One query."""
    zone = timezone.get_current_timezone()
    rows: QuerySet[Event] = Event.objects.filter(
        any_along("object_key", "lineage", owned), kind__in=kinds, change__at__gte=since
    )
    days = rows.annotate(day=TruncDate("change__at", tzinfo=zone)).values("day").order_by("day")
    return {row["day"]: row["many"] for row in days.annotate(many=Count("pk"))}
