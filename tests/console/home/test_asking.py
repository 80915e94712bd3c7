"""Home of people who only ask: search, asking, their requests, what they have and when it ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from django.test import Client
from django.utils import timezone

from catalog.nodes import Node
from policies.authority import Actor
from policies.requests import submission
from policies.requests.submission import Asking, WantedAction
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.conftest import make_shop
from tests.factories import a_person, acting, the
from tests.kept import kept

Enter = Callable[[str], Client]
shop = kept(make_shop)


def home(signed_in: Enter, name: str) -> str:
    return signed_in(name).get("/").content.decode()


def test_who_only_asks_finds_the_search_and_the_way_to_ask(shop: Node, signed_in: Enter) -> None:
    page = home(signed_in, "ana")
    assert "<h1>What do you need?</h1>" in page
    assert re.search(r'class="seek" role="search" aria-label="[^"]+" action="/search"', page)
    assert 'class="btn primary" href="/requests/new"' in page
    assert "All done" not in page


def test_own_requests_stand_there_with_their_state(shop: Node, signed_in: Enter) -> None:
    ana = a_person("ana")
    wanted = (WantedAction("table", the("table", "shop.sales.orders").ref.id, "read"),)
    asked = submission.ask(Asking(wanted, ana, reason="Returns by customer"), by=Actor(ana, "console"))
    page = home(signed_in, "ana")
    assert "Read sales.orders without end" in page
    assert f'href="/requests/{asked.pk}"' in page
    assert "Returns by customer" not in home(signed_in, "mia")


def test_what_ends_first_stands_first(shop: Node, signed_in: Enter) -> None:
    end = timezone.now() + timedelta(days=3)
    given = GrantRequest(
        the("table", "shop.sales.orders"), (a_person("mia"),), ("SELECT_TABLE",), valid_until=end
    )
    grants.add(given, by=acting("olivia"))
    table = home(signed_in, "mia").split("What you have", 1)[1]
    assert 'data-label="Ends"' in table.split("</tr>")[1]


def test_an_owner_finds_what_waits_instead(shop: Node, signed_in: Enter) -> None:
    page = home(signed_in, "olivia")
    assert "What do you need?" not in page
    assert "Waiting for you" in page
