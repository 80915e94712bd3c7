"""Owners are set and members come and go by those whom the law lets do it, foretold and on the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.people import ensure
from catalog.nodes import Node
from policies.decisions.lookups.visible_objects import owner_of
from policies.models import Change, Ownership, RealmMember
from tests.console.test_forms import hidden
from tests.factories import a_person, admit, the

Enter = Callable[[str], Client]


def posted(client: Client, address: str, **form: Any) -> Any:
    """What a browser would send: the form's own hidden field and what was typed."""
    nonce = hidden(client.get(address).content, "nonce")
    return client.post(address, {"nonce": nonce, **form})


def sales() -> Node:
    return the("schema", "shop.sales")


def members(root: Node) -> set[str]:
    rows = RealmMember.objects.open().filter(realm=root.realm_id).select_related("principal")
    return {str(row.principal) for row in rows}


def test_an_owner_hands_over_and_sees_first_what_that_means(shop: Node, signed_in: Enter) -> None:
    olivia, address = signed_in("olivia"), f"/objects/{sales().id}/owner"
    looked = olivia.post(address, {"find": "ana", "step": "look"}).content.decode()
    assert "becomes the owner of sales" in looked
    assert "is no longer the owner of sales" in looked
    assert owner_of(sales()) == a_person("olivia")

    posted(olivia, address, who="user:ana", step="save", reason="On leave")
    assert owner_of(sales()) == a_person("ana")
    assert Change.objects.order_by("-revision")[0].reason == "On leave"
    assert olivia.get(address).status_code in (403, 404)  # it is no longer Olivia's to hand over


def test_one_owner_is_named_the_last_wins(shop: Node, signed_in: Enter) -> None:
    address = f"/objects/{sales().id}/owner"
    posted(signed_in("marek"), address, who=["user:mia", "group:analysts"], step="save")
    assert [row.owner.name for row in Ownership.objects.open().filter(securable=sales().id)] == ["analysts"]


def test_nobody_named_is_told(shop: Node, signed_in: Enter) -> None:
    answer = posted(signed_in("marek"), f"/objects/{sales().id}/owner", step="save")
    assert answer.status_code == 422


def test_a_reader_finds_the_control_locked_with_the_reason(shop: Node, signed_in: Enter) -> None:
    table, mia = the("table", "shop.sales.orders").id, signed_in("mia")
    assert "Set owner" in mia.get(f"/objects/{table}").content.decode()
    form = {"who": "user:mia", "step": "save"}
    assert mia.post(f"/objects/{table}/owner", form).status_code == 403
    assert owner_of(sales()) == a_person("olivia")


def test_the_owner_of_the_realm_adds_members(shop: Node, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/realms/{shop.id}/members/add"
    posted(marek, address, kind="user", name="noah")
    posted(marek, address, kind="service", name="etl")
    assert {"user:noah", "service:etl"} <= members(shop)
    assert posted(marek, address, kind="user", name="").status_code == 422
    assert posted(marek, address, kind="pattern", name="x").status_code == 422
    assert marek.get(f"/realms/{sales().id}/members/add").status_code == 404


@pytest.mark.parametrize("name", ["olivia", "mia"])
def test_others_do_not_manage_members(name: str, shop: Node, signed_in: Enter) -> None:
    client, before = signed_in(name), members(shop)
    add, remove = f"/realms/{shop.id}/members/add", f"/realms/{shop.id}/members/remove?who=user:carl"
    assert client.post(add, {"kind": "user", "name": "eve"}).status_code == 403
    assert client.post(remove).status_code == 403
    assert members(shop) == before
    assert "why-no-member" in client.get("/people").content.decode()


def test_removing_a_member_says_what_ends_with_it(shop: Node, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/realms/{shop.id}/members/remove?who=user:olivia"
    body = marek.get(address).content.decode()
    assert "no longer owns 1 object" in body
    assert "shop.sales" in body
    posted(marek, address)
    assert "user:olivia" not in members(shop)
    assert not Ownership.objects.open().filter(owner=a_person("olivia")).exists()
    assert marek.get(address).status_code == 404


def test_the_owner_of_the_realm_cannot_be_removed(shop: Node, signed_in: Enter) -> None:
    answer = posted(signed_in("marek"), f"/realms/{shop.id}/members/remove?who=user:marek")
    assert "Not removed." in answer.content.decode()
    assert "user:marek" in members(shop)


def test_a_large_group_is_removed_by_typing_its_name(shop: Node, signed_in: Enter) -> None:
    for at in range(11):
        a_person(f"p{at:02}", "crew")
    admit(shop, "group:crew")
    marek, address = signed_in("marek"), f"/realms/{shop.id}/members/remove?who=group:crew"
    posted(marek, address)
    assert str(ensure("group", "crew")) in members(shop)
    posted(marek, address, name="crew")
    assert str(ensure("group", "crew")) not in members(shop)


def test_a_search_names_the_owner_from_above(shop: Node, signed_in: Enter) -> None:
    body = signed_in("olivia").get("/search?q=orders").content.decode()
    assert "No owner" not in body
    assert "Olivia Owner" in body.partition("orders</b>")[2]
