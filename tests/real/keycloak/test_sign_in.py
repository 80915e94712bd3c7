"""Signing in by a Keycloak: who it proves somebody is, and their groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from authzsite.runtime.configuration import single_sign_on
from tests.real.browsers import begin, come_back, groups_of
from tests.real.keycloak.server import CLIENT, SECRET, Keycloak, sign_in_there

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def keycloak() -> Iterator[Keycloak]:
    running = Keycloak()
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def _known(keycloak: Keycloak, settings: Any) -> None:
    given = {
        "ISSUER": keycloak.issuer,
        "CLIENT_ID": CLIENT,
        "CLIENT_SECRET": SECRET,
        "GROUPS_CLAIM": "groups",
    }
    settings.LAKEWARDEN_AUTHENTICATORS = frozenset({"session", "token", "oidc"})
    variables = {f"LAKEWARDEN_OIDC_KEYCLOAK_{name}": value for name, value in given.items()}
    settings.LAKEWARDEN_OIDC = single_sign_on.oidc_providers(variables)


def sign_in(name: str) -> tuple[Client, Any]:
    browser = Client()
    return browser, come_back(browser, sign_in_there(begin(browser, "keycloak"), name))


def test_who_signs_in_there_is_let_in_here_with_their_groups() -> None:
    browser, answer = sign_in("ana")
    assert (answer.status_code, answer.headers.get("Location")) == (302, "/profile"), answer.content[:2000]
    assert b"user:ana" in browser.get("/profile").content
    assert groups_of("ana") == {"staff", "auditors"}
    assert not User.objects.get().has_usable_password()


def test_each_person_is_themselves_and_the_same_again() -> None:
    for name in ("ana", "bo", "ana"):
        assert sign_in(name)[1].status_code == 302
    assert User.objects.count() == 2
    assert groups_of("bo") == {"staff"}


def test_a_wrong_password_gets_nowhere() -> None:
    browser = Client()
    assert sign_in_there(begin(browser, "keycloak"), "ana", "wrong") == ""
    assert browser.get("/profile").status_code == 302


def test_an_answer_to_another_browser_is_refused() -> None:
    address = sign_in_there(begin(Client(), "keycloak"), "ana")
    assert come_back(Client(), address).status_code == 403
    assert not User.objects.exists()


def test_a_code_is_used_once() -> None:
    browser = Client()
    address = sign_in_there(begin(browser, "keycloak"), "ana")
    assert come_back(browser, address).status_code == 302
    browser.logout()
    assert come_back(browser, address).status_code == 403
