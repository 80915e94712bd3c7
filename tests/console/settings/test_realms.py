"""Realms in their own words: seen, made, and switched by those who may, with what that means said first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import find, mode_of
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask
from policies.decisions.lookups.visible_objects import owner_of
from policies.models import Change
from policies.services import realms
from tests.console.settings.test_owners_and_members import posted
from tests.factories import AUTHORITY, BY, a_person, admit, the
from tests.herd.world import a_herd

Enter = Callable[[str], Client]


@pytest.fixture
def sam(settings: Any, signed_in: Enter) -> Client:
    """A site admin, in no realm."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    return signed_in("sam")


def a_cdap(owner: str = "marek") -> Node:
    settings = {"policy": "4.3", "authentication": "on"}
    return realms.create("cdap", "cdap", owner=a_person(owner), by=BY, authority=AUTHORITY, settings=settings)


def text(client: Client, address: str) -> str:
    return str(client.get(address).content.decode())


def test_each_kind_is_called_by_its_own_name(shop: Node, sam: Client) -> None:
    a_herd()
    a_cdap()
    body = text(sam, "/realms")
    for word in ("Metalake", "Herd", "CDAP instance", "Everyone"):
        assert word in body


def test_one_sees_the_realms_one_is_in(shop: Node, signed_in: Enter) -> None:
    realms.create("gravitino", "faraway", owner=a_person("gone"), by=BY, authority=AUTHORITY)
    assert "demo" in text(signed_in("mia"), "/realms")
    assert "faraway" not in text(signed_in("mia"), "/realms")
    assert "demo" not in text(signed_in("zoe"), "/realms")


@pytest.mark.parametrize(
    ("kind", "type_"), [("gravitino", "metalake"), ("herd", "herd"), ("cdap", "instance")]
)
def test_a_service_admin_makes_a_realm_and_has_nothing_in_it(
    kind: str, type_: str, db: None, sam: Client
) -> None:
    form = {"kind": kind, "name": "prod", "owner": "marek", "policy": "3.5"}
    answer = posted(sam, "/realms/new", **form)
    made = find(ObjectRef(type_, "prod"))
    assert made is not None
    assert answer["Location"] == f"/realms/{made.id}"
    assert owner_of(made) == a_person("marek")
    assert mode_of(made.realm_id) == "on"
    if kind == "cdap":
        assert Realm.objects.get(pk=made.realm_id).law == "cdap35"
    if kind == "gravitino":
        assert not ask.ask(a_person("sam"), "read", made)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kind": "oracle"}, "Choose which rules it follows."),
        ({"name": ""}, "Enter a name without a slash."),
        ({"name": "a/b"}, "Enter a name without a slash."),
        ({"name": "demo"}, "already exists"),
        ({"name": "tab\there"}, "no control characters"),
        ({"owner": ""}, "Enter its owner."),
        ({"owner": "x" * 256}, "A name must have 1 to 255 characters."),
        ({"kind": "cdap", "policy": "9"}, "Choose its generation of rules."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(
    changed: dict[str, str], words: str, shop: Node, sam: Client
) -> None:
    before = Change.objects.count()
    form = {"kind": "gravitino", "name": "prod", "owner": "marek", **changed}
    answer = posted(sam, "/realms/new", **form)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert Change.objects.count() == before


@pytest.mark.parametrize("to", ["off", "pass-through"])
def test_the_owner_switches_and_every_page_says_so_loudly(to: str, shop: Node, signed_in: Enter) -> None:
    marek, page = signed_in("marek"), f"/realms/{shop.id}"
    assert "is no longer protected by its rules" in text(marek, f"{page}/mode?to={to}")
    posted(marek, f"{page}/mode?to={to}", reason="Migration")
    assert mode_of(shop.realm_id) == to
    assert Change.objects.order_by("-revision")[0].reason == "Migration"
    message = f"Authorization is {to} in demo."
    addresses = [
        page,
        f"/catalog/{shop.id}",
        f"/objects/{the('table', 'shop.sales.orders').id}",
        f"/objects/{the('table', 'shop.sales.orders').id}/history",
        "/people",
        "/roles",
    ]
    for address in addresses:
        assert message in text(marek, address), address
    posted(marek, f"{page}/mode?to=on")
    assert mode_of(shop.realm_id) == "on"
    for address in addresses:
        assert message not in text(marek, address), address


def test_a_service_admin_can_only_switch_back_on(shop: Node, signed_in: Enter, sam: Client) -> None:
    page = f"/realms/{shop.id}/mode"
    assert sam.post(f"{page}?to=off").status_code == 403
    posted(signed_in("marek"), f"{page}?to=off")
    assert posted(sam, f"{page}?to=on").status_code == 302
    assert mode_of(shop.realm_id) == "on"


@pytest.mark.parametrize("name", ["olivia", "mia"])
def test_others_find_the_switch_locked(name: str, shop: Node, signed_in: Enter) -> None:
    client, page = signed_in(name), f"/realms/{shop.id}"
    assert "why-not-switch" in text(client, page)
    assert client.post(f"{page}/mode?to=off").status_code == 403
    assert mode_of(shop.realm_id) == "on"


def test_opening_a_realm_to_many_asks_for_its_name(shop: Node, signed_in: Enter) -> None:
    admit(shop, *(f"p{at:02}" for at in range(11)))
    marek, page = signed_in("marek"), f"/realms/{shop.id}/mode?to=off"
    assert posted(marek, page).status_code == 422
    assert mode_of(shop.realm_id) == "on"
    assert posted(marek, page, name="demo").status_code == 302
    assert mode_of(shop.realm_id) == "off"


def test_a_cdap_is_set_by_its_owner(db: None, signed_in: Enter) -> None:
    root = a_cdap()
    page, marek = f"/realms/{root.id}", signed_in("marek")
    assert "of CDAP 4.3" in text(marek, page)
    form = {"authentication": "off", "master_user": "cdap", "admin_group": "admins"}
    posted(marek, f"{page}/settings", **form)
    assert Realm.objects.get(pk=root.realm_id).settings == {"policy": "4.3", **form}
    assert "admins" in text(marek, page)
    assert signed_in("zoe").post(f"{page}/settings", form).status_code in (403, 404)
