"""Who is let in: tokens and sessions, and the one way of saying no."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client
from django.utils import timezone

from accounts import people, tokens
from accounts.models import Token
from tests.api.world import EVALUATION, Caller, question, token

OWN = question("user:ana", "read", "table:demo/a.b.c")


def basic(name: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()


def send(authorization: str | None) -> Any:
    headers = {} if authorization is None else {"Authorization": authorization}
    return Caller().send(EVALUATION, OWN, **headers)


@pytest.mark.parametrize("form", ["Bearer {token}", "bearer {token}", "BEARER  {token} "])
def test_a_token_is_a_bearer(db: None, form: str) -> None:
    assert send(form.format(token=token("user", "ana"))).status_code == 200


@pytest.mark.parametrize("name", ["ana", "ana:b", "ünï 店", ""])
def test_a_token_goes_with_its_own_name(db: None, name: str) -> None:
    text = token("user", name) if name else ""
    response = send(basic(name, text))
    assert response.status_code == (401 if not name else 403 if name != "ana" else 200)


def refused(response: Any) -> None:
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert isinstance(response.json(), str)


def test_who_says_nothing_is_asked_to_sign_in(db: None) -> None:
    refused(send(None))


@pytest.mark.parametrize(
    "header",
    [
        "",
        " ",
        "Bearer",
        "Bearer ",
        "Bearer lw_unknown",
        "Bearer {good} x",
        "Bearer {good}x",
        "Token {good}",
        "{good}",
        "Basic",
        "Basic ",
        "Basic !!!",
        "Basic YW5h",
        "Digest x",
        "Bearer " + "x" * 100_000,
        "Bearer \u00e9",
        "Basic " + "YQ" * 50_000,
        "Basic /w==",
    ],
    ids=lambda header: header[:20],
)
def test_bad_credentials_are_401(db: None, header: str) -> None:
    refused(send(header.replace("{good}", token("user", "ana"))))


def test_a_token_under_another_name_is_401(db: None) -> None:
    refused(send(basic("bob", token("user", "ana"))))


def test_a_password_opens_no_api(db: None) -> None:
    people.make_account("ana", password="a long passphrase")
    refused(send(basic("ana", "a long passphrase")))


def test_a_token_ends_when_it_is_revoked_or_expires(db: None) -> None:
    text = token("user", "ana")
    row = Token.objects.get()
    assert send(f"Bearer {text}").status_code == 200
    Token.objects.update(expires=timezone.now() - timedelta(seconds=1))
    refused(send(f"Bearer {text}"))
    Token.objects.update(expires=timezone.now() + timedelta(hours=1))
    assert send(f"Bearer {text}").status_code == 200
    tokens.revoke(row)
    refused(send(f"Bearer {text}"))


def test_a_token_goes_with_the_account_that_is_shut(db: None) -> None:
    account = people.make_account("ana")
    text = token("user", "ana")
    assert send(f"Bearer {text}").status_code == 200
    account.is_active = False
    account.save()
    refused(send(f"Bearer {text}"))


@pytest.mark.parametrize("authenticators", [{"session"}, set()])
def test_tokens_are_refused_where_they_are_switched_off(
    db: None, settings: Any, authenticators: set[str]
) -> None:
    settings.LAKEWARDEN_AUTHENTICATORS = frozenset(authenticators)
    refused(send(f"Bearer {token('user', 'ana')}"))


def signed_in(*, active: bool = True, bound: bool = True) -> Client:
    account = people.make_account("ana")
    client = Client(enforce_csrf_checks=True)
    client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    account.is_active = active
    account.principal = account.principal if bound else None
    account.save()
    return client


def ask(client: Client, **headers: str) -> Any:
    return client.post(EVALUATION, OWN, content_type="application/json", headers=headers or None)


def test_a_session_asks_with_its_csrf_token(db: None) -> None:
    client = signed_in()
    client.cookies[settings.CSRF_COOKIE_NAME] = secret = _get_new_csrf_string()
    assert ask(client).status_code == 403
    assert ask(client, **{"X-CSRFToken": "x" * 32}).status_code == 403
    assert ask(client, **{"X-CSRFToken": secret}).status_code == 200


def test_a_session_needs_an_active_account_with_a_principal(db: None) -> None:
    refused(ask(signed_in(active=False)))
    refused(ask(signed_in(bound=False)))


def test_a_session_is_refused_where_it_is_switched_off(db: None, settings: Any) -> None:
    client = signed_in()
    settings.LAKEWARDEN_AUTHENTICATORS = frozenset({"token"})
    refused(ask(client))


def test_bad_credentials_never_fall_back_to_a_session(db: None) -> None:
    client = signed_in()
    client.cookies[settings.CSRF_COOKIE_NAME] = secret = _get_new_csrf_string()
    refused(ask(client, **{"X-CSRFToken": secret, "Authorization": "Bearer lw_wrong"}))


def test_asking_with_a_token_makes_no_session(db: None) -> None:
    caller = Caller(token("user", "ana"))
    assert not caller.send(EVALUATION, OWN).cookies


def test_the_token_is_in_no_answer(db: None) -> None:
    text = token("user", "ana")
    for body in (OWN, {}, b"{", question("user:bob", "read", "table:demo/a")):
        response = Caller(text).send(EVALUATION, body)
        assert text not in response.content.decode() + str(response.headers)
