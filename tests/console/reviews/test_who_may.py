"""Every page of a review, by who comes: who is asked, who leads it, who may read the history, and others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.test import Client

from accounts.people import make_account
from policies.services import duties, grants
from policies.services.grants import GrantRequest
from tests.console.visitors import DOOR, KEPT, misanswered
from tests.factories import AUTHORITY, BY, a_person, acting, admit, the
from tests.kept import kept
from tests.policies.conftest import make_shop
from tests.reviews.world import a_review, rows


@dataclass(frozen=True)
class Page:
    """A route with the status each visitor gets; `{review}` and `{row}` stand for numbers."""

    name: str
    address: str
    anonymous: int
    stranger: int
    member: int
    reviewer: int
    leader: int
    duty: int
    method: str = "get"


ROW = "/reviews/{review}/rows/{row}"
PAGES = (
    Page("reviews", "/reviews", DOOR, 200, 200, 200, 200, 200),
    Page("reviews_csv", "/reviews.csv", DOOR, 200, 200, 200, 200, 200),
    Page("reviews_count", "/reviews/count", DOOR, 200, 200, 200, 200, 200),
    Page("review_new", "/reviews/new", DOOR, 403, 403, 200, 200, 200),
    Page("review_new", "/reviews/new", KEPT, 403, 403, 200, 200, 200, "post"),
    Page("review", "/reviews/{review}", DOOR, 404, 404, 200, 200, 302),
    Page("review", "/reviews/{review}", KEPT, 404, 404, 302, 302, 302, "post"),
    Page("review_how", "/reviews/{review}/how", DOOR, 404, 404, 200, 200, 200),
    Page("review_pass", "/reviews/{review}/pass", DOOR, 404, 404, 200, 200, 404),
    Page("review_pass", "/reviews/{review}/pass", KEPT, 404, 404, 200, 200, 404, "post"),
    Page("review_lead", "/reviews/{review}/progress", DOOR, 404, 404, 404, 200, 200),
    Page("review_state", "/reviews/{review}/state", DOOR, 404, 404, 204, 204, 204),
    Page("review_result", "/reviews/{review}/result", DOOR, 404, 404, 200, 200, 200),
    Page("review_print", "/reviews/{review}/print", DOOR, 404, 404, 404, 200, 200),
    Page("review_csv", "/reviews/{review}/rows.csv", DOOR, 404, 404, 404, 200, 200),
    # none of them has the duty to take the history away: the leader and the reader are told so
    Page("review_evidence", "/reviews/{review}/evidence", KEPT, 404, 404, 404, 302, 302, "post"),
    Page("review_deed", "/reviews/{review}/do/extend", DOOR, 404, 404, 404, 200, 403),
    Page("review_deed", "/reviews/{review}/do/extend", KEPT, 404, 404, 404, 422, 403, "post"),
    Page("review_row", ROW, DOOR, 404, 404, 200, 200, 200),
    Page("review_row", ROW, KEPT, 404, 404, 302, 200, 200, "post"),
    Page("review_row_more", ROW + "/more", DOOR, 404, 404, 404, 404, 404),  # no choice is named
    Page("review_row_members", "/reviews/{review}/rows/{group}/members", DOOR, 404, 404, 200, 200, 200),
    Page("review_row_also", ROW + "/also", KEPT, 404, 404, 302, 404, 404, "post"),
    Page("review_row_back", ROW + "/back", KEPT, 404, 404, 404, 404, 404, "post"),  # nor a version
)
VISITORS = {
    "anonymous": "",
    "stranger": "zoe",
    "member": "ana",
    "reviewer": "olivia",
    "leader": "marek",
    "duty": "dora",
}


def make_numbers() -> dict[str, int]:
    """Marek started a review of the realm; Olivia is asked about sales, and Marek about the rest."""
    shop = make_shop()
    for name in ("olivia", "marek", "dora"):
        make_account(name)
    a_person("zoe")
    admit(shop, "dora")
    duties.give(shop, "view_history", a_person("dora"), by=BY, authority=AUTHORITY)
    grants.add(
        GrantRequest(the("table", "shop.sales.orders"), (a_person("ana"),), ("SELECT_TABLE",)),
        by=acting("olivia"),
    )
    review = a_review(shop, by="marek")
    review_rows = rows(review)
    direct, group = review_rows["ana shop.sales.orders"], review_rows["group:analysts sales_read"]
    return {"review": review.pk, "row": direct.number, "group": group.number}


numbers = kept(make_numbers)


@pytest.mark.parametrize("visitor", VISITORS)
def test_each_page_answers_each_visitor(
    visitor: str, numbers: dict[str, int], signed_in: Callable[[str], Client]
) -> None:
    assert not misanswered(PAGES, visitor, VISITORS, signed_in, numbers)
