"""Walks through the pages in headless Chromium, with scripts and without, by mouse and by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts.models import User
from authzsite.console.objects import access_table
from catalog.nodes import Node
from policies.decisions import ask
from policies.models import Grant
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.conftest import NAMES, PASSWORD, make_shop
from tests.console.screens import EVERY_LOOK, WIDTHS, faults
from tests.factories import a_person, acting, an_account, the, under
from tests.waiting import until

pytestmark = pytest.mark.browser

EITHER_WAY = pytest.mark.parametrize(
    "scripts",
    [True, pytest.param(False, marks=pytest.mark.slow)],
    ids=["with scripts", "without scripts"],
)
"""With scripts on each change, without them by the slow tests; a walk of each kind goes both ways at once."""


SLOW_CLOCK = """
{
  const began = performance.timeOrigin, sinceThen = performance.now.bind(performance);
  Date.now = () => began + sinceThen() / 60;
}
"""
"""Two keys that go together are pressed within seconds, which a busy machine makes of them a minute."""


@pytest.fixture
def site(transactional_db: None, live_server: Any) -> str:
    """The shop behind a real server; everybody signs in with a password."""
    make_shop()
    for name, display in NAMES.items():
        an_account(name, display_name=display, password=PASSWORD)
    return str(live_server.url)


@pytest.fixture
def visit(chromium: Any, site: str) -> Iterator[Callable[..., Any]]:
    """`visit("olivia", scripts=False)`: a signed-in page; what the browser complains of fails the test."""
    contexts, complaints = [], []

    def enter(name: str, *, scripts: bool = True, width: int = 1280, theme: str = "light") -> Any:
        context = chromium.new_context(
            base_url=site,
            java_script_enabled=scripts,
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            reduced_motion="reduce",
        )
        context.add_init_script(SLOW_CLOCK)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(90_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda message: complaints.append(message.text) if _is_complaint(message) else None
        )
        if name:
            sign_in(page, name)
        return page

    yield enter
    for context in contexts:
        context.close()
    assert not complaints


def _is_complaint(message: Any) -> bool:
    return message.type == "error" and "status of 4" not in message.text


def sign_in(page: Any, name: str) -> None:
    page.goto("/sign-in")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile(r"/$"))


def can_read(name: str) -> bool:
    return bool(ask.ask(a_person(name), "read", the("table", "shop.sales.orders")))


def orders() -> Node:
    return the("table", "shop.sales.orders")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_an_owner_grants_revokes_and_undoes(scripts: bool, visit: Callable[..., Any]) -> None:
    page = visit("olivia", scripts=scripts)
    page.get_by_role("searchbox").first.fill("orders")
    page.get_by_role("searchbox").first.press("Enter")
    page.get_by_role("link", name="orders", exact=True).click()

    page.get_by_role("link", name="Grant access").click()
    box = page.locator("dialog[open]") if scripts else page.locator("main")
    box.get_by_label("Who", exact=True).fill("ana")
    box.get_by_label("Who", exact=True).press("Enter")
    box.get_by_text("Ana Analyst", exact=True).first.wait_for()
    assert "may read orders" in box.locator(".preview").inner_text()
    assert not Grant.objects.filter(securable=orders().id).exists()
    box.get_by_label("Reason").fill("Returns report, SALES-419")
    box.get_by_role("button", name="Grant read until").click()

    page.get_by_role("status").get_by_text("Ana Analyst").wait_for()
    assert can_read("ana")
    assert Grant.objects.open().get(securable=orders().id).valid_until is not None

    page.get_by_role("link", name="Revoke from Ana Analyst").click()
    page.locator("main").get_by_text("loses read on orders").first.wait_for()
    page.get_by_role("button", name="Revoke read from Ana Analyst").click()
    page.get_by_role("status").get_by_text("revoked from Ana Analyst").wait_for()
    assert not can_read("ana")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("status").get_by_text("is undone").wait_for()
    assert can_read("ana")

    page.get_by_role("link", name="History").first.click()
    page.get_by_text("Returns report, SALES-419").first.wait_for()
    page_text = page.locator("main").inner_text()
    assert "Olivia Owner granted Read on shop.sales.orders to Ana Analyst until" in page_text
    assert "Olivia Owner revoked Read on shop.sales.orders from Ana Analyst" in page_text


def test_the_preview_follows_the_form(visit: Callable[..., Any]) -> None:
    page = visit("olivia")
    page.goto(f"/objects/{orders().id}/grant?who=user:ana&may=SELECT_TABLE")
    page.get_by_label("Write").check()
    page.get_by_text("may read and write orders").wait_for()
    page.get_by_role("button", name="Grant read and write until").wait_for()
    page.get_by_label("No end").check()
    page.get_by_role("button", name="Grant read and write without end").wait_for()
    page.get_by_text("Stays until someone revokes it.").wait_for()
    page.get_by_label("Write").uncheck()
    page.get_by_label("Who", exact=True).press_sequentially("carl")
    page.get_by_role("option", name="Carl Conrad").click()
    page.get_by_text("still cannot read").wait_for()


@pytest.mark.parametrize("width", [1280, pytest.param(320, marks=pytest.mark.slow)])
def test_a_grant_by_keyboard_alone_in_few_keys(width: int, visit: Callable[..., Any]) -> None:
    page = visit("olivia", width=width)
    pressed = find_understand_and_grant(page, "orders", ("analysts", "Role sales_read"), "ana")
    assert can_read("ana")
    assert pressed < 25


def find_understand_and_grant(page: Any, table: str, holds: tuple[str, str], who: str) -> int:
    """By keyboard alone, from Home to a grant; how many keys that took beside the name itself.

    On the way it is read who has access already, and why.
    """
    pressed, (holder, why) = 0, holds
    shown = "it => it.getBoundingClientRect().bottom <= innerHeight"

    def press(*keys: str) -> None:
        nonlocal pressed
        for key in keys:
            page.keyboard.press(key)
            pressed += 1

    press("/")
    page.keyboard.type(table)  # the name itself does not count
    press("Enter")
    page.wait_for_url(re.compile("/objects/"))
    assert page.get_by_role("heading", level=1).inner_text().startswith(table)
    row = page.locator("main table tr").filter(has_text=holder).first
    assert why in " ".join(row.inner_text().split())
    while not row.evaluate(shown):
        press("PageDown")
        page.wait_for_timeout(200)  # it scrolls
    press("g", "a")
    page.locator("dialog#layer[open]").wait_for()
    press(*who, "Enter")
    page.get_by_text(f"may read {table}").wait_for()
    while not page.evaluate("document.activeElement.textContent").startswith("Grant read until"):
        press("Tab")
        assert pressed < 25
    press("Enter")
    page.get_by_role("status").get_by_text("until").wait_for()
    return pressed


def test_the_palette_finds_by_keyboard_and_goes_where_one_chose(visit: Callable[..., Any]) -> None:
    page = visit("olivia")
    page.goto(f"/catalog/{the('schema', 'shop.sales').id}")
    page.get_by_role("link", name="orders").first.focus()
    page.keyboard.press("Control+k")
    palette = page.locator("#palette[open]")
    palette.get_by_role("option", name="Home").wait_for()
    page.keyboard.type("ord")
    palette.get_by_role("option", name="orders").first.wait_for()
    field = palette.get_by_role("combobox")
    assert palette.locator("[aria-selected=true]").inner_text().startswith("orders")
    assert field.get_attribute("aria-activedescendant") == palette.locator(
        "[aria-selected=true]"
    ).get_attribute("id")
    page.keyboard.press("ArrowDown")
    assert palette.locator("[aria-selected=true]").inner_text().startswith("Grant access to orders")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"/objects/{orders().id}/grant"))
    page.go_back()
    page.get_by_role("link", name="orders").first.focus()
    page.keyboard.press("Control+k")
    palette.wait_for()
    page.keyboard.type("zzzz")
    page.get_by_text("Nothing that you may see is called “zzzz”.").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/search\\?q=zzzz"))


def test_the_palette_gives_the_focus_back_and_shows_only_what_one_may_see(visit: Callable[..., Any]) -> None:
    page = visit("ana")
    page.goto("/history")
    page.locator(".nav a").first.focus()
    page.keyboard.press("/")
    page.keyboard.type("orders")
    page.get_by_text("Nothing that you may see is called “orders”.").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#palette[open]").count() == 0
    assert page.evaluate("document.activeElement === document.querySelector('.nav a')")


def test_a_dialog_gives_the_focus_back(visit: Callable[..., Any]) -> None:
    page = visit("olivia")
    page.goto(f"/objects/{orders().id}")
    page.get_by_role("link", name="Grant access").press("Enter")
    page.locator("dialog[open]").wait_for()
    assert page.evaluate("document.activeElement.name") == "find"
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    assert page.evaluate("document.activeElement.textContent.trim()") == "Grant access"


def test_a_dialog_asks_before_what_was_typed_goes(visit: Callable[..., Any]) -> None:
    page, asked = visit("olivia"), []

    def answer(box: Any) -> None:
        asked.append(box.message)
        (box.dismiss if len(asked) == 1 else box.accept)()

    page.on("dialog", answer)
    page.goto(f"/objects/{orders().id}")
    page.get_by_role("link", name="Grant access").click()
    page.get_by_label("Reason").fill("Half written")
    page.keyboard.press("Escape")
    until(lambda: len(asked) == 1, pause=lambda: page.wait_for_timeout(50))
    assert page.locator("dialog[open]").get_by_label("Reason").input_value() == "Half written"
    page.get_by_role("link", name="Cancel").click()
    page.locator("dialog[open]").wait_for(state="hidden")
    assert asked == ["Close without saving? Your input is not kept."] * 2


def test_a_person_chosen_in_a_dialog_is_asked_about_before_it_closes(visit: Callable[..., Any]) -> None:
    page = visit("olivia")
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.goto(f"/objects/{orders().id}")
    page.get_by_role("link", name="Grant access").click()
    box = page.locator("dialog[open]")
    box.get_by_label("Who", exact=True).fill("ana")
    box.get_by_label("Who", exact=True).press("Enter")
    box.get_by_text("Ana Analyst", exact=True).first.wait_for()
    for times in (1, 2, 3):  # of its own accord a browser asks but once
        page.keyboard.press("Escape")
        until(lambda many=times: len(asked) == many, pause=lambda: page.wait_for_timeout(50))
    assert set(asked) == {"Close without saving? Your input is not kept."}
    assert box.get_by_text("Ana Analyst", exact=True).first.is_visible()


def test_the_tree_unfolds_by_keyboard_and_loads_more(visit: Callable[..., Any]) -> None:
    under(the("schema", "shop.sales"), "table", *(f"t{at:03}" for at in range(70)))
    page = visit("olivia")
    page.goto(f"/catalog/{the('catalog', 'shop').id}")
    page.locator('[role=treeitem][tabindex="0"]').focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"
    page.keyboard.press("ArrowRight")
    page.get_by_role("treeitem", name="customers").wait_for()
    assert page.get_by_role("treeitem").filter(has_text="t0").count() > 40
    more = page.get_by_role("link", name="more")
    assert more.inner_text() == "24 more"
    more.click()
    page.get_by_role("treeitem", name="t069").wait_for()
    page.locator(":focus").press("End")
    assert page.locator('[role=treeitem][tabindex="0"]').count() == 1


def test_groups_unfold_to_people(visit: Callable[..., Any]) -> None:
    page = visit("olivia")
    page.goto(f"/objects/{orders().id}")
    assert not page.get_by_text("as analysts").is_visible()
    page.get_by_label("Expand analysts").click()
    page.get_by_text("as analysts").wait_for()
    plain = visit("olivia", scripts=False)
    plain.goto(f"/objects/{orders().id}")
    plain.get_by_label("Expand analysts").click()
    plain.get_by_text("as analysts").wait_for()


def test_a_group_far_down_unfolds_on_a_page_of_its_own(
    visit: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_table, "READY", 0)
    page = visit("olivia")
    page.goto(f"/objects/{orders().id}")
    assert page.get_by_text("as analysts").count() == 0
    page.get_by_label("Expand analysts").click()
    page.get_by_text("as analysts").wait_for()
    page.goto(f"/objects/{orders().id}")
    page.get_by_role("row", name="Expand analysts").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("as analysts").wait_for()


@pytest.mark.parametrize("cookie", ["lakewarden_session", None], ids=["session", "all"])
def test_a_session_that_ends_in_a_form_loses_nothing(visit: Callable[..., Any], cookie: str | None) -> None:
    page = visit("olivia")
    page.goto(f"/objects/{orders().id}/grant?who=user:ana&may=SELECT_TABLE")
    page.get_by_label("Reason").fill("Written before the session ended")
    page.context.clear_cookies(name=cookie)
    page.get_by_role("button", name="Grant read until").click()
    page.get_by_role("heading", name="Sign in").wait_for()
    page.locator("main").get_by_text("Your input is kept").first.wait_for()
    page.get_by_label("Name").fill("olivia")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("Your form is kept, and nothing was saved.").wait_for()
    assert page.get_by_label("Reason").input_value() == "Written before the session ended"
    assert not can_read("ana")
    page.get_by_role("button", name="Grant read until").click()
    page.get_by_role("status").get_by_text("Ana Analyst").wait_for()
    assert can_read("ana")


def test_the_theme_is_kept(visit: Callable[..., Any]) -> None:
    page = visit("olivia")
    page.get_by_text("your settings, sign out").locator("..").click()
    with page.expect_response(re.compile("/preferences")):
        page.get_by_label("Dark").check(force=True)
    page.goto("/why")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert User.objects.get(username="olivia").theme == "dark"


def test_a_reader_is_told_what_they_lack_and_asks_for_it(visit: Callable[..., Any]) -> None:
    page = visit("mia")
    page.goto("/why?action=write&what=shop.sales.orders&type=table")
    page_text = page.locator("main").inner_text()
    assert "Mia Meyer cannot write shop.sales.orders" in page_text
    assert "One right is missing: Write on orders. Nothing denies it." in page_text
    page.locator("main a[href^='/requests/new?']").first.click()
    assert page.get_by_label("Write").is_checked()
    page.locator("main").get_by_text("Write on orders").first.wait_for()
    page.locator("main").get_by_text("Olivia").first.wait_for()


def addresses() -> dict[str, str]:
    table, schema = orders().id, the("schema", "shop.sales").id
    beside = the("table", "shop.sales.refunds").id
    why = "/why?action=read&what=shop.sales.orders&type=table&who="
    return {
        "home": "/",
        "catalog": f"/catalog/{schema}",
        "catalog filtered to nothing": f"/catalog/{schema}?q=zzz",
        "access": f"/objects/{table}",
        "access filtered to nothing": f"/objects/{table}?q=zzz",
        "access of a schema": f"/objects/{schema}",
        "rules": f"/objects/{table}/rules",
        "history of a table": f"/objects/{table}/history",
        "columns": f"/objects/{table}/columns",
        "grant": f"/objects/{table}/grant?who=user:ana&who=group:analysts&may=SELECT_TABLE",
        "revoke": f"/objects/{table}/revoke?who=user:mia",
        "granting on many": f"/objects/many?on={table}&on={beside}&who=user:ana",
        "revoking on many": f"/objects/many?on={table}&do=revoke&who=user:mia",
        "nothing chosen": "/objects/many",
        "a no": f"{why}ana",
        "a yes": f"{why}mia",
        "a denial": f"{why}carl",
        "an unfinished question": "/why",
        "history": "/history",
        "found": "/search?q=o",
        "found nothing": "/search?q=zzz",
        "sync": "/sync",
        "keys": "/keys",
        "not found": "/objects/987654321",
    }


@EVERY_LOOK
def test_every_page_is_accessible_and_fits(looks: Any, visit: Callable[..., Any]) -> None:
    grants.add(GrantRequest(orders(), (a_person("mia"),), ("SELECT_TABLE",)), by=acting("olivia"))
    page, problems = visit("olivia"), []
    for name, address in {**addresses(), "sign in": "/sign-in?out=1"}.items():
        if name == "sign in":
            page.context.clear_cookies()
        page.goto(address)
        problems += faults(page, looks, name)
    assert not problems


@EITHER_WAY
def test_ticked_rows_are_granted_and_revoked_together(scripts: bool, visit: Callable[..., Any]) -> None:
    page = visit("olivia", scripts=scripts)
    page.goto(f"/catalog/{the('schema', 'shop.sales').id}")
    for name in ("orders", "refunds"):
        page.get_by_label(f"Choose {name}", exact=True).check()
    if scripts:
        page.get_by_text("2 chosen").wait_for()
    page.get_by_role("button", name="Grant on chosen").click()
    page.get_by_label("Who", exact=True).fill("ana")
    page.get_by_label("Who", exact=True).press("Enter")
    page.get_by_text("may read orders and refunds").wait_for()
    page.get_by_label("Reason").fill("Two at once")
    page.get_by_role("button", name="Grant read until").click()
    page.get_by_role("status").get_by_text("Ana Analyst").wait_for()
    assert can_read("ana")
    for name in ("orders", "refunds"):
        page.get_by_label(f"Choose {name}", exact=True).check()
    page.get_by_role("button", name="Revoke on chosen").click()
    page.get_by_label("Ana Analyst").check()
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("loses read on orders and refunds").wait_for()
    page.get_by_role("button", name="Revoke from 1 person").click()
    page.get_by_role("status").get_by_text("Revoked on 2 objects").wait_for()
    assert not can_read("ana")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("status").get_by_text("is undone").wait_for()
    assert can_read("ana")


def test_all_rows_of_a_page_are_ticked_by_keyboard(visit: Callable[..., Any]) -> None:
    page = visit("olivia")
    page.goto(f"/catalog/{the('schema', 'shop.sales').id}")
    page.get_by_label("Choose all on this page").focus()
    page.keyboard.press("Space")
    page.get_by_text("4 chosen").wait_for()
    page.get_by_label("Choose orders", exact=True).focus()
    page.keyboard.press("Space")
    page.get_by_text("3 chosen").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("do=grant"))
    assert "3 objects" in page.get_by_role("heading", level=1).inner_text()


def test_a_name_of_300_letters_breaks_nothing(visit: Callable[..., Any]) -> None:
    under(the("schema", "shop.sales"), "table", "x" * 255, "зверь🦆" * 30)
    for width in WIDTHS:
        page = visit("olivia", width=width)
        for address in (f"/catalog/{the('schema', 'shop.sales').id}", "/search?q=x", "/history"):
            page.goto(address)
            assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), (width, address)
