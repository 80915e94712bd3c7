"""The list of a container: by name in any case, by letter, filtered, all of it in the address."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from catalog.nodes import Node
from tests.factories import owned, the, under
from tests.kept import kept
from tests.markup import markup

Enter = Callable[[str], Client]


def make_shelf(shop: Node) -> Node:
    names = [f"{letter}{at:02}" for letter in "aBrZ" for at in range(20)] + ["_first", "éclair", "1st"]
    sales = the("schema", "shop.sales")
    under(sales, "table", *names)
    owned(the("table", "shop.sales.a03"), "olivia")
    return sales


shelf = kept(make_shelf, on="shop")


def names_on(client: Client, address: str) -> list[str]:
    page = client.get(address).content.decode()
    return re.findall(r'<th role="rowheader".*?<b>(.*?)</b>', page, re.S)


def following(client: Client, address: str) -> list[str]:
    page, base = client.get(address).content.decode(), address.partition("?")[0]
    [next_] = re.findall(r'href="([^"]*)"\s+rel="next"', page) or [""]
    here = names_on(client, address)
    return here + (following(client, base + next_.replace("&amp;", "&")) if next_ else [])


def test_pages_hold_each_name_once_in_the_order_of_the_alphabet(shelf: Node, signed_in: Enter) -> None:
    names = following(signed_in("olivia"), f"/catalog/{shelf.id}")
    assert len(names) == 87
    assert names == sorted(names, key=str.upper)


@pytest.mark.parametrize(
    ("asked", "first", "many"),
    [
        ("?from=R", "r00", 44),
        ("?from=b", "B00", 50),
        ("?from=é", "éclair", 1),
        ("?from=%00", "1st", 50),
        ("?q=OP", "top", 1),
        ("?q=r1&from=S", "", 0),
        ("?how=mine", "a03", 1),
        ("?how=ownerless&from=Z", "Z00", 22),
        ("?type=view", "top", 1),
        ("?type=nonsense&how=nonsense", "1st", 50),
        ("?after=nonsense", "1st", 50),
        ("?after=99999999999999999999:a", "1st", 50),
    ],
)
def test_a_list_is_what_its_address_says(
    asked: str, first: str, many: int, shelf: Node, signed_in: Enter
) -> None:
    names = names_on(signed_in("olivia"), f"/catalog/{shelf.id}{asked}")
    assert (names[0] if names else "", len(names)) == (first, many)


def test_letters_tell_how_many_names_begin_so_and_lead_there(shelf: Node, signed_in: Enter) -> None:
    client = signed_in("olivia")
    page = markup(client.get(f"/catalog/{shelf.id}?how=ownerless"))
    bars = dict(re.findall(r'<a href="([^"]*from=[^"]*)"[^>]*>.*?, (\d+ names?)</span>', page))
    assert bars["?how=ownerless&amp;from=R"] == "21 names"
    assert bars["?how=ownerless&amp;from=A"] == "19 names"
    assert bars["?how=ownerless&amp;from=%C3%89"] == "1 name"
    assert "?how=ownerless&amp;from=Q" not in bars
    assert "from=R" not in client.get(f"/catalog/{shelf.id}?q=r0").content.decode()
    hidden = signed_in("carl")  # denied every table: Carl's letters count none of them
    assert "names</span>" not in hidden.get(f"/catalog/{shelf.id}").content.decode()


def test_the_file_holds_what_the_list_holds(shelf: Node, signed_in: Enter) -> None:
    client = signed_in("olivia")
    text = b"".join(client.get(f"/catalog/{shelf.id}/list.csv?q=r0").streaming_content).decode()
    assert [line.split(",")[2] for line in text.splitlines()[1:]] == [f"r{at:02}" for at in range(10)]
