"""What a review is about: everything there is at its start revision, written down once."""

from __future__ import annotations

import pytest

from catalog.nodes import Node
from policies.models import ReviewRow, ReviewSeat
from policies.reviews import population
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import acting, admit, the
from tests.reviews.world import a_review, can_sign_in, person, rows


@pytest.fixture
def given(shop: Node) -> Node:
    """Beside the analysts Ana reads orders and Tom writes them, each directly."""
    can_sign_in("marek", "olivia", "ana", "mia", "carl")
    admit(shop, "tom")
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    grants.add(GrantRequest(orders, (person("tom"),), ("SELECT_TABLE", "MODIFY_TABLE")), by=acting("olivia"))
    return shop


def test_an_owner_of_a_part_reviews_what_is_given_directly_and_what_roles_say(given: Node) -> None:
    assert set(rows(a_review())) == {
        "ana shop.sales.orders",
        "tom shop.sales.orders",
        "ana shop.sales",
        "tom shop.sales",
        "role:sales_read shop.sales",
        "role:no_contractors shop.sales",
    }


def test_the_owner_of_the_realm_reviews_who_holds_which_role(given: Node) -> None:
    review = a_review(the("metalake"), by="marek")
    assert review.state == "open"
    assert set(rows(review)) == {
        "ana shop.sales.orders",
        "tom shop.sales.orders",
        "ana shop.sales",
        "tom shop.sales",
        "group:analysts sales_read",
        "group:staff browse",
        "carl no_contractors",
        "role:no_contractors shop.sales",
    }
    assert review.counts["rows"] == 8


def test_what_comes_later_is_not_in_it(given: Node) -> None:
    review = a_review(built=False)
    grants.add(
        GrantRequest(the("table", "shop.sales.refunds"), (person("ana"),), ("SELECT_TABLE",)),
        by=acting("olivia"),
    )
    grants.remove(the("table", "shop.sales.orders"), [person("ana")], ["SELECT_TABLE"], by=acting("olivia"))

    population.build(review)
    assert "ana shop.sales.refunds" not in rows(review)
    assert "ana shop.sales.orders" in rows(review)


def test_owners_are_asked_but_never_about_their_own_access(given: Node) -> None:
    grants.add(
        GrantRequest(the("schema", "shop.sales"), (person("olivia"),), ("CREATE_TABLE",)), by=acting("marek")
    )
    by_key = rows(a_review(the("catalog", "shop"), by="marek"))
    asked = {
        name: sorted(ReviewSeat.objects.filter(desk=row.desk).values_list("reviewer__name", flat=True))
        for name, row in by_key.items()
    }
    assert asked["ana shop.sales.orders"] == ["olivia"]
    assert asked["olivia shop.sales"] == ["marek"]


def test_a_row_says_how_far_it_reaches(given: Node) -> None:
    by_key = rows(a_review())
    assert by_key["tom shop.sales.orders"].risks == ["closed", "denial", "write"]
    assert by_key["ana shop.sales.orders"].risks == ["denial"]
    assert by_key["role:no_contractors shop.sales"].effect == "deny"
    assert all(row.rank in ReviewRow.Rank.values for row in by_key.values())
