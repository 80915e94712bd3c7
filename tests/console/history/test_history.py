"""The room of the history: every kind of event has its filter, realms and requests can be asked for."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import timedelta
from itertools import chain
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import get_resolver

from authzsite.console.history.kinds import KINDS
from catalog.nodes import Node
from policies.authority import Actor
from policies.events import SENTENCES
from policies.models import Counter, Event
from policies.record import search as record_search
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.test_browser import site, visit
from tests.factories import a_metalake, a_person, acting, the, under
from tests.markup import markup
from tests.policies.test_walking import planned_once

__all__ = ["site", "visit"]  # fixtures

Enter = Callable[[str], Client]


def words(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status, response.content
    return re.sub(r"<[^>]+>|\s+", " ", response.content.decode())


def test_every_kind_of_event_stands_under_one_filter() -> None:
    _ = get_resolver().url_patterns  # events are registered by what says them
    listed = list(chain.from_iterable(kinds for _, _, kinds in KINDS))
    assert sorted(listed) == sorted(SENTENCES)


def test_a_realm_is_chosen_where_there_are_more(shop: Node, signed_in: Enter) -> None:
    assert 'name="realm"' not in signed_in("marek").get("/history").content.decode()
    a_metalake("second")
    page = signed_in("marek").get("/history?realm=demo&kind=roles").content.decode()
    assert "<option selected>demo</option>" in page and "assigned role sales_read to" in page
    assert "realm second" not in words(signed_in("marek"), "/history?realm=demo")
    words(signed_in("ana"), "/history?realm=second", 404)
    words(signed_in("marek"), "/history?realm=nowhere", 404)


def test_a_long_change_tells_how_much_of_it_is_left_out(shop: Node, signed_in: Enter) -> None:
    under(the("schema", "shop.sales"), "table", *(f"table_{at:02}" for at in range(60)))
    marek, last = signed_in("marek"), Event.objects.latest("change").change_id
    for address in ("/history", f"/objects/{the('schema', 'shop.sales').id}/history"):
        shown = " ".join(marek.get(address).content.decode().split())
        assert "20 more lines of this change" in shown
        assert f'href="/history?revision={last}"' in shown


def test_a_request_is_asked_for_by_its_number(shop: Node, signed_in: Enter) -> None:
    wish = GrantRequest(the("table", "shop.sales.orders"), (a_person("ana"),), ("SELECT_TABLE",), way=False)
    by = Actor(a_person("olivia"), "console", request_id="4711")
    grants.add(wish, by=by, reason="quarterly report")
    page = words(signed_in("olivia"), "/history?request=4711")
    assert "quarterly report" in page and "1 change, newest first" in page
    assert "No change matches" in words(signed_in("olivia"), "/history?request=4712")
    assert "No change matches" in words(signed_in("olivia"), "/history?request=%004711")


def test_a_search_that_ends_early_says_how_far_it_came(
    shop: Node, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty = dict.fromkeys(("PATIENCE", "GOING_ON"), timedelta())
    for name, value in {"NEWEST": 2, "FIRST": 2, "GROWTH": 1, **hasty}.items():
        monkeypatch.setattr(record_search, name, value)
    marek, address = signed_in("marek"), "/history?q=nowhere+never"
    assert "No change matches" in words(marek, address)  # the index alone knew
    address, early, shown = "/history?kind=roles", 0, []
    while address:
        body = marek.get(address).content.decode()
        early += "Searched back to" in body
        here = re.findall(r'<tbody role="rowgroup" id="r(\d+)"', body)
        assert ('hx-trigger="load" hx-target="#changes"' in body) == ("Nothing found so far" in body)
        assert ("left to search" in body) == ("Searched back to" in body)
        shown += here
        onward = re.search(r'href="(\?[^"]*before=\d+)"', body)
        address = f"/history{html.unescape(onward[1])}" if onward else ""
    assert early and "Searched back to" not in body
    events = Event.objects.filter(kind__startswith="role.").order_by("-change")
    assert [*map(int, shown)] == list(events.values_list("change", flat=True))


def test_going_on_before_what_is_not_there_begins_at_the_newest(shop: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    newest = re.findall(r'<tbody role="rowgroup" id="r(\d+)"', marek.get("/history").content.decode())
    for far in ("9" * 9, "9" * 17):
        assert "No change matches" in words(marek, f"/history?q=nowhere&before={far}")
        body = marek.get(f"/history?before={far}").content.decode()
        assert re.findall(r'<tbody role="rowgroup" id="r(\d+)"', body) == newest


def test_a_search_whose_session_ended_says_so_in_its_place(shop: Node, client: Client) -> None:
    answer = client.get("/history?q=nowhere&before=2", headers={"HX-Request": "true"})
    assert answer.status_code == 401 and answer["HX-Reselect"] == "unset"


@pytest.fixture
def patient(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happened in the shop is four blocks ago, one change in each, and a page looks at one at a time."""
    for name in ("PATIENCE", "GOING_ON"):
        monkeypatch.setattr(record_search, name, timedelta())
    for block, who in enumerate(("ana", "mia", "carl", "olivia"), 1):
        Counter.objects.update(revision=block << 14)
        wish = GrantRequest(the("table", "shop.sales.orders"), (a_person(who),), ("SELECT_TABLE",), way=False)
        grants.add(wish, by=acting("marek"))


