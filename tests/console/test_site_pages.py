"""Every room with something going on in it: accessible and fitting, light and dark, narrow and wide."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client
from django.urls import resolve

from accounts.models import User
from catalog.nodes import Node
from policies.authority import OPERATOR
from policies.models import Backend
from policies.services import second_factors
from tests.console.conftest import PASSWORD
from tests.console.screens import LOOKS, faults
from tests.console.site_pages import ADMIN, NO_ROOM, ROOMS, ROOMS_OUT_THERE, furnish, mirrored
from tests.console.test_browser import site, visit
from tests.console.test_nothing_vanishes import Controls
from tests.console.test_who_may import PAGES, elsewhere
from tests.factories import rewritten, the
from tests.sync.conftest import Source

__all__ = ["site", "visit"]  # fixtures
VISITORS = sorted({who for _, who, _ in ROOMS if who})
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
HEAVY = 100_000  # bytes: what a page may weigh without its style sheets and scripts


@pytest.fixture(autouse=True)
def runs_the_site(settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})


def test_every_room_can_be_entered_and_says_why_what_is_disabled_is(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    numbers, wrong = furnish(shop), []
    clients = {"": Client(), **{who: signed_in(who) for who in VISITORS}}
    for name, who, address in ROOMS:
        answer = clients[who].get(address.format(**numbers))
        if answer.status_code != (404 if name == "Not found" else 200):
            wrong.append((name, who, str(answer.status_code)))
        if len(answer.content) > HEAVY:
            wrong.append((name, who, f"weighs {len(answer.content)} bytes"))
        problems = (*unexplained(answer), *skipped_levels(answer), *landmarks_alike(answer))
        wrong += [(name, who, problem) for problem in problems]
    assert not wrong


def test_every_page_has_a_room_or_a_cause_for_having_none() -> None:
    gets = {page for page in (*PAGES, *elsewhere()) if getattr(page, "method", "get") == "get"}
    pages = {page.name for page in gets if not page.address.partition("?")[0].endswith(".csv")}
    addresses = [re.sub(r"{\w+}", "1", address) for _, _, address in (*ROOMS, *ROOMS_OUT_THERE)]
    addresses = [address.replace("/welcome/1", "/welcome/1/1").partition("?")[0] for address in addresses]
    rooms = {resolve(address).url_name for address in addresses}
    assert pages - rooms == set(NO_ROOM)


@pytest.mark.slow
@pytest.mark.parametrize("who", VISITORS)
def test_what_is_disabled_for_anybody_says_why(
    who: str, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    numbers, client = furnish(shop), signed_in(who)
    answers = {name: client.get(address.format(**numbers)) for name, _, address in ROOMS}
    assert not {name: unexplained(answer) for name, answer in answers.items() if unexplained(answer)}


def skipped_levels(answer: Any) -> list[str]:
    """The headings of a page that skip a level: an h3 right below the h1."""
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", answer.content.decode())]
    return [f"h{two} after h{upper}" for upper, two in pairwise(levels) if two > upper + 1]


def landmarks_alike(answer: Any) -> list[str]:
    """Landmarks of one kind that have the same name, or none: who jumps between them hears no difference."""
    named = Counter[str]()
    for tag, rest in re.findall(r"<(nav|aside|form|section)\b([^>]*)>", answer.content.decode()):
        attributes = re.findall(r'(?:role|aria-label|aria-labelledby)="[^"]*"', rest)
        if tag in ("nav", "aside") or attributes:
            named[" ".join((tag, *sorted(attributes)))] += 1
    return [f"{many} times {landmark}" for landmark, many in named.items() if many > 1]


def unexplained(answer: Any) -> list[str]:
    """The disabled controls of a page that no reason on it is tied to."""
    _, main, body = answer.content.decode().partition('<main id="main"')
    controls = Controls()
    controls.feed(main + body)
    return [control for control, why in controls.disabled.items() if why not in controls.ids - {""}]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_room_is_accessible_and_fits(visit: Callable[..., Any], source: Source) -> None:
    numbers = {**furnish(the("metalake")), **mirrored(the("metalake"), source)}
    pages, problems = dict[str, Any](), []
    for name, who, address in (*ROOMS, *ROOMS_OUT_THERE):
        if who not in pages:
            pages[who] = visit(who)
            pages[who].set_default_timeout(60_000)
        pages[who].goto(address.format(**numbers))
        pages[who].wait_for_load_state("networkidle")
        problems += faults(pages[who], LOOKS, name)
    rewritten(Backend.objects.filter(pk=numbers["backend"]), awaits="new")
    pages[ADMIN].goto(f"/sync/{numbers['backend']}/agree")
    problems += faults(pages[ADMIN], LOOKS, "Sync, agree")
    second_factors.add_app(User.objects.get(username="carl"), SECRET, by=OPERATOR)
    pages[""].goto("/sign-in")
    pages[""].get_by_label("Name").fill("carl")
    pages[""].get_by_label("Password").fill(PASSWORD)
    pages[""].get_by_role("button", name="Sign in").click()
    pages[""].get_by_role("heading", name="Second factor").wait_for()
    problems += faults(pages[""], LOOKS, "Second factor")
    assert not problems
