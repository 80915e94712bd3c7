"""Signing in by an identity provider: what it proves counts, and nothing that it merely says."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from accounts import people
from accounts.models import ExternalSignIn, Membership, User
from authzsite.runtime.configuration import single_sign_on
from policies.authority import OPERATOR, of_operator
from policies.models import Event
from policies.services import accounts
from tests.herd import world as herds
from tests.standins import oidc

BY: Any = {"by": OPERATOR, "authority": of_operator(OPERATOR)}


@pytest.fixture(scope="module")
def running() -> Iterator[oidc.Provider]:
    with oidc.running() as provider:
        yield provider


@pytest.fixture
def provider(running: oidc.Provider, db: None, settings: Any) -> oidc.Provider:
    running.__init__(urlsplit(running.issuer).port, running.key)  # type: ignore[misc]
    settings.LAKEWARDEN_AUTHENTICATORS = frozenset({"session", "token", "oidc"})
    known(settings, running)
    return running


def known(settings: Any, provider: oidc.Provider, **more: str) -> None:
    given = {"ISSUER": provider.issuer, "CLIENT_ID": oidc.CLIENT, "CLIENT_SECRET": oidc.SECRET, **more}
    variables = {f"LAKEWARDEN_OIDC_KEYCLOAK_{name}": value for name, value in given.items()}
    settings.LAKEWARDEN_OIDC = single_sign_on.oidc_providers(variables)


def ask(address: str) -> str:
    """Where the provider sends the browser; the person there says yes."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc)
    connection.request("GET", f"{parts.path}?{parts.query}")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return str(answer.headers["Location"])


def begin(browser: Client, **form: str) -> str:
    answer = browser.post("/sign-in/with/keycloak", form)
    assert answer.status_code == 200
    return str(answer.headers["Refresh"]).partition("url=")[2]


def sign_in(browser: Client | None = None, **form: str) -> Any:
    browser = browser or Client()
    back = urlsplit(ask(begin(browser, **form)))
    return browser.get(f"{back.path}?{back.query}")


def inside(browser: Client) -> bool:
    return browser.get("/profile").status_code == 200


def test_who_the_provider_knows_is_let_in_and_gets_a_principal(provider: oidc.Provider) -> None:
    browser = Client()
    assert b"Sign in with Keycloak" in browser.get("/sign-in").content
    answer = sign_in(browser, next="/profile")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/profile")
    assert b"user:ana" in browser.get("/profile").content
    account = User.objects.get()
    assert (str(account.principal), account.has_usable_password()) == ("user:ana", False)
    assert Event.objects.filter(kind="account.joined").count() == 1
    assert sign_in().status_code == 302
    assert Event.objects.filter(kind="account.joined").count() == 1


