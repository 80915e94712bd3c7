"""A page found by the index, from block to block, is the page that reading everything gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import combinations, product
from typing import Any

import pytest
from django.db import connection

from accounts.models import Principal
from catalog.nodes import Node
from policies.models import Change, Counter, Event
from policies.record import audit, history
from policies.record import search as record_search
from policies.record.history import Filter, Sight
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, acting, owned, the, under

BLOCK = 1 << 14
REASONS = ("yearly closing", "as asked", "")


@pytest.fixture(params=[0, BLOCK - 25], ids=["in one block", "over two blocks"])
def told(request: pytest.FixtureRequest, shop: Node) -> Node:
    """Grants and their ends on three tables, by two owners, which begin wherever the record has got to."""
    if request.param:
        Counter.objects.update(revision=request.param)
    schema = the("schema", "shop.sales")
    tables = [the("table", "shop.sales.orders"), *under(schema, "table", "yearly", "old_asks")]
    owned(schema, "user:ana")
    for number, (table, who) in enumerate(product(tables, ("mia", "carl", "olivia"))):
        by = acting(("marek", "ana")[number % 2])
        wish = GrantRequest(table, (a_person(who),), ("SELECT_TABLE",), way=False)
        grants.add(wish, by=by, reason=REASONS[number % 3])
        if number % 2:
            gone = ("SELECT_TABLE",)
            grants.remove(table, [a_person(who)], gone, by=by, reason=REASONS[(number + 1) % 3])
    return shop


def moments() -> list[datetime]:
    """When the first of the changes was made, when one in the middle, and when the last."""
    at = list(Change.objects.order_by("revision").values_list("at", flat=True))
    return [at[0], at[len(at) * 3 // 4], at[-1]]


def alone() -> list[dict[str, Any]]:
    """Everything that can be asked for."""
    orders, mia, ana = the("table", "shop.sales.orders"), a_person("mia"), a_person("ana")
    _, middle, last = moments()
    return [
        {"object": the("schema", "shop.sales")},
        {"object": orders},
        {"object": orders, "from_above": True},
        {"person": mia},
        {"actor": ana},
        {"kinds": ("grant.removed",)},
        {"kinds": ("grant.added", "grant.removed")},
        {"since": middle},
        {"until": middle},
        {"since": middle, "until": last},
        {"text": "yearly"},
        {"text": "old asks"},
        {"text": "nowhere"},
    ]


Together = Callable[[], list[Filter]]
SOME = ((3, 4), (3, 5), (4, 10), (3, 10), (0, 8), (5, 8), (1, 11), (4, 9), (5, 10), (8, 10))


@pytest.fixture(params=[SOME, pytest.param((), marks=pytest.mark.slow)], ids=["some pairs", "every pair"])
def asked(request: pytest.FixtureRequest) -> Together:
    """Everything alone, and some of it together, or all that can be."""

    def listed() -> list[Filter]:
        every = alone()
        pairs = request.param or combinations(range(len(every)), 2)
        both = [
            {**every[first], **every[other]}
            for first, other in pairs
            if every[first].keys().isdisjoint(every[other])
        ]
        return [Filter(**values) for values in ({}, *every, *both)]

    return listed


def sights(root: Node) -> Sequence[Sight]:
    """Who sees the realm and the site besides, and who one table and what concerns themselves."""
    nobody = Principal(pseudonym="nobody", kind="user", name="nobody")
    return [
        Sight(nobody, (root.id,), site=True),
        Sight(a_person("mia"), (the("table", "shop.sales.orders").id,), site=False),
    ]


def plainly(filter_: Filter, seen: Sight, before: int | None, limit: int) -> list[int]:
    """The same without the index: all changes judged at once by the conditions themselves."""
    events: object = filter_.events().filter(seen.covers())
    last = before - 1 if before else Counter.objects.get().revision
    words = history.beginning_so(filter_.text)
    changes = record_search.all_within(filter_.changes(), events, words, last, limit)  # type: ignore[arg-type]
    return [change.revision for change in changes.changes]


@pytest.mark.parametrize(
    "bounds", [{"NEWEST": 2, "FIRST": 1, "SOME": 0, "MANY": 1}, {"NEWEST": 4, "FIRST": 3, "SOME": 1}]
)
def test_what_is_found_by_the_index_is_what_is_there(
    told: Node, asked: Together, monkeypatch: pytest.MonkeyPatch, bounds: dict[str, int]
) -> None:
    patient = dict.fromkeys(("PATIENCE", "GOING_ON"), timedelta(hours=1))
    for name, value in {**bounds, **patient}.items():
        monkeypatch.setattr(record_search, name, value)
    later = Counter.objects.get().revision - 5
    seen_at_all = 0
    for filter_, seen in product(asked(), sights(told)):
        before, limit = (later, 3) if seen.site else (None, 50)
        page = history.page(filter_, seen, before=before, limit=limit)
        wanted = plainly(filter_, seen, before, limit + 1)
        assert [entry.change.revision for entry in page.entries] == wanted[:limit], filter_
        assert (page.next is not None) == (len(wanted) > limit), filter_
        seen_at_all += len(wanted)
    assert seen_at_all > 100


def test_a_search_that_ends_early_says_where_and_goes_on(
    told: Node, asked: Together, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty = dict.fromkeys(("PATIENCE", "GOING_ON"), timedelta())
    for name, value in {"NEWEST": 2, "FIRST": 2, "GROWTH": 1, **hasty}.items():
        monkeypatch.setattr(record_search, name, value)
    early = 0
    for filter_, seen in product(asked(), sights(told)):
        page, shown = history.page(filter_, seen, limit=4), []
        while True:
            shown += [entry.change.revision for entry in page.entries]
            early += page.searched is not None
            assert page.searched is None or (page.next is not None and len(page.entries) <= 4)
            if page.next is None:
                break
            page = history.page(filter_, seen, before=page.next, limit=4)
        assert shown == plainly(filter_, seen, None, 500), filter_
    assert early > 20


def test_a_word_of_any_length_is_found_and_breaks_nothing(told: Node) -> None:
    long = "x" * 1900
    wish = GrantRequest(the("table", "shop.sales.orders"), (a_person("ana"),), ("SELECT_TABLE",), way=False)
    grants.add(wish, by=acting("marek"), reason=f"for {long}, soon")
    seen = Sight(Principal(pseudonym="nobody", kind="user", name="nobody"), (told.id,), site=False)
    for text in (long[:1500], "soon", f"{long} soon"):
        (entry,) = history.page(Filter(text=text), seen).entries
        assert entry.change.revision == Counter.objects.get().revision
    assert Event.objects.filter(change=entry.change).exists()


def test_a_page_is_planned_for_what_is_asked_however_often_it_was_asked(told: Node) -> None:
    seen = Sight(Principal(pseudonym="nobody", kind="user", name="nobody"), (told.id,), site=False)
    kept = planned_once()
    for _ in range(8):
        history.page(Filter(text="nowhere"), seen)
        audit.trail(audit.AuditFilter(told, actor="seldom"), seen, limit=10)
    assert planned_once() == kept
    for _ in range(8):  # as everything else is
        Change.objects.filter(revision=0).first()
    assert planned_once() > kept


def planned_once(about: str = "policies_change") -> int:
    """How many statements about a table, changes unless another is named, have one plan for all values."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return sum(about in statement for (statement,) in cursor.fetchall())
