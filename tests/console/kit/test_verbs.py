"""The palette knows what can be done, by the words that people use for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from catalog.nodes import Node
from tests.console.conftest import make_shop
from tests.kept import kept

Enter = Callable[[str], Client]
shop = kept(make_shop)


@pytest.mark.parametrize(
    ("typed", "leads"),
    [
        ("start a rev", "/reviews/new"),
        ("start review", "/reviews/new"),
        ("break", "/emergency"),
        ("drift", "/sync"),
        ("leaver", "/owners"),
        ("ask", "/requests/new"),
    ],
)
def test_an_owner_finds_what_to_do(typed: str, leads: str, shop: Node, signed_in: Enter) -> None:
    page = signed_in("olivia").get("/search/found", {"q": typed}).content.decode()
    assert f'href="{leads}"' in page


def test_a_person_leads_to_joining_and_leaving(shop: Node, signed_in: Enter) -> None:
    page = signed_in("olivia").get("/search/found", {"q": "mia"}).content.decode()
    assert "/leaving" in page
    assert "/same" in page


def test_who_gives_nothing_is_offered_no_review(shop: Node, signed_in: Enter) -> None:
    mia = signed_in("mia")
    assert "/reviews/new" not in mia.get("/search/found", {"q": "start a rev"}).content.decode()
    assert 'href="/requests/new"' in mia.get("/search/found", {"q": "ask"}).content.decode()
