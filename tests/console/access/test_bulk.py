"""Many objects at once: what is ticked is granted or revoked as one change, after its plan was seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import people
from catalog.nodes import Node
from policies.decisions import ask as decisions_ask
from policies.models import Change, Grant
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.catalog.test_catalog import Enter
from tests.console.conftest import PASSWORD
from tests.factories import a_person, a_role, acting, admit, owned, the, under

SALES = ("orders", "customers", "refunds")


def on(*names: str) -> list[tuple[str, object]]:
    return [("on", the("table", f"shop.{name if '.' in name else f'sales.{name}'}").id) for name in names]


def can_read(name: str, table: str) -> bool:
    return bool(decisions_ask.ask(a_person(name), "read", the("table", f"shop.sales.{table}")))


def form_of(page: str, name: str) -> str:
    return re.findall(rf'name="{name}"\s+value="([^"]*)"', page)[0]


def post(client: Client, data: list[tuple[str, object]]) -> str:
    answer = client.post("/objects/many", urlencode(data), content_type="application/x-www-form-urlencoded")
    return answer.headers.get("Location", "") or answer.content.decode()


@pytest.fixture
def asks(shop: Node, signed_in: Enter) -> Callable[..., str]:
    def ask(who: str, *data: tuple[str, object]) -> str:
        return signed_in(who).get(f"/objects/many?{urlencode(list(data))}").content.decode()

    return ask


def test_a_grant_on_three_is_one_change_that_is_undone_as_one(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    asked = [*on(*SALES), ("who", "user:ana"), ("may", "SELECT_TABLE"), ("until", "never")]
    page = olivia.get(f"/objects/many?{urlencode(asked)}").content.decode()
    assert "may read orders, customers and refunds" in page
    assert "Grant read without end, on 3 objects" in page
    assert not Grant.objects.filter(privilege="SELECT_TABLE", securable=on("orders")[0][1]).exists()
    before = Change.objects.count()
    sent = [*asked, ("nonce", form_of(page, "nonce")), ("seen", form_of(page, "seen")), ("step", "save")]
    assert post(olivia, sent) == f"/catalog/{the('schema', 'shop.sales').id}"
    assert Change.objects.count() == before + 1
    assert [can_read("ana", name) for name in SALES] == [True] * 3
    post(olivia, sent)  # sent twice
    assert Change.objects.count() == before + 1
    revision = Change.objects.order_by("-revision").first().revision  # type: ignore[union-attr]
    olivia.post(f"/undo/{revision}")
    assert [can_read("ana", name) for name in SALES] == [False] * 3


def test_a_revocation_tells_who_loses_and_who_keeps_it(shop: Node, signed_in: Enter) -> None:
    for name in ("orders", "refunds"):
        wish = GrantRequest(
            the("table", f"shop.sales.{name}"), (a_person("ana"), a_person("mia")), ("SELECT_TABLE",)
        )
        grants.add(wish, by=acting("olivia"))
    olivia = signed_in("olivia")
    first = olivia.get(f"/objects/many?{urlencode([*on(*SALES), ('do', 'revoke')])}").content.decode()
    assert 'value="user:ana"' in first
    assert "directly on 2 objects" in first
    asked = [*on(*SALES), ("do", "revoke"), ("who", "user:ana"), ("who", "user:mia")]
    page = post(olivia, [*asked, ("step", "look")])
    assert "loses read on orders and refunds" in page
    assert "Through another path, which stays." in page  # mia, by a group
    assert "Revoke from 1 person" in page
    sent = [*asked, ("nonce", form_of(page, "nonce")), ("seen", form_of(page, "seen")), ("step", "save")]
    assert post(olivia, sent).startswith("/catalog/")
    assert not can_read("ana", "orders")
    assert can_read("mia", "orders")
    before = Change.objects.count()
    assert post(olivia, sent).startswith("/catalog/")  # sent twice, when nobody holds it any more
    assert Change.objects.count() == before


def test_a_revocation_outlives_its_session(shop: Node) -> None:
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    people.make_account("olivia", password=PASSWORD)
    client = Client()
    sent = {"on": orders.id, "do": "revoke", "who": "user:ana", "reason": "left", "step": "save"}
    kept = form_of(client.post("/objects/many", sent).content.decode(), "kept")
    signed = client.post("/sign-in", {"username": "olivia", "password": PASSWORD, "kept": kept})
    page = client.get(signed["Location"]).content.decode()
    assert "Your form is kept, and nothing was saved." in page and "Revoke from 1 person" in page
    assert "left</textarea>" in page and can_read("ana", "orders")


@pytest.mark.parametrize("who", ["mia", "marek", "ana"])
def test_what_one_may_not_give_is_left_out_and_named(who: str, shop: Node, asks: Callable[..., str]) -> None:
    owned(the("table", "shop.sales.orders"), "mia")
    page = asks(who, *on(*SALES), ("who", "user:ana"))
    notes = {
        "mia": "2 of 3 left out.",
        "marek": "may read orders, customers and refunds",
        "ana": "Nothing is chosen",  # Ana may not see them, so they are as absent
    }
    assert notes[who] in page


def test_a_change_is_all_or_nothing(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    asked = [*on(*SALES), ("who", "user:ana"), ("may", "SELECT_TABLE"), ("until", "never")]
    page = olivia.get(f"/objects/many?{urlencode(asked)}").content.decode()
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",)), by=acting("marek"))
    sent = [*asked, ("nonce", form_of(page, "nonce")), ("seen", form_of(page, "seen")), ("step", "save")]
    assert "changed these grants" in post(olivia, sent)
    assert not can_read("ana", "customers")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ([], "Nothing is chosen"),
        ([("on", "999999999999")], "Nothing is chosen"),
        ([("on", "9" * 30)], "Nothing is chosen"),
        ([("on", "x\0")], "Nothing is chosen"),
    ],
)
def test_nonsense_is_told_from_a_choice(
    asked: list[tuple[str, object]], told: str, asks: Callable[..., str]
) -> None:
    assert told in asks("olivia", *asked)
    assert told in asks("olivia", *asked, ("do", "revoke"))


def test_more_than_fifty_are_not_taken_and_that_is_said(shop: Node, asks: Callable[..., str]) -> None:
    made = under(the("schema", "shop.sales"), "table", *(f"t{at:02}" for at in range(60)))
    page = asks("olivia", *(("on", item.id) for item in made))
    assert "At most 50 at once." in page
    assert "50 objects" in page


def test_only_rights_that_fit_all_are_offered(shop: Node, asks: Callable[..., str]) -> None:
    view = [("on", the("view", "shop.sales.top").id)]
    page = asks("olivia", *on("orders"), *view)
    assert 'value="MODIFY_TABLE"' not in page
    assert 'value="MODIFY_TABLE"' in asks("olivia", *on("orders", "refunds"))


def test_a_name_is_typed_where_more_than_ten_lose_it(shop: Node, signed_in: Enter) -> None:
    names = [f"reader{at}" for at in range(12)]
    for name in names:
        a_person(name, "readers")
    admit(shop, "group:readers", *names)
    a_role(
        shop,
        "way",
        "allow USE_CATALOG on catalog shop",
        "allow USE_SCHEMA on schema shop.sales",
        held_by=("group:readers",),
    )
    group = people.ensure("group", "readers")
    for name in ("orders", "refunds"):
        grants.add(
            GrantRequest(the("table", f"shop.sales.{name}"), (group,), ("SELECT_TABLE",)), by=acting("olivia")
        )
    olivia = signed_in("olivia")
    asked = [*on("orders", "refunds"), ("do", "revoke"), ("who", "group:readers")]
    page = post(olivia, [*asked, ("step", "look")])
    assert "Revoke from 12 people" in page
    sent = [*asked, ("nonce", form_of(page, "nonce")), ("seen", form_of(page, "seen")), ("step", "save")]
    assert "Type sales as it is written above." in post(olivia, sent)
    assert can_read("reader3", "orders")
    assert post(olivia, [*sent, ("name", "sales")]).startswith("/catalog/")
    assert not can_read("reader3", "orders")


@pytest.mark.parametrize("do", ["", "&do=revoke"], ids=["grant", "revoke"])
def test_forty_objects_ask_the_database_as_often_as_two(do: str, shop: Node, signed_in: Enter) -> None:
    made = under(the("schema", "shop.sales"), "table", *(f"t{at:02}" for at in range(40)))
    for table in made:
        grants.add(GrantRequest(table, (a_person("mia"),), ("SELECT_TABLE",)), by=acting("olivia"))
    olivia, counts = signed_in("olivia"), []
    for some in (made[:2], made):
        address = f"/objects/many?who=user:ana&who=user:mia{do}&" + urlencode(
            [("on", item.id) for item in some]
        )
        olivia.get(address)
        with CaptureQueriesContext(connection) as queries:
            assert olivia.get(address).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]
