"""The main job of each room by the mouse and by the keyboard alone, with scripts and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts.people import ensure
from tests.console.conftest import PASSWORD
from tests.console.site_pages import furnish
from tests.console.test_browser import site, visit
from tests.console.walks import WALKS, Walk
from tests.factories import a_person, an_account, owned, the

__all__ = ["site", "visit"]  # fixtures
pytestmark = pytest.mark.browser
QUICK = WALKS[:4]
"""Walked on each change; the rest, and by the other hand, by the slow tests."""


@pytest.fixture(autouse=True)
def sam(site: str, settings: Any) -> Iterator[str]:
    """Sam runs the site, and is in no realm; Zoe is in none either."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    an_account("sam", display_name="Sam Site", password=PASSWORD)
    ensure("user", "zoe")
    yield "sam"


def by_keyboard(page: Any, control: Any, kind: str, *typed: str) -> None:
    """Tab until the focus is there, arrows among the choices of one question; Space, Enter and letters."""
    tab_to(page, control)
    if typed:
        page.keyboard.type(typed[0])
    elif kind not in ("checkbox", "radio"):
        page.keyboard.press("Enter")
    elif not control.is_checked():
        page.keyboard.press("Space")


def tab_to(page: Any, control: Any) -> None:
    there = "it => it === document.activeElement"
    beside = "it => it.type === 'radio' && it.name === document.activeElement.name"
    for _ in range(200):
        page.keyboard.press("ArrowRight" if control.evaluate(beside) else "Tab")
        if control.evaluate(there):
            return
    raise AssertionError(f"the keyboard does not reach {control}")


def by_mouse(page: Any, control: Any, kind: str, *typed: str) -> None:
    """A click, on the words of a choice; letters where one has to write."""
    words = control.locator("xpath=ancestor::label")
    if typed and control.evaluate("it => it.tagName") == "SELECT":
        control.select_option(label=typed[0])
        return
    (words if words.count() else control).click()
    if typed:
        control.fill(typed[0])


HANDS = {"keyboard": by_keyboard, "mouse": by_mouse}


def step(page: Any, kind: str, name: str, *typed: str, hand: str = "keyboard") -> None:
    """Look for a text; or use a control, the first of its name or a later one."""
    if kind == "see":
        page.get_by_text(name).locator("visible=true").first.wait_for()
        return
    name, _, place = name.partition(" #")
    controls = page.get_by_role(kind, name=name)
    if kind in ("textbox", "searchbox"):  # with scripts one that offers names is a combobox
        controls = controls.or_(page.get_by_role("combobox", name=name))
    control = controls.nth(int(place or 1) - 1)
    control.wait_for(state="attached")
    HANDS[hand](page, control, kind, *typed[:1])
    page.wait_for_load_state()
    for key in typed[1:]:
        page.keyboard.press(key)
        page.wait_for_load_state()


def numbers(walk: Walk) -> dict[str, int]:
    """What the addresses of a walk call what is in its world, made now."""
    if walk.busy:
        return {"demo": the("metalake").id, **furnish(the("metalake"))}
    known = {
        "demo": the("metalake"),
        "sales": the("schema", "shop.sales"),
        "orders": the("table", "shop.sales.orders"),
        "role": the("role", "sales_read"),
    }
    owned(known["orders"], "olivia")
    people = {name: a_person(name).pk for name in ("mia", "olivia")}
    return {**{name: node.id for name, node in known.items()}, **people}


def take(walk: Walk, hand: str, visit: Callable[..., Any], *, scripts: bool) -> None:
    known = numbers(walk)
    if walk.room.startswith("Sessions"):
        visit(walk.who)
    page = visit(walk.who, scripts=scripts)
    page.goto(walk.start.format(**known))
    for item in walk.read():
        step(page, *item, hand=hand)
    assert walk.then()


@pytest.mark.parametrize("walk", QUICK, ids=[walk.room for walk in QUICK])
def test_by_keyboard_alone(walk: Walk, visit: Callable[..., Any]) -> None:
    take(walk, "keyboard", visit, scripts=True)


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS, ids=[walk.room for walk in WALKS])
@pytest.mark.parametrize("hand", HANDS)
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_by_either_hand(walk: Walk, hand: str, scripts: bool, visit: Callable[..., Any]) -> None:
    take(walk, hand, visit, scripts=scripts)
