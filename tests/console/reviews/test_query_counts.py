"""The rooms of a review ask the database as often for a hundred rows as for three, and stay light."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from accounts.people import make_account
from catalog.nodes import Node
from policies.reviews import completion, management
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.test_query_counts import count, ledger
from tests.factories import a_person, acting, admit, the
from tests.reviews.world import a_review, acts, decides, rows

PAGES = {
    "reviews": "/reviews",
    "starting a review": "/reviews/new?on={schema}",
    "deciding by risk": "/reviews/{review}",
    "deciding by person": "/reviews/{review}?view=person",
    "deciding by object": "/reviews/{review}?view=object&q=orders",
    "rows decided": "/reviews/{review}?only=decided",
    "one row of a review": "/reviews/{review}/rows/{row}",
    "how a review goes": "/reviews/{review}/progress",
    "passing rows on": "/reviews/{review}/pass?who=user:marek",
    "result of a review": "/reviews/{ended}/result",
    "every row of a result": "/reviews/{ended}/result?show=all",
    "exceptions of a review": "/reviews/{ended}/result?show=left",
    "a review on paper": "/reviews/{ended}/print",
}


def a_shop_with(many: int) -> dict[str, int]:
    """So many people with a direct grant; a review of it half decided, and one that is over."""
    for name in ("olivia", "marek"):
        make_account(name)
    orders, people = the("table", "shop.sales.orders"), tuple(a_person(f"n{at:03}") for at in range(many))
    admit(the("metalake"), *(person.name for person in people))
    grants.add(GrantRequest(orders, people, ("SELECT_TABLE", "MODIFY_TABLE"), way=False), by=acting("olivia"))
    ended = a_review()
    for name in list(rows(ended))[:2]:
        decides("olivia", rows(ended)[name], "remove")
    management.end(ended, by=acts("olivia"))
    for _ in range(2):
        completion.work(ended)
        ended.refresh_from_db()
    review = a_review()
    row = rows(review)[f"n{many - 1:03} shop.sales.orders"]
    decides("olivia", row, "reduce", takes=("MODIFY_TABLE",))
    return {
        "review": review.pk,
        "row": row.number,
        "ended": ended.pk,
        "schema": the("schema", "shop.sales").id,
    }


@pytest.mark.parametrize("many", [5, 60])
def test_the_ledger_holds_for_few_rows_and_for_many(
    many: int, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    numbers, olivia = a_shop_with(many), signed_in("olivia")
    assert {name: count(olivia, page.format(**numbers)) for name, page in PAGES.items()} == ledger(PAGES)
