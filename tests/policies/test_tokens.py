"""Tokens: good from some addresses alone, rotated with an overlap, told of before they end."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people, tokens
from accounts.models import Principal, Token, User
from accounts.tokens import WrongAddress, checked_addresses, recognise
from catalog.nodes import Node
from policies.authority import Actor
from policies.errors import Invalid, NotFound
from policies.models import Event, Notice
from policies.record.verify import verify
from policies.services import accounts
from policies.services import tokens as services
from tests.factories import AUTHORITY, BY, acting
from tests.kept import kept

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def make_ana(shop: Node) -> Principal:
    people.make_account("ana")
    return people.ensure("user", "ana")


ana = kept(make_ana, on="shop")


def by(person: Principal) -> Actor:
    return Actor(person, "console")


def row_of(text: str) -> Token:
    return tokens.find(text)


# From where


@pytest.mark.parametrize(
    ("given", "address", "good"),
    [
        ("10.1.0.0/16", "10.1.9.9", True),
        ("10.1.0.0/16", "10.2.0.1", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.4", False),
        ("10.1.2.3/16", "10.1.200.1", True),  # a host in a network stands for the network
        ("2001:db8::/32", "2001:db8::7", True),
        ("2001:db8::/32", "10.1.2.3", False),
        ("10.1.0.0/16", "::ffff:10.1.2.3", True),
        ("::ffff:10.1.0.0/112", "10.1.2.3", True),
        ("10.1.0.0/16", "", False),
        ("10.1.0.0/16", "unix:", False),
    ],
)
def test_a_token_is_good_from_its_addresses_alone(
    ana: Principal, given: str, address: str, good: bool
) -> None:
    text = tokens.create(ana, days=1, addresses=[given])
    assert (recognise(text, address) is not None) is good
    assert (row_of(text).last_used is not None) is good


@pytest.mark.parametrize("wrong", ["10.1.0.0/33", "lake.example.org", "10.1", "*", "", "10.0.0.0/8;x"])
def test_what_is_no_address_binds_no_token(ana: Principal, wrong: str) -> None:
    with pytest.raises(WrongAddress):
        checked_addresses([wrong])
    with pytest.raises(Invalid):
        services.make(ana, days=1, scopes=(), addresses=[wrong], by=by(ana))
    assert not Token.objects.exists()


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "status"),
    [
        ((), "203.0.113.7", "", 200),
        ((), "198.51.100.1", "", 401),
        ((), "198.51.100.1", "203.0.113.7", 401),  # who says so is no proxy of ours
        (("10.0.0.1",), "10.0.0.1", "203.0.113.7", 200),
        (("10.0.0.1",), "10.0.0.1", "203.0.113.7, 198.51.100.1", 401),  # begun by the client
        (("10.0.0.1",), "10.0.0.1", "", 401),
    ],
)
def test_the_real_address_counts(
    ana: Principal, settings: Any, proxies: tuple[str, ...], peer: str, forwarded: str, status: int
) -> None:
    settings.LAKEWARDEN_PROXY_ADDRESSES = proxies
    text = tokens.create(ana, addresses=["203.0.113.0/24"])
    headers = {"Authorization": f"Bearer {text}"} | ({"X-Forwarded-For": forwarded} if forwarded else {})
    for address in ("/authz/v1/substitutes", "/api/authn/me"):
        assert Client().get(address, headers=headers, REMOTE_ADDR=peer).status_code == status


# Replaced by another


def test_a_rotated_token_is_good_until_the_moment_said(ana: Principal) -> None:
    old = services.make(ana, days=90, scopes=("check",), addresses=["10.0.0.0/8"], by=by(ana))
    new = services.rotate(ana, row_of(old).pk, days=30, overlap=2, by=by(ana))
    before, after, now = row_of(old), row_of(new), timezone.now()
    assert (after.scopes, after.addresses) == (["check"], ["10.0.0.0/8"])
    assert timedelta(hours=1.9) < before.expires - now < timedelta(hours=2.1)  # type: ignore[operator]
    assert 29 * DAY < after.expires - now < 31 * DAY  # type: ignore[operator]
    assert recognise(old, "10.1.1.1")
    assert recognise(new, "10.1.1.1")
    assert not recognise(new, "11.1.1.1")
    Token.objects.filter(pk=before.pk).update(expires=now)
    assert not recognise(old, "10.1.1.1")
    assert recognise(new, "10.1.1.1")
    assert before.successor == after
    assert old not in str(Event.objects.values_list("data", flat=True))
    assert new not in str(Event.objects.values_list("data", flat=True))


def test_rotating_makes_no_token_good_for_longer(ana: Principal) -> None:
    old = services.make(ana, days=1, scopes=(), by=by(ana))
    ends = row_of(old).expires
    services.rotate(ana, row_of(old).pk, days=30, overlap=720, by=by(ana))
    assert row_of(old).expires == ends


def test_without_an_overlap_it_ends_at_once(ana: Principal) -> None:
    old = services.make(ana, days=30, scopes=(), by=by(ana))
    services.rotate(ana, row_of(old).pk, days=30, overlap=0, by=by(ana))
    assert recognise(old) is None


def test_what_is_over_or_of_another_is_not_rotated(ana: Principal) -> None:
    old = services.make(ana, days=30, scopes=(), by=by(ana))
    number = row_of(old).pk
    with pytest.raises(NotFound):
        services.rotate(people.ensure("user", "mia"), number, days=1, overlap=1, by=acting("mia"))
    with pytest.raises(Invalid):
        services.rotate(ana, number, days=1, overlap=services.LONGEST_OVERLAP + 1, by=by(ana))
    services.rotate(ana, number, days=1, overlap=1, by=by(ana))
    with pytest.raises(Invalid):
        services.rotate(ana, number, days=1, overlap=1, by=by(ana))
    revoked = services.make(ana, days=30, scopes=(), by=by(ana))
    services.revoke(ana, row_of(revoked).pk, by=by(ana))
    with pytest.raises(Invalid):
        services.rotate(ana, row_of(revoked).pk, days=1, overlap=1, by=by(ana))
    assert Token.objects.count() == 3


@pytest.mark.parametrize("column", ["addresses", "expires"])
def test_the_record_says_where_and_until_when_a_token_is_good(ana: Principal, column: str) -> None:
    old = services.make(ana, days=30, scopes=(), addresses=["10.0.0.0/8"], by=by(ana))
    services.rotate(ana, row_of(old).pk, days=30, overlap=5, by=by(ana))
    verdict = verify()
    assert verdict, verdict.differing
    wrong = {"addresses": [], "expires": timezone.now() + 30 * DAY}[column]
    Token.objects.filter(pk=row_of(old).pk).update(**{column: wrong})
    assert any("token" in str(item) for item in verify().differing)


# Told before


def told(name: str) -> list[str]:
    rows = Notice.objects.filter(kind=services.ENDS, recipient__name=name, done__isnull=True)
    return [row.text for row in rows.order_by("pk")]


@pytest.mark.parametrize(
    ("days", "ahead", "many"), [(90, 6.5, 1), (90, 8, 0), (90, 0.5, 1), (7, 6.5, 0), (7, 0.5, 1), (1, 0.5, 0)]
)
def test_people_are_told_once_before_their_token_ends(
    ana: Principal, days: int, ahead: float, many: int
) -> None:
    text = tokens.create(ana, days=days)
    moment = timezone.now() + timedelta(days=days - ahead)
    services.remind(moment)
    services.remind(moment + timedelta(minutes=5))
    assert len(told("ana")) == many
    if many:
        assert text[:10] in told("ana")[0]


def test_who_answers_for_a_service_account_is_told(ana: Principal) -> None:
    accounts.make_service("nightly", ana, by=BY, authority=AUTHORITY)
    service = people.ensure("service", "nightly")
    text = tokens.create(service, days=90)
    services.remind(timezone.now() + 83.5 * DAY)
    assert told("ana") == [f"A token of {{who}} ends by itself: {text[:10]}…."]
    assert Notice.objects.get().link == f"/services/{service.pk}"


def test_what_was_rotated_or_revoked_is_told_of_no_more(ana: Principal) -> None:
    rows = [row_of(tokens.create(ana, days=30)) for _ in range(3)]
    moment = timezone.now() + 23.5 * DAY
    services.remind(moment)
    assert len(told("ana")) == 3
    services.rotate(ana, rows[0].pk, days=90, overlap=1, by=by(ana))
    services.revoke(ana, rows[1].pk, by=by(ana))
    services.remind(moment)
    assert len(told("ana")) == 1
    services.remind(moment + 7 * DAY)
    assert told("ana") == []


# On the page


def test_a_token_is_replaced_on_the_page(ana: Principal, settings: Any) -> None:
    settings.LAKEWARDEN_STEP_UP = 0
    browser = Client()
    account = User.objects.get(principal=ana)
    browser.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    form = {"do": "token", "days": "30", "scope": "check", "addresses": "10.0.0.0/8, 2001:db8::1"}
    assert browser.post("/profile", {**form, "addresses": "nowhere"}).status_code == 422
    old = shown(browser.post("/profile", form).content.decode())
    row = row_of(old)
    assert row.addresses == ["10.0.0.0/8", "2001:db8::1/128"]
    assert "Replace the token" not in browser.get("/profile").content.decode()
    page = browser.get(f"/profile?replace={row.pk}").content.decode()
    assert f"Replace token {row.prefix}" in page
    made = browser.post("/profile", {"do": "rotate", "token": row.pk, "lasts": "90", "overlap": "1"})
    new = shown(made.content.decode())
    assert recognise(new, "10.0.0.1")
    assert f"Replaced by {new[:10]}" in made.content.decode()
    again = browser.post("/profile", {"do": "rotate", "token": row.pk, "lasts": "90", "overlap": "1"})
    assert again.status_code == 302
    for wrong in ({"token": "x"}, {"token": row.pk, "lasts": "9", "overlap": "1"}, {}):
        assert browser.post("/profile", {"do": "rotate", **wrong}).status_code == 302
    assert Token.objects.count() == 2


def shown(page: str) -> str:
    match = re.search(r">(lw_[\w-]+)</code></p>", page)
    assert match
    return match[1]
