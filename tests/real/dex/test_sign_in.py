"""Signing in by a dex whose people are in an OpenLDAP: who it proves somebody is, and their groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from authzsite.runtime.configuration import single_sign_on
from tests.real.browsers import begin, come_back, groups_of
from tests.real.dex.server import CLIENT, SECRET, Dex, Directory, sign_in_there

pytestmark = pytest.mark.django_db
WITH_GROUPS = "openid profile email groups"


@pytest.fixture(scope="module")
def directory() -> Iterator[Directory]:
    running = Directory()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def dex(directory: Directory) -> Iterator[Dex]:
    running = Dex(directory)
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def _known(dex: Dex, settings: Any) -> None:
    known(dex, settings)


def known(dex: Dex, settings: Any, **more: str) -> None:
    given = {
        "ISSUER": dex.issuer,
        "CLIENT_ID": CLIENT,
        "CLIENT_SECRET": SECRET,
        "GROUPS_CLAIM": "groups",
        "SCOPES": WITH_GROUPS,
        **more,
    }
    settings.LAKEWARDEN_AUTHENTICATORS = frozenset({"session", "token", "oidc"})
    variables = {f"LAKEWARDEN_OIDC_DEX_{name}": value for name, value in given.items()}
    settings.LAKEWARDEN_OIDC = single_sign_on.oidc_providers(variables)


def sign_in(name: str) -> tuple[Client, Any]:
    browser = Client()
    return browser, come_back(browser, sign_in_there(begin(browser, "dex"), name))


def test_who_is_in_the_directory_is_let_in_with_their_groups() -> None:
    browser, answer = sign_in("ana")
    assert (answer.status_code, answer.headers.get("Location")) == (302, "/profile"), answer.content[:2000]
    assert b"user:ana" in browser.get("/profile").content
    assert groups_of("ana") == {"staff", "auditors"}
    assert not User.objects.get().has_usable_password()


def test_each_person_is_themselves_and_the_same_again() -> None:
    for name in ("ana", "bo", "cy", "ana"):
        assert sign_in(name)[1].status_code == 302
    assert User.objects.count() == 3
    assert (groups_of("bo"), groups_of("cy")) == ({"staff"}, set())


def test_dex_tells_groups_to_those_alone_who_ask_for_them(dex: Dex, settings: Any) -> None:
    known(dex, settings, SCOPES="")
    assert sign_in("ana")[1].status_code == 302
    assert groups_of("ana") == set()


def test_people_of_other_domains_stay_out(dex: Dex, settings: Any) -> None:
    known(dex, settings, DOMAINS="bank.example")
    assert sign_in("ana")[1].status_code == 403
    assert not User.objects.exists()
    known(dex, settings, DOMAINS="example.com")
    assert sign_in("ana")[1].status_code == 302


def test_a_wrong_password_gets_nowhere() -> None:
    browser = Client()
    assert sign_in_there(begin(browser, "dex"), "ana", "wrong") == ""
    assert browser.get("/profile").status_code == 302


def test_an_answer_to_another_browser_is_refused() -> None:
    address = sign_in_there(begin(Client(), "dex"), "ana")
    assert come_back(Client(), address).status_code == 403
    assert not User.objects.exists()


def test_a_code_is_used_once() -> None:
    browser = Client()
    address = sign_in_there(begin(browser, "dex"), "ana")
    assert come_back(browser, address).status_code == 302
    browser.logout()
    assert come_back(browser, address).status_code == 403
