"""Why: people are found by the names that others call them; a question about oneself is no refusal."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from catalog.nodes import Node
from policies.models import AccessRecord
from tests.console.conftest import NAMES
from tests.factories import a_person, admit, an_account
from tests.kept import kept

Enter = Callable[[str], Client]


def make_named(shop: Node) -> Node:
    """The shop's people under the names they go by, with a second Carl."""
    for name, display in {**NAMES, "carla": "Carla Conrad", "c.krug": "Carl Krug"}.items():
        an_account(name, display_name=display)
    admit(shop, "carla")
    return shop


named = kept(make_named, on="shop")


def text(client: Client, address: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", client.get(address).content.decode()).split())


@pytest.mark.parametrize("who", ["carl", "CARL", "Carl", "Carl Conrad", "carl conrad", "user:carl"])
@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("/why?what=shop.sales.orders&who={}", "Carl Conrad cannot read shop.sales.orders"),
        ("/history?person={}", ""),
        ("/history?actor={}", ""),
        ("/history/looks?actor={}", ""),
    ],
)
def test_people_are_found_as_they_are_called(
    named: Node, signed_in: Enter, who: str, address: str, found: str
) -> None:
    page = text(signed_in("olivia"), address.format(who))
    assert "Nobody is called" not in page
    assert found in page


def test_a_name_that_several_have_is_asked_about_again(named: Node, signed_in: Enter) -> None:
    admit(named, "c.krug")
    page = text(signed_in("olivia"), "/why?what=shop.sales.orders&who=Carl+")
    assert "Carl Conrad cannot read" in page  # a sign-in name goes before a first name
    a_person("mia2")
    an_account("mia2", display_name="Olivia Other")
    admit(named, "mia2")
    page = text(signed_in("marek"), "/history?person=Olivia")
    assert "Olivia Owner" in page  # olivia is a sign-in name
    an_account("xena", display_name="Zoe Xu")
    an_account("yves", display_name="Zoe Young")
    admit(named, "xena", "yves")
    page = text(signed_in("olivia"), "/why?what=shop.sales.orders&who=zoe")
    assert "Several people are called zoe: Zoe Xu (xena), Zoe Young (yves)." in page


def test_a_part_of_an_objects_name_offers_the_objects_like_it(named: Node, signed_in: Enter) -> None:
    page = signed_in("olivia").get("/why?what=order&who=carl").content.decode()
    assert "No object with that name is visible to you." in page
    assert re.search(r'href="\?who=carl[^"]*what=demo%2Fshop.sales.orders', page)
    page = text(signed_in("bert"), "/why?what=order")
    assert "orders" not in page.replace("shop.sales.orders", "", 1)  # the example in the empty field


def test_a_question_without_an_object_asks_for_one(named: Node, signed_in: Enter) -> None:
    assert "Enter an object" in text(signed_in("olivia"), "/why?who=carl&action=read&what=")
    assert "Enter an object" not in text(signed_in("olivia"), "/why?who=carl")


@pytest.mark.parametrize("who", ["Stranger", "stranger star", "Nobody"])
def test_people_of_other_realms_are_not_found_by_parts_of_a_name(
    named: Node, signed_in: Enter, who: str
) -> None:
    an_account("far-away", display_name="Stranger Star")
    page = text(signed_in("olivia"), f"/why?what=shop.sales.orders&who={who}")
    if who != "stranger star":
        assert f"Nobody is called {who}." in page


@pytest.mark.parametrize("what", ["shop.sales.orders", "demo/shop.sales.orders", "demo/shop.sales.none"])
def test_a_question_about_oneself_is_no_refusal(named: Node, signed_in: Enter, what: str) -> None:
    page = text(signed_in("ana"), f"/why?what={what}")
    assert "Ana Analyst cannot read" in page
    assert not AccessRecord.objects.exists()


def test_a_way_round_a_denial_is_told_and_not_offered(named: Node, signed_in: Enter) -> None:
    body = signed_in("olivia").get("/why?what=shop.sales.orders&who=carl").content.decode()
    first, *others = re.findall(r'<[^>]+id="way-\d".*?(?=<[^>]+id="way-\d"|</section>)', body, re.S)
    assert "denied" in first
    assert others
    for way in others:
        assert "This would bypass the denial, which stays." in way
        assert "Open the form" not in way
