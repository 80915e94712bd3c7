"""Finding objects by a part of their name: the likeliest first, in pages, and nothing hidden."""

from __future__ import annotations

import pytest

from accounts import people
from catalog.nodes import Node
from policies.decisions import slices
from policies.decisions.lookups.object_search import After, Finder
from tests.factories import the, under

TYPES = ("catalog", "schema", "table", "view")


def found(
    root: Node, text: str, who: str = "marek", limit: int = 50, after: After | None = None
) -> list[str]:
    finder = Finder(slices.current(people.ensure("user", who), root), root, text)
    return [hit.place.name for hit in finder.find(limit, types=TYPES, after=after)]


@pytest.fixture
def shelf(shop: Node) -> Node:
    names = ("Orders_2024", "open_orders", "orders.old", "reorders", "straße", "50%_off", "under_score")
    under(the("schema", "shop.stock"), "table", *names)
    return shop


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("orders", ["orders", "orders.old", "Orders_2024", "open_orders", "reorders"]),
        ("ORDERS", ["orders", "orders.old", "Orders_2024", "open_orders", "reorders"]),
        ("rs_2", ["Orders_2024"]),
        ("sales.ord", ["orders"]),
        ("shop.sales.ord", ["orders"]),
        ("demo.shop.sales.orders", ["orders"]),
        ("stock.ord", ["orders.old", "Orders_2024", "open_orders", "reorders"]),
        ("nowhere.ord", []),
        ("orders.old", ["orders.old"]),
        ("sales.", ["customers", "orders", "refunds", "top"]),
        ("s", ["sales", "shop", "stock", "straße"]),
        ("straße", ["straße"]),
        ("%", ["50%_off"]),
        ("r_s", ["under_score"]),
        ("\0", []),
        ("", None),
    ],
)
def test_names_that_begin_so_come_before_those_that_hold_it(
    text: str, names: list[str] | None, shelf: Node
) -> None:
    got = found(shelf, text)
    assert got[: len(names)] == names if names else (got != []) is (names is None)


def test_pages_of_a_search_follow_on_one_another(shelf: Node) -> None:
    finder = Finder(slices.current(people.ensure("user", "marek"), shelf), shelf, "o")
    whole = [hit.place.pk for hit in finder.find(100, types=TYPES)]
    paged: list[int] = []
    after = None
    while hits := finder.find(2, types=TYPES, after=after):
        paged += [hit.place.pk for hit in hits]
        after = hits[-1].after
    assert paged == whole
    assert len(set(whole)) == len(whole) > 6


@pytest.mark.parametrize(
    ("who", "names"),
    [("marek", ["orders"]), ("olivia", ["orders"]), ("mia", ["orders"]), ("ana", []), ("carl", [])],
)
def test_what_one_may_not_see_is_not_found(who: str, names: list[str], shop: Node) -> None:
    assert found(shop, "order", who) == names
    assert found(shop, "sales.order", who) == names
