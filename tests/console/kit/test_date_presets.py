"""Dates beside every field for one: what they hold; where a form is an address they are links."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from authzsite.console.kit.inputs import date_presets
from authzsite.console.kit.inputs.dates import local_moment
from catalog.nodes import Node
from policies.record.revisions import moment_in
from tests.console.conftest import shown
from tests.factories import the

Enter = Callable[[str], Client]


@pytest.mark.parametrize(
    ("day", "begins", "ends"),
    [
        (date(2026, 1, 1), date(2026, 1, 1), date(2026, 3, 31)),
        (date(2026, 11, 23), date(2026, 10, 1), date(2026, 12, 31)),
        (date(2028, 2, 29), date(2028, 1, 1), date(2028, 3, 31)),
        (date(2026, 6, 30), date(2026, 4, 1), date(2026, 6, 30)),
    ],
)
def test_quarters(day: date, begins: date, ends: date) -> None:
    assert date_presets.quarter_begins(day) == begins
    assert date_presets.quarter_ends(day) == ends


def test_what_ends_ahead_is_still_to_come_and_what_was_is_past(monkeypatch: pytest.MonkeyPatch) -> None:
    late = datetime(2026, 11, 23, 21, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: late)
    with timezone.override("UTC"):
        ahead = list(date_presets.ahead())
        assert [preset.label for preset in ahead] == ["7 days", "30 days", "90 days", "End of the quarter"]
        assert ahead[-1].value == "2026-12-31T18:00"
        assert next(iter(date_presets.since())).value == "2026-11-23"
        assert [preset.value for preset in date_presets.then()][-1] == "2026-09-30"
        assert all(moment_in(preset.value) for preset in (*date_presets.since(), *date_presets.then()))


STARTS = [
    (
        datetime(2026, 11, 23, 10, 20, tzinfo=UTC),  # a Monday
        ["2026-11-23T11:00", "2026-11-24T08:00", "2026-11-30T08:00", "2026-12-01T08:00"],
    ),
    (datetime(2026, 12, 31, 3, tzinfo=UTC), ["2026-12-31T08:00", "2027-01-01T08:00", "2027-01-04T08:00"]),
    (datetime(2026, 2, 1, 23, 30, tzinfo=UTC), ["2026-02-02T08:00", "2026-03-01T08:00"]),  # a Sunday
]


@pytest.mark.parametrize(("now", "expected"), STARTS)
def test_what_begins_is_still_to_come(
    now: datetime, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: now)
    with timezone.override("UTC"):
        begins = list(date_presets.begins())
        assert [preset.value for preset in begins] == expected
        assert begins[0].label == ("Today" if len(expected) > 2 else "Next Monday")
        assert all((local_moment(value) or now) > now for value in expected)


@pytest.mark.parametrize("page", ["/objects/{orders}/grant", "/requests/new?what=demo/shop.sales.orders"])
def test_a_start_is_offered_days_that_begin(page: str, shop: Node, signed_in: Enter) -> None:
    body = shown(signed_in("olivia"), page.format(orders=the("table", "shop.sales.orders").id))
    offered = re.findall(r'data-sets="begin"\s+data-value="[^"]+">([^<]+)<', body)
    assert "Next Monday" in offered or "Tomorrow" in offered
    assert not {"7 days", "End of the quarter"} & set(offered)
    assert "End of the quarter" in re.findall(r'data-sets="date"\s+data-value="[^"]+">([^<]+)<', body)


def test_a_date_is_one_click_without_scripts(shop: Node, signed_in: Enter) -> None:
    olivia, orders = signed_in("olivia"), the("table", "shop.sales.orders")
    for page in (f"/history?person=mia&object={orders.id}", f"/objects/{orders.id}/then?show=changes"):
        body = olivia.get(page).content.decode()
        links = [unescape(link) for link in re.findall(r'<a\s+class="toggle" href="(\?[^"]+)"', body)]
        dated = [link for link in links if re.search(r"[?&](since|at)=\d{4}-", link)]
        assert dated, page
        kept = page.partition("?")[2].split("&")
        assert all(part in link for part in kept for link in dated)
        assert olivia.get(page.partition("?")[0] + dated[0]).status_code == 200


def test_what_ends_is_set_by_buttons_beside_the_calendar_of_the_browser(shop: Node, signed_in: Enter) -> None:
    body = signed_in("olivia").get(f"/objects/{the('table', 'shop.sales.orders').id}/grant").content.decode()
    assert 'type="datetime-local" name="date"' in body
    assert 'data-sets="date"' in body
