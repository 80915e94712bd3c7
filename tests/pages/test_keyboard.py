"""The main job of each room by the keyboard alone, with scripts and without: Tab, letters, Space, Enter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from accounts.models import Membership, Token, User
from accounts.people import ensure, make_account
from catalog.queries import find, mode_of
from lakewarden.objects import ObjectRef
from policies.models import Assignment, RealmMember
from policies.queries import owner_of
from policies.services import duties
from tests.factories import a_person, owned, the
from tests.pages.conftest import PASSWORD
from tests.pages.test_browser import can_read, site, visit
from tests.pages.test_browser_people import press_until

__all__ = ["site", "visit"]  # fixtures
pytestmark = pytest.mark.browser


@dataclass(frozen=True)
class Walk:
    """Who goes from where, what he presses (kind of control, its name, what he types), what is so then."""

    room: str
    who: str
    start: str
    steps: tuple[tuple[str, ...], ...]
    then: Callable[[], bool]


def holds_returns() -> bool:
    role = find(ObjectRef("role", "demo", ("returns",)))
    return (
        role is not None and Assignment.objects.open().filter(role=role.id, holder=a_person("ana")).exists()
    )


WALKS = (
    Walk(
        "People: find somebody and grant to him",
        "olivia",
        "/people",
        (
            ("searchbox", "Filter by name", "ana", "Enter"),
            ("link", "Ana Analyst"),
            ("link", "Grant to Ana Analyst"),
            ("searchbox", "Name of an object", "orders", "Enter"),
            ("link", "orders"),
            ("see", "may read orders"),
            ("button", "Grant read until Friday"),
            ("see", "Ana Analyst: read on orders"),
        ),
        lambda: can_read("ana"),
    ),
    Walk(
        "Roles: make one and give it",
        "marek",
        "/roles",
        (
            ("link", "Make a role"),
            ("textbox", "Name", "returns"),
            ("button", "Make the role"),
            ("link", "Give to somebody"),
            ("textbox", "Who", "ana", "Enter"),
            ("see", "Ana Analyst"),
            ("button", "Give returns until Friday"),
            ("see", "Ana Analyst: role returns"),
        ),
        holds_returns,
    ),
    Walk(
        "Owners: hand one object over",
        "marek",
        "/owners?type=table",
        (
            ("checkbox", "orders"),
            ("button", "Hand over"),
            ("textbox", "Who", "ana", "Enter"),
            ("see", "becomes the owner of 1 object"),
            ("button", "Make Ana Analyst the owner of 1 object"),
            ("see", "Ana Analyst owns 1 object more"),
        ),
        lambda: owner_of(the("table", "shop.sales.orders")) == a_person("ana"),
    ),
    Walk(
        "Groups: put somebody in",
        "sam",
        "/people?kind=group",
        (
            ("link", "analysts"),
            ("link", "People and roles"),
            ("link", "Put somebody in"),
            ("textbox", "Who", "ana", "Enter"),
            ("see", "read every table in sales"),
            ("button", "Put 1 person into analysts"),
            ("see", "Ana Analyst: in analysts"),
        ),
        lambda: Membership.objects.open().filter(group__name="analysts", member=a_person("ana")).exists(),
    ),
    Walk(
        "Duties: give one",
        "marek",
        "/objects/{sales}/duties",
        (
            ("link", "Give a duty"),
            ("textbox", "Who", "ana", "Enter"),
            ("see", "Ana Analyst"),
            ("checkbox", "History"),
            ("button", "See what this changes"),
            ("see", "may read the history of sales"),
            ("button", "Give the duty"),
            ("see", "1 duty on sales"),
        ),
        lambda: duties.has(a_person("ana"), "view_history", the("schema", "shop.sales")),
    ),
    Walk(
        "Accounts: disable one",
        "sam",
        "/accounts",
        (
            ("link", "Mia Meyer"),
            ("link", "Disable"),
            ("textbox", "Reason", "Left on Friday"),
            ("button", "Disable"),
            ("see", "is disabled"),
        ),
        lambda: not User.objects.get(username="mia").is_active,
    ),
    Walk(
        "Tokens: make one and revoke it",
        "mia",
        "/profile",
        (
            ("checkbox", "report"),
            ("button", "Make a token"),
            ("see", "The new token"),
            ("button", "Revoke"),
            ("see", "The token is revoked"),
        ),
        lambda: Token.objects.get().revoked is not None,
    ),
    Walk(
        "Sessions: sign out elsewhere",
        "mia",
        "/profile",
        (("button", "Sign out the other sessions"), ("see", "Signed out in 1 other browser")),
        lambda: True,
    ),
    Walk(
        "Realms: switch authorization off",
        "marek",
        "/realms",
        (
            ("link", "demo"),
            ("link", "Set to off"),
            ("see", "is no longer protected by its rules"),
            ("button", "Set demo to off"),
            ("see", "Authorization is off in demo."),
        ),
        lambda: mode_of(the("metalake").realm_id) == "off",
    ),
    Walk(
        "Members: admit somebody",
        "marek",
        "/people",
        (
            ("link", "Add a member"),
            ("textbox", "Name", "zoe"),
            ("button", "Add to demo"),
            ("see", "zoe is now a member of demo"),
        ),
        lambda: RealmMember.objects.open().filter(principal__name="zoe").exists(),
    ),
    Walk(
        "Connections: a try that finds nothing keeps nothing",
        "marek",
        "/realms/{demo}/connect",
        (
            ("link", "PostgreSQL"),
            ("textbox", "Catalog", "lake"),
            ("textbox", "Server", "127.0.0.1"),
            ("textbox", "Port", "9"),
            ("textbox", "Database", "lake"),
            ("textbox", "Account", "console"),
            ("button", "Try it"),
            ("see", "It does not answer."),
        ),
        lambda: find(ObjectRef("catalog", "demo", ("lake",))) is None,
    ),
)


@pytest.fixture(autouse=True)
def sam(site: str, settings: Any) -> Iterator[str]:
    """Sam runs the site, and is in no realm; Zoe is in none either."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    make_account("sam", display_name="Sam Site", password=PASSWORD)
    ensure("user", "zoe")
    yield "sam"


def step(page: Any, kind: str, name: str, *typed: str) -> None:
    """Look for a text; or go to a control by Tab, and press what one presses there."""
    if kind == "see":
        page.get_by_text(name).first.wait_for()
        return
    press_until(page, name, kind)
    if not typed:
        page.keyboard.press("Space" if kind == "checkbox" else "Enter")
        page.wait_for_load_state()
        return
    page.keyboard.type(typed[0])
    for key in typed[1:]:
        page.keyboard.press(key)
        page.wait_for_load_state()


@pytest.mark.parametrize(
    "scripts",
    [True, pytest.param(False, marks=pytest.mark.slow)],
    ids=["with scripts", "without scripts"],
)
@pytest.mark.parametrize("walk", WALKS, ids=[walk.room for walk in WALKS])
def test_by_keyboard_alone(walk: Walk, scripts: bool, visit: Callable[..., Any]) -> None:
    owned(the("table", "shop.sales.orders"), "olivia")
    if walk.room.startswith("Sessions"):
        visit(walk.who)
    page = visit(walk.who, scripts=scripts)
    page.goto(walk.start.format(demo=the("metalake").id, sales=the("schema", "shop.sales").id))
    for one in walk.steps:
        step(page, *one)
    assert walk.then()
