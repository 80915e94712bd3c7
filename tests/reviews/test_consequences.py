"""What taking access away really does, before anybody does it."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.nodes import Node
from policies.models import Review
from policies.reviews import consequences
from policies.reviews.consequences import Consequence
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import acting, admit, the
from tests.reviews.world import a_review, can_sign_in, person, rows

ORDERS = "shop.sales.orders"


@pytest.fixture
def review(shop: Node) -> Review:
    """Mia reads orders as an analyst, and directly; Ana directly alone; Carl is denied."""
    can_sign_in("marek", "olivia")
    for name in ("ana", "mia"):
        grants.add(
            GrantRequest(the("table", ORDERS), (person(name),), ("SELECT_TABLE",)), by=acting("olivia")
        )
    return a_review(the("metalake"), by="marek")


def of(review: Review, name: str) -> Consequence:
    row = rows(review)[name]
    return consequences.of(review, [row])[row.pk]


def told(found: Consequence) -> tuple[set[tuple[str, str]], set[str]]:
    loses = {(item.person.name, action) for item in found.loses for action in item.actions}
    return loses, {keep.person.name for keep in found.keeps}


def test_who_has_no_other_path_loses_it(review: Review) -> None:
    assert told(of(review, f"ana {ORDERS}")) == ({("ana", "read")}, set())


def test_who_has_another_path_keeps_it_and_the_row_of_that_path_is_named(review: Review) -> None:
    consequence = of(review, f"mia {ORDERS}")
    assert told(consequence) == (set(), {"mia"})
    assert consequence.nothing
    [kept] = consequence.keeps
    assert [station.name for rule in kept.paths for station in rule.via] == ["analysts", "sales_read"]
    named = {row.pk: name for name, row in rows(review).items()}
    assert [named[row.pk] for row in consequence.rows] == ["group:analysts sales_read"]


def test_a_role_is_many_people(review: Review) -> None:
    consequence = of(review, "group:analysts sales_read")
    lost = {item.person.name for item in consequence.loses}
    assert lost == {"mia", "carl"}  # use of the schema; Mia keeps nothing within reach


def test_a_denial_that_goes_opens_something(review: Review) -> None:
    consequence = of(review, "role:no_contractors shop.sales")
    assert not consequence.loses
    consequence = of(review, "carl no_contractors")
    assert {item.person.name for item in consequence.loses} == set()


def test_a_page_takes_the_same_queries_however_many_rows_it_has(review: Review, shop: Node) -> None:
    names = [f"p{number}" for number in range(8)]
    admit(shop, *names)
    more = tuple(person(name) for name in names)
    grants.add(GrantRequest(the("table", ORDERS), more, ("SELECT_TABLE",)), by=acting("olivia"))
    counts = []
    for item in (review, a_review(the("metalake"), by="marek")):
        every = list(rows(item).values())
        with CaptureQueriesContext(connection) as queries:
            consequences.of(item, every)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 14


def test_what_somebody_ended_meanwhile_is_told_to_be_gone(review: Review) -> None:
    assert not of(review, f"ana {ORDERS}").gone
    grants.remove(the("table", ORDERS), [person("ana")], ["SELECT_TABLE"], by=acting("olivia"))
    assert of(review, f"ana {ORDERS}").gone
