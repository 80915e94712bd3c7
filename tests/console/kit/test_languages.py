"""Pages in the reader's language, mails in the receiver's, and answers to programs in English."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from accounts import languages
from accounts.models import User
from accounts.people import make_account
from catalog.nodes import Node
from tests import pseudo
from tests.console.conftest import PASSWORD

Enter = Callable[[str], Client]


@pytest.fixture(autouse=True)
def two_languages(settings: Any) -> Any:
    with pseudo.offered(settings):
        yield


def speaks(name: str, code: str) -> None:
    User.objects.filter(username=name).update(language=code)


def test_a_page_is_in_the_language_of_its_reader(shop: Node, signed_in: Enter) -> None:
    client = signed_in("mia")
    speaks("mia", pseudo.CODE)
    response = client.get("/keys", HTTP_ACCEPT_LANGUAGE="en")
    assert '<html lang="en-xa"' in response.content.decode()
    assert response.headers["Content-Language"] == pseudo.CODE
    assert {"Accept-Language", "Cookie"} <= set(response.headers["Vary"].split(", "))
    assert '<html lang="en-GB"' in signed_in("ana").get("/keys").content.decode()


def test_without_a_choice_the_browser_says(shop: Node, signed_in: Enter) -> None:
    client = signed_in("mia")
    assert '<html lang="en-xa"' in client.get("/keys", HTTP_ACCEPT_LANGUAGE="en-xa").content.decode()
    assert '<html lang="en-xa"' in Client().get("/sign-in", HTTP_ACCEPT_LANGUAGE="en-xa").content.decode()
    assert '<html lang="en-GB"' in client.get("/keys", HTTP_ACCEPT_LANGUAGE="de").content.decode()


def test_a_language_is_chosen_on_the_own_page_if_it_is_offered(shop: Node, signed_in: Enter) -> None:
    client = signed_in("mia")
    client.post("/profile", {"do": "language", "language": "tlh"})
    assert User.objects.get(username="mia").language == ""
    client.post("/profile", {"do": "language", "language": pseudo.CODE})
    assert User.objects.get(username="mia").language == pseudo.CODE
    assert pseudo.of("Pages and mails are in this language now") in client.get("/profile").content.decode()


def test_errors_are_told_in_the_language_of_the_reader(shop: Node, signed_in: Enter) -> None:
    client = signed_in("mia")
    speaks("mia", pseudo.CODE)
    for address in ("/objects/987654321", "/nowhere"):
        response = client.get(address)
        assert response.status_code == 404
        assert '<html lang="en-xa"' in response.content.decode()
        assert pseudo.of("Page not found") in response.content.decode()


def test_what_is_read_from_right_to_left_says_so(shop: Node, signed_in: Enter) -> None:
    client = signed_in("mia")
    speaks("mia", pseudo.MIRRORED)
    assert '<html lang="ar-xb" dir="rtl"' in client.get("/keys").content.decode()


def test_programs_are_answered_in_english(shop: Node, signed_in: Enter) -> None:
    client = signed_in("mia")
    speaks("mia", pseudo.CODE)
    calls = ("/authz/v1/check", "/api/metalakes/demo", "/health/live", "/access/v1/evaluation")
    for address in calls:
        response = client.post(
            address, "{", content_type="application/json", HTTP_ACCEPT_LANGUAGE=pseudo.CODE
        )
        assert "⟦" not in response.content.decode(), address
        assert "Content-Language" not in response.headers


def test_a_request_leaves_no_language_behind(shop: Node, signed_in: Enter) -> None:
    client = signed_in("mia")
    speaks("mia", pseudo.CODE)
    client.get("/keys")
    assert translation.get_language() == "en"


def test_nobody_keeps_a_language_that_is_offered_no_more(shop: Node, signed_in: Enter, settings: Any) -> None:
    client = signed_in("mia")
    speaks("mia", "de")
    assert '<html lang="en-GB"' in client.get("/keys").content.decode()


@pytest.mark.parametrize(
    "source",
    ['{% translate "50% of them" %}', '{% translate "May" context "permission" %}', "{% translate word %}"],
)
def test_the_fast_way_of_a_text_says_what_that_of_django_does(source: str, settings: Any) -> None:
    from django.template import Context, Engine

    quick, usual = "authzsite.console.templatetags.translations", "django.templatetags.i18n"
    rendered = {
        Engine(builtins=builtins).from_string(source).render(Context({"word": "<b>"}))
        for builtins in ([usual], [usual, quick])
    }
    assert len(rendered) == 1


@pytest.mark.parametrize(
    "chosen, before, asked, language",
    [
        ("", "", "en-xa,en;q=0.5", pseudo.CODE),  # as the browser asks
        ("", pseudo.CODE, "en", "en"),  # the last sign-in counts
        ("", "", "tlh", "en"),  # a language that there is not
        ("", pseudo.CODE, None, pseudo.CODE),  # a browser that says nothing
        ("en", "", "en-xa", "en"),  # a choice comes first
        ("", "de", None, "en"),  # offered no more
    ],
)
def test_mails_are_in_the_language_chosen_or_else_of_the_last_sign_in(
    chosen: str, before: str, asked: str | None, language: str, shop: Node, settings: Any
) -> None:
    account = make_account("mia", password=PASSWORD)
    User.objects.filter(pk=account.pk).update(language=chosen, browser_language=before)
    headers = {"Accept-Language": asked} if asked else {}
    answer = Client(headers=headers).post("/sign-in", {"username": "mia", "password": PASSWORD})
    assert answer.status_code == 302
    assert languages.of_mail_to(User.objects.get(pk=account.pk)) == language
