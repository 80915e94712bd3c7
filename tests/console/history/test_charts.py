"""Pictures of the record: steps of access over time, and changes day by day, each with its table."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone, translation

from authzsite.console.kit.display import charts
from catalog.nodes import Node
from policies.services import grants
from policies.services.grants import GrantRequest, revision_now
from tests.console.conftest import make_shop
from tests.factories import a_person, acting, the
from tests.kept import kept

Enter = Callable[[str], Client]
shop = kept(make_shop)


def test_a_bar_for_each_day_and_none_for_nothing() -> None:
    today = timezone.now()
    days = [(today - timedelta(days=back), many) for back, many in ((2, 3), (1, 0), (0, 1))]
    chart = charts.by_day("Changes", days)
    assert chart is not None
    assert [bar.many for bar in chart.bars] == ["3", "0", "1"]
    assert chart.bars[0].height == charts.DAY_HIGH
    assert chart.bars[1].height == 0
    assert chart.text.startswith("4 in 3 days")
    assert "most on " in chart.text
    busy_today = charts.by_day("Changes", [(day, 1 + at) for at, (day, _) in enumerate(days)])
    assert busy_today is not None
    assert busy_today.text.endswith(", most today")
    assert charts.by_day("Changes", [(day, 0) for day, _ in days]) is None


def test_the_history_draws_what_changed_and_lists_it(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    page = olivia.get("/history").content.decode()
    figure = page.split('<figure class="growth days', 1)[1].split("</figure>", 1)[0]
    assert "<rect" in figure
    assert "<table" in figure
    assert "<figure" not in olivia.get("/history?q=orders").content.decode()
    assert "<figure" not in signed_in("mia").get("/history").content.decode()


def test_the_steps_of_access_follow_who_came_and_went(shop: Node, signed_in: Enter) -> None:
    orders, ana, before = the("table", "shop.sales.orders"), a_person("ana"), revision_now()
    grants.add(GrantRequest(orders, (ana,), ("SELECT_TABLE",)), by=acting("olivia"))
    grants.remove(orders, (ana,), ("SELECT_TABLE",), by=acting("olivia"))
    address = f"/objects/{orders.id}/then?at={before}&show=between"
    page = signed_in("olivia").get(address).content.decode()
    figure = page.split('<figure class="growth"', 1)[1].split("</figure>", 1)[0]
    assert "People who could read it" in figure
    label = re.search(r'aria-label="([^"]*)"', figure)
    assert label and "as many as before" in label[1]
    path = re.search(r'class="rule" d="([^"]*)"', figure)
    heights = re.findall(r"V([\d.]+)", path[1]) if path else []
    assert len(set(heights)) > 1


def test_a_number_in_a_drawing_is_written_alike_in_every_language() -> None:
    """One with a decimal comma is none for a browser, which then draws nothing."""
    days = [(timezone.now() - timedelta(days=back), back % 4) for back in range(8)]
    drawn = charts.by_day("Changes", days, wrong=[1] * len(days))
    assert drawn is not None
    with translation.override("de"):
        pages = [render_to_string(part.template, {"it": part}) for part in (drawn, *charts.bars([1, 3]))]
    numbers = re.findall(r'\b(?:x|y|width|height)="([^"]*)"', "".join(pages))
    assert numbers and not [number for number in numbers if "," in number]
