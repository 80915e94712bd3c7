"""Sources are read again each night, and whose things are there becomes a suggestion here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from policies.errors import Invalid, Refused
from policies.models import Backend, BackendFinding, Discovery, Event, FoundOwner, Ownership
from policies.sync import worker
from policies.sync.discovery import discoveries, owners
from policies.sync.runs import nightly
from tests.factories import acting, admit, the
from tests.sync.conftest import Source, discover_now

MIDDAY = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def read_long_ago(row: Backend, **values: object) -> Backend:
    Backend.objects.filter(pk=row.pk).update(
        **{"read_at": MIDDAY - timedelta(days=2), "read_nightly": True, **values}
    )
    row.refresh_from_db()
    return row


@pytest.mark.parametrize(
    ("values", "waits", "due"),
    [
        ({}, False, True),
        ({"read_at": None}, False, False),
        ({"read_at": MIDDAY}, False, False),
        ({"read_nightly": False}, False, False),
        ({"state": "paused"}, False, False),
        ({}, True, False),
    ],
    ids=["read before", "never read", "read since", "switched off", "paused", "waits to be read"],
)
def test_what_is_read_again_tonight(governed: Backend, values: dict, waits: bool, due: bool) -> None:
    row = read_long_ago(governed, **values)
    if waits:
        Discovery.objects.create(backend=row, by="somebody")
    assert nightly.unread(MIDDAY) == ([row.pk] if due else [])


def test_a_night_brings_what_is_new_and_tells_what_is_gone(governed: Backend, source: Source) -> None:
    source.run("CREATE TABLE stock.boxes (id int PRIMARY KEY)")
    source.run("DROP TABLE sales.customers")
    now = timezone.now()
    Backend.objects.filter(pk=governed.pk).update(read_at=now - timedelta(days=2))
    [asked] = discoveries.ask_nightly(now)
    discoveries.run_waiting()
    asked.refresh_from_db()
    assert (asked.error, asked.added, asked.vanished) == ("", 1, 1)
    assert the("table", "shop.stock.boxes")
    assert the("table", "shop.sales.customers")  # told, not closed
    made = Event.objects.get(kind="object.registered", object_name__endswith="boxes")
    assert made.change.actor == "system"
    worker.look(governed, whole=True)
    gone = BackendFinding.objects.filter(kind="unknown", place="sales.customers")
    assert gone.exists()
    assert discoveries.ask_nightly(timezone.now()) == []  # once a night


def test_only_who_may_connect_says_whether_it_is_read_each_night(governed: Backend) -> None:
    with pytest.raises(Refused):
        discoveries.set_nightly(governed, by=acting("ana"), on=False)
    discoveries.set_nightly(governed, by=acting("marek"), on=False)
    governed.refresh_from_db()
    assert not governed.read_nightly
    assert Event.objects.filter(kind="backend.read_nightly").exists()


def test_whose_things_are_there_is_a_suggestion_that_is_taken_over_by_a_decision(
    governed: Backend, source: Source
) -> None:
    admit(the("metalake"), "mia")
    for what in ("SCHEMA stock", "TABLE stock.items", "TABLE sales.orders"):
        source.run(f"ALTER {what} OWNER TO mia")
    before = Ownership.objects.count()
    discover_now(governed)
    assert Ownership.objects.count() == before
    suggestions = {
        suggestion.name: (suggestion.objects, suggestion.left, suggestion.who and suggestion.who.name)
        for suggestion in owners.suggestions(governed, 9)
    }
    assert suggestions["mia"] == (3, 2, "mia")  # what lies in mia's schema goes with it
    assert suggestions["postgres"][2] is None
    with pytest.raises(Invalid, match="Nobody called postgres"):
        owners.adopt(governed, "postgres", by=acting("marek"))
    with pytest.raises(Refused):
        owners.adopt(governed, "mia", by=acting("ana"))
    assert owners.adopt(governed, "mia", by=acting("marek"), reason="theirs since the move") == 2
    held = Ownership.objects.open().filter(owner__name="mia").values_list("securable", flat=True)
    assert {*held} == {the("schema", "shop.stock").id, the("table", "shop.sales.orders").id}
    assert {suggestion.name: suggestion.left for suggestion in owners.suggestions(governed, 9)}["mia"] == 0
    source.run("ALTER TABLE sales.orders OWNER TO postgres")
    discover_now(governed)
    assert FoundOwner.objects.get(securable=the("table", "shop.sales.orders").id).name == "postgres"
