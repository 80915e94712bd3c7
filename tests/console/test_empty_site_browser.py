"""A site with nothing on it, in headless Chromium: every page accessible and fitting, and its first realm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.decisions.lookups.visible_objects import owner_of
from tests.console.conftest import PASSWORD
from tests.console.screens import EVERY_LOOK, faults
from tests.console.test_browser import visit
from tests.console.test_walks import step
from tests.factories import a_person, an_account

__all__ = ["visit"]  # a fixture
pytestmark = pytest.mark.browser
PLACES = (
    *(
        "/",
        "/first",
        "/catalog",
        "/people",
        "/people?kind=group",
        "/roles",
        "/requests",
        "/reviews",
        "/owners",
    ),
    *("/reviews/new", "/why", "/hints", "/overview", "/pipelines", "/history", "/history/looks"),
    *("/history/integrity", "/history/archive", "/sync", "/realms", "/realms/new", "/accounts", "/inbox"),
    *("/emergency", "/search?q=o", "/profile", "/help", "/objects/many"),
)
"""Where the navigation, the settings and Home lead while there is nothing yet."""


@pytest.fixture
def site(transactional_db: None, live_server: Any, settings: Any) -> str:
    """Sam runs it, Mia has an account; there is no realm."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    an_account("sam", display_name="Sam Site", password=PASSWORD)
    an_account("mia", display_name="Mia Meyer", password=PASSWORD)
    return str(live_server.url)


@EVERY_LOOK
@pytest.mark.parametrize("who", ["sam", "mia"])
def test_every_page_is_accessible_and_fits(looks: Any, who: str, visit: Callable[..., Any]) -> None:
    page, problems = visit(who), []
    for address in PLACES:
        page.goto(address)
        problems += faults(page, looks, address)
    assert not problems


def test_nothing_is_called_done_while_steps_are_left(visit: Callable[..., Any]) -> None:
    page = visit("sam")
    page.get_by_text("This site is new").first.wait_for()
    assert "steps left" in page.inner_text("main")
    assert "All done" not in page.inner_text("main")


@pytest.mark.parametrize(
    ("hand", "width"), [("keyboard", 390), ("mouse", 390), ("keyboard", 1280), ("mouse", 1280)]
)
def test_the_first_realm_is_made(hand: str, width: int, visit: Callable[..., Any]) -> None:
    page = visit("sam", width=width)
    page.goto("/first")
    for kind, name, *typed in (
        ("link", "Create a realm"),
        ("textbox", "Name", "lake"),
        ("textbox", "Owner", "mia"),
        ("button", "Create"),
    ):
        step(page, kind, name, *typed, hand=hand)
    page.get_by_role("heading", name="lake").wait_for()
    made = find(ObjectRef("metalake", "lake"))
    assert made is not None
    assert owner_of(made) == a_person("mia")
