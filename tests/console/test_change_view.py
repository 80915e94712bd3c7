"""The flow behind every change: nothing without a look, saved once, shown again, errors in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.people import make_account
from authzsite.console.settings import retention as page
from catalog.nodes import Node
from policies.errors import AlreadyExists, Conflict, Refused
from policies.models import Change
from policies.record.archive import retention
from tests.console.conftest import PASSWORD
from tests.console.test_forms import hidden
from tests.policies.test_archiving import realm

Enter = Callable[[str], Client]
NONCE = "n" * 24


@pytest.fixture
def address(shop: Node) -> str:
    return f"/realms/{shop.id}/retention"


def posted(client: Client, address: str, **form: str) -> Any:
    return client.post(address, {"keep": "days", "days": "500", "nonce": NONCE, **form})


def test_a_form_that_comes_twice_is_saved_once_and_answered_alike(address: str, signed_in: Enter) -> None:
    marek = signed_in("marek")
    first, second = posted(marek, address), posted(marek, address, days="600")
    assert (first.status_code, first["Location"]) == (second.status_code, second["Location"])
    assert Change.objects.filter(request_id=NONCE).count() == 1


def test_a_form_is_shown_again_after_a_lost_session_and_saves_nothing_by_itself(
    shop: Node, address: str
) -> None:
    make_account("marek", password=PASSWORD)
    client = Client()
    answer = posted(client, address)
    assert answer.status_code == 401
    sent = {"username": "marek", "password": PASSWORD, "kept": hidden(answer.content, "kept")}
    assert client.post("/sign-in", sent)["Location"] == address
    body = client.get(address).content.decode()
    assert "Your form is kept, and nothing was saved." in body and 'value="500"' in body
    assert retention.days(realm(shop)) != 500
    assert 'value="500"' not in client.get(address).content.decode()


def test_what_is_wrong_is_told_with_422_and_a_look_complains_of_nothing(
    address: str, signed_in: Enter
) -> None:
    marek = signed_in("marek")
    assert b"Enter a number of days" not in marek.get(address).content
    answer = posted(marek, address, days="many")
    assert answer.status_code == 422 and b"Enter a number of days" in answer.content
    assert b'value="many"' in answer.content


@pytest.mark.parametrize("error", [AlreadyExists, Refused, Conflict])
def test_what_a_service_refuses_is_told_above_the_form_which_is_kept(
    error: type[Exception], address: str, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> None:
        raise error("It cannot be.")

    monkeypatch.setattr(page.RetentionView, "save", refuse)
    monkeypatch.setattr(page.RetentionView, "fields_of_errors", {})
    answer = posted(signed_in("marek"), address)
    assert answer.status_code == 422
    assert b"Not saved." in answer.content and b"It cannot be. Your form is kept." in answer.content
    assert b'value="500"' in answer.content
    monkeypatch.setattr(page.RetentionView, "fields_of_errors", {error: "days"})
    answer = posted(signed_in("marek"), address)
    assert answer.status_code == 422 and b'id="days-error"' in answer.content


def test_an_error_that_is_none_of_a_service_is_not_hidden(
    address: str, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_(*args: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(page.RetentionView, "save", break_)
    with pytest.raises(RuntimeError, match="broken"):
        posted(signed_in("marek"), address)


def test_a_script_that_saves_is_led_on(address: str, signed_in: Enter) -> None:
    answer = signed_in("marek").post(
        address, {"keep": "days", "days": "500", "nonce": NONCE}, headers={"HX-Request": "true"}
    )
    assert answer.status_code == 204 and answer["HX-Redirect"] == address.removesuffix("/retention")


def test_only_reading_and_posting_are_taken(address: str, signed_in: Enter) -> None:
    answer = signed_in("marek").put(address)
    assert answer.status_code == 405 and answer["Allow"] == "GET, HEAD, POST"
