"""Every page of requests, by who comes: a request is seen by the people it concerns and by its approvers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from accounts import people
from policies.requests import submission
from policies.requests.needs import WantedAction
from policies.requests.submission import Asking
from policies.services import duties
from tests.console.visitors import DOOR, KEPT, misanswered
from tests.factories import AUTHORITY, BY, a_person, a_role, acting, admit, the
from tests.kept import kept
from tests.policies.conftest import make_shop


@dataclass(frozen=True)
class Page:
    """A route with the status each visitor gets; `{request}` is Mia's, to write orders."""

    name: str
    address: str
    anonymous: int
    stranger: int
    member: int
    asker: int
    grantor: int
    owner: int
    above: int
    duty: int
    admin: int
    method: str = "get"


ONE = "/requests/{request}"
PAGES = (
    Page("requests", "/requests", DOOR, 200, 200, 200, 200, 200, 200, 200, 200),
    Page("requests_csv", "/requests.csv?tab=all", DOOR, 200, 200, 200, 200, 200, 200, 200, 200),
    Page("requests_count", "/requests/count", DOOR, 200, 200, 200, 200, 200, 200, 200, 200),
    Page("request_new", "/requests/new", DOOR, 200, 200, 200, 200, 200, 200, 200, 200),
    Page("request_new", "/requests/new", KEPT, 200, 200, 200, 200, 200, 200, 200, 200, "post"),
    Page("request_foresee", "/requests/new/foresee", KEPT, 200, 200, 200, 200, 200, 200, 200, 200, "post"),
    Page("requests_together", "/requests/together", DOOR, 200, 200, 200, 200, 200, 200, 200, 200),
    Page("requests_together", "/requests/together", KEPT, 200, 200, 200, 200, 200, 200, 200, 200, "post"),
    Page("request", ONE, DOOR, 404, 404, 200, 200, 200, 200, 200, 404),
    Page("request_decide", f"{ONE}/decide", DOOR, 404, 404, 403, 200, 200, 200, 403, 404),
    Page("request_decide", f"{ONE}/decide", KEPT, 404, 404, 403, 200, 200, 200, 403, 404, "post"),
    Page("request_answer", f"{ONE}/answer", KEPT, 404, 404, 422, 404, 404, 404, 404, 404, "post"),
    Page("request_rules", "/objects/{table}/asking", DOOR, 404, 404, 403, 200, 200, 200, 404, 404),
    Page("request_rules", "/objects/{table}/asking", KEPT, 404, 404, 403, 302, 302, 302, 404, 404, "post"),
    Page("object_requests", "/objects/{table}/requests", DOOR, 404, 404, 200, 200, 200, 200, 404, 404),
    Page("substitutes", "/profile/away", DOOR, 200, 200, 200, 200, 200, 200, 200, 200),
    Page("substitutes", "/profile/away", KEPT, 200, 200, 200, 200, 200, 200, 200, 200, "post"),
    Page("substitute_end", "/profile/away/end", KEPT, 404, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("request_apply", f"{ONE}/apply", KEPT, 404, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("request_withdraw", f"{ONE}/withdraw", KEPT, 404, 404, 302, 404, 404, 404, 404, 404, "post"),
)
VISITORS = {
    "anonymous": "",
    "stranger": "zoe",
    "member": "ana",
    "asker": "mia",
    "grantor": "gina",  # holds Manage grants on schema sales
    "owner": "olivia",  # of schema sales
    "above": "marek",  # owns the realm
    "duty": "dora",  # reads the history of the realm, and no data
    "admin": "sam",  # a site admin, in no realm
}


def make_numbers() -> dict[str, int]:
    """Of what the addresses name: the request and its table."""
    shop = make_shop()
    for name in ("mia", "olivia", "marek", "dora"):
        people.make_account(name)
    for name in ("gina", "dora"):
        a_person(name, "staff")
        admit(shop, name)
    a_person("zoe")
    a_person("sam")
    may = ("USE_SCHEMA", "SELECT_TABLE", "MANAGE_GRANTS")
    a_role(shop, "sales_grant", *(f"allow {item} on schema shop.sales" for item in may), held_by=("gina",))
    duties.give(shop, "view_history", a_person("dora"), by=BY, authority=AUTHORITY)
    mia = people.ensure("user", "mia")
    asking = Asking(
        (WantedAction("table", "demo/shop.sales.orders", "write"),), mia, reason="Corrects returns"
    )
    asked = submission.ask(asking, by=acting("mia"))
    return {"request": asked.pk, "table": the("table", "shop.sales.orders").id}


numbers = kept(make_numbers)


@pytest.mark.parametrize("visitor", VISITORS)
def test_each_page_answers_each_visitor(
    visitor: str, numbers: dict[str, int], signed_in: Callable[[str], Client], settings: Any
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    assert not misanswered(PAGES, visitor, VISITORS, signed_in, numbers)


def test_a_hidden_request_reads_like_one_that_is_none(
    numbers: dict[str, int], signed_in: Callable[[str], Client]
) -> None:
    ana = signed_in("ana")
    for page in ("", "/decide"):
        hidden = ana.get(f"/requests/{numbers['request']}{page}")
        absent = ana.get(f"/requests/987654321{page}")
        assert hidden.status_code == absent.status_code == 404
        assert words(hidden.content) == words(absent.content)


def words(body: bytes) -> str:
    tokens = r'(name="csrfmiddlewaretoken" value|name="next" value)="[^"]*"'
    return " ".join(re.sub(tokens, "", body.decode()).split())
