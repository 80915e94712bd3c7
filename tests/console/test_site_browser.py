"""Walks through realms, connections, first steps and help in headless Chromium, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog.queries import find, mode_of
from lakewarden.law.objects import ObjectRef
from policies.decisions.lookups.visible_objects import owner_of
from tests.console.conftest import PASSWORD
from tests.console.screens import LOOKS, faults
from tests.console.test_browser import EITHER_WAY, site, visit
from tests.factories import a_person, an_account, the

__all__ = ["site", "visit"]  # fixtures
pytestmark = pytest.mark.browser
Visit = Callable[..., Any]


@pytest.fixture
def sam(settings: Any, site: str) -> str:
    """A site admin, in no realm."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    an_account("sam", display_name="Sam Site", password=PASSWORD)
    return "sam"


@pytest.mark.slow
def test_every_room_of_the_site_is_accessible_and_fits(sam: str, visit: Visit) -> None:
    root = the("metalake").id
    addresses = {
        "marek": ("/realms", f"/realms/{root}", f"/realms/{root}/mode?to=off", f"/realms/{root}/connect"),
        "mia": (f"/realms/{root}", f"/realms/{root}/connect", "/help", "/help?q=zzz"),
        sam: ("/", "/realms", "/realms/new?kind=cdap", f"/realms/{root}", "/first"),
    }
    for name, some in addresses.items():
        page = visit(name)
        for address in some:
            page.goto(address)
            assert not faults(page, LOOKS, f"{address} for {name}")


@EITHER_WAY
def test_an_owner_switches_authorization_on_a_small_screen(scripts: bool, visit: Visit) -> None:
    page, root = visit("marek", scripts=scripts, width=320), the("metalake")
    page.goto(f"/realms/{root.id}")
    page.get_by_role("link", name="Set to off").click()
    page.get_by_text("is no longer protected by its rules").wait_for()
    assert mode_of(root.realm_id) == "on"
    page.get_by_role("button", name="Set demo to off").click()
    page.get_by_role("alert").get_by_text("Authorization is off in demo.").wait_for()
    assert mode_of(root.realm_id) == "off"
    page.goto(f"/catalog/{root.id}")
    page.get_by_role("alert").get_by_text("Authorization is off in demo.").wait_for()
    page.goto(f"/realms/{root.id}")
    page.get_by_role("link", name="Set to on").click()
    page.get_by_role("button", name="Set demo to on").click()
    page.get_by_role("status").get_by_text("Authorization of demo is on").wait_for()
    assert page.get_by_role("alert").count() == 0


def test_a_realm_is_made_by_keyboard_alone(sam: str, visit: Visit) -> None:
    page = visit(sam)
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.wait_for_url("**/realms")
    page.get_by_role("link", name="Create a realm").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Metalake").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("herd")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type("ana")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="herd").wait_for()
    made = find(ObjectRef("herd", "herd"))
    assert made is not None
    assert owner_of(made) == a_person("ana")
