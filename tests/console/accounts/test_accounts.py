"""Accounts and service accounts: made, opened, closed and bound by site admins, each on the record."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.entering import able
from accounts.models import Keeping, Principal, SignIn, Token, User
from accounts.people import ensure, find, make_account
from accounts.tokens import create, recognise
from catalog.nodes import Node
from policies.decisions.ask import ask
from policies.decisions.lookups.visible_objects import owner_of
from policies.models import Change, Counter, Event
from tests.console.conftest import PASSWORD
from tests.console.settings.test_owners_and_members import members, posted
from tests.factories import a_metalake, a_person, the

Enter = Callable[[str], Client]


@pytest.fixture
def sam(shop: Node, signed_in: Enter, settings: Any) -> Client:
    """A site admin, who is in no realm."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    make_account("marek")
    return signed_in("sam")


def page_of(name: str, what: str = "") -> str:
    return f"/accounts/{make_account(name).pk}{what}"


def service_page(name: str, what: str = "") -> str:
    return f"/services/{ensure('service', name).pk}{what}"


def link_on(answer: Any) -> str:
    match = re.search(r"http://testserver(/welcome/[^<]+)</code>", answer.content.decode())
    assert match is not None, "no link is shown"
    return match[1]


def enters(client: Client, name: str, password: str) -> bool:
    answer = client.post("/sign-in", {"username": name, "password": password})
    return answer.status_code == 302


# People


def test_an_account_is_made_and_its_owner_sets_the_password(sam: Client) -> None:
    answer = posted(sam, "/accounts/new", name="noah", display_name="Noah Novak", reason="Joins on Monday")
    account = User.objects.get(username="noah")
    assert str(account.principal) == "user:noah"
    assert not account.has_usable_password()
    assert Change.objects.latest("revision").reason == "Joins on Monday"

    link = link_on(sam.post(answer["Location"], {"do": "link"}))
    noah = Client()
    assert b"Set a password" in noah.get(link).content
    assert noah.post(link, {"password": "short", "again": "short"}).status_code == 422
    assert noah.post(link, {"password": PASSWORD, "again": PASSWORD + "x"}).status_code == 422
    assert noah.post(link, {"password": PASSWORD, "again": PASSWORD})["Location"] == "/"
    assert b"Noah Novak" in noah.get("/").content
    assert Client().get(link).status_code == 404  # a link works once
    kinds = Event.objects.filter(kind__startswith="account.").order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["account.made", "account.link", "account.password"]


def test_a_new_link_ends_the_old_one_the_password_and_the_sessions(sam: Client) -> None:
    mia = Client()
    make_account("mia", password=PASSWORD)
    assert enters(mia, "mia", PASSWORD)
    first = link_on(sam.post(page_of("mia"), {"do": "link"}))
    assert mia.get("/").status_code == 302
    assert not enters(Client(), "mia", PASSWORD)
    sam.post(page_of("mia"), {"do": "link"})
    assert Client().get(first).status_code == 404


@pytest.mark.parametrize(
    "form", [{"name": ""}, {"name": "marek"}, {"name": "x" * 151}, {"name": "a\x01b"}, {"name": "a\0b"}]
)
def test_a_name_that_cannot_be_is_refused(form: dict[str, str], sam: Client) -> None:
    before = User.objects.count()
    assert posted(sam, "/accounts/new", **form).status_code == 422
    assert User.objects.count() == before


def test_a_disabled_account_opens_nothing_until_it_is_enabled(sam: Client, signed_in: Enter) -> None:
    mia, token = signed_in("mia"), create(a_person("mia"))
    assert mia.get("/").status_code == 200
    body = sam.get(page_of("mia", "/disable")).content.decode()
    assert "can no longer sign in and is signed out in 1 browser" in body
    assert "1 token that do not work" in body
    assert mia.get("/").status_code == 200  # only looked
    posted(sam, page_of("mia", "/disable"), reason="Left")
    assert mia.get("/").status_code == 302
    assert recognise(token) is None
    assert not SignIn.objects.filter(account__username="mia").exists()

    sam.post(page_of("mia"), {"do": "enable"})
    assert recognise(token) is not None
    assert signed_in("mia").get("/").status_code == 200


def test_disabling_says_what_is_left_behind(sam: Client) -> None:
    posted(sam, "/services/new", name="nightly", who="user:olivia", step="save")
    body = sam.get(page_of("olivia", "/disable")).content.decode()
    assert "still owns 1 object; nobody can act as its owner" in body
    assert "demo/shop.sales" in body
    assert "nightly" in body


