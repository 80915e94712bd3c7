"""The newest changes that fit what is asked for, found from block to block of the record (docs/adr/0017).

However long the record is, what a block holds is bounded, and an index tells of each block which of its
changes may fit.  Those are read and judged by the conditions themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from django.contrib.postgres.search import SearchQuery
from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from policies.models import Change, Event
from policies.models.search_index import NAME_WORDS, REASON_WORDS, words_in

NEWEST = 1024
"""Revisions that are read as they are: what is frequent fills a page among so many."""
FIRST, GROWTH, MOST = 128, 4, 512
"""Changes that are judged at once, how many times more whenever they do not fill a page, and at most."""
SOME, MANY = 32, 800
"""Of the rows of a block: so few are judged as they are, so many are not read in search of what is rare."""
PATIENCE, GOING_ON = timedelta(milliseconds=4), timedelta(seconds=1)
"""So long is gone back in search of what is rare before who asks is told how far that was; and further on."""
_BY_REVISION = (F("revision") + 0).desc()
"""No index knows this order, so that none is read from its end in search of what is not there."""


@dataclass(frozen=True)
class Sought:
    """What the index is asked for: an actor, a time, words, and of each set of facets one at least.

    Facets as `lakewarden_event_facets` makes them: `k` and a kind, `o` and an object with all below it, `t`
    and this very object, `p` and a person.
    """

    facets: tuple[tuple[str, ...], ...] = ()
    actor: str = ""
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""


@dataclass(frozen=True)
class SearchPage:
    """Changes, newest first, and which of them have the words that were asked for in their reason.

    `edge` is the revision before which nothing was looked at, when what was asked for is so rare that the
    search ended before the record did.
    """

    changes: tuple[Change, ...]
    by_reason: frozenset[int] = frozenset()
    words: SearchQuery | None = None
    edge: int | None = None

    def told(self, events: QuerySet[Event]) -> QuerySet[Event]:
        """Of a change whose reason has the words all its events; of others those that have them."""
        if self.words is None:
            return events
        named = events.annotate(words=NAME_WORDS)
        return named.filter(Q(change__in=self.by_reason) | Q(words=self.words))


def newest(
    rows: QuerySet[Change],
    events: QuerySet[Event],
    sought: Sought,
    words: SearchQuery | None,
    last: int,
    most: int,
    patience: timedelta,
) -> SearchPage:
    """The newest of `rows`, up to the revision `last`, that have some event among `events`, and the words.

    `sought` says the same to the index.  One query where these are frequent, else a few: what two things have
    in common that are each frequent may be nothing, so the search ends after a time and says how far it came.
    """
    changes: list[Change] = []
    by_reason: set[int] = set()
    end: float | None = None
    for stretch in _stretches(rows, events, sought, last, patience):
        fitting, drafts = _fitting(stretch.rows, stretch.events, words, most - len(changes), stretch.having)
        changes += fitting
        by_reason |= drafts
        if len(changes) >= most:
            break
        if end is None:  # what is frequent was not found, from here on it is a search
            end = monotonic() + patience.total_seconds()
        elif stretch.edge > 1 and monotonic() >= end:
            return SearchPage(tuple(changes), frozenset(by_reason), words, stretch.edge)
    return SearchPage(tuple(changes), frozenset(by_reason), words)


def all_within(
    rows: QuerySet[Change], events: QuerySet[Event], words: SearchQuery | None, last: int, most: int
) -> SearchPage:
    """The same of few `rows`, all of which are judged at once."""
    fitting, drafts = _fitting(rows.filter(revision__lte=last), events, words, most, among)
    return SearchPage(tuple(fitting), frozenset(drafts), words)


Having = Callable[["QuerySet[Change]", "QuerySet[Event]"], "QuerySet[Change]"]


@dataclass(frozen=True)
class _Stretch:
    """Some of the changes and events: all that may fit from where the last ended down to revision `edge`.

    `having` narrows changes to those that have one of some events.
    """

    rows: QuerySet[Change]
    events: QuerySet[Event]
    edge: int
    having: Having


def _stretches(
    rows: QuerySet[Change], events: QuerySet[Event], sought: Sought, last: int, patience: timedelta
) -> Iterator[_Stretch]:
    """The newest changes, then ever more of those that may fit."""
    edge = max(1, last - NEWEST + 1)
    # said of both tables, else one of them is read from its end
    within = events.filter(change__gte=edge, change__lte=last)
    yield _Stretch(rows.filter(revision__gte=edge, revision__lte=last), within, edge, among)
    many = FIRST
    while edge > 1:
        listed, edge = candidates(sought, edge - 1, many, patience)
        events_here = events.filter(change__in=listed)
        yield _Stretch(rows.filter(revision__in=listed), events_here, edge, _among_few)
        many = min(many * GROWTH, MOST)


def _fitting(
    rows: QuerySet[Change],
    events: QuerySet[Event],
    words: SearchQuery | None,
    most: int,
    having: Having,
) -> tuple[list[Change], set[int]]:
    """The newest of a bounded set of changes that have such an event; which have the words in the reason."""
    rows = rows.order_by(_BY_REVISION)
    if words is None:
        return list(having(rows, events)[:most]), set()
    reasons = having(rows.annotate(words=REASON_WORDS).filter(words=words), events)[:most]
    names = having(rows, events.annotate(words=NAME_WORDS).filter(words=words))[:most]
    by_revision = {change.revision: change for change in reasons}
    both = by_revision | {change.revision: change for change in names}
    return [both[revision] for revision in sorted(both, reverse=True)][:most], set(by_revision)


def among(rows: QuerySet[Change], events: QuerySet[Event]) -> QuerySet[Change]:
    """Those of the changes that have one of the events."""
    return rows.filter(Exists(events.filter(change=OuterRef("pk"))))


def _among_few(rows: QuerySet[Change], events: QuerySet[Event]) -> QuerySet[Change]:
    """The same, asked one after the other: joined, each of some would be looked for among all the others."""
    return rows.filter(revision__in=set(events.order_by().values_list("change", flat=True)))


def candidates(sought: Sought, last: int, most: int, patience: timedelta) -> tuple[list[int], int]:
    """The newest revisions up to one that may fit, newest first, and down to which revision that is all.

    No more than `most`, and as far as is come in time; one block at the least.
    """
    values: dict[str, Any] = {"last": last, "most": most, "actor": f"a{sought.actor}", "patience": patience}
    values |= {"since": sought.since, "until": sought.until, "words": words_in(sought.text)}
    values |= {f"facets{n}": list(facet) for n, facet in enumerate(sought.facets)}
    with connection.cursor() as cursor:
        cursor.execute(_statement(sought), values)
        blocks = cursor.fetchall()
    revisions = [revision for _, ids in blocks for revision in ids]
    if len(revisions) >= most:
        return revisions[:most], revisions[most - 1]
    return revisions, max(1, blocks[-1][0] << 14)


def _statement(sought: Sought) -> str:
    """One statement that goes from block to block, newest first, and ends when it has enough, or in time.

    In each block the newest of what may fit are listed; blocks that are too old or too new are passed over.
    """
    return f"""
