"""Words in the record: what has them in its reason or in an object's name is found, the newest first."""

from __future__ import annotations

import re

import pytest

from catalog.nodes import Node
from policies.models import Change, Counter, Event
from policies.record import history
from policies.record import search as record_search
from policies.record.history import Filter
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, acting, the, under

REASONS = ("Yearly closing", "as asked", "for the yearly audit", "", "ticket OPS-12 asked", "closing")


TEXTS = ("yearly", "YEAR", "clos yearly", "asked", "orders", "sales.old", "ops 12", "nowhere", "y c")


@pytest.fixture
def told(shop: Node) -> Node:
    """Twelve grants on three tables, with six reasons by turns."""
    schema = the("schema", "shop.sales")
    tables = [the("table", "shop.sales.orders"), *under(schema, "table", "yearly", "old_asks")]
    places = [(item, who) for who in ("ana", "mia", "carl", "olivia") for item in tables]
    for number, (table, who) in enumerate(places):
        wish = GrantRequest(table, (a_person(who),), ("SELECT_TABLE",), way=False)
        grants.add(wish, by=acting("marek"), reason=REASONS[number % 6])
    return shop


def found(root: Node, text: str, before: int | None = None, limit: int = 50) -> list[int]:
    seen = history.sight(a_person("marek"), [root])
    page = history.page(Filter(text=text), seen, before=before, limit=limit)
    return [entry.change.revision for entry in page.entries]


def plainly(text: str, before: int | None = None, limit: int = 50) -> list[int]:
    """The same by reading every change."""
    wanted = [word.lower() for word in re.findall(r"[^\W_]+", text)]

    def has(text: str) -> bool:
        words = re.findall(r"[^\W_]+", text.lower())
        return all(any(word.startswith(item) for word in words) for item in wanted)

    rows = Change.objects.filter(revision__lt=before) if before else Change.objects.all()
    names: dict[int, list[str]] = {}
    for event in Event.objects.exclude(lineage=[]):  # the site's own is not for the owner of a realm
        names.setdefault(event.change_id, []).append(event.object_name)
    hits = [
        row.revision
        for row in rows.order_by("-revision")
        if row.revision in names and (has(row.reason) or any(map(has, names[row.revision])))
    ]
    return hits[:limit]


@pytest.mark.parametrize("newest", [record_search.NEWEST, 5])
def test_words_are_found_wherever_they_stand(
    told: Node, monkeypatch: pytest.MonkeyPatch, newest: int
) -> None:
    monkeypatch.setattr(record_search, "NEWEST", newest)
    later = Counter.objects.get().revision - 4
    for text in TEXTS:
        assert found(told, text) == plainly(text), text
        assert found(told, text, before=later, limit=3) == plainly(text, before=later, limit=3), text


def test_some_are_there_to_be_found(told: Node) -> None:
    many = {"yearly": 9, "YEAR": 9, "clos yearly": 2, "asked": 4, "orders": 5, "sales.old": 5}
    assert {text: len(plainly(text)) for text in TEXTS} == many | {"ops 12": 2, "nowhere": 0, "y c": 2}


def test_a_change_is_told_whole_for_its_reason_and_in_part_for_a_name(told: Node) -> None:
    seen = history.sight(a_person("marek"), [told])
    (fresh,) = under(the("schema", "shop.sales"), "table", "fresh")
    grants.add(
        GrantRequest(fresh, (a_person("ana"), a_person("mia")), ("SELECT_TABLE",)),
        by=acting("marek"),
        reason="soon",
    )
    (whole,) = history.page(Filter(text="soon"), seen).entries
    named = history.page(Filter(text="fresh"), seen).entries[0]
    assert whole.change == named.change
    assert all("fresh" in line.event.object_name for line in named.lines)
    assert len(named.lines) < len(whole.lines)


def test_a_text_without_words_finds_nothing(told: Node) -> None:
    assert found(told, "...") == []