@pytest.mark.parametrize(("name", "keeps"), [("mia", True), ("olivia", True), ("noah", False)])
def test_disabling_says_that_access_elsewhere_goes_on(sam: Client, name: str, keeps: bool) -> None:
    a_person(name)
    body = sam.get(page_of(name, "/disable")).content.decode()
    assert ("keeps access outside this console" in body) is keeps
    posted(sam, page_of(name, "/disable"), reason="Away")
    reads = ask(ensure("user", name), "read", the("table", "shop.sales.orders"))
    assert bool(reads) is keeps, "what the page says is what services hear"
    assert (str(reverse("console:person", args=[ensure("user", name).pk])) in body) is keeps
    assert sam.get(reverse("console:person", args=[ensure("user", name).pk])).status_code == 200


def test_nobody_disables_themselves(sam: Client) -> None:
    assert b"why-own" in sam.get(page_of("sam")).content
    answer = posted(sam, page_of("sam", "/disable"))
    assert b"Nobody can disable their own account" in answer.content
    assert User.objects.get(username="sam").is_active


def test_an_account_is_bound_by_an_admin_never_by_picking_a_name(sam: Client) -> None:
    stray = User.objects.create_user("stray", password=PASSWORD)
    visitor = Client()
    assert enters(visitor, "stray", PASSWORD)
    assert visitor.get("/").status_code == 403
    assert b"Not linked" in sam.get("/accounts?kind=unbound").content
    address = f"/accounts/{stray.pk}/bind"
    assert b"acts as ana" in sam.post(address, {"who": "user:ana", "step": "look"}).content
    posted(sam, address, who="user:ana", step="save")
    stray.refresh_from_db()
    assert stray.principal == a_person("ana")
    assert posted(sam, address, who="user:marek", step="save").status_code == 422  # marek has an account


@pytest.mark.parametrize("name", ["marek", "mia"])
def test_nobody_else_manages_accounts(name: str, sam: Client, signed_in: Enter) -> None:
    client, before = signed_in(name), User.objects.count()
    for address in ("/accounts", page_of("ana"), page_of("ana", "/disable"), "/services/new"):
        answer = client.get(address)
        assert answer.status_code == 403
        assert "Only a site admin can do this. Site admin: sam." in answer.content.decode()
    assert client.post("/accounts/new", {"name": "eve"}).status_code == 403
    assert client.post(page_of("ana", "/disable"), {"nonce": "a" * 20}).status_code == 403
    assert User.objects.get(username="ana").is_active
    assert User.objects.count() == before + 1  # page_of makes Ana's
    assert "Accounts</span>" not in client.get("/").content.decode()


