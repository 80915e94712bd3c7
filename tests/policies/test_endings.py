"""Before access ends by itself, its holder and those who may give it longer are told, each once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.lifecycle import expirations
from policies.models import Notice
from policies.services import grants, roles
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, a_role, acting, the
from tests.kept import kept

DAY = timedelta(days=1)


def make_staff(shop: Node) -> None:
    for name in ("olivia", "mia", "ana", "marek"):
        people.make_account(name)


staff = kept(make_staff, on="shop")


def given(name: str = "ana", days: float = 30) -> None:
    wish = GrantRequest(
        the("table", "shop.sales.orders"),
        (people.ensure("user", name),),
        ("SELECT_TABLE",),
        valid_until=timezone.now() + days * DAY,
        way=False,
    )
    grants.add(wish, by=acting("olivia"))


def told() -> list[tuple[str, str]]:
    rows = Notice.objects.filter(done__isnull=True).order_by("pk")
    return [(row.recipient.name, row.key.rpartition(":")[2]) for row in rows]


EVERYBODY = [("ana", "7"), ("marek", "7"), ("olivia", "7")]


@pytest.mark.parametrize(
    ("before", "reminded"),
    [
        (7 * DAY + timedelta(seconds=1), []),
        (7 * DAY, EVERYBODY),
        (6 * DAY + timedelta(seconds=1), EVERYBODY),
        (6 * DAY, []),  # a day later it is too late for that reminder; the next one comes
        (DAY, [("ana", "1"), ("marek", "1"), ("olivia", "1")]),
        (timedelta(0), []),
    ],
)
def test_people_are_reminded_a_week_and_a_day_before_the_end(
    staff: None, before: timedelta, reminded: list[tuple[str, str]]
) -> None:
    given()
    end = expirations.between(timezone.now(), timezone.now() + 31 * DAY)[0].until
    expirations.remind(end - before)
    expirations.remind(end - before)  # nobody twice
    assert sorted(told()) == reminded


def test_what_was_given_for_three_days_is_not_announced_a_week_before(staff: None) -> None:
    given(days=3)
    expirations.remind(timezone.now())
    assert told() == []


def test_what_was_extended_is_off_the_list(staff: None) -> None:
    given()
    now = timezone.now()
    expirations.remind(now + 23.5 * DAY)
    assert told()
    given(days=60)
    expirations.remind(now + 23.5 * DAY)
    assert told() == []


def test_a_role_that_ends_is_told_of_and_its_link_leads_to_extending_it(staff: None) -> None:
    role = a_role(the("metalake"), "shift")
    mia = people.ensure("user", "mia")
    roles.assign(role, mia, by=BY, authority=AUTHORITY, valid_until=timezone.now() + 30 * DAY)
    expirations.remind(timezone.now() + 23.5 * DAY)
    [mine] = Notice.objects.filter(recipient=mia)
    assert "role shift" in mine.text
    [notice] = Notice.objects.filter(recipient__name="marek")
    client = Client()
    client.force_login(people.make_account("marek"), backend="django.contrib.auth.backends.ModelBackend")
    page = client.get(notice.link).content.decode()
    assert "Assign role shift" in page
    assert "mia" in page
    assert client.get(mine.link).status_code == 200


def test_a_hundred_endings_are_found_in_as_many_queries_as_one(staff: None) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as caught:
            expirations.between(timezone.now(), timezone.now() + 40 * DAY)
        return len(caught)

    given()
    single = queries()
    for code in ("MODIFY_TABLE", "SELECT_TABLE"):
        wish = GrantRequest(
            the("table", "shop.sales.customers"),
            (people.ensure("user", "mia"), people.ensure("group", "analysts")),
            (code,),
            valid_until=timezone.now() + DAY,
        )
        grants.add(wish, by=acting("olivia"))
    assert queries() == single
