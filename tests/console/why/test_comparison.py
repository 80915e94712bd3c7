"""Why compares somebody who cannot with somebody who can, among those whom the viewer may look up."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from accounts import people
from catalog.nodes import Node
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.conftest import NAMES
from tests.factories import acting, an_account, the

Enter = Callable[[str], Client]
ASKED = "/why?action=read&what=shop.sales.orders&type=table&who={}"


@pytest.fixture
def named(shop: Node) -> Node:
    for name, display in NAMES.items():
        an_account(name, display_name=display)
    return shop


def text(client: Client, address: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", client.get(address).content.decode()).split())


def test_somebody_who_can_is_chosen_and_the_difference_is_named(named: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    assert "Compare with someone who can" in text(olivia, ASKED.format("ana"))
    page = text(olivia, ASKED.format("ana") + "&with=")
    assert "Mia Meyer can, Ana Analyst cannot" in page
    assert "One thing makes the difference." in page
    assert "Group analysts Does not have it Has it" in page
    assert "on schema sales" in page
    assert "The smallest access to request: " in page


def test_a_denial_is_what_makes_the_difference(named: Node, signed_in: Enter) -> None:
    page = text(signed_in("olivia"), ASKED.format("carl") + "&with=mia")
    assert "Mia Meyer can, Carl Conrad cannot" in page
    assert "Group analysts Has it Has it" in page
    assert "A denial Denied Not denied" in page
    assert "The denial has to be lifted first" in page


def test_who_cannot_either_makes_no_comparison(named: Node, signed_in: Enter) -> None:
    page = text(signed_in("olivia"), ASKED.format("ana") + "&with=carl")
    assert "Carl Conrad cannot do it either. Choose someone else." in page


def test_nobody_learns_by_it_who_can(named: Node, signed_in: Enter) -> None:
    """Who may ask about themselves alone is told of nobody else, and no name is told from a made-up one."""
    page = text(signed_in("ana"), ASKED.format("ana") + "&with=mia")
    assert "Mia" not in page
    assert "Compare with" not in page
    an_account("far-away", display_name="Stranger Star")
    olivia = signed_in("olivia")
    hidden, absent = (text(olivia, ASKED.format("ana") + f"&with={who}") for who in ("far-away", "no-one"))
    assert "Nobody is called far-away." in hidden
    assert hidden.replace("far-away", "no-one") == absent


def test_what_an_owner_has_is_ownership(named: Node, signed_in: Enter) -> None:
    page = text(signed_in("marek"), ASKED.format("ana") + "&with=olivia")
    assert "Ownership Does not have it Has it owner of schema sales" in page


def test_what_both_were_given_by_themselves_is_no_difference(named: Node, signed_in: Enter) -> None:
    """The same right is the same, whoever has it by which grant; what leads there is told apart."""
    asked = (people.ensure("user", "ana"), people.ensure("user", "mia"))
    wish = GrantRequest(the("table", "shop.sales.orders"), asked, ("SELECT_TABLE",), way=False)
    grants.add(wish, by=acting("olivia"))
    page = text(signed_in("olivia"), ASKED.format("ana") + "&with=mia")
    assert "One thing makes the difference." in page
    assert "Granted to them directly Has it Has it Read on table orders" in page
