"""Beside the plan of a change: which reported uses it would have refused, and how much is reported at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from accounts import people
from catalog.nodes import Node
from policies.record import access_log
from policies.requests import submission
from policies.requests.needs import WantedAction
from policies.requests.submission import Asking
from policies.services import roles
from tests.factories import AUTHORITY, BY, a_person, a_use, acting, admit, the

Enter = Callable[[str], Client]


def text_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_taking_a_role_names_the_uses_that_it_would_refuse(shop: Node, signed_in: Enter) -> None:
    role = the("role", "sales_read").id
    address = f"/roles/{role}/unassign?who=group:analysts"
    quiet = text_of(signed_in("marek"), address)
    assert "No reported use" in quiet and "Usage is reported for 0 of" in quiet
    a_use("mia", the("table", "shop.sales.orders"), days=2)
    page = text_of(signed_in("marek"), address)
    assert "could no longer read shop.sales.orders" in page
    assert "Used in 1 run" in page and "Reported by nightly" in page
    a_use("mia", the("table", "shop.sales.orders"), days=200)
    assert "Used in 1 run" in text_of(signed_in("marek"), address)


def test_a_grant_names_the_refusals_that_it_would_end(shop: Node, signed_in: Enter) -> None:
    orders = the("table", "shop.sales.orders")
    access_log.refused(people.ensure("user", "ana"), "read", orders, via="console")
    page = text_of(signed_in("marek"), f"/objects/{orders.id}/grant?who=user:ana")
    assert "could read shop.sales.orders" in page and "Refused 1 time" in page


def test_a_form_that_is_not_filled_in_yet_has_no_replay(shop: Node, signed_in: Enter) -> None:
    page = text_of(signed_in("marek"), f"/objects/{the('schema', 'shop.sales').id}/owner")
    assert "Uses of the last" not in page


@pytest.mark.parametrize(
    "wanted",
    [("table", "demo/shop.sales.orders", "read"), ("role", "demo/sales_read", "hold")],
    ids=["a right", "a role"],
)
def test_a_request_names_the_refusals_that_an_approval_would_end(
    shop: Node, signed_in: Enter, wanted: tuple[str, str, str]
) -> None:
    orders, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    asked = Asking((WantedAction(*wanted),), ana, reason="For the board")
    number = submission.ask(asked, by=acting("ana")).pk
    quiet = text_of(signed_in("marek"), f"/requests/{number}/decide")
    assert "could read shop.sales.orders" not in quiet
    access_log.refused(ana, "read", orders, via="console")
    page = text_of(signed_in("marek"), f"/requests/{number}/decide")
    assert "Uses of the last" in page
    assert "could read shop.sales.orders" in page and "Refused 1 time" in page


def test_requests_decided_together_name_the_refusals_that_approving_all_would_end(
    shop: Node, signed_in: Enter
) -> None:
    ana, olivia = people.ensure("user", "ana"), signed_in("olivia")
    tables, numbers = ("shop.sales.orders", "shop.sales.refunds"), []
    for table in tables:
        reads = WantedAction("table", f"demo/{table}", "read")
        asking = Asking((reads,), ana, lasts="P7D", reason="For the board")
        numbers.append(submission.ask(asking, by=acting("ana")).pk)
    first = f"/requests/together?on={numbers[0]}"
    both = f"{first}&on={numbers[1]}"
    quiet = text_of(olivia, both)
    assert "Approve 2 requests together?" in quiet and "could read" not in quiet
    for table in tables:
        access_log.refused(ana, "read", the("table", table), via="console")
    together, alone = text_of(olivia, both), text_of(olivia, first)
    assert "Uses of the last" in together and "Usage is reported for" in together
    assert [f"could read {table}" in together for table in tables] == [True, True]
    assert [f"could read {table}" in alone for table in tables] == [True, False]


def test_behind_many_people_the_uses_come_first(shop: Node, signed_in: Enter) -> None:
    role = the("role", "sales_read")

    def order() -> tuple[int, int]:
        page = text_of(signed_in("marek"), f"/roles/{role.id}/delete")
        return page.index("could no longer read shop.sales.orders"), page.index("<strong>carl")

    a_use("mia", the("table", "shop.sales.orders"))
    uses, people_ = order()
    assert uses > people_
    for number in range(20):
        person = a_person(f"reader{number}")
        admit(shop, person.name)
        roles.assign(role, person, by=BY, authority=AUTHORITY)
    uses, people_ = order()
    assert uses < people_


def test_what_is_lost_is_said_in_german(shop: Node, signed_in: Enter) -> None:
    address = f"/roles/{the('role', 'sales_read').id}/unassign?who=group:analysts"
    answer = signed_in("marek").get(address, headers={"accept-language": "de"})
    assert "lesen für alle Tabellen in sales" in " ".join(answer.content.decode().split())