def test_the_list_tells_who_runs_the_site_and_who_is_disabled(sam: Client, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam", "ghost"})
    posted(sam, page_of("ana", "/disable"))
    body = sam.get("/accounts").content.decode()
    assert "LAKEWARDEN_SERVICE_ADMINS" in body
    assert "No account of that name" in body
    disabled = sam.get("/accounts?kind=disabled").content.decode()
    assert page_of("ana") in disabled
    assert page_of("marek") not in disabled


# Service accounts


def test_a_service_account_has_somebody_who_answers_for_it_and_makes_its_tokens(
    sam: Client, signed_in: Enter
) -> None:
    posted(sam, "/services/new", name="nightly", who="user:olivia", step="save")
    address, olivia = service_page("nightly"), signed_in("olivia")
    assert "Responsible for service accounts" in olivia.get("/profile").content.decode()
    made = olivia.post(address, {"do": "token", "days": "7", "scope": ["check", "report"]}).content.decode()
    match = re.search(r">(lw_[\w-]+)</code>", made)
    assert match is not None
    bearer = recognise(match[1])
    assert bearer is not None
    assert str(bearer.principal) == "service:nightly"
    assert match[1] not in olivia.get(address).content.decode()
    olivia.post(address, {"do": "revoke", "token": bearer.token})
    assert recognise(match[1]) is None
    assert signed_in("mia").get(address).status_code == 404
    assert signed_in("mia").post(address, {"do": "token", "days": "7", "scope": "check"}).status_code == 404


def test_a_group_answers_through_its_people(sam: Client, signed_in: Enter) -> None:
    posted(sam, "/services/new", name="nightly", who="group:analysts", step="save")
    assert signed_in("mia").get(service_page("nightly")).status_code == 200
    assert signed_in("ana").get(service_page("nightly")).status_code == 404


def test_a_keeper_does_not_hand_over_or_disable(sam: Client, signed_in: Enter) -> None:
    posted(sam, "/services/new", name="nightly", who="user:olivia", step="save")
    olivia = signed_in("olivia")
    assert "why-not-admin" in olivia.get(service_page("nightly")).content.decode()
    assert olivia.post(service_page("nightly", "/disable"), {"nonce": "a" * 20}).status_code == 403
    form = {"who": "user:ana", "step": "save"}
    assert olivia.post(service_page("nightly", "/keeper"), form).status_code == 403
    olivia.post(service_page("nightly"), {"do": "enable"})
    assert not Event.objects.filter(kind__in=("account.opened", "account.closed")).exists()


def test_another_answers_for_it_from_now_on(sam: Client, signed_in: Enter) -> None:
    posted(sam, "/services/new", name="nightly", who="user:olivia", step="save")
    looked = sam.post(service_page("nightly", "/keeper"), {"who": "user:ana", "step": "look"})
    assert b"is no longer responsible for nightly" in looked.content
    posted(sam, service_page("nightly", "/keeper"), who="user:ana", step="save", reason="Moved")
    assert [row.keeper.name for row in Keeping.objects.open()] == ["ana"]
    assert signed_in("olivia").get(service_page("nightly")).status_code == 404


def test_one_for_whom_nobody_answers_any_more_is_shown_and_can_be_disabled(sam: Client) -> None:
    posted(sam, "/services/new", name="nightly", who="user:olivia", step="save")
    token = create(ensure("service", "nightly"))
    make_account("olivia")
    assert b"<b>nightly</b>" not in sam.get("/accounts?kind=unkept").content
    posted(sam, page_of("olivia", "/disable"))
    body = sam.get("/accounts?kind=unkept").content.decode()
    assert "<b>nightly</b>" in body
    assert "Nobody is responsible for it" in body
    assert "can no longer sign in" in sam.get(service_page("nightly")).content.decode()
    posted(sam, service_page("nightly", "/disable"))
    assert recognise(token) is None
    assert b"Disabled" in sam.get("/accounts?kind=services").content
    answer = sam.post(service_page("nightly"), {"do": "token", "days": "7", "scope": "check"})
    assert answer.status_code == 422
    sam.post(service_page("nightly"), {"do": "enable"})
    assert recognise(token) is not None


def test_nobody_signs_in_as_a_service_account(sam: Client) -> None:
    posted(sam, "/services/new", name="nightly", who="user:olivia", step="save")
    posted(sam, service_page("nightly", "/disable"))
    account = User.objects.get(principal=ensure("service", "nightly"))
    assert not account.has_usable_password()
    assert sam.get(f"/accounts/{account.pk}").status_code == 404
    assert account.username not in sam.get("/accounts").content.decode()


@pytest.mark.parametrize(
    "form", [{"who": "user:olivia"}, {"name": "etl"}, {"name": "etl", "who": "service:x"}]
)
def test_a_service_account_needs_a_name_and_an_answer(form: dict[str, str], sam: Client) -> None:
    ensure("service", "x")
    assert posted(sam, "/services/new", step="save", **form).status_code == 422
    assert find("service", "etl") is None


# Repairing a lock-out


def test_a_realm_whose_owner_is_gone_gets_another_loudly(sam: Client, signed_in: Enter) -> None:
    posted(sam, page_of("marek", "/disable"))
    make_account("ana")
    root = the("metalake")
    assert "Set another owner" in sam.get("/accounts").content.decode()
    address = f"/realms/{root.id}/repair"
    assert (
        "becomes the owner of demo" in sam.post(address, {"who": "user:ana", "step": "look"}).content.decode()
    )
    short = posted(sam, address, who="user:ana", step="save", reason="because")
    assert short.status_code == 422
    assert owner_of(root) == a_person("marek")

    posted(sam, address, who="user:ana", step="save", reason="Marek left on 1 November, HR-77")
    assert owner_of(root) == a_person("ana")
    assert Change.objects.latest("revision").kind == "realm.repaired"
    page = signed_in("ana").get("/history").content.decode()
    assert "repaired demo, whose owner could not sign in" in page
    assert "HR-77" in page
    assert sam.get(f"/catalog/{root.id}").status_code == 404  # the repair gave the admin nothing
    assert sam.get(address).status_code == 404  # its owner can sign in now


def test_who_is_not_in_the_realm_yet_is_admitted_with_it(sam: Client) -> None:
    root = a_metalake("closed", owner="gone")
    make_account("noah")
    posted(sam, f"/realms/{root.id}/repair", who="user:noah", step="save", reason="Nobody else is left")
    assert owner_of(root) == a_person("noah")
    assert "user:noah" in members(root)


def test_a_realm_whose_owner_can_sign_in_is_not_taken_from_them(sam: Client) -> None:
    address = f"/realms/{the('metalake').id}/repair"
    form = {"who": "user:ana", "step": "save", "reason": "I would like to have it"}
    assert sam.post(address, form).status_code == 404
    assert owner_of(the("metalake")) == a_person("marek")


def test_the_new_owner_must_be_able_to_sign_in(sam: Client) -> None:
    root = a_metalake("closed", owner="gone")
    answer = posted(
        sam, f"/realms/{root.id}/repair", who="user:mia", step="save", reason="Mia has no account yet"
    )
    assert b"cannot sign in either" in answer.content


@pytest.mark.parametrize(
    ("name", "can"), [("with_account", True), ("disabled", False), ("without", False), ("etl", True)]
)
def test_who_can_come_in(name: str, can: bool, shop: Node) -> None:
    make_account("with_account")
    make_account("disabled")
    User.objects.filter(username="disabled").update(is_active=False)
    principal = ensure("service" if name == "etl" else "user", name)
    assert (principal.pk in able([principal.pk])) is can
    crew = (
        a_person(name, "crew") and ensure("group", "crew") if principal.kind == Principal.Kind.USER else None
    )
    if crew is not None:
        assert (crew.pk in able([crew.pk])) is can


def test_names_from_outside_need_no_account_of_ours(shop: Node, settings: Any) -> None:
    person = a_person("elsewhere")
    settings.LAKEWARDEN_AUTHENTICATORS = ("session", "token", "oidc")
    assert person.pk in able([person.pk])


# The viewer's own sessions


def test_one_sees_where_one_is_signed_in_and_ends_the_others(shop: Node, signed_in: Enter) -> None:
    here, there, third = (signed_in("mia") for _ in range(3))
    there.get("/", headers={"user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"})
    third.get("/", headers={"user-agent": "Mozilla/5.0 (iPhone) Version/18 Safari/605"})
    body = here.get("/profile").content.decode()
    assert "Firefox on Linux" in body
    assert "Safari on an iPhone" in body
    assert body.count("this one") == 1
    number = SignIn.objects.get(agent__contains="Firefox").pk
    here.post("/profile", {"do": "sign_out_one", "place": number})
    assert there.get("/").status_code == 302
    assert third.get("/").status_code == 200
    here.post("/profile", {"do": "sign_out_others"})
    assert third.get("/").status_code == 302
    assert here.get("/").status_code == 200


def test_another_s_session_is_not_ended(shop: Node, signed_in: Enter) -> None:
    olivia, mia = signed_in("olivia"), signed_in("mia")
    olivia.get("/")
    number = SignIn.objects.get(account__username="olivia").pk
    for form in ({"do": "sign_out_one", "place": number}, {"do": "sign_out_others"}):
        mia.post("/profile", form)
    mia.post("/profile", {"do": "sign_out_one", "place": "9" * 30})
    assert olivia.get("/").status_code == 200


def test_changing_the_password_signs_out_elsewhere(shop: Node) -> None:
    make_account("mia", password=PASSWORD)
    here, there = Client(), Client()
    for item in (here, there):
        assert enters(item, "mia", PASSWORD)
    new = "another-lake-is-deeper"
    wrong = {"do": "password", "old": "no", "password": new, "again": new}
    assert here.post("/profile", wrong).status_code == 422
    assert here.post("/profile", {**wrong, "old": PASSWORD, "again": "x"}).status_code == 422
    assert here.post("/profile", {**wrong, "old": PASSWORD, "password": "1", "again": "1"}).status_code == 422
    assert here.post("/profile", {**wrong, "old": PASSWORD}).status_code == 302
    assert here.get("/").status_code == 200
    assert there.get("/").status_code == 302
    assert enters(Client(), "mia", new)


@pytest.mark.parametrize(
    ("code", "number", "language"),
    [("en-us", "1,234", "en-US"), ("de", "1.234", "en-GB"), ("iso", "1\u202f234", "en-GB")],
)
def test_numbers_and_dates_are_written_as_chosen(
    code: str, number: str, language: str, shop: Node, signed_in: Enter
) -> None:
    mia = signed_in("mia")
    Counter.objects.update(revision=1234)
    mia.post("/profile", {"do": "formats", "formats": code})
    mia.post("/profile", {"do": "formats", "formats": "klingon"})
    body = mia.get("/people").content.decode()
    assert f"Revision {number}" in body
    assert f'<html lang="{language}"' in body
    assert User.objects.get(username="mia").formats == code


def test_tokens_made_by_command_are_listed_and_revoked_by_the_keeper(sam: Client, signed_in: Enter) -> None:
    posted(sam, "/services/new", name="nightly", who="user:olivia", step="save")
    create(ensure("service", "nightly"))
    number = Token.objects.get().pk
    signed_in("olivia").post(service_page("nightly"), {"do": "revoke", "token": number})
    assert Token.objects.get().revoked is not None
