"""A proxy in front names people: from its own addresses alone, and nobody who is disabled."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts import people
from accounts.models import Membership, Principal, SignIn, User
from policies.authority import OPERATOR, of_operator
from policies.models import Change
from policies.services import accounts, members

BY: Any = {"by": OPERATOR, "authority": of_operator(OPERATOR)}
PROXY, ELSEWHERE = "10.9.1.1", "192.0.2.1"
ME = "/api/authn/me"


@pytest.fixture(autouse=True)
def _behind_a_proxy(db: None, settings: Any) -> None:
    settings.LAKEWARDEN_AUTHENTICATORS = frozenset({"session", "token", "proxy"})
    settings.LAKEWARDEN_PROXY_ADDRESSES = ("10.9.0.0/16",)
    settings.LAKEWARDEN_PROXY_HEADERS = {
        "user": "X-Forwarded-User",
        "display_name": "X-Forwarded-Name",
        "mail": "X-Forwarded-Email",
        "groups": "X-Forwarded-Groups",
    }


def said(user: str = "ana", /, **more: str) -> dict[str, str]:
    return {"X-Forwarded-User": user, **{f"X-Forwarded-{what.title()}": text for what, text in more.items()}}


def get(address: str = "/profile", *, at: str = PROXY, browser: Client | None = None, **headers: str) -> Any:
    return (browser or Client()).get(address, headers=headers, REMOTE_ADDR=at)


def inside(answer: Any) -> bool:
    return answer.status_code == 200


@pytest.mark.parametrize("address", ["/profile", ME])
def test_whom_the_proxy_names_is_let_in(address: str) -> None:
    assert inside(get(address, **said()))
    account = User.objects.get()
    assert (account.username, str(account.principal)) == ("ana", "user:ana")
    assert not account.has_usable_password()
    assert Change.objects.get().actor == "directory"
    assert inside(get(address, **said()))
    assert Change.objects.count() == 1


@pytest.mark.parametrize("address", ["/profile", ME])
@pytest.mark.parametrize("forwarded", [{}, {"X-Forwarded-For": PROXY}], ids=["bare", "as the proxy"])
def test_from_elsewhere_the_headers_say_nothing(address: str, forwarded: dict[str, str]) -> None:
    assert not inside(get(address, at=ELSEWHERE, **said(), **forwarded))
    assert not User.objects.exists()


@pytest.mark.parametrize("address", ["/profile", ME])
def test_a_socket_is_no_address(address: str) -> None:
    assert not inside(get(address, at="", **said()))


@pytest.mark.parametrize("address", ["/profile", ME])
def test_where_it_is_off_the_headers_say_nothing(settings: Any, address: str) -> None:
    browser = Client()
    assert inside(get(browser=browser, **said()))
    settings.LAKEWARDEN_AUTHENTICATORS = frozenset({"session", "token"})
    assert not inside(get(address, **said()))
    assert not inside(get(address, browser=browser, **said()))


@pytest.mark.parametrize("address", ["/profile", ME])
def test_who_is_disabled_stays_out(address: str) -> None:
    browser = Client()
    assert inside(get(browser=browser, **said()))
    accounts.close(User.objects.get(), **BY)
    answer = get(address, browser=browser, **said())
    assert answer.status_code in (401, 403)
    assert "Your account is disabled" in answer.content.decode()
    assert "sessionid" not in answer.cookies


@pytest.mark.parametrize("name", ["ana,sam", "a\u200bna", "x" * 300, "service:7", "ghost"])
def test_who_cannot_be_is_refused_in_words(name: str) -> None:
    service = people.ensure(Principal.Kind.SERVICE, "robo")
    accounts.of_service(service)
    User.objects.update(username="service:7")
    User.objects.create(username="other", principal=people.ensure("user", "ghost"))
    for address, status in (("/profile", 403), (ME, 401)):
        answer = Client().get(
            address, REMOTE_ADDR=PROXY, HTTP_X_FORWARDED_USER=name.encode().decode("latin-1")
        )
        assert answer.status_code == status
    assert User.objects.count() == 2


def test_a_name_arrives_in_utf_8() -> None:
    name = "Ünï店"
    Client().get("/profile", REMOTE_ADDR=PROXY, HTTP_X_FORWARDED_USER=name.encode().decode("latin-1"))
    assert User.objects.get().username == name


def test_a_session_goes_with_the_header_and_changes_with_it() -> None:
    browser = Client()
    assert inside(get(browser=browser, **said()))
    assert SignIn.objects.get().account.username == "ana"
    assert b"user:sam" in get(browser=browser, **said("sam")).content
    assert not inside(get(browser=browser))
    assert not inside(get(ME, browser=browser))
    assert inside(get(browser=browser, **said()))
    assert not inside(get(ME, browser=browser, at=ELSEWHERE, **said()))


def test_mail_name_and_groups_follow_the_proxy() -> None:
    by_hand = members.make_group("by hand", **BY)
    members.join_group(by_hand, people.ensure("user", "ana"), **BY)
    browser = Client()
    get(browser=browser, **said(name="Ana Diaz", email="ana@example.org", groups="staff, by hand ,auditors"))
    account = User.objects.select_related("principal").get()
    assert (account.email, account.principal and account.principal.label) == ("ana@example.org", "Ana Diaz")
    assert groups() == {"staff": "directory", "auditors": "directory", "by hand": "command"}
    get(browser=browser, **said(groups="auditors"))
    assert groups() == {"auditors": "directory", "by hand": "command"}
    get(ME, **said())
    assert groups() == {"by hand": "command"}


def groups() -> dict[str, str]:
    return {row.group.name: row.origin for row in Membership.objects.open().select_related("group")}


def test_headers_that_the_settings_do_not_name_are_not_read(settings: Any) -> None:
    settings.LAKEWARDEN_PROXY_HEADERS |= {"groups": "", "mail": "", "display_name": ""}
    get(**said(groups="staff", email="ana@example.org", name="Ana"))
    assert not groups()
    assert User.objects.get().email == ""


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize("mark", ["Origin", "Sec-Fetch-Site", "Referer"])
def test_another_sites_page_changes_nothing_through_the_proxy(mark: str) -> None:
    value = "cross-site" if mark == "Sec-Fetch-Site" else "https://evil.example.org"
    answers = [
        Client(enforce_csrf_checks=True)
        .post(
            "/access/v1/evaluation",
            {
                "subject": {"type": "user", "id": "ana"},
                "action": {"name": "read"},
                "resource": {"type": "table", "id": "a/b"},
            },
            content_type="application/json",
            headers={**said(), **more},
            REMOTE_ADDR=PROXY,
        )
        .status_code
        for more in ({}, {mark: value})
    ]
    assert answers == [200, 403]


def test_signing_out_ends_the_proxys_session_too(settings: Any) -> None:
    settings.LAKEWARDEN_PROXY_SIGN_OUT = "/oauth2/sign_out"
    browser = Client()
    get(browser=browser, **said())
    answer = browser.post("/sign-out", headers=said(), REMOTE_ADDR=PROXY)
    assert answer.headers["Location"] == "/oauth2/sign_out"
