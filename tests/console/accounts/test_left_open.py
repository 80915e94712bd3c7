"""Who sits down at a session that was left open finds no way past the question who they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.people import make_account
from catalog.nodes import Node
from policies.decisions import duties as held_duties
from policies.models import Emergency
from policies.services import duties
from tests.console.accounts.test_step_up import let_pass
from tests.console.people.test_groups import undo_on
from tests.console.settings.test_owners_and_members import posted
from tests.factories import AUTHORITY, BY, a_person, admit, the

Enter = Callable[[str], Client]
ASKED = b"Confirm that it is you"


@pytest.fixture
def marek(shop: Node, settings: Any, signed_in: Enter) -> Client:
    """Owns the metalake, and proved who they are long ago."""
    settings.LAKEWARDEN_STEP_UP = 15
    browser = signed_in("marek")
    let_pass(browser, 60)
    return browser


def has_duty(name: str, duty: str = "view_history") -> bool:
    return held_duties.has(a_person(name), duty, the("schema", "shop.sales"))


def give(name: str, duty: str = "view_history") -> None:
    account = make_account(name)
    assert account.principal is not None
    duties.give(the("schema", "shop.sales"), duty, account.principal, by=BY, authority=AUTHORITY)


def sent(browser: Client, address: str, body: dict[str, Any]) -> Any:
    return browser.post(address, json.dumps(body), content_type="application/json")


def test_a_program_in_the_browser_opens_no_emergency(marek: Client) -> None:
    give("marek", "break_glass")
    wanted = {"type": "table", "id": "demo/shop.sales.orders"}
    body = {"resource": wanted, "action": "read", "hours": 1, "reason": "The nightly load stopped"}
    answer = sent(marek, "/authz/v1/emergencies", body)
    assert (answer.status_code, b"/sign-in/again" in answer.content) == (403, True)
    assert not Emergency.objects.exists()
    let_pass(marek, 1)
    assert sent(marek, "/authz/v1/emergencies", body).status_code == 201


def test_nor_does_it_get_the_token_of_a_run(marek: Client) -> None:
    body = {"realm": "demo", "program": "shop.sales", "ttl": 7 * 86400}
    assert b"/sign-in/again" in sent(marek, "/authz/v1/runs", body).content


def test_undo_gives_no_duty_back(marek: Client) -> None:
    give("ana")
    address = f"/objects/{the('schema', 'shop.sales').id}/duties/take?who=user:ana&duty=view_history"
    let_pass(marek, 1)
    undo = undo_on(marek, posted(marek, address)["Location"])
    let_pass(marek, 60)
    assert ASKED in marek.post(undo).content
    assert not has_duty("ana")
    let_pass(marek, 1)
    marek.post(undo)
    assert has_duty("ana")


def test_a_leaver_hands_on_no_duty(marek: Client) -> None:
    give("ben")
    make_account("noah")
    admit(the("metalake"), "ben", "noah")
    page = f"/people/{a_person('ben').pk}/leaving"
    line = re.search(r'name="(do-duty-[\w-]+)"', marek.get(page).content.decode())
    assert line is not None
    form = {"who": "user:noah", "step": "save", line[1]: "hand"}
    assert ASKED in posted(marek, page, **form).content
    assert not has_duty("noah")
    let_pass(marek, 1)
    posted(marek, page, **form)
    assert has_duty("noah")
