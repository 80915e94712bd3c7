"""Moments, duties and rights as the console writes them within a sentence."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.test import Client
from django.utils import timezone

from authzsite.console.kit.display import words
from catalog.nodes import Node
from policies.emergency import access as emergency_access
from policies.emergency.access import EmergencyRequest
from policies.services import duties
from tests.factories import AUTHORITY, BY, a_person, acting, the


def test_the_name_of_a_day_keeps_its_capital_within_a_sentence() -> None:
    now = timezone.now()
    later = words.moment(now + timedelta(days=40))
    assert words.moment(now + timedelta(days=40), within=True) == later
    assert words.on(now + timedelta(days=40)) == f"on {later}"
    assert words.on(now) == words.moment(now, within=True) == f"today, {words.moment(now)[7:]}"


def test_the_history_tells_of_duties_and_moments_as_people_do(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    signed_in("carl")
    duties.give(the("catalog", "shop"), emergency_access.DUTY, a_person("carl"), by=BY, authority=AUTHORITY)
    wanted = EmergencyRequest(the("table", "shop.stock.items"), "read", 2, "The nightly load stopped")
    opened = emergency_access.open_for_oneself(wanted, by=acting("carl"))
    page = signed_in("marek").get("/history").content.decode()
    assert "assigned the duty Emergency access on shop to Carl Conrad" in page
    assert f"in an emergency, until {words.moment(opened.until, within=True)}" in page
