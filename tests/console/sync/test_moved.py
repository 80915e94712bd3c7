"""What was moved in a source is told with the uses that the move refuses, as nobody could be asked before."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from catalog.queries import node
from policies.models import Backend, Discovery
from policies.sync.discovery import discoveries
from tests.factories import a_use, acting, the
from tests.sync.conftest import Source

Enter = Callable[[str], Client]


def reading(row: Backend) -> Discovery:
    discoveries.ask(row, by=acting("marek"))
    discoveries.run_waiting()
    return Discovery.objects.latest("pk")


def page(client: Client, row: Backend) -> str:
    return " ".join(client.get(f"/sync/{row.pk}/discover").content.decode().split())


@pytest.fixture
def moved(governed: Backend, source: Source) -> Backend:
    """Mia reads schema sales, not stock; orders, which Mia used, moved there."""
    a_use("mia", the("table", "shop.sales.orders"))
    source.run("ALTER TABLE sales.orders SET SCHEMA stock; ALTER TABLE sales.customers RENAME TO clients")
    return governed


def test_uses_that_a_move_refuses_are_named_where_it_was_read(moved: Backend, signed_in: Enter) -> None:
    read = reading(moved)
    assert (read.error, read.renamed, read.moved) == ("", 2, 1)
    shown = page(signed_in("marek"), moved)
    assert "1 object was moved there to another place" in shown
    assert "<strong>mia</strong>" in shown and "could no longer read shop.stock.orders" in shown
    assert "Usage is reported for 1 of" in shown
    assert "could no longer read" not in page(signed_in("mia"), moved)


def test_the_next_reading_tells_of_moves_no_more(moved: Backend, signed_in: Enter) -> None:
    reading(moved)
    assert (reading(moved).moved, Discovery.objects.latest("pk").replays) == (0, [])
    assert "could no longer read" not in page(signed_in("marek"), moved)


def test_a_rename_alone_is_no_move(governed: Backend, source: Source) -> None:
    a_use("mia", the("table", "shop.sales.orders"))
    source.run("ALTER TABLE sales.orders RENAME TO purchases; ALTER SCHEMA sales RENAME TO sold")
    read = reading(governed)
    assert (read.error, read.renamed, read.moved, read.replays) == ("", 2, 0, [])


def test_what_is_kept_of_a_move_names_nobody(moved: Backend) -> None:
    """The numbers are read under the names that people and objects have by then."""
    [outcome] = reading(moved).replays
    assert "mia" not in str(outcome) and outcome["refused"][0] == 1
    assert node(outcome["refused"][1][0][1]) is not None


def test_taking_over_an_owner_names_what_the_one_before_could_no_longer_do(
    governed: Backend, source: Source, signed_in: Enter
) -> None:
    source.run("ALTER SCHEMA sales OWNER TO mia")
    assert reading(governed).error == ""
    a_use("olivia", the("table", "shop.sales.orders"))
    answer = signed_in("marek").get(f"/sync/{governed.pk}/discover/owner?name=mia")
    shown = " ".join(answer.content.decode().split())
    assert "<strong>olivia</strong>" in shown and "could no longer read shop.sales.orders" in shown


def test_taking_over_an_owner_says_why_nothing_is_left(governed: Backend, signed_in: Enter) -> None:
    answer = signed_in("marek").get(f"/sync/{governed.pk}/discover/owner?name=mia")
    shown = " ".join(answer.content.decode().split())
    assert "mia owns here what mia owns in" in shown and "Nothing is left to take over." in shown


def test_objects_that_take_each_others_places_are_moved_as_one(
    governed: Backend, source: Source, signed_in: Enter
) -> None:
    source.run("CREATE TABLE stock.orders (id int)")
    assert reading(governed).error == ""
    a_use("mia", the("table", "shop.sales.orders"))
    source.run(
        "ALTER TABLE sales.orders RENAME TO between; ALTER TABLE sales.between SET SCHEMA stock;"
        "ALTER TABLE stock.orders SET SCHEMA sales; ALTER TABLE stock.between RENAME TO orders"
    )
    read = reading(governed)
    assert (read.error, read.renamed, read.moved) == ("", 2, 2)
    assert "could no longer read shop.stock.orders" in page(signed_in("marek"), governed)
