"""A session of any surface is listed and ends when it should; who is disabled stays out by every door."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people, sessions, tokens
from accounts.models import SignIn, Token, User
from accounts.tokens import Reading, Run
from policies.authority import OPERATOR, of_operator
from policies.services import accounts, realms
from tests.kept import kept

BY: Any = {"by": OPERATOR, "authority": of_operator(OPERATOR)}
DOORS = {
    "the pages": "/profile",
    "Gravitino": "/api/authn/me",
    "ours": "/authz/v1/substitutes",
    "AuthZEN": "/access/v1/evaluation",
    "Herd": "/herd-app/rest/currentUser",
    "CDAP": "/v3/security/authorization/roles",
}
OUTSIDE = {name: address for name, address in DOORS.items() if name != "the pages"}


def make_site() -> None:
    realms.create("herd", "herd", owner=people.ensure("user", "admin"), **BY)
    realms.create("cdap", "cdap", owner=people.ensure("user", "admin"), settings={"policy": "4.3"}, **BY)
    people.make_account("ana", password="correct horse")
    people.make_account("dis", password="correct horse")
    accounts.close(User.objects.get(username="dis"), **BY)


site = kept(make_site)


@pytest.fixture
def simple(settings: Any) -> None:
    settings.LAKEWARDEN_AUTHENTICATORS = frozenset({"session", "token", "simple"})


def enter(name: str = "ana") -> Client:
    browser = Client()
    browser.force_login(User.objects.get(username=name))
    return browser


def inside(answer: Any) -> bool:
    """Whether the caller was let in, whatever was answered then."""
    return answer.status_code != 401 and not answer.headers.get("Location", "").startswith("/sign-in")


def basic(name: str, secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()}


@pytest.mark.parametrize("address", DOORS.values(), ids=DOORS)
def test_a_session_of_any_surface_is_listed(site: None, address: str) -> None:
    browser = enter()
    assert inside(browser.get(address))
    assert [row.key for row in SignIn.objects.all()] == [browser.session.session_key]


def rebind() -> None:
    accounts.bind(User.objects.get(username="ana"), people.ensure("user", "q1"), **BY)


def disable() -> None:
    accounts.close(User.objects.get(username="ana"), **BY)


def change_the_password() -> None:
    accounts.set_password(User.objects.get(username="ana"), "another horse, correct", by=OPERATOR)


def make_a_link() -> None:
    accounts.begin_password(User.objects.get(username="ana"), **BY)


def sign_out_elsewhere() -> None:
    answer = enter().post("/profile", {"do": "sign_out_others"})
    assert answer.status_code == 302


ENDS = (rebind, disable, change_the_password, make_a_link, sign_out_elsewhere)


@pytest.mark.parametrize("noted", [True, False], ids=["used", "never used"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("address", DOORS.values(), ids=DOORS)
def test_every_session_ends(site: None, address: str, end: Callable[[], None], noted: bool) -> None:
    browser = enter()
    if noted:
        assert inside(browser.get(address))
    end()
    assert not inside(browser.get(address))


def test_signing_out_elsewhere_keeps_this_one(site: None) -> None:
    here, there = enter(), enter()
    there.get("/api/authn/me")
    assert inside(here.post("/profile", {"do": "sign_out_others"}))
    assert inside(here.get("/profile"))
    assert not inside(there.get("/api/authn/me"))


def test_changing_ones_password_keeps_this_one(site: None) -> None:
    here, there = enter(), enter()
    form = {
        "do": "password",
        "old": "correct horse",
        "password": "battery staple 7",
        "again": "battery staple 7",
    }
    assert here.post("/profile", form).status_code == 302
    assert inside(here.get("/profile"))
    assert not inside(there.get("/profile"))
    assert len(sessions.of(User.objects.get(username="ana"))) == 1


def test_a_bound_account_leaves_no_token_behind(site: None) -> None:
    ana = people.ensure("user", "ana")
    holder = Client(headers={"Authorization": f"Bearer {tokens.create(ana)}"})
    assert holder.get("/api/authn/me").status_code == 200
    rebind()
    assert holder.get("/api/authn/me").status_code == 401
    assert not Token.objects.filter(principal=ana, revoked__isnull=True).exists()


def ways_in(name: str) -> dict[str, Client]:
    principal = people.ensure("user", name)
    later = timezone.now() + timedelta(hours=1)
    realm = 1
    run = tokens.create_for_run(principal, Run("r1", realm, principal), expires=later)
    job = people.ensure("service", "job")
    started = tokens.create_for_run(job, Run("r2", realm, principal), expires=later)
    reading = tokens.create_for_reading(principal, Reading("access", realm, 1), expires=later)
    token = tokens.create(principal)
    browser = Client()
    browser.force_login(User.objects.get(username=name))
    return {
        "session": browser,
        "token": Client(headers={"Authorization": f"Bearer {token}"}),
        "name and token": Client(headers=basic(name, token)),
        "name alone": Client(headers=basic(name, "")),
        "name and password": Client(headers=basic(name, "correct horse")),
        "run": Client(headers={"Authorization": f"Bearer {run}"}),
        "run of another account": Client(headers={"Authorization": f"Bearer {started}"}),
        "reading": Client(headers={"Authorization": f"Bearer {reading}"}),
    }


@pytest.mark.parametrize("address", DOORS.values(), ids=DOORS)
def test_who_is_disabled_stays_out(site: None, simple: None, address: str) -> None:
    assert [way for way, client in ways_in("dis").items() if inside(client.get(address))] == []


@pytest.mark.parametrize("address", OUTSIDE.values(), ids=OUTSIDE)
def test_where_it_is_on_a_mere_name_comes_in_everywhere(site: None, simple: None, address: str) -> None:
    assert inside(Client(headers=basic("ana", "anything")).get(address))
    assert inside(Client(headers=basic("newcomer", "")).get(address))
    assert not inside(Client(headers=basic("", "x")).get(address))


@pytest.mark.seed("S1-018")
@pytest.mark.parametrize(("insecure", "let_in"), [(False, False), (True, True)])
@pytest.mark.parametrize("from_", ["10.1.2.3", "::ffff:192.0.2.1"])
def test_a_mere_name_from_another_machine_stays_out(
    site: None, simple: None, settings: Any, from_: str, insecure: bool, let_in: bool
) -> None:
    settings.LAKEWARDEN_INSECURE = insecure
    for address in OUTSIDE.values():
        assert inside(Client(headers=basic("ana", ""), REMOTE_ADDR=from_).get(address)) is let_in


@pytest.mark.parametrize("address", ["/sign-in", "/", "/profile", "/no-such-page"])
def test_every_page_says_that_a_mere_name_is_enough(
    site: None, simple: None, settings: Any, address: str
) -> None:
    for browser in (Client(), enter()):
        warning = "Programs can sign in with a name alone"
        assert warning in browser.get(address, follow=True).content.decode()
    settings.LAKEWARDEN_AUTHENTICATORS = frozenset({"session", "token"})
    assert warning not in Client().get("/sign-in").content.decode()


@pytest.mark.parametrize("address", OUTSIDE.values(), ids=OUTSIDE)
def test_where_it_is_off_it_does_not(site: None, address: str) -> None:
    assert not inside(Client(headers=basic("ana", "anything")).get(address))


def test_a_new_key_of_the_site_ends_no_session_while_the_old_one_is_believed(
    db: None, client: Client, settings: Any
) -> None:
    client.force_login(people.make_account("ana"), backend="django.contrib.auth.backends.ModelBackend")
    old = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a new key, put first" * 3, [old]
    assert client.get("/profile").status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    assert client.get("/profile").status_code == 200  # it was signed anew meanwhile
    settings.SECRET_KEY = "another, without the one before" * 2
    assert client.get("/profile").status_code == 302
