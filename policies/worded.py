"""Changes with words in their reason or in an object's name: the newest first, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.postgres.search import SearchQuery
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from policies.models import Change, Event
from policies.models.worded import NAME_WORDS, REASON_WORDS

NEWEST = 4096
"""Revisions.  Words that do not fill a page among so many are rare: the index picks them out of the rest."""
_BY_REVISION = (F("revision") + 0).desc()
"""No index knows this order, so that none is read from its end in search of words that are not there."""


@dataclass(frozen=True)
class Worded:
    """What was found: changes, newest first, and which of them have the words in their reason."""

    changes: tuple[Change, ...]
    by_reason: frozenset[int]
    words: SearchQuery

    def told(self, events: QuerySet[Event]) -> QuerySet[Event]:
        """Of a change whose reason has the words all its events; of others those that have them."""
        named = events.annotate(words=NAME_WORDS)
        return named.filter(Q(change__in=self.by_reason) | Q(words=self.words))


def newest(
    rows: QuerySet[Change], events: QuerySet[Event], words: SearchQuery, last: int, most: int
) -> Worded:
    """The newest of `rows`, up to the revision `last`, that have the words and some event among `events`.

    Two queries, or four.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:  # a plan made for all words would be a bad one for most
            cursor.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        return _newest(rows, events, words, last, most)


def _newest(
    rows: QuerySet[Change], events: QuerySet[Event], words: SearchQuery, last: int, most: int
) -> Worded:
    found: list[Change] = []
    by_reason: set[int] = set()
    for since, until in _stretches(last):
        here = rows.filter(revision__gt=since, revision__lte=until).order_by(_BY_REVISION)
        mine = events.filter(change__gt=since, change__lte=until)
        reasons = among(here.annotate(words=REASON_WORDS).filter(words=words), mine)[:most]
        names = among(here, mine.annotate(words=NAME_WORDS).filter(words=words))[:most]
        said = {change.revision: change for change in reasons}
        both = said | {change.revision: change for change in names}
        by_reason |= said.keys()
        found += [both[revision] for revision in sorted(both, reverse=True)]
        if len(found) >= most:
            break
    return Worded(tuple(found[:most]), frozenset(by_reason), words)


def _stretches(last: int) -> Iterator[tuple[int, int]]:
    """The newest stretch of the record and the rest, each after one revision up to another."""
    edge = max(0, last - NEWEST)
    yield edge, last
    if edge:
        yield 0, edge


def among(rows: QuerySet[Change], events: QuerySet[Event]) -> QuerySet[Change]:
    """Those of the changes that have one of the events."""
    return rows.filter(Exists(events.filter(change=OuterRef("pk"))))
