"""Forms outlive a session wherever something is changed: shown again as typed, and nothing is saved."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts.people import make_account
from catalog.nodes import Node
from policies.models import AccessRequest, Change, Review
from tests.console.conftest import PASSWORD
from tests.console.test_forms import hidden
from tests.factories import a_person, a_role, the

KEPT = "Your form is kept, and nothing was saved."
NONCE = "n" * 24

FORMS: dict[str, tuple[str, dict[str, str], str]] = {
    "a rule": ("/realms/{shop}/separation/new", {"name": "Payments", "one_what": "shop.sales"}, "Payments"),
    "a review": ("/reviews/new", {"title": "Quarter four", "on": "{sales}"}, "Quarter four"),
    "a leaver": ("/people/{mia}/leaving", {"who": "user:ana", "reason": "Last day"}, "Last day"),
    "a joiner": ("/people/{ana}/same", {"who": "user:mia"}, "Grant ana the same as mia"),
    "rights of a role": (
        "/roles/{role}/many/give?o={orders}",
        {"SELECT_TABLE": "deny", "reason": "Season"},
        'value="deny" checked',
    ),
    "a request": (
        "/requests/new",
        {"on": "table demo/shop.sales.orders", "do": "0 write", "reason": "To write it down"},
        'value="0 write" checked',
    ),
    "a connection": (
        "/realms/{shop}/connect?kind=postgresql",
        {"kind": "postgresql", "catalog": "lake", "host": "db.example.org", "password": "secret"},
        'value="db.example.org"',
    ),
}


@pytest.fixture
def numbers(shop: Node) -> dict[str, int]:
    names = {name: a_person(name).pk for name in ("ana", "mia")}
    sales, orders = the("schema", "shop.sales"), the("table", "shop.sales.orders")
    return {**names, "shop": shop.id, "sales": sales.id, "orders": orders.id, "role": a_role(shop, "crew").id}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_form_is_shown_again_after_signing_in(
    form: tuple[str, dict[str, str], str], numbers: dict[str, int]
) -> None:
    address, typed, shown = form
    make_account("marek", password=PASSWORD)
    client, before = Client(), Change.objects.count()
    address, sent = address.format(**numbers), {key: text.format(**numbers) for key, text in typed.items()}
    lost = client.post(address, {**sent, "step": "save"})
    kept = {"username": "marek", "password": PASSWORD, "kept": hidden(lost.content, "kept")}
    assert client.post("/sign-in", kept)["Location"] == address
    page = client.get(address).content.decode()
    assert KEPT in page and shown in page and "secret" not in page
    assert Change.objects.count() == before


@pytest.mark.parametrize("form", ["a request", "a review"])
def test_a_form_that_comes_twice_leads_to_what_it_made(
    form: str, numbers: dict[str, int], signed_in: Callable[[str], Client]
) -> None:
    address, typed, _ = FORMS[form]
    who, step = ("ana", "send") if form == "a request" else ("marek", "save")
    sent = {key: text.format(**numbers) for key, text in typed.items()}
    body = urlencode({**sent, "nonce": NONCE, "step": step})
    client, kind = signed_in(who), "application/x-www-form-urlencoded"
    answers = [client.post(address, body, content_type=kind) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [302, 302]
    assert answers[0]["Location"] == answers[1]["Location"] != "/reviews"
    assert AccessRequest.objects.count() + Review.objects.count() == 1
