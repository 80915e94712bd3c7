"""What is found in the archive is what the live history would have found, and few of its groups are read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from accounts.models import Principal
from catalog.nodes import Node
from policies.models import Change, Event
from policies.record import history
from policies.record.archive import files as archive_files
from policies.record.archive import search as archive_search
from policies.record.archive.search import Place
from policies.record.history import Filter, Sight
from tests.factories import a_person, the
from tests.policies.test_archiving import moved, shop, top

__all__ = ["shop", "top"]  # fixtures
pytestmark = pytest.mark.django_db


def asked(every: int = 1) -> list[Filter]:
    """Everything alone, and any two together, or every third pair, say."""
    orders, middle = the("table", "shop.sales.orders"), _middle()
    alone: list[dict[str, Any]] = [
        {"object": the("schema", "shop.sales")},
        {"object": orders},
        {"person": a_person("ana")},
        {"actor": a_person("marek")},
        {"kinds": ("grant.added", "grant.removed")},
        {"since": middle},
        {"until": middle},
        {"text": "refunds"},
        {"text": "YEAR clos"},
        {"text": "nowhere"},
        {"text": "..."},
    ]
    pairs = [{**first, **other} for first, other in combinations(alone, 2)][::every]
    return [Filter(**values) for values in ({}, *alone, *pairs)]


def _middle() -> datetime:
    times = list(Change.objects.order_by("revision").values_list("at", flat=True))
    return times[len(times) // 2]


def sights(root: Node) -> list[Sight]:
    """Who sees all of it, who one table and what concerns themselves, and who nothing."""
    nobody = Principal(pseudonym="nobody", kind="user", name="nobody")
    orders = the("table", "shop.sales.orders").id
    return [
        Sight(nobody, (root.id,), site=True),
        Sight(a_person("mia"), (orders,), site=False),
        Sight(nobody, (), site=False),
    ]


def live(filter_: Filter, seen: Sight, realm: int) -> list[Place]:
    """The events that a page of the live history tells, newest first."""
    entries = history.page(filter_, seen, limit=500).entries
    events = [line.event for entry in entries if entry.change.realm == realm for line in entry.lines]
    return sorted(((event.change_id, event.number) for event in events), reverse=True)


def archived(realm: int, filter_: Filter, seen: Sight, limit: int = 500) -> Iterator[Place]:
    """The same of the archive, page by page."""
    before = None
    while True:
        events = archive_search.search(realm, filter_, seen, before=before, limit=limit)
        yield from ((event.change_id, event.number) for event in events.events)
        before = events.next
        if before is None:
            return


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_the_archive_finds_what_was_found_while_it_was_live(
    shop: Node, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    monkeypatch.setattr(archive_files, "SEARCHED", 3)
    questions = [(item, seen) for item in asked(every) for seen in sights(shop)]
    before = [live(filter_, seen, shop.realm_id) for filter_, seen in questions]
    archive = moved(shop)
    for (question, seen), wanted in zip(questions, before, strict=True):
        old = [place for place in wanted if place[0] <= archive.upto]
        assert list(archived(shop.realm_id, question, seen)) == old, question
        assert list(archived(shop.realm_id, question, seen, limit=4)) == old, question
    assert sum(map(bool, before)) > 15


def test_only_groups_are_read_in_which_something_may_fit(shop: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_files, "SEARCHED", 3)
    archive, read = moved(shop), []
    plain = archive_files.event_of
    monkeypatch.setattr(archive_files, "event_of", lambda row: read.append(row) or plain(row))
    seen = sights(shop)[0]
    for filter_, most in [
        (Filter(text="nowhere"), 0),
        (Filter(since=_middle() + timedelta(days=900)), 0),
        (Filter(kinds=("object.dropped",)), 6),
        (Filter(person=a_person("ana"), kinds=("grant.removed",)), 6),
        (Filter(), archive.events),
    ]:
        read.clear()
        events = list(archived(shop.realm_id, filter_, seen))
        assert len(events) <= len(read) <= most, filter_
    read.clear()
    archive_search.search(shop.realm_id, Filter(), seen, limit=2)
    assert len(read) == 3  # the last group alone


def test_an_archive_without_an_index_is_read_whole(shop: Node, top: Path) -> None:
    archive, seen = moved(shop), sights(shop)[0]
    events = list(archived(shop.realm_id, Filter(text="refunds"), seen))
    (top / archive.folder / archive_files.INDEX).unlink()
    assert list(archived(shop.realm_id, Filter(text="refunds"), seen)) == events != []


def test_events_of_a_few_changes_are_read_of_their_groups_alone(
    shop: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_files, "SEARCHED", 3)
    wanted = sorted(Event.objects.filter(kind="grant.removed").values_list("change", flat=True))
    archive, read = moved(shop), []
    plain = pq.ParquetFile.read_row_group
    monkeypatch.setattr(
        pq.ParquetFile, "read_row_group", lambda self, number: read.append(number) or plain(self, number)
    )
    changes = [event.change_id for event in archive_files.events_among(archive.folder, wanted)]
    assert set(changes) == set(wanted) and 0 < len(read) <= len(wanted) + 1 < archive.events / 3


def test_a_search_asks_the_database_no_more_for_a_longer_archive(
    shop: Node, django_assert_max_num_queries: Any
) -> None:
    moved(shop)
    with django_assert_max_num_queries(4):
        archive_search.search(shop.realm_id, Filter(text="yearly"), sights(shop)[0], limit=50)
