"""The second factor: after the password, good once, and nobody is in before it."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from axes.models import AccessAttempt
from django.core.management import call_command
from django.test import Client

from accounts import people
from accounts.models import User
from policies.authority import OPERATOR
from policies.models import Event
from policies.services import second_factors
from tests.console.accounts.passkeys import Passkey, challenge_of

PASSWORD = "correct horse battery"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


@pytest.fixture
def ana(db: None) -> User:
    return people.make_account("ana", password=PASSWORD)


@pytest.fixture
def armed(ana: User) -> User:
    second_factors.add_app(ana, SECRET, by=OPERATOR)
    return ana


def code(steps: int = 0, secret: str = SECRET) -> str:
    return totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30 + steps))


def password(browser: Client, name: str = "ana", **more: str) -> Any:
    return browser.post("/sign-in", {"username": name, "password": PASSWORD, **more})


def inside(browser: Client) -> bool:
    return browser.get("/profile").status_code == 200


def test_the_password_alone_lets_nobody_in(armed: User) -> None:
    browser = Client()
    answer = password(browser, next="/keys")
    assert answer.headers["Location"] == "/sign-in/second"
    assert not inside(browser)
    assert browser.get("/api/authn/me").status_code == 401
    assert browser.get("/sign-in/second").status_code == 200
    answer = browser.post("/sign-in/second", {"code": code()})
    assert answer.headers["Location"] == "/keys"
    assert inside(browser)


def test_a_factor_that_was_never_used_is_told_in_the_language_of_the_reader(armed: User) -> None:
    browser = Client()
    password(browser)
    browser.post("/sign-in/second", {"code": code()})
    Authenticator.objects.update(last_used_at=None)
    page = browser.get("/profile/second-factor", HTTP_ACCEPT_LANGUAGE="de").content.decode()
    assert re.search(r"verwendet:\s+nie", page)


def test_a_code_is_good_once_and_one_before_it_never_again(armed: User) -> None:
    assert second_factors.takes(armed, code())
    assert not second_factors.takes(armed, code())
    assert not second_factors.takes(armed, code(-1))
    assert not second_factors.takes(armed, code(7))
    assert not second_factors.takes(armed, "")


def test_recovery_codes_are_good_once_each(armed: User) -> None:
    first, second, *_ = second_factors.new_codes(armed)
    browser = Client()
    password(browser)
    assert browser.post("/sign-in/second", {"code": first}).status_code == 302
    assert not second_factors.takes(armed, first)
    assert second_factors.takes(armed, second)
    second_factors.new_codes(armed)
    assert not second_factors.takes(armed, second)


def test_guessing_codes_is_stopped_like_guessing_passwords(armed: User) -> None:
    browser = Client()
    password(browser)
    tried = [browser.post("/sign-in/second", {"code": "000000"}).status_code for _ in range(9)]
    assert tried[0] == 422
    assert tried[-1] == 429
    assert browser.post("/sign-in/second", {"code": code()}).status_code == 429
    assert not inside(browser)
    AccessAttempt.objects.all().delete()
    assert browser.post("/sign-in/second", {"code": code()}).status_code == 302


def test_the_second_step_ends(armed: User, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Client().post("/sign-in/second", {"code": code()}).status_code == 403
    browser = Client()
    password(browser)
    User.objects.filter(pk=armed.pk).update(session_salt="another")
    assert browser.post("/sign-in/second", {"code": code()}).status_code == 403
    browser = Client()
    password(browser)
    now = time.time()
    monkeypatch.setattr("authzsite.console.accounts.second_step.time.time", lambda: now + 601)
    assert browser.post("/sign-in/second", {"code": code()}).status_code == 403


def test_a_passkey_that_proves_nothing_is_refused(armed: User) -> None:
    browser = Client()
    password(browser)
    for credential in ("{}", "[]", "x", '{"id": 1, "response": {}}', '{"response": {"userHandle": "x"}}'):
        assert browser.post("/sign-in/second", {"credential": credential}).status_code == 422
    for credential in ("x" * 30_000, "[" * 19_000):
        assert browser.post("/sign-in/second", {"credential": credential}).status_code == 422
    assert not inside(browser)


def entering(browser: Client, passkey: Passkey, challenge: str, **how: Any) -> int:
    """The status of the answer to a proof, after the password."""
    return int(browser.post("/sign-in/second", {"credential": passkey.proof(challenge, **how)}).status_code)


WRONG = {
    "another origin": {"origin": "https://evil.example"},
    "without TLS": {"origin": "http://testserver"},
    "another host": {"host": "evil.example"},
    "a passkey that is made": {"kind": "webauthn.create"},
    "nobody present": {"flags": 0},
    "another signature": {"spoilt": True},
}


@pytest.mark.parametrize("how", WRONG.values(), ids=WRONG)
def test_a_passkey_proves_nothing_that_is_not_for_this_site_and_this_moment(
    ana: User, how: dict[str, Any]
) -> None:
    passkey, browser = Passkey().given_to(ana), Client()
    password(browser)
    assert entering(browser, passkey, challenge_of(browser), **how) == 422
    assert not inside(browser)
    assert entering(browser, passkey, challenge_of(browser)) == 302 and inside(browser)


def test_a_proof_is_good_for_one_sign_in(ana: User) -> None:
    passkey, browser = Passkey().given_to(ana), Client()
    password(browser)
    challenge = challenge_of(browser)
    assert entering(browser, passkey, challenge) == 302
    again = Client()
    password(again)
    assert entering(again, passkey, challenge) == 422
    challenge_of(again)
    assert entering(again, passkey, challenge) == 422 and not inside(again)


def test_the_passkey_of_somebody_else_proves_nothing(ana: User) -> None:
    Passkey().given_to(ana)
    others, browser = Passkey().given_to(people.make_account("bo", password=PASSWORD)), Client()
    password(browser)
    assert entering(browser, others, challenge_of(browser)) == 422
    others.id = (
        Authenticator.objects.get(user=ana, type="webauthn")
        .wrap()
        .authenticator_data.credential_data.credential_id
    )
    assert entering(browser, others, challenge_of(browser)) == 422 and not inside(browser)


@pytest.mark.parametrize(
    ("counts", "last"), [((5, 6), 302), ((5, 5), 422), ((5, 4), 422), ((5, 0), 422), ((0, 0), 302)]
)
def test_a_passkey_that_counts_backwards_is_a_copy(ana: User, counts: tuple[int, int], last: int) -> None:
    passkey, answers = Passkey().given_to(ana), []
    for count in counts:
        browser = Client()
        password(browser)
        answers.append(entering(browser, passkey, challenge_of(browser), count=count))
    assert answers == [302, last]


@pytest.mark.parametrize(
    ("wanted", "name", "asked"),
    [("", "sam", False), ("duties", "sam", True), ("duties", "ana", False), ("everybody", "ana", True)],
)
def test_the_settings_ask_for_it(ana: User, settings: Any, wanted: str, name: str, asked: bool) -> None:
    people.make_account("sam", password=PASSWORD)
    settings.LAKEWARDEN_SERVICE_ADMINS, settings.LAKEWARDEN_SECOND_FACTOR = {"sam"}, wanted
    browser = Client()
    password(browser, name)
    assert inside(browser) is not asked


def test_who_must_have_one_sets_it_up_before_they_are_in(ana: User, settings: Any) -> None:
    settings.LAKEWARDEN_SECOND_FACTOR = "everybody"
    browser = Client()
    password(browser, next="/keys")
    secret = browser.get("/sign-in/second").context["form"].secret
    assert browser.post("/sign-in/second", {"code": "123"}).status_code == 422
    assert not inside(browser)
    answer = browser.post("/sign-in/second", {"code": code(secret=secret)})
    page = browser.get(answer.headers["Location"])
    assert len(page.context["codes"]) == 10
    assert '<a class="btn primary" href="/keys">Continue</a>' in page.content.decode()
    assert not browser.get("/profile/second-factor?next=https://elsewhere.org").context["then"]
    assert not browser.get("/profile/second-factor").context["codes"]
    row = Authenticator.objects.get(type="totp")
    assert secret not in str(row.data)
    answer = browser.post("/profile/second-factor", {"do": "remove", "factor": row.pk})
    assert (answer.status_code, Authenticator.objects.filter(pk=row.pk).exists()) == (422, True)


def test_one_adds_and_removes_their_own(ana: User) -> None:
    browser = Client()
    password(browser)
    secret = browser.get("/profile/second-factor").context["form"].secret
    browser.post("/profile/second-factor", {"do": "add", "code": code(secret=secret)})
    factor = Authenticator.objects.get(type="totp")
    other = people.make_account("bob", password=PASSWORD)
    second_factors.add_app(other, SECRET, by=OPERATOR)
    theirs = Authenticator.objects.get(type="totp", user=other)
    browser.post("/profile/second-factor", {"do": "remove", "factor": theirs.pk})
    assert Authenticator.objects.filter(pk=theirs.pk).exists()
    browser.post("/profile/second-factor", {"do": "remove", "factor": factor.pk})
    assert not Authenticator.objects.filter(user=ana).exists()
    kinds = Event.objects.order_by("pk").values_list("kind", flat=True)
    assert [kind for kind in kinds if "factor" in kind] == [
        *["account.factor_added"] * 2,
        "account.factor_removed",
    ]


def test_the_operator_lets_in_who_lost_theirs(armed: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("repair", forget_second_factors="ana")
    assert "1 second factors of ana" in capsys.readouterr().out
    browser = Client()
    password(browser)
    assert inside(browser)


@pytest.mark.browser
def test_a_passkey_is_made_and_used_in_a_browser(chromium: Any, live_server: Any, ana: User) -> None:
    site = live_server.url.replace("127.0.0.1", "localhost")
    context = chromium.new_context()
    context.set_default_timeout(90_000)
    page = context.new_page()
    devices = context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasUserVerification": True,
        "isUserVerified": True,
    }
    devices.send(
        "WebAuthn.addVirtualAuthenticator", {"options": {**options, "automaticPresenceSimulation": True}}
    )

    def enter() -> None:
        page.goto(f"{site}/sign-in?next=/profile/second-factor")
        page.get_by_label("Name").fill("ana")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()

    enter()
    page.get_by_role("button", name="Add a passkey").wait_for()
    page.get_by_label("Name").fill("My laptop")
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()
    assert page.get_by_text("My laptop").first.is_visible()
    context.clear_cookies()
    enter()
    page.get_by_role("heading", name="Second factor").wait_for()
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_text("My laptop").first.wait_for()
    context.close()
