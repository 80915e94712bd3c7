"""A whole review by keyboard over a real PostgreSQL, and by two reviewers at once, in headless Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts import people
from policies import tasks
from policies.models import Backend, Review, ReviewRow
from policies.reviews import completion
from policies.reviews.campaign_plans import Stage
from policies.services import grants
from policies.services.grants import GrantRequest
from policies.sync import worker
from tests.console.conftest import NAMES, PASSWORD
from tests.console.screens import EVERY_LOOK, LOOKS, faults
from tests.console.test_browser import visit  # noqa: F401 -- a fixture
from tests.factories import a_person, acting, admit, an_account, the
from tests.reviews.world import a_review, decides, rows
from tests.sync.conftest import Source, make_governed

pytestmark = pytest.mark.browser
Visit = Callable[..., Any]
MANY = 60
ANA = "ana shop.sales.orders"


@pytest.fixture
def site(transactional_db: None, live_server: Any, source: Source) -> Iterator[str]:
    """Metalake demo over the database; on orders Ana, who has a login there, and many others may read."""
    row = make_governed(source)
    for name, display in NAMES.items():
        an_account(name, display_name=display, password=PASSWORD)
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    others = tuple(a_person(f"p{at:02}") for at in range(MANY))
    admit(the("metalake"), *(other.name for other in others))
    grants.add(GrantRequest(orders, others, ("SELECT_TABLE",), way=False), by=acting("olivia"))
    worker.deliver(row)
    yield str(live_server.url)


def still_open(review: Review) -> int:
    return ReviewRow.objects.filter(review=review, state="open").count()


def test_a_whole_review_by_keyboard_with_the_proof_at_its_end(visit: Visit, source: Source) -> None:  # noqa: F811
    assert source.reads("ana")
    review = a_review()
    many = still_open(review)
    assert many > MANY
    page = visit("olivia")
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("v")
    page.get_by_role("link", name=re.compile("^Decide .* rows")).click()
    pressed = 0
    while still_open(review):
        for drawn in page.locator("[data-row]").all():
            about_ana = "Ana Analyst" in drawn.inner_text() and "Read orders" in drawn.inner_text()
            page.keyboard.press("j")
            page.keyboard.press("2" if about_ana else "1")
            if about_ana:
                page.get_by_text(re.compile("Ana Analyst loses")).wait_for()
            pressed += 2
        assert still_open(review) == many  # no key has submitted anything
        page.get_by_label("Reason for the other rows").fill("Left the team")
        page.get_by_role("heading", level=1).click()
        page.keyboard.press("s")
        page.keyboard.press("Enter")
        page.get_by_role("status").get_by_text("submitted").wait_for()
        many = still_open(review)
    assert pressed == 2 * ReviewRow.objects.filter(review=review).count()
    chosen = {name: row.choice for name, row in rows(review).items()}
    assert {name for name, choice in chosen.items() if choice != "keep"} == {ANA}
    assert source.reads("ana")  # nothing is removed before the end

    page.get_by_role("link", name="Progress").click()
    page.get_by_role("link", name="End it now").click()
    assert "1 row" in page.locator(".diff li.lose").inner_text()
    page.get_by_role("button", name="End it now").click()
    page.get_by_text("waits to be carried out").wait_for()
    review.refresh_from_db()
    completion.work(review)  # what the worker does
    page.reload()
    page.get_by_text("the backend is not read again yet").wait_for()
    tasks.deliver(Backend.objects.get().pk)
    assert not source.reads("ana")
    review.refresh_from_db()
    completion.work(review)
    page.reload()
    row_text = page.locator("tr", has_text="Ana Analyst").inner_text()
    assert re.search(r"was read at revision [\d,]+, today, \d\d:\d\d, without it", row_text)
    assert "Left the team" in row_text
    assert "1 of 1 removal proved" in page.locator("main").inner_text()


def test_single_keys_do_nothing_where_they_are_switched_off(visit: Visit) -> None:  # noqa: F811
    review = a_review()
    page = visit("olivia")
    page.goto("/profile")
    page.get_by_role("button", name=re.compile("Switch them off")).click()
    page.get_by_role("button", name=re.compile("Switch them on")).wait_for()
    page.goto(f"/reviews/{review.pk}")
    for key in ("j", "1", "j", "2"):
        page.keyboard.press(key)
    assert page.locator("[data-row] :checked").count() == 0


def test_two_reviewers_at_once_overwrite_nothing(visit: Visit) -> None:  # noqa: F811
    both = (a_person("olivia"), a_person("marek"))
    review = a_review(the("metalake"), by="marek", stages=(Stage("people", both),))
    olivia, marek = visit("olivia"), visit("marek")
    for page in (olivia, marek):
        page.goto(f"/reviews/{review.pk}?q=Ana")

    def choose(page: Any, word: str) -> None:
        row = page.locator("[data-row]", has_text="Read orders").filter(has_text="Ana Analyst")
        row.get_by_text(word, exact=True).click()
        page.get_by_label("Reason for the other rows").fill("Still needed?")
        page.get_by_role("button", name=re.compile("^Submit 1 decision")).click()

    choose(olivia, "Keep")
    olivia.get_by_role("status").get_by_text("1 decision submitted").wait_for()
    choose(marek, "Remove")
    marek.get_by_text(re.compile(r"Olivia Owner decided row \d+ meanwhile: keep")).wait_for()
    assert rows(review)[ANA].choice == "keep"
    assert rows(review)[ANA].decided_by == a_person("olivia")
    marek.goto(f"/reviews/{review.pk}?only=decided")
    assert "Keep (Olivia Owner" in marek.locator("main").inner_text()
    choose(marek, "Remove")  # with Olivia's decision in view Marek may change it
    marek.get_by_role("status").get_by_text("1 decision submitted").wait_for()
    assert rows(review)[ANA].choice == "remove"
    marek.locator("[data-row]", has_text="Read orders").get_by_role("link").first.click()
    marek.get_by_text("Olivia Owner: keep").first.wait_for()
    page_text = marek.locator("main").inner_text()
    assert page_text.index("Marek Malik: remove") < page_text.index("Olivia Owner: keep")


@pytest.mark.slow
def test_it_works_without_scripts(visit: Visit) -> None:  # noqa: F811
    review = a_review()
    page = visit("olivia", scripts=False)
    page.goto(f"/reviews/{review.pk}?q=Ana")
    row = page.locator("[data-row]", has_text="Read orders")
    row.get_by_role("radio", name="Remove").check(force=True)
    page.get_by_role("button", name="Save for later").last.click()
    assert "loses read" in row.inner_text()
    page.get_by_label("Reason for row", exact=False).first.fill("Left the team")
    page.get_by_role("button", name=re.compile("^Submit")).click()
    page.get_by_text("1 decision submitted").wait_for()
    assert rows(review)[ANA].choice == "remove"


@EVERY_LOOK
def test_every_room_is_accessible_and_fits(looks: Any, visit: Visit) -> None:  # noqa: F811
    review = a_review(the("metalake"), by="marek", stages=(Stage("people", (a_person("marek"),)),))
    known = rows(review)
    decides("marek", known[ANA], "remove", seconds=1)
    number, schema, ana = known[ANA].number, the("schema", "shop.sales").id, a_person("ana").pk
    rooms = (
        *(
            "/reviews",
            f"/reviews/new?on={schema}",
            f"/reviews/{review.pk}",
            f"/reviews/{review.pk}?only=decided",
        ),
        *(
            f"/reviews/{review.pk}/{tail}"
            for tail in ("progress", "result", "pass", "how", "print", "do/end")
        ),
        *(f"/reviews/{review.pk}/rows/{number}", f"/people/{ana}/leaving?who=user:mia"),
        f"/people/{ana}/same?as=user:mia",
    )
    page, wrong = visit("marek"), []
    for room in rooms:
        page.goto(room)
        for chosen in page.get_by_text("End on…", exact=True).all()[:1]:
            chosen.click()
            page.locator(".rv-until").first.wait_for()
        wrong += faults(page, looks, room)
    assert not wrong


@pytest.mark.parametrize("scripts", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_row_of_a_group_unfolds_to_its_members_by_keyboard(scripts: bool, visit: Visit) -> None:  # noqa: F811
    for at in range(30):
        a_person(f"p{at:02}", "buyers")
    admit(the("metalake"), "group:buyers")
    buyers = people.ensure("group", "buyers")
    wish = GrantRequest(the("table", "shop.sales.orders"), (buyers,), ("SELECT_TABLE",), way=False)
    grants.add(wish, by=acting("olivia"))
    review = a_review()
    page = visit("olivia", scripts=scripts)
    page.goto(f"/reviews/{review.pk}?q=buyers")
    page.locator("summary", has_text="Members and their last use").focus()
    page.keyboard.press("Enter")
    if not scripts:
        page.get_by_role("link", name="Show the members").click()
    page.get_by_text("30 people. Your").wait_for()
    assert page.get_by_role("rowheader", name="p24").count() == 1
    problems = faults(page, LOOKS[:1], "members of a row") if scripts else []
    page.get_by_role("link", name="Next", exact=True).click()
    page.get_by_role("rowheader", name="p29").wait_for()
    assert page.url.endswith("q=buyers") is scripts
    assert problems == []