WITH RECURSIVE walk AS (
SELECT (%(last)s::bigint >> 14) + 1 AS n, '{{}}'::bigint[] AS ids, 0 AS many
 UNION ALL
SELECT b.n, found.ids, b.many + cardinality(found.ids)
  FROM (SELECT n, lpad(to_hex(n), 8, '0') AS name, many
          FROM (SELECT {_next(sought)} AS n, many
                  FROM walk
                 WHERE n > 0 AND many < %(most)s
                   AND (n > %(last)s::bigint >> 14
                        OR clock_timestamp() < statement_timestamp() + %(patience)s) OFFSET 0) stepped) b
 CROSS JOIN LATERAL (
       SELECT CASE WHEN b.n >= 0 THEN ARRAY(
              SELECT one.id FROM ({_fit(sought)}) one
               WHERE one.id <= %(last)s
               GROUP BY one.id ORDER BY one.id DESC LIMIT %(most)s) ELSE '{{}}' END AS ids OFFSET 0) found)
SELECT n, ids FROM walk OFFSET 1"""  # noqa: S608  of our own words alone


def _next(sought: Sought) -> str:
    """The next block, or the next in which something happened in the time that is asked for; -1 for none."""
    times = _times(sought)
    if not times:
        return "n - 1"
    within = " AND ".join(["t.revision >> 14 = older", *times])
    return f"""coalesce((
        SELECT older FROM generate_series(n - 1, 0, -1) older
         WHERE EXISTS (SELECT FROM policies_change t WHERE {within}) LIMIT 1), -1)"""  # noqa: S608


def _times(sought: Sought) -> tuple[str, ...]:
    since = ("t.at >= %(since)s",) if sought.since else ()
    return (*since, "t.at < %(until)s") if sought.until else since


def _fit(sought: Sought) -> str:
    """The numbers of the changes of a block that have all that is asked for, words in one of two places."""
    made = "lakewarden_event_facets(t.change_id, t.kind, t.lineage, t.people)"
    of_events = tuple(f"{made} && {_listed(f'%(facets{n})s::text[]')}" for n in range(len(sought.facets)))
    events, changes = of_events, _of_changes(sought)
    if not sought.text:
        return _both(events, changes)
    named = (*events, f"lakewarden_words(t.change_id, t.object_name) @@ {_WORDS}")
    reasoned = (*changes, f"lakewarden_words(t.revision, t.reason) @@ {_WORDS}")
    return f"({_both(named, changes)}) UNION ALL ({_both(events, reasoned)})"


def _of_changes(sought: Sought) -> tuple[str, ...]:
    times = _times(sought)
    conditions = ("t.revision >> 14 = b.n", *times) if times else ()
    made = "lakewarden_change_facets(t.revision, t.actor)"
    return (f"{made} && {_listed('ARRAY[%(actor)s]')}", *conditions) if sought.actor else conditions


def _both(events: tuple[str, ...], changes: tuple[str, ...]) -> str:
    """Changes that fit and have an event that fits; of what is many in a block, the rows are not read.

    Then the other alone narrows enough, and whoever judges the rows does the rest.  Events are counted where
    the changes are more than some, and these to their end where the events are, too.
    """
    if not events:
        return _changes(changes or ("t.revision >> 14 = b.n",))
    if not changes:
        return _events(events)
    # of one set of facets, which is what may be seen, most is seen by most who ask
    some = SOME if len(events) > 1 else MANY - 1
    few = f"c.many < {MANY} AND e.many BETWEEN 1 AND {MANY - 1}"
    return f"""
       SELECT fit.id FROM (SELECT {_many(_changes(changes), some + 1)} AS upto OFFSET 0) least
        CROSS JOIN LATERAL (
              SELECT CASE WHEN least.upto > {some} THEN {_many(_events(events), MANY)} ELSE {MANY} END AS many
              OFFSET 0) e
        CROSS JOIN LATERAL (
              SELECT CASE WHEN e.many BETWEEN {some + 1} AND {MANY - 1} THEN {_many(_changes(changes), MANY)}
                          ELSE {MANY} END AS many
              OFFSET 0) c
        CROSS JOIN LATERAL (
              ({_changes(changes)} AND e.many = {MANY} AND t.revision + 0 <= %(last)s
                ORDER BY id DESC LIMIT %(most)s)
              UNION ALL {_events(events)} AND e.many BETWEEN 1 AND {MANY - 1} AND c.many = {MANY}
              UNION ALL ({_changes(changes)} AND {few} INTERSECT {_events(events)} AND {few})) fit"""  # noqa: S608


def _many(rows: str, most: int) -> str:
    """How many of a block, counted no further than that."""
    return f"(SELECT count(*) FROM ({rows} LIMIT {most}) listed)"  # noqa: S608


def _events(conditions: tuple[str, ...]) -> str:
    return f"SELECT t.change_id AS id FROM policies_event t WHERE {' AND '.join(conditions)}"  # noqa: S608


def _changes(conditions: tuple[str, ...]) -> str:
    # no index knows this number, so that none is read from its end to have them in order
    return f"SELECT t.revision + 0 AS id FROM policies_change t WHERE {' AND '.join(conditions)}"  # noqa: S608


def _listed(array: str) -> str:
    """Facets behind the name of the block, as the index has them."""
    return f"string_to_array(b.name || array_to_string({array}, ' ' || b.name), ' ')"


_QUERY = "regexp_replace(to_tsquery('pg_catalog.simple', %(words)s)::text, '<[^>]*>', '&', 'g')"
_WORDS = rf"regexp_replace({_QUERY}, '''([^'']+)''', '''' || b.name || '\1''', 'g')::tsquery"
"""Each word behind the name of the block; that some follow one another is not known to the index."""