def test_the_code_flow_has_pkce_a_state_and_a_nonce(provider: oidc.Provider) -> None:
    asked = parse_qs(urlsplit(begin(Client())).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert all(len(asked[name][0]) >= 16 for name in ("state", "nonce", "code_challenge"))
    assert asked["redirect_uri"] == ["http://testserver/sign-in/with/keycloak/callback"]


FORGED = {
    "another nonce": {"nonce": "x" * 32},
    "no nonce": {"nonce": None},
    "another audience": {"aud": "somebody-else"},
    "a second audience": {"aud": [oidc.CLIENT, "somebody-else"]},
    "another party": {"azp": "somebody-else"},
    "another issuer": {"iss": "http://127.0.0.1/realms/other"},
    "expired": {"exp": int(time.time()) - 3600},
    "no expiration": {"exp": None},
    "not yet": {"nbf": int(time.time()) + 3600},
    "no subject": {"sub": None},
}


def refused(answer: Any) -> None:
    assert answer.status_code == 403
    assert b"Keycloak did not confirm who you are" in answer.content
    assert not User.objects.exists()


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_what_is_not_proved_is_refused(provider: oidc.Provider, forged: dict[str, Any]) -> None:
    provider.forged = forged
    refused(sign_in())


def test_another_key_is_refused(provider: oidc.Provider) -> None:
    provider.signs_with = oidc.new_key()
    refused(sign_in())


@pytest.mark.parametrize("algorithm", ["HS256", "none"])
def test_a_signature_that_anybody_can_make_is_refused(provider: oidc.Provider, algorithm: str) -> None:
    provider.algorithm = algorithm
    provider.signs_with = None if algorithm == "none" else "0123456789abcdef" * 4  # type: ignore[assignment]
    refused(sign_in())


@pytest.mark.parametrize(
    "configuration", [{"issuer": "https://evil.example.org"}, {"jwks_uri": "http://10.0.0.1/keys"}]
)
def test_a_configuration_of_another_is_refused(
    provider: oidc.Provider, configuration: dict[str, str]
) -> None:
    provider.configuration = configuration
    refused(sign_in())


def test_an_answer_counts_once_and_where_it_was_begun(provider: oidc.Provider) -> None:
    browser = Client()
    back = urlsplit(ask(begin(browser)))
    refused(Client().get(f"{back.path}?{back.query}"))
    assert browser.get(f"{back.path}?{back.query}").status_code == 302
    assert Client().get(f"{back.path}?{back.query}").status_code == 403
    assert browser.get("/sign-in/with/keycloak/callback?error=access_denied").status_code == 403


def test_an_account_is_joined_by_the_subject_and_never_by_name_or_mail(provider: oidc.Provider) -> None:
    provider.claims |= {"email": "ana@example.org", "email_verified": True}
    sign_in()
    provider.claims |= {"preferred_username": "ana.diaz"}
    sign_in()
    assert [row.username for row in User.objects.all()] == ["ana"]
    provider.claims |= {"sub": "another", "preferred_username": "ana"}
    answer = sign_in()
    assert answer.status_code == 403
    assert b"used this name for someone else before" in answer.content
    provider.claims |= {"preferred_username": "other"}  # the same mail as ana
    sign_in()
    assert sorted(User.objects.values_list("username", flat=True)) == ["ana", "other"]


@pytest.mark.parametrize("name", ["HANK", "maſter", " hank", "hank ", "nightly-load", "Nightly-Load"])
def test_nobody_comes_in_by_a_name_that_a_herd_takes_for_anothers(provider: oidc.Provider, name: str) -> None:
    """A Herd ignores case and spaces of user ids, and services share them."""
    herd = herds.a_herd(owner="hedda")
    herds.namespaces(herd, "SALES")
    for known_before in ("hank", "master"):
        people.make_account(known_before, password="correct horse battery")
    accounts.make_service("nightly-load", people.ensure("user", "hedda"), **BY)
    for holder in ("hank", "master", "nightly-load"):
        herds.give(holder, "SALES", "READ", "WRITE", "GRANT")
    browser = Client()
    provider.claims |= {"preferred_username": name}
    assert sign_in(browser).status_code == 403
    assert not inside(browser)
    assert set(User.objects.values_list("username", flat=True)) == {"hank", "master"}


def test_the_provider_is_asked_for_the_scopes_that_are_set(provider: oidc.Provider, settings: Any) -> None:
    def asked() -> set[str]:
        return set(parse_qs(urlsplit(begin(Client())).query)["scope"][0].split(" "))

    assert asked() == {"openid", "profile", "email"}
    known(settings, provider, SCOPES="openid profile  groups")
    assert asked() == {"openid", "profile", "groups"}
    assert sign_in().status_code == 302


def test_scopes_without_openid_are_refused_when_the_site_starts(
    provider: oidc.Provider, settings: Any
) -> None:
    with pytest.raises(ValueError, match="lacks openid"):
        known(settings, provider, SCOPES="profile groups")


def test_nobody_keeps_a_service_from_being_disabled_by_what_they_call_themselves(
    provider: oidc.Provider,
) -> None:
    service = accounts.make_service("nightly-load", people.ensure("user", "hedda"), **BY)
    provider.claims |= {"preferred_username": f"service:{service.pk}"}
    sign_in()
    assert accounts.close(accounts.of_service(service), **BY)


@pytest.mark.parametrize(
    "claims", [{"sub": "a\0b"}, {"sub": "\ud800"}, {"groups": ["a\0b"]}, {"groups": ["\ud800"]}], ids=ascii
)
def test_what_the_database_cannot_hold_is_refused(
    provider: oidc.Provider, settings: Any, claims: dict[str, Any]
) -> None:
    known(settings, provider, GROUPS_CLAIM="groups")
    provider.claims |= claims
    assert sign_in().status_code == 403
    assert not User.objects.exists()


def test_an_account_with_a_password_is_connected_by_its_owner(provider: oidc.Provider, settings: Any) -> None:
    people.make_account("ana", password="correct horse")
    answer = sign_in()
    assert answer.status_code == 403
    assert b"connect Keycloak under Your settings" in answer.content
    browser = Client()
    browser.post("/sign-in", {"username": "ana", "password": "correct horse"})
    assert sign_in(browser).headers["Location"] == "/profile"
    assert sign_in().status_code == 302
    way = ExternalSignIn.objects.get()
    assert f'value="{way.pk}"' in browser.get("/profile").content.decode()
    browser.post("/profile", {"do": "disconnect", "way": way.pk})
    assert sign_in().status_code == 403
    known(settings, provider, JOINS="1")
    assert sign_in().status_code == 302


def test_the_only_way_in_is_not_cut(provider: oidc.Provider) -> None:
    browser = Client()
    sign_in(browser)
    browser.post("/profile", {"do": "disconnect", "way": ExternalSignIn.objects.get().pk})
    assert ExternalSignIn.objects.exists()


def test_nobody_connects_whom_another_is_joined_to(provider: oidc.Provider) -> None:
    sign_in()
    people.make_account("bob", password="correct horse")
    browser = Client()
    browser.post("/sign-in", {"username": "bob", "password": "correct horse"})
    assert b"connected to another account" in sign_in(browser).content
    assert ExternalSignIn.objects.get().account.username == "ana"


def test_who_is_disabled_stays_out(provider: oidc.Provider) -> None:
    browser = Client()
    sign_in(browser)
    accounts.close(User.objects.get(), **BY)
    assert not inside(browser)
    assert b"Your account is disabled" in sign_in().content


def test_sessions_end_where_the_way_in_is_switched_off(provider: oidc.Provider, settings: Any) -> None:
    browser = Client()
    sign_in(browser)
    assert inside(browser)
    settings.LAKEWARDEN_AUTHENTICATORS = frozenset({"session", "token"})
    assert not inside(browser)
    assert browser.post("/sign-in/with/keycloak").status_code == 404


def test_groups_come_from_the_claim(provider: oidc.Provider, settings: Any) -> None:
    known(settings, provider, GROUPS_CLAIM="groups")
    provider.userinfo = {"groups": ["/staff", "auditors"]}  # not in the ID token
    sign_in()
    assert groups() == {"staff", "auditors"}
    provider.claims |= {"groups": ["auditors"]}
    sign_in()
    assert groups() == {"auditors"}
    provider.claims |= {"groups": "auditors,admins"}
    assert b"does not send your groups" in sign_in().content


def groups() -> set[str]:
    return set(Membership.objects.open().filter(origin="directory").values_list("group__name", flat=True))


def test_a_second_answer_about_somebody_else_is_refused(provider: oidc.Provider, settings: Any) -> None:
    known(settings, provider, GROUPS_CLAIM="groups")
    provider.userinfo = {"sub": "another", "groups": ["admins"]}
    refused(sign_in())


@pytest.mark.parametrize(
    ("claims", "let_in"),
    [
        ({"email": "ana@bank.example", "email_verified": True}, True),
        ({"email": "ana@BANK.example", "email_verified": True}, True),
        ({"email": "ana@bank.example"}, False),
        ({"email": "ana@bank.example", "email_verified": "false"}, False),
        ({"email": "ana@evil.example", "email_verified": True}, False),
        ({"email": "ana@bank.example.evil.example", "email_verified": True}, False),
        ({}, False),
    ],
)
def test_domains_limit_who_comes(provider: oidc.Provider, settings: Any, claims: Any, let_in: bool) -> None:
    known(settings, provider, DOMAINS="bank.example, other.example")
    provider.claims |= claims
    assert (sign_in().status_code == 302) is let_in
    assert User.objects.exists() is let_in
    if let_in:
        assert User.objects.get().email == claims["email"]


@pytest.mark.parametrize("name", ["", "a\u202eb", 7, None])
def test_a_name_that_is_none_is_refused(provider: oidc.Provider, name: Any) -> None:
    provider.claims |= {"preferred_username": name}
    assert sign_in().status_code == 403
    assert not User.objects.exists()


def test_a_form_that_was_begun_comes_back(provider: oidc.Provider) -> None:
    people.make_account("sam", password="correct horse")
    browser = Client()
    page = browser.post("/profile", {"do": "zone", "zone": "Europe/Vienna"})
    kept = page.context["kept"]
    answer = sign_in(browser, kept=kept, next="/")
    assert answer.headers["Location"] == "/profile"


def test_a_provider_that_is_away_is_told_of(provider: oidc.Provider, settings: Any) -> None:
    known(settings, provider, ISSUER="http://127.0.0.1:9/realms/lake")
    answer = Client().post("/sign-in/with/keycloak")
    assert answer.status_code == 403
    assert b"Keycloak did not confirm who you are" in answer.content


@pytest.mark.parametrize("path", ["/accounts/signup/", "/accounts/login/", "/accounts/email/", "/signup/"])
def test_no_other_page_of_the_package_is_there(provider: oidc.Provider, path: str) -> None:
    assert Client().get(path).status_code == 404


TOKEN = {"do": "token", "scope": ["check"], "days": "30"}


@pytest.mark.parametrize(
    ("forged", "proved"),
    [({}, True), ({"auth_time": int(time.time()) - 3600}, False), ({"auth_time": None}, False)],
)
def test_who_signed_in_a_while_ago_proves_it_to_the_provider_again(
    provider: oidc.Provider, settings: Any, forged: dict[str, Any], proved: bool
) -> None:
    browser = Client()
    sign_in(browser)
    settings.LAKEWARDEN_STEP_UP = 15
    session = browser.session
    session["proved"] = time.time() - 3600
    session.save()
    asked = browser.post("/profile", TOKEN)
    assert b"Confirm with Keycloak" in asked.content
    provider.forged = forged
    sign_in(browser, again="1", kept=asked.context["kept"])
    assert (browser.post("/profile", TOKEN).status_code == 200) is proved


@pytest.mark.parametrize(("asked", "young"), [(None, True), (0, True), (3600, False), (-3600, True)])
def test_who_came_by_what_the_provider_knew_long_ago_proved_nothing_now(
    provider: oidc.Provider, settings: Any, asked: int | None, young: bool
) -> None:
    """At a browser that was left open somebody else signs out and in, and the provider asks nothing."""
    settings.LAKEWARDEN_STEP_UP = 15
    if asked is not None:
        provider.forged = {"auth_time": int(time.time()) - asked}
    browser = Client()
    sign_in(browser)
    assert (browser.post("/profile", TOKEN).status_code == 200) is young


def test_another_persons_proof_does_not_count(provider: oidc.Provider, settings: Any) -> None:
    browser = Client()
    sign_in(browser)
    provider.claims |= {"sub": "another", "preferred_username": "bob"}
    sign_in()
    settings.LAKEWARDEN_STEP_UP = 15
    session = browser.session
    session["proved"] = time.time() - 3600
    session.save()
    assert sign_in(browser, again="1").status_code == 403
    assert browser.post("/profile", TOKEN).status_code == 403