@pytest.mark.browser
def test_a_page_that_found_nothing_yet_goes_on_by_itself(patient: None, visit: Callable[..., Any]) -> None:
    page = visit("marek")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "before=" in request.url else None)
    page.goto("/history?q=nowhere")
    page.get_by_role("heading", name="No change matches").wait_for()
    assert len(asked) >= 3 and page.locator("#searched").inner_text() == "No change matches"
    page.goto("/history?kind=roles")
    page.locator("#changes tbody tr").first.wait_for()


@pytest.mark.browser
def test_without_scripts_a_link_goes_on(patient: None, visit: Callable[..., Any]) -> None:
    page, followed = visit("marek", scripts=False), 0
    page.goto("/history?q=nowhere")
    end, link = (
        page.get_by_role("heading", name="No change matches"),
        page.get_by_role("link", name="Look further back"),
    )
    end.or_(link).wait_for()
    while link.count():
        with page.expect_navigation():
            link.click()
        end.or_(link).wait_for()
        followed += 1
    end.wait_for()
    assert followed >= 3


def test_a_search_whose_session_ends_goes_on_from_there(shop: Node) -> None:
    asked = "/history?kind=roles&q=no_contractors&before=40"
    from_ = {"HTTP_HX_REQUEST": "true", "HTTP_HX_CURRENT_URL": "http://testserver/history?kind=roles"}
    part = Client().get(asked, **from_)
    body = markup(part)
    assert (part.status_code, part["HX-Reselect"]) == (401, "unset")
    assert "You were signed out." in body and "and the search goes on from here" in body
    [door] = re.findall(r'<a href="([^"]+)"', html.unescape(body))
    assert parse_qs(urlsplit(door).query) == {"next": [asked]}


def test_refusals_are_planned_for_whoever_looks(shop: Node, signed_in: Enter) -> None:
    """Whoever is seldom in the log is not read from its end, as is best for whoever is often in it."""
    ana, kept = signed_in("ana"), planned_once("policies_accessrecord")
    for _ in range(8):
        words(ana, "/history/looks")
    assert planned_once("policies_accessrecord") == kept


def test_another_part_that_is_only_read_leads_back_to_its_page(shop: Node) -> None:
    here = "http://testserver/history/integrity?x=1"
    part = Client().get("/history/integrity/progress", HTTP_HX_REQUEST="true", HTTP_HX_CURRENT_URL=here)
    [door] = re.findall(r'<a href="([^"]+)"', html.unescape(markup(part)))
    assert parse_qs(urlsplit(door).query) == {"next": ["/history/integrity?x=1"]}
    elsewhere = {"HTTP_HX_REQUEST": "true", "HTTP_HX_CURRENT_URL": "https://elsewhere.example/history"}
    assert "elsewhere" not in Client().get("/history/integrity/progress", **elsewhere).content.decode()
