"""The one box of the history: what is typed becomes filters of an address that can be passed on."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from authzsite.console.history.query_box import TypedQuery
from catalog.nodes import Node
from policies.record.change import change
from policies.services import grants, realm_of
from policies.services.grants import GrantRequest
from tests.factories import a_person, acting, the

Enter = Callable[[str], Client]


def test_words_that_find_nothing_are_offered_as_the_people_of_that_name(shop: Node, signed_in: Enter) -> None:
    wish = GrantRequest(the("table", "shop.sales.orders"), (a_person("ana"),), ("SELECT_TABLE",))
    grants.add(wish, by=acting("olivia"))
    olivia = signed_in("olivia")
    page = html.unescape(olivia.get("/history?q=Ana").content.decode())
    assert "Did you mean one of these?" in page
    [address] = re.findall(r'href="(\?[^"]*)"[^>]*>\s*About whom: ana<', page, re.I)
    about = olivia.get(f"/history{address}", follow=True).content.decode()
    assert "granted Read on" in about
    assert "Did you mean" not in olivia.get("/history?q=zzz").content.decode()


@pytest.mark.parametrize(
    ("text", "values", "words"),
    [
        ("orders", {}, "orders"),
        ("by:olivia", {"by": "olivia"}, ""),
        ("BY:olivia quarterly report", {"by": "olivia"}, "quarterly report"),
        ('by:"Olivia Owner" on:shop.sales', {"by": "Olivia Owner", "on": "shop.sales"}, ""),
        ("since:2026-01-31T10:00 x", {"since": "2026-01-31T10:00"}, "x"),
        ("at 10:00 http://x.org", {}, "at 10:00 http://x.org"),
        ("by: x", {}, "x"),
        ("colour:red by:ana", {"by": "ana"}, "colour:red"),
        ('by:"olivia', {"by": '"olivia'}, ""),
    ],
)
def test_filters_are_told_from_words(text: str, values: dict[str, str], words: str) -> None:
    typed = TypedQuery.of(text)
    assert (typed.values, typed.words) == (values, words)


def landed(client: Client, address: str) -> dict[str, str]:
    """The parameters of the address that a typed query leads to."""
    answer = client.get(address)
    assert answer.status_code == 302
    return {name: values[0] for name, values in parse_qs(urlsplit(answer["Location"]).query).items()}


def test_what_is_typed_is_kept_in_the_address(shop: Node, signed_in: Enter) -> None:
    olivia, sales = signed_in("olivia"), str(the("schema", "shop.sales").id)
    typed = {"q": "by:olivia on:shop.sales action:grants report", "before": "7"}
    assert olivia.get("/history", typed).status_code == 302
    answer = landed(olivia, "/history?q=by%3Aolivia+on%3Ashop.sales+action%3Agrants+report&before=7")
    assert answer == {"actor": "olivia", "object": sales, "kind": "grants", "q": "report"}
    # what counted before stays, and a label stands for its code
    answer = landed(olivia, "/history?person=ana&q=action%3A%22grants+and%22")
    assert answer == {"person": "ana", "kind": "grants"}


def test_what_nobody_may_see_and_what_is_not_there_read_alike(shop: Node, signed_in: Enter) -> None:
    mia = signed_in("mia")
    for name in ("shop.stock.items", "shop.nowhere"):
        assert landed(mia, f"/history?q=on%3A{name}+by%3Amia") == {"actor": "mia", "q": name}


def test_every_filter_is_a_chip_that_leads_to_the_page_without_it(shop: Node, signed_in: Enter) -> None:
    wish = GrantRequest(the("table", "shop.sales.orders"), (a_person("ana"),), ("SELECT_TABLE",), way=False)
    grants.add(wish, by=acting("olivia"), reason="quarterly report")
    page = signed_in("olivia").get("/history?actor=olivia&kind=grants&q=quarterly").content.decode()
    assert "quarterly report" in page.split("<table")[1]
    chips = re.findall(
        r'<a class="chip" href="([^"]*)"><span\s+class="faint">([^<]*)</span> (?:<bdi>)?([^<]*)<', page
    )
    assert [(label, value.strip(), parse_qs(html.unescape(url)[1:])) for url, label, value in chips] == [
        ("What", "Grants and revocations", {"actor": ["olivia"], "q": ["quarterly"]}),
        ("Done by", "olivia", {"kind": ["grants"], "q": ["quarterly"]}),
        ("Words", "quarterly", {"actor": ["olivia"], "kind": ["grants"]}),
    ]


def test_names_of_filters_are_understood_in_the_readers_language(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    User.objects.filter(username="olivia").update(language="de")
    assert landed(olivia, "/history?q=von%3Aana+seit%3A2026-01-31") == {"actor": "ana", "since": "2026-01-31"}
    assert landed(olivia, "/history?q=by%3Aana") == {"actor": "ana"}


@pytest.mark.parametrize(
    ("typed", "codes"),
    [
        ("ana", ["by:ana ", "person:ana ", "person:analysts "]),
        ("report by:an", ["report by:ana "]),
        ("orders", ["on:demo/shop.sales.orders "]),
        ("action:deni", ["action:denials "]),
        ("nobody-is-called-so", []),
        ("", None),
    ],
)
def test_the_box_offers_what_the_last_word_may_mean(
    shop: Node, signed_in: Enter, typed: str, codes: list[str] | None
) -> None:
    page = signed_in("olivia").get("/history/terms", {"q": typed}).content.decode()
    offered = [html.unescape(code) for code in re.findall(r'data-value="([^"]*)"', page)]
    assert codes is None or offered == codes, offered
    today = timezone.localdate().isoformat()
    page = signed_in("olivia").get("/history/terms", {"q": "since:"}).content.decode()
    assert f'data-value="since:{today} "' in page


def test_the_events_of_one_change_stand_together(shop: Node, signed_in: Enter) -> None:
    marek, orders = acting("marek"), the("table", "shop.sales.orders")
    with change("grant.added", realm=realm_of(orders), by=marek, reason="needs it"):
        for name in ("ana", "mia"):
            grants.add(GrantRequest(orders, (a_person(name),), ("SELECT_TABLE",), way=False), by=marek)
    page = signed_in("marek").get("/history").content.decode()
    changes = page.split('id="changes"')[1]
    together = changes.split('<tbody role="rowgroup"')[1].split("</tbody>")[0]
    assert together.count("<tr ") == 2
    assert together.count('rowspan="2"') == 3
    assert together.count("needs it") == 1
