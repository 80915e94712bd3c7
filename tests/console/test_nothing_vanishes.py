"""A locked control stays in its place, disabled, with the reason and whom to ask; it never vanishes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

import pytest
from django.test import Client

from accounts.people import ensure, make_account
from catalog.nodes import Node
from tests.factories import a_person, the
from tests.kept import kept


@dataclass
class Controls(HTMLParser):
    """The buttons of a page by their words: whether disabled, and the numbers of what says why."""

    disabled: dict[str, str] = field(default_factory=dict)
    enabled: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    _open: list[dict[str, str | None]] = field(default_factory=list)
    _words: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.ids.add(attributes.get("id") or "")
        if "btn" in (attributes.get("class") or "").split():
            self._open, self._words = [attributes], ""

    def handle_data(self, data: str) -> None:
        self._words += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("a", "button") and self._open:
            opened, words = self._open.pop(), " ".join(self._words.split())
            if opened.get("aria-disabled") == "true":
                self.disabled[words] = opened.get("aria-describedby") or ""
            else:
                self.enabled.add(words)


def controls(client: Client, address: str) -> Controls:
    answer = client.get(address)
    assert answer.status_code == 200, address
    controls_ = Controls()
    controls_.feed(answer.content.decode().split('<main id="main"')[1])
    return controls_


@dataclass(frozen=True)
class Locked:
    """A control that somebody may not use on a page that they may see."""

    room: str
    who: str
    address: str
    control: str
    because: str


LOCKED = (
    Locked("catalog", "mia", "/catalog/{sales}", "Grant on sales", "Access to sales is granted by its owner"),
    Locked("catalog", "mia", "/catalog/{sales}", "Grant on chosen", "You can change access only on"),
    Locked("a table", "mia", "/objects/{orders}", "Grant access", "Access to orders is granted by"),
    Locked("a table", "mia", "/objects/{orders}", "Set owner", "Access to orders is granted by"),
    Locked("its duties", "olivia", "/objects/{orders}/duties", "Assign a duty", "Duties"),
    Locked("people", "olivia", "/people", "Add a member", "Only the owner of a metalake"),
    Locked("a group", "marek", "/people/{analysts}/groups", "Add someone", "Only a site admin can change"),
    Locked("a group", "mia", "/people/{analysts}", "Grant to analysts", "Only the owner of an object"),
    Locked("a group", "mia", "/people/{analysts}", "Remove from demo", "Only the owner of the realm"),
    Locked("a group", "mia", "/people/{analysts}/groups", "Assign roles", "Only the owner of an object"),
    Locked("roles", "mia", "/roles", "Create a role", "Only the owner of the metalake"),
    Locked("a role", "mia", "/roles/{role}", "Assign the role", ""),
    Locked("a role", "mia", "/roles/{role}", "Delete", ""),
    Locked("a role", "mia", "/roles/{role}", "Revoke from analysts", ""),
    Locked("realms", "mia", "/realms", "Create a realm", "site admin"),
    Locked("a realm", "mia", "/realms/{demo}", "Set owner", "These settings are changed by its owner"),
    Locked("a realm", "mia", "/realms/{demo}", "Set to off", "These settings are changed by its owner"),
    Locked("a realm", "mia", "/realms/{demo}", "Connect a catalog", ""),
    Locked("reviews", "mia", "/reviews", "Start a review", "Only people who may grant access"),
    Locked("requests", "mia", "/objects/{orders}/requests", "Grant access", "Access to orders is granted by"),
    Locked("evidence", "olivia", "/objects/{orders}/then?at=2099-01-01", "Export evidence", "the duty"),
    Locked("the record", "mia", "/history/integrity", "Verify now", "people with the duty"),
)


def make_numbers(shop: Node) -> dict[str, int]:
    make_account("mia")
    return {
        "orders": the("table", "shop.sales.orders").id,
        "sales": the("schema", "shop.sales").id,
        "demo": shop.id,
        "role": the("role", "sales_read").id,
        "analysts": ensure("group", "analysts").pk,
        "mia": a_person("mia").pk,
    }


numbers = kept(make_numbers, on="shop")


@pytest.mark.parametrize("one", LOCKED, ids=[f"{item.control}, {item.room}, {item.who}" for item in LOCKED])
def test_it_is_there_disabled_with_its_reason(
    one: Locked, numbers: dict[str, int], signed_in: Callable[[str], Client]
) -> None:
    client, address = signed_in(one.who), one.address.format(**numbers)
    controls_ = controls(client, address)
    assert one.control not in controls_.enabled
    assert controls_.disabled[one.control] in controls_.ids - {""}
    assert one.because in unescape(client.get(address).content.decode())
