"""The navigation: few entries, none that holds nothing for somebody, and badges that come with the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from authzsite.console.kit import navigation
from catalog.nodes import Node
from policies.authority import Actor
from policies.requests import submission
from policies.requests.submission import Asking, WantedAction
from tests.console.conftest import make_shop
from tests.factories import a_person, the
from tests.kept import kept
from tests.markup import markup

Enter = Callable[[str], Client]
shop = kept(make_shop)


def entries(page: str) -> list[str]:
    nav = page[page.index('<nav class="nav"') : page.index('<details class="more"')]
    return re.findall(r"</svg><span>([^<]+)</span>", nav)


def badge(page: str, name: str) -> str:
    match = re.search(rf'<span>{name}</span><span class="n due">([^<]+)<', page)
    return match[1] if match else ""


def home(client: Client) -> str:
    return markup(client.get("/"))


def test_an_owner_finds_eight_places_and_the_settings(shop: Node, signed_in: Enter) -> None:
    page = home(signed_in("olivia"))
    assert entries(page) == [
        *("Home", "Requests", "Reviews", "Catalog"),
        *("People", "Insights", "Audit", "Sync"),
    ]
    assert reverse("console:realms") in page


def test_a_member_who_gives_nothing_finds_no_empty_places(shop: Node, signed_in: Enter) -> None:
    page = home(signed_in("mia"))
    assert entries(page) == ["Home", "Requests", "Catalog", "People", "Audit"]
    assert f'href="{reverse("console:realms")}"' not in page


def test_a_badge_comes_with_the_page_and_follows_each_change(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    assert badge(home(olivia), "Requests") == ""
    wanted = (WantedAction("table", the("table", "shop.sales.orders").ref.id, "read"),)
    ana = a_person("ana")
    number = submission.ask(Asking(wanted, ana, reason="Returns by customer"), by=Actor(ana, "console"))
    assert badge(home(olivia), "Requests") == "1"
    submission.withdraw(getattr(number, "pk", number), by=Actor(ana, "console"))
    assert badge(home(olivia), "Requests") == ""


def test_what_somebody_is_asked_to_review_shows_them_the_reviews(
    shop: Node, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Owed:
        open = 3

    monkeypatch.setattr(navigation.worklist, "owing", lambda person: [Owed()])
    page = markup(signed_in("mia").get("/inbox"))
    assert "Reviews" in entries(page)
    assert badge(page, "Reviews") == "3"


@pytest.mark.parametrize(
    ("address", "label", "others"),
    [
        ("/roles", "Roles", ("/people", "/owners")),
        ("/overview", "Overview", ("/hints", "/pipelines")),
        ("/history/integrity", "Integrity", ("/history", "/history/looks", "/emergency")),
    ],
)
def test_the_pages_of_a_place_are_tabs(
    address: str, label: str, others: tuple[str, ...], shop: Node, signed_in: Enter
) -> None:
    # who may see no figures is not shown the overview
    page = markup(signed_in("marek" if address == "/overview" else "olivia").get(address))
    assert f'<a href="{address}" aria-current="page">{label}</a>' in page
    assert all(f'<a href="{other}">' in page for other in others)


def test_an_object_has_at_most_five_tabs_and_every_page_is_in_reach(shop: Node, signed_in: Enter) -> None:
    table = the("table", "shop.sales.orders").id
    olivia, seen = signed_in("olivia"), set[str]()
    for part in ("", "/history"):
        page = markup(olivia.get(f"/objects/{table}{part}"))
        tabs: Any = re.search(r'<nav class="tabs"[^>]*>(.*?)</nav>', page)
        assert tabs[1].count("<a ") <= 5
        seen.update(re.findall(rf'href="/objects/{table}(?:/(\w+))?"', page))
    assert {"", "rules", "duties", "requests", "history", "then", "columns"} <= seen
