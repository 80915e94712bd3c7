"""When access begins and ends: read in the reader's zone, kept by renewal, shown wherever it is listed."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from accounts import people
from accounts.models import User
from authzsite.console.kit.inputs import dates
from authzsite.console.kit.inputs.dates import When
from catalog.nodes import Node
from policies.decisions import ask
from policies.models import Assignment, Grant
from policies.services import grants, roles
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, a_role, acting, the

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


@pytest.fixture
def orders(shop: Node) -> Node:
    return the("table", "shop.sales.orders")


def read(text: str, *, later: bool = False) -> datetime | None:
    with timezone.override(BERLIN):
        return dates.local_moment(text, later=later)


@pytest.mark.parametrize(
    ("typed", "utc"),
    [
        ("2030-01-15T09:00", "2030-01-15T08:00"),  # winter
        ("2030-07-15T09:00", "2030-07-15T07:00"),  # summer
        ("2030-03-31T01:59", "2030-03-31T00:59"),  # the minute before the clock goes forward
        ("2030-03-31T03:00", "2030-03-31T01:00"),  # the minute after
        ("2030-10-27T03:00", "2030-10-27T02:00"),  # after it went back
        ("2030-01-15T09:00+05:00", "2030-01-15T04:00"),
    ],
)
def test_a_time_is_read_in_the_readers_own_zone_summer_and_winter(typed: str, utc: str) -> None:
    assert read(typed) == datetime.fromisoformat(utc).replace(tzinfo=UTC)


def test_of_an_hour_that_comes_twice_nobody_gets_more_than_was_meant() -> None:
    assert read("2030-10-27T02:30") == datetime(2030, 10, 27, 0, 30, tzinfo=UTC)  # an end: the first
    assert read("2030-10-27T02:30", later=True) == datetime(2030, 10, 27, 1, 30, tzinfo=UTC)  # a beginning


@pytest.mark.parametrize("typed", ["2030-03-31T02:00", "2030-03-31T02:59"])
def test_an_hour_that_the_clock_leaves_out_is_said_to_be_none(typed: str) -> None:
    with pytest.raises(dates.Skipped, match="does not exist in Europe/Berlin"):
        read(typed)


@pytest.mark.parametrize("typed", ["", "soon", "2030-13-01T00:00", "0001-01-01T00:00", "9999-12-31T23:59"])
def test_what_is_no_time_is_none(typed: str) -> None:
    assert read(typed) is None


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ("from=date", "begin"),
        ("from=date&begin=2001-01-01T00:00", "begin"),
        ("from=date&begin=2030-03-31T02:30", "begin"),
        ("until=date", "date"),
        ("until=date&date=2001-01-01T00:00", "date"),
        ("until=date&date=2030-03-31T02:30", "date"),
        ("from=date&begin=2090-01-02T00:00&until=date&date=2090-01-02T00:00", "until"),
        ("from=date&begin=2090-01-02T00:00&until=friday", "until"),
    ],
)
def test_a_window_that_cannot_be_meant_is_refused_at_its_own_field(asked: str, field: str) -> None:
    with timezone.override(BERLIN):
        assert list(When(QueryDict(asked)).check()) == [field]


def test_thirty_days_count_from_the_beginning_and_end_in_the_evening_of_that_season() -> None:
    with timezone.override(BERLIN):
        window = When(QueryDict("from=date&begin=2030-03-11T09:00&until=month"))
        assert window.check() == {}
        assert window.end == datetime(2030, 4, 10, 16, 0, tzinfo=UTC)  # 18:00 in summer


def test_a_grant_that_begins_later_gives_nothing_a_moment_before(orders: Node) -> None:
    begin = timezone.now() + timedelta(days=3)
    ana = people.ensure("user", "ana")
    grants.add(GrantRequest(orders, (ana,), ("SELECT_TABLE",), valid_from=begin), by=acting("olivia"))
    tick = timedelta(microseconds=1)
    assert not ask.ask(ana, "read", orders, now=begin - tick)
    assert ask.ask(ana, "read", orders, now=begin)


def test_renewing_keeps_what_has_begun_at_its_beginning(orders: Node) -> None:
    begun, ana = timezone.now() - timedelta(days=3), people.ensure("user", "ana")
    wish = GrantRequest(orders, (ana,), ("SELECT_TABLE",), begun, timezone.now() + timedelta(days=1))
    grants.add(wish, by=acting("olivia"))
    end = timezone.now() + timedelta(days=30)
    grants.add(GrantRequest(orders, (ana,), ("SELECT_TABLE",), valid_until=end), by=acting("olivia"))
    [row] = Grant.objects.open().filter(securable=orders.id, privilege="SELECT_TABLE")
    assert (row.valid_from, row.valid_until) == (begun, end)


def test_renewing_a_role_moves_its_end_and_keeps_its_beginning(shop: Node) -> None:
    role, mia = a_role(shop, "shift"), people.ensure("user", "mia")
    begun, soon = timezone.now() - timedelta(days=3), timezone.now() + timedelta(days=1)
    console = acting("olivia")
    roles.assign(role, mia, by=console, authority=AUTHORITY, valid_from=begun, valid_until=soon)
    later = timezone.now() + timedelta(days=30)
    assert roles.hold(role, mia, None, later, by=console, authority=AUTHORITY)
    assert not roles.hold(role, mia, None, later, by=console, authority=AUTHORITY)
    [row] = Assignment.objects.open().filter(role=role.id)
    assert (row.valid_from, row.valid_until) == (begun, later)


def in_berlin(name: str) -> None:
    User.objects.filter(username=name).update(time_zone="Europe/Berlin")


def test_a_grant_from_a_day_until_another_is_given_and_shown_with_its_zone(
    orders: Node, signed_in: Callable[[str], Client]
) -> None:
    olivia, address = signed_in("olivia"), f"/objects/{orders.id}/grant"
    in_berlin("olivia")
    fields = {"who": "user:ana", "may": "SELECT_TABLE", "nonce": "a" * 20, "from": "date", "until": "date"}
    fields |= {"begin": "2090-01-09T09:00", "date": "2090-02-09T18:00"}
    looked = olivia.post(address, {**fields, "step": "look"}).content.decode()
    assert "In Europe/Berlin, the time zone of your settings" in looked
    assert "What this changes, from 9 Jan 2090" in looked
    assert "gains read and use" in looked or "Gains" in looked
    assert olivia.post(address, {**fields, "step": "save"}).status_code == 302
    [row] = Grant.objects.open().filter(securable=orders.id, privilege="SELECT_TABLE")
    assert row.valid_from == datetime(2090, 1, 9, 8, tzinfo=UTC)
    assert row.valid_until == datetime(2090, 2, 9, 17, tzinfo=UTC)
    ana = people.ensure("user", "ana")
    pages = (f"/objects/{orders.id}", f"/objects/{orders.id}/rules", f"/people/{ana.pk}")
    for page in pages:
        assert "From 9 Jan 2090 until 9 Feb 2090" in olivia.get(page).content.decode(), page


def test_a_role_from_a_day_is_shown_so_to_who_holds_it(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    role = a_role(shop, "shift", "allow SELECT_TABLE on schema shop.sales")
    ana = people.ensure("user", "ana")
    fields = {
        "nonce": "b" * 20,
        "from": "date",
        "begin": "2090-01-09T09:00",
        "until": "never",
        "step": "save",
    }
    marek = signed_in("marek")
    assert marek.post(f"/roles/{role.id}/assign", {**fields, "who": "user:ana"}).status_code == 302
    marek.post(f"/people/{ana.pk}/roles", {**fields, "nonce": "c" * 20, "role": str(role.id)})
    [row] = Assignment.objects.open().filter(role=role.id)
    assert (row.valid_from, row.valid_until) == (datetime(2090, 1, 9, 9, tzinfo=UTC), None)
    for page in (f"/roles/{role.id}", f"/people/{ana.pk}", f"/people/{ana.pk}/groups"):
        assert "From 9 Jan 2090" in marek.get(page).content.decode(), page


def test_the_way_to_a_later_grant_is_open_when_it_begins(orders: Node) -> None:
    """The use of the schema ends before the grant begins, so it is given along."""
    sales, ana = the("schema", "shop.sales"), people.ensure("user", "ana")
    now = timezone.now()
    grants.add(
        GrantRequest(sales, (ana,), ("USE_SCHEMA",), valid_until=now + timedelta(days=1)), by=acting("olivia")
    )
    begin = now + timedelta(days=2)
    grants.add(GrantRequest(orders, (ana,), ("SELECT_TABLE",), valid_from=begin), by=acting("olivia"))
    assert ask.ask(ana, "read", orders, now=begin)
