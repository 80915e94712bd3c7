"""Who signed in a while ago proves again who they are, before what a session left open must not do."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.test import Client

from accounts import people
from accounts.models import Token, User
from authzsite.console.kit.proofs import PROVED
from policies.authority import OPERATOR, of_operator
from policies.services import duties, realms, second_factors
from tests.console.accounts.test_second_factor import PASSWORD, SECRET, code

BY: Any = {"by": OPERATOR, "authority": of_operator(OPERATOR)}
TOKEN = {"do": "token", "scope": ["check"], "days": "30"}


@pytest.fixture
def ana(db: None, settings: Any) -> Client:
    """Signed in by password, long ago."""
    settings.LAKEWARDEN_STEP_UP = 15
    people.make_account("ana", password=PASSWORD)
    browser = Client()
    browser.post("/sign-in", {"username": "ana", "password": PASSWORD})
    let_pass(browser, 16)
    return browser


def let_pass(browser: Client, minutes: int) -> None:
    session = browser.session
    session[PROVED] = time.time() - minutes * 60
    session.save()


def test_a_token_is_made_after_a_proof_with_the_form_kept(ana: Client) -> None:
    asked = ana.post("/profile", TOKEN)
    assert asked.status_code == 403
    assert b"Confirm that it is you" in asked.content
    kept = {"kept": asked.context["kept"], "next": asked.context["next"]}
    assert ana.post("/sign-in/again", {"password": "wrong", **kept}).status_code == 422
    assert ana.post("/profile", TOKEN).status_code == 403
    answer = ana.post("/sign-in/again", {"password": PASSWORD, **kept})
    assert answer.headers["Location"] == "/profile"
    assert ana.get("/profile").context["token_form"]["days"].value() == "30"
    assert not Token.objects.exists()
    assert ana.post("/profile", TOKEN).status_code == 200
    assert Token.objects.count() == 1


def test_who_signed_in_a_moment_ago_is_not_asked(ana: Client, settings: Any) -> None:
    let_pass(ana, 14)
    assert ana.post("/profile", TOKEN).status_code == 200
    let_pass(ana, 16)
    settings.LAKEWARDEN_STEP_UP = 0
    assert ana.post("/profile", TOKEN).status_code == 200


def test_a_session_that_never_proved_is_asked(ana: Client) -> None:
    ana.force_login(User.objects.get())
    assert ana.post("/profile", TOKEN).status_code == 403


def test_who_has_a_second_factor_proves_that_one(ana: Client) -> None:
    second_factors.add_app(User.objects.get(), SECRET, by=OPERATOR)
    assert ana.post("/sign-in/again", {"password": PASSWORD}).status_code == 422
    assert ana.post("/profile", TOKEN).status_code == 403
    assert ana.post("/sign-in/again", {"code": code(), "next": "/profile"}).status_code == 302
    assert ana.post("/profile", TOKEN).status_code == 200


def test_guessing_there_is_limited(ana: Client) -> None:
    tried = [ana.post("/sign-in/again", {"password": "wrong"}).status_code for _ in range(9)]
    assert (tried[0], tried[-1]) == (422, 429)


def places() -> dict[str, tuple[str, dict[str, Any]]]:
    owner = people.ensure("user", "ana")
    root = realms.create("gravitino", "demo", owner=owner, **BY)
    duties.give(root, "break_glass", owner, **BY)
    duty = {"who": "user:ana", "duty": "view_history", "step": "save"}
    return {
        "a duty": (f"/objects/{root.id}/duties/give", duty),
        "a connection": (f"/realms/{root.id}/connect", {"kind": "postgresql"}),
        "an emergency": ("/emergency", {"what": "demo", "hours": "1", "reason": "x" * 30, "step": "save"}),
        "second factors": ("/profile/second-factor", {"do": "codes"}),
    }


def test_what_lasts_or_reaches_far_asks_too(ana: Client) -> None:
    for what, (address, form) in places().items():
        asked = ana.post(address, form)
        assert b"Confirm that it is you" in asked.content, what


def test_a_change_resumes_with_what_was_typed(ana: Client) -> None:
    address, form = places()["a duty"]
    asked = ana.post(address, {**form, "reason": "for the audit"})
    back = ana.post("/sign-in/again", {"password": PASSWORD, "kept": asked.context["kept"]})
    assert back.headers["Location"] == address
    page = ana.get(address).content.decode()
    assert "for the audit" in page
    assert "Nothing is saved yet" in page
