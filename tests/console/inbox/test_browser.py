"""Inbox, rules of separation and emergencies in headless Chromium: for everybody, at both widths."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from policies import notices
from policies.emergency import access as emergency_access
from policies.emergency.access import EmergencyRequest
from policies.notices.kinds import Kind
from policies.separation.sides import Side
from policies.services import duties, grants, separation
from policies.services.grants import GrantRequest
from tests.console.screens import LOOKS, faults_of
from tests.console.test_browser import site, visit
from tests.factories import AUTHORITY, BY, a_role, acting, the

__all__ = ["site", "visit"]  # fixtures
pytestmark = pytest.mark.browser
NEWS = "test.browser"


@pytest.fixture(autouse=True)
def kinds_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known while a test runs: a page of another test lists every kind there is."""
    monkeypatch.setitem(notices.KINDS, NEWS, Kind(NEWS, "what the tests of the browser do"))


def account(name: str) -> Principal:
    principal = people.make_account(name).principal
    assert principal is not None
    return principal


def addresses() -> dict[str, str]:
    """Marek was told something, has a rule with a conflict and one who is let, an emergency to review."""
    root, shop, items = the("metalake"), the("catalog", "shop"), the("table", "shop.stock.items")
    marek, mia, ana = account("marek"), account("mia"), account("ana")
    a_role(root, "payer", held_by=("mia", "ana"))
    grants.add(GrantRequest(items, (mia, ana), ("MODIFY_TABLE",), way=False), by=acting("marek"))
    other = Side(object=the("schema", "shop.stock").id, privileges=("MODIFY_TABLE",))
    rule = separation.make(root, "Payments", Side(role=the("role", "payer").id), other, by=acting("marek"))
    until = timezone.now() + timedelta(days=3)
    separation.let(rule, root, ana, owner=mia, until=until, reason="Alone at night", by=acting("marek"))
    for holder in (marek, ana):
        duties.give(shop, emergency_access.DUTY, holder, by=BY, authority=AUTHORITY)
    wanted = [EmergencyRequest(items, "read", 1, "The nightly load stopped") for _ in range(2)]
    opened = emergency_access.open_for_oneself(wanted[0], by=acting(ana))
    emergency_access.end(opened.pk, by=acting(ana))
    emergency_access.open_for_oneself(wanted[1], by=acting(marek))
    notices.tell(marek, NEWS, "{who} asks to read orders.", key="1", who=ana, until=until, urgent=True)
    return {
        "inbox": "/inbox",
        "all notices": "/inbox?show=all",
        "how one is told": "/inbox/settings",
        "rules": f"/realms/{root.id}/separation",
        "a rule": f"/separation/{rule.pk}",
        "a new rule": f"/realms/{root.id}/separation/new?step=look&one_role={the('role', 'payer').id}"
        "&other_what=shop.stock&other_may=MODIFY_TABLE",
        "letting somebody": f"/separation/{rule.pk}/let?who=user:mia",
        "ending a rule": f"/separation/{rule.pk}/end",
        "a grant that a rule forbids": f"/objects/{the('catalog', 'shop').id}/grant?who=user:mia",
        "emergencies": "/emergency",
        "an emergency": f"/emergency/{opened.pk}",
    }


@pytest.mark.slow
def test_every_room_is_accessible_and_fits(visit: Callable[..., Any]) -> None:
    assert not faults_of(visit("marek"), addresses().values(), LOOKS)


def test_a_rule_is_made_on_a_small_screen_without_scripts(visit: Callable[..., Any]) -> None:
    page, root = visit("marek", scripts=False, width=320), the("metalake")
    a_role(root, "payer", held_by=("ana",))
    page.goto(f"/realms/{root.id}/separation")
    page.get_by_role("link", name="Create a rule").click()
    page.get_by_label("Name of the rule").fill("Payments")
    page.locator("#one-role").select_option(label="payer")
    page.locator("#other-what").fill("shop.stock")
    page.get_by_role("button", name="See who holds both").click()
    page.get_by_label("Write tables").check()
    page.get_by_role("button", name="See who holds both").click()
    page.get_by_text("Nobody holds both now.").wait_for()
    page.get_by_role("button", name="Create the rule").click()
    page.get_by_text("One rule of separation").wait_for()
    page.get_by_text("Write tables on shop.stock").wait_for()


def test_following_a_notice_reads_it(visit: Callable[..., Any]) -> None:
    ana = people.ensure("user", "ana")
    notices.tell(ana, NEWS, "It rains.", key="rain", link="/help")
    page = visit("ana")
    page.goto("/inbox")
    page.get_by_role("link", name="It rains.").click()
    page.wait_for_url("**/help")
    # what is sent while a link is followed may arrive after the page that it leads to
    for _ in range(500):
        page.goto("/inbox")
        if page.get_by_text("Nothing new").count():
            break
        page.wait_for_timeout(200)
    assert page.get_by_text("Nothing new").count()


def test_the_glass_is_broken_on_a_small_screen(visit: Callable[..., Any]) -> None:
    page = visit("ana", width=320)
    duties.give(
        the("catalog", "shop"),
        emergency_access.DUTY,
        people.ensure("user", "ana"),
        by=BY,
        authority=AUTHORITY,
    )
    page.goto("/emergency")
    page.get_by_role("combobox", name="Object, by its full name").fill("shop.sales.orders")
    page.get_by_label("What happened").fill("The nightly load stopped")
    page.get_by_role("button", name="Open it for me now").click()
    page.get_by_text("Emergency access is open until").wait_for()
    page.get_by_role("button", name="End it now").click()
    page.get_by_text("Another approver of the object").wait_for()
    assert not page.get_by_text("Emergency access is open until").count()
