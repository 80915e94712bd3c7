"""Walks through accounts, groups, duties, owners and roles on many objects in headless Chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts.models import Membership, User
from accounts.people import ensure, make_account
from policies.decisions import duties
from policies.decisions.lookups.visible_objects import owner_of
from tests.console.conftest import PASSWORD
from tests.console.screens import LOOKS, faults_of
from tests.console.test_browser import EITHER_WAY, can_read, site, visit
from tests.factories import a_person, an_account, owned, the

__all__ = ["site", "visit"]  # fixtures
pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(autouse=True)
def sam(site: str, settings: Any) -> Iterator[str]:
    """Sam runs the site, and is in no realm."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    an_account("sam", display_name="Sam Site", password=PASSWORD)
    yield "sam"


def addresses() -> dict[str, dict[str, str]]:
    role, person = the("role", "sales_read").id, a_person("mia").pk
    table, sales = the("table", "shop.sales.orders").id, the("schema", "shop.sales").id
    group, account = ensure("group", "analysts").pk, make_account("mia").pk
    return {
        "marek": {
            "duties": f"/objects/{table}/duties",
            "giving a duty": f"/objects/{table}/duties/give?who=user:ana&duty=view_history",
            "owners": "/owners",
            "handing over": "/owners/hand-over?of=olivia&who=user:ana",
            "comparing": "/roles/compare?a=sales_read&b=mia",
            "many objects": f"/roles/{role}/many",
            "privileges on many": f"/roles/{role}/many/give",
            "check as": f"/people/{person}/sees?in={sales}",
            "settings": "/profile",
        },
        "mia": {  # who has nothing to give
            "giving to a person": f"/people/{person}/grant",
            "giving to a role": f"/roles/{role}/give",
            "giving to a role on many": f"/roles/{role}/many",
        },
        "sam": {
            "accounts": "/accounts",
            "service accounts": "/accounts?kind=services",
            "an account": f"/accounts/{account}",
            "disabling": f"/accounts/{account}/disable",
            "binding": f"/accounts/{account}/bind?who=user:mia",
            "a new account": "/accounts/new",
            "a service account": f"/services/{ensure('service', 'etl').pk}",
            "a new service account": "/services/new",
            "a group": f"/people/{group}/groups",
            "into a group": f"/groups/{group}/join?who=user:ana",
            "out of a group": f"/groups/{group}/leave?who=user:mia",
            "a new group": "/groups/new",
        },
    }


@pytest.mark.slow
def test_every_room_is_accessible_and_fits(visit: Callable[..., Any]) -> None:
    for visitor, rooms in addresses().items():
        assert not faults_of(visit(visitor), rooms.values(), LOOKS)


def press_until(page: Any, name: str, role: str, key: str = "Tab") -> None:
    """Move the focus with the keyboard alone until it is on the control of that name."""
    wanted = page.get_by_role(role, name=name).first
    for _ in range(80):
        page.keyboard.press(key)
        if wanted.evaluate("it => it === document.activeElement"):
            return
    raise AssertionError(f"the keyboard does not reach {role} {name}")


@EITHER_WAY
def test_everything_of_somebody_is_handed_over_by_keyboard(scripts: bool, visit: Callable[..., Any]) -> None:
    owned(the("table", "shop.sales.orders"), "olivia")
    page = visit("marek", scripts=scripts)
    page.goto("/owners?of=olivia")
    press_until(page, "Hand over", "button")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Hand over 2 objects of Olivia Owner").wait_for()
    page.get_by_label("Who", exact=True).focus()
    page.keyboard.type("ana")
    page.keyboard.press("Enter")
    page.get_by_text("becomes the owner of 2 objects").wait_for()
    assert owner_of(the("schema", "shop.sales")) == a_person("olivia")
    press_until(page, "Make Ana Analyst the owner of 2 objects", "button")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("Ana Analyst owns 2 objects more").wait_for()
    assert owner_of(the("table", "shop.sales.orders")) == a_person("ana")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("status").get_by_text("is undone").wait_for()
    assert owner_of(the("schema", "shop.sales")) == a_person("olivia")


