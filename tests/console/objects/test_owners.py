"""Owners: whose everything is, what nobody owns or who is gone does; many objects handed over at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.people import make_account
from authzsite.console.objects import owners as console
from catalog.nodes import Node
from policies.decisions.lookups.visible_objects import owner_of
from policies.models import Change
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.people.test_groups import undo_on
from tests.console.settings.test_owners_and_members import posted
from tests.factories import a_metalake, a_person, a_role, acting, admit, owned, the, under

Enter = Callable[[str], Client]
HAND_OVER = "/owners/hand-over"


@pytest.fixture
def marek(shop: Node, signed_in: Enter) -> Client:
    """The owner of the realm; all of those who own something have accounts."""
    for name in ("olivia", "mia"):
        make_account(name)
    return signed_in("marek")


def tables(*names: str) -> list[Node]:
    return [the("table", f"shop.sales.{name}") for name in names]


def names_in(client: Client, address: str) -> set[str]:
    body = client.get(address).content.decode()
    return set(re.findall(r'href="/(?:objects|catalog|roles)/\d+"><b>([^<]+)</b>', body))


def leave(name: str) -> None:
    account = make_account(name)
    User.objects.filter(pk=account.pk).update(is_active=False)


def test_everything_of_somebody_is_listed_and_handed_over(marek: Client) -> None:
    for node in tables("orders", "refunds"):
        owned(node, "olivia")
    assert names_in(marek, "/owners?of=olivia") == {"sales", "orders", "refunds"}
    looked = marek.post(f"{HAND_OVER}?of=olivia", {"find": "ana", "step": "look"}).content.decode()
    assert "becomes the owner of 3 objects" in looked
    assert "no longer owns 3 objects" in looked
    assert owner_of(the("schema", "shop.sales")) == a_person("olivia")

    before = Change.objects.count()
    answer = posted(marek, f"{HAND_OVER}?of=olivia", who="user:ana", step="save", reason="Olivia left")
    assert Change.objects.count() == before + 1
    undo = undo_on(marek, answer["Location"])
    assert names_in(marek, "/owners?of=olivia") == set()
    assert names_in(marek, "/owners?of=user:ana") == {"sales", "orders", "refunds"}
    marek.post(undo)
    assert names_in(marek, "/owners?of=olivia") == {"sales", "orders", "refunds"}


def test_what_is_marked_alone_is_handed_over(marek: Client) -> None:
    orders, refunds = tables("orders", "refunds")
    for node in (orders, refunds):
        owned(node, "olivia")
    posted(marek, f"{HAND_OVER}?of=olivia&o={orders.id}", who="group:analysts", step="save")
    assert str(owner_of(orders)) == "group:analysts"
    assert owner_of(refunds) == a_person("olivia")


def test_pages_follow_the_names_whatever_is_made_meanwhile(
    marek: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "LISTED", 2)
    for node in tables("orders", "refunds", "customers"):
        owned(node, "olivia")
    first = marek.get("/owners?of=olivia").content.decode()
    [following] = re.findall(r'href="([^"]+)"\s+rel="next"', first)
    assert names_in(marek, "/owners?of=olivia") == {"sales", "customers"}
    owned(under(the("schema", "shop.sales"), "table", "aaa")[0], "olivia")  # before what is next
    assert names_in(marek, f"/owners{following.replace('&amp;', '&')}") == {"orders", "refunds"}


def test_what_is_not_one_s_own_stays_and_is_said(marek: Client, signed_in: Enter) -> None:
    [orders] = tables("orders")
    owned(orders, "mia")
    owned(the("table", "shop.stock.items"), "mia")
    olivia = signed_in("olivia")  # owns sales, not stock
    assert names_in(olivia, "/owners?of=mia") == {"orders"}
    posted(olivia, f"{HAND_OVER}?of=mia", who="user:ana", step="save")
    assert owner_of(orders) == a_person("ana")
    assert owner_of(the("table", "shop.stock.items")) == a_person("mia")


@pytest.mark.parametrize(("batch", "said"), [(2, "2 are left."), (3, "1 is left.")])
def test_what_is_left_is_counted_in_words(
    marek: Client, monkeypatch: pytest.MonkeyPatch, batch: int, said: str
) -> None:
    monkeypatch.setattr(console, "BATCH", batch)
    for node in tables("orders", "refunds", "customers"):
        owned(node, "olivia")
    assert said in posted(marek, f"{HAND_OVER}?of=olivia", who="user:ana", step="save").content.decode()


def test_in_batches_with_progress(marek: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "BATCH", 2)
    for node in tables("orders", "refunds", "customers"):
        owned(node, "olivia")
    address = f"{HAND_OVER}?of=olivia"
    answer = posted(marek, address, who="user:ana", step="save")
    body = answer.content.decode()
    assert "2 of 4 objects handed over" in body
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', body.split("<main")[1]))
    assert fields["who"] == "user:ana"
    del fields["csrfmiddlewaretoken"]
    assert marek.post(address, fields).status_code == 302
    assert "owns 4 objects more" in marek.get("/owners").content.decode()
    assert names_in(marek, "/owners?of=olivia") == set()


def test_a_form_sent_twice_hands_over_once(marek: Client) -> None:
    form = {"who": "user:ana", "step": "save", "nonce": "b" * 20}
    address = f"{HAND_OVER}?of=olivia"
    before = Change.objects.count()
    marek.post(address, form), marek.post(address, form)
    assert Change.objects.count() == before + 1


def test_what_nobody_owns_and_whose_owner_is_gone_waits(marek: Client, shop: Node) -> None:
    owned(the("table", "shop.sales.orders"), "mia")
    a_role(shop, "mine")
    assert names_in(marek, "/owners?how=nobody") >= {"shop", "mine"}
    assert names_in(marek, "/owners?how=gone") == set()
    leave("mia")
    assert names_in(marek, "/owners?how=gone") == {"orders"}
    home = marek.get("/").content.decode()
    assert "the owner of 1 object cannot sign in" in home
    assert "/owners?how=gone" in home
    posted(marek, f"{HAND_OVER}?how=gone", who="user:olivia", step="save")
    assert names_in(marek, "/owners?how=gone") == set()
    assert "cannot sign in" not in marek.get("/").content.decode()


def test_a_group_with_somebody_in_it_is_there(marek: Client) -> None:
    owned(the("table", "shop.sales.orders"), "group:analysts")
    assert names_in(marek, "/owners?how=gone") == set()
    leave("mia")
    assert names_in(marek, "/owners?how=gone") == {"orders"}  # Carl has no account


def test_personal_roles_belong_to_nobody_and_do_not_wait(marek: Client, signed_in: Enter) -> None:
    [orders] = tables("orders")
    grants.add(GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    assert "~ana" not in names_in(marek, "/owners?how=nobody")


@pytest.mark.parametrize("name", ["mia", "ana", "zoe"])
def test_who_owns_nothing_finds_nothing_to_hand_over(name: str, marek: Client, signed_in: Enter) -> None:
    client = signed_in(name)
    assert "You cannot hand over anything here" in client.get("/owners?of=olivia").content.decode()
    assert client.get(f"{HAND_OVER}?of=olivia").status_code == 404
    assert client.post(f"{HAND_OVER}?of=olivia", {"who": "user:ana", "step": "save"}).status_code == 404
    assert owner_of(the("schema", "shop.sales")) == a_person("olivia")


def test_each_realm_by_itself(marek: Client) -> None:
    second = a_metalake("second")
    [lake] = under(second, "catalog", "lake")
    admit(second, "olivia")
    owned(lake, "olivia")
    assert names_in(marek, f"/owners?of=olivia&in={second.id}") == {"lake"}
    assert names_in(marek, f"/owners?of=olivia&in={the('metalake').id}") == {"sales"}
    assert marek.get(f"{HAND_OVER}?in=12345678").status_code == 404


@pytest.mark.parametrize(
    "query", ["of=nobody.knows", "type=moon", "o=x&o=99999999999999999999", "q=%00", "in=x", "how=never"]
)
def test_what_makes_no_sense_finds_nothing_and_breaks_nothing(query: str, marek: Client) -> None:
    assert marek.get(f"/owners?{query}").status_code == 200


def test_a_person_s_page_leads_to_what_they_own(marek: Client) -> None:
    body = marek.get(f"/people/{a_person('olivia').pk}").content.decode()
    assert 'href="/owners?of=user%3Aolivia"' in body
    assert "Hand over what is owned" not in marek.get(f"/people/{a_person('ana').pk}").content.decode()


def test_nobody_is_made_owner_who_is_not_in_the_realm(marek: Client) -> None:
    a_person("zoe")
    answer: Any = posted(marek, f"{HAND_OVER}?of=olivia", who="user:zoe", step="save")
    assert answer.status_code == 422
    assert owner_of(the("schema", "shop.sales")) == a_person("olivia")