@EITHER_WAY
def test_an_admin_makes_an_account_and_its_owner_enters(
    scripts: bool, visit: Callable[..., Any], site: str
) -> None:
    page = visit("sam", scripts=scripts)
    page.goto("/accounts")
    page.get_by_role("link", name="Create an account").click()
    page.get_by_label("Name to sign in with").fill("noah")
    page.get_by_label("Name that people know").fill("Noah Novak")
    page.get_by_role("button", name="Create the account").click()
    page.get_by_role("button", name="Create a password link").click()
    link = page.locator("code.token-text").inner_text()
    new = visit("", scripts=scripts)
    new.goto(link.replace(site, ""))
    new.get_by_label("Password", exact=True).fill("a-very-deep-lake-12")
    new.get_by_label("Repeat the new password").fill("a-very-deep-lake-12")
    new.get_by_role("button", name="Set the password").click()
    new.get_by_role("status").get_by_text("Your password is set").wait_for()
    assert User.objects.get(username="noah").last_login is not None


@EITHER_WAY
def test_somebody_is_put_into_a_group_and_taken_out(scripts: bool, visit: Callable[..., Any]) -> None:
    page, group = visit("sam", scripts=scripts), ensure("group", "analysts")
    page.goto(f"/people/{group.pk}/groups")
    page.get_by_role("link", name="Add someone").click()
    page.get_by_label("Who", exact=True).fill("ana")
    page.get_by_label("Who", exact=True).press("Enter")
    page.get_by_text("read all tables in sales").wait_for()
    assert not can_read("ana")
    page.get_by_role("button", name="Put 1 person into analysts").click()
    page.get_by_role("status").get_by_text("Ana Analyst: in analysts").wait_for()
    assert can_read("ana")
    page.get_by_role("link", name="Take out Ana Analyst of analysts").click()
    assert "loses use of schema sales" in page.locator("main").inner_text()
    page.get_by_role("button", name="Take Ana Analyst out of analysts").click()
    page.get_by_role("status").get_by_text("no longer in analysts").wait_for()
    assert not Membership.objects.open().filter(group=group, member=a_person("ana")).exists()


@EITHER_WAY
def test_a_duty_is_given_and_taken_back(scripts: bool, visit: Callable[..., Any]) -> None:
    page, sales = visit("marek", scripts=scripts), the("schema", "shop.sales")
    page.goto(f"/objects/{sales.id}")
    page.get_by_role("link", name="Duties").click()
    page.get_by_role("link", name="Assign a duty").click()
    page.get_by_label("Who", exact=True).fill("ana")
    page.get_by_label("Who", exact=True).press("Enter")
    page.get_by_role("checkbox", name="History", exact=False).first.check()
    page.get_by_role("button", name="Preview the change").last.click()
    page.get_by_text("may read the history of sales").wait_for()
    page.get_by_role("button", name="Assign the duty").click()
    page.get_by_role("status").get_by_text("Ana Analyst: 1 duty on sales").wait_for()
    assert duties.has(a_person("ana"), "view_history", sales)
    page.get_by_role("link", name="Take back History from Ana Analyst").click()
    page.get_by_role("button", name="Revoke it from Ana Analyst").click()
    page.get_by_role("status").get_by_text("no longer has the duty").wait_for()
    assert not duties.has(a_person("ana"), "view_history", sales)


@EITHER_WAY
def test_a_role_is_set_on_many_tables_at_once(scripts: bool, visit: Callable[..., Any]) -> None:
    page = visit("marek", scripts=scripts)
    page.goto(f"/roles/{the('role', 'sales_read').id}")
    page.get_by_role("link", name="Set on many objects").click()
    for name in ("orders", "refunds"):
        page.get_by_role("checkbox", name=name).check()
    page.get_by_role("button", name="Choose rights").click()
    page.get_by_role("group", name="Read").get_by_text("Deny").click()
    page.get_by_role("button", name="Preview the change").last.click()
    page.get_by_text("loses read on orders").first.wait_for()
    page.get_by_role("button", name="Change sales_read on 2 tables").click()
    page.get_by_role("status").get_by_text("is changed on 2 tables").wait_for()
    assert not can_read("mia")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("status").get_by_text("is undone").wait_for()
    assert can_read("mia")
