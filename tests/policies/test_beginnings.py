"""A scheduled grant begins only for a holder who may still hold it then."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from accounts import people
from accounts.people import make_account
from catalog.nodes import Node
from policies.decisions import ask
from policies.events import MEMBER_ADDED
from policies.models import Assignment, Change, Grant, RealmMember
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.separation.sides import Side
from policies.services import accounts, grants, members, realm_of, roles, scheduled_grants, separation
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, a_person, a_role, acting, admit, the

SOON = timedelta(minutes=5)


def given(name: str, begin: datetime, *, kind: str = "user") -> None:
    wish = GrantRequest(
        the("table", "shop.sales.orders"), (people.ensure(kind, name),), ("SELECT_TABLE",), begin
    )
    grants.add(wish, by=acting("olivia"))


def held(name: str, begin: datetime) -> Node:
    role = a_role(the("metalake"), "shift", "allow SELECT_TABLE on schema shop.sales")
    principal = people.ensure("user", name)
    roles.assign(role, principal, by=BY, authority=AUTHORITY, valid_from=begin)
    return role


def waiting() -> int:
    later = {"valid_from__gt": timezone.now()}
    return Grant.objects.open().filter(**later).count() + Assignment.objects.open().filter(**later).count()


def member_until(name: str, end: datetime) -> None:
    root, person = the("metalake"), a_person(name)
    with change(MEMBER_ADDED, realm=realm_of(root), by=BY) as current:
        row = RealmMember(realm=realm_of(root), principal=person, valid_until=end)
        current.begin(row, make_event(MEMBER_ADDED, root, person), by=AUTHORITY)


def test_who_is_still_a_member_keeps_what_was_given_ahead(shop: Node) -> None:
    begin = timezone.now() + SOON
    given("ana", begin)
    given("analysts", begin, kind="group")
    held("ana", begin)
    before = waiting()
    assert before == 4  # to Ana read, and use of the schema; to the analysts read; the role
    assert scheduled_grants.look(timezone.now()) == 0
    assert waiting() == before


@pytest.mark.parametrize(("ends", "kept"), [(SOON, False), (SOON + timedelta(seconds=1), True)])
def test_a_membership_that_ends_first_takes_what_would_have_begun(
    shop: Node, ends: timedelta, kept: bool
) -> None:
    now = timezone.now()
    member_until("eve", now + ends)
    given("eve", now + SOON)
    held("eve", now + SOON)
    assert bool(scheduled_grants.look(now)) is not kept
    assert bool(waiting()) is kept
    if not kept:
        last = Change.objects.order_by("-revision").first()
        assert last is not None
        assert "no member of the realm any more" in last.reason
        assert not people.find("user", "eve").grants.exists()


@pytest.mark.parametrize(
    ("ahead", "asked"),
    [
        (scheduled_grants.AHEAD, True),
        (scheduled_grants.AHEAD + timedelta(seconds=1), False),
        (-scheduled_grants.BACK + timedelta(seconds=1), True),
        (-scheduled_grants.BACK, False),
    ],
)
def test_it_is_asked_from_shortly_before_until_long_after_it_began(
    shop: Node, ahead: timedelta, asked: bool
) -> None:
    now = timezone.now()
    begin = now + timedelta(days=30)
    member_until("eve", begin - timedelta(days=1))
    given("eve", begin)
    assert bool(scheduled_grants.look(begin - ahead)) is asked


def test_leaving_the_realm_ends_at_once_what_was_to_begin(shop: Node) -> None:
    begin = timezone.now() + timedelta(days=30)
    given("ana", begin)
    held("ana", begin)
    root, ana = the("metalake"), people.ensure("user", "ana")
    members.remove(root, ana, by=BY, authority=AUTHORITY)
    assert waiting() == 0
    admit(root, "ana")  # and coming back does not bring it back
    assert not ask.ask(ana, "read", the("table", "shop.sales.orders"), now=begin)


def test_being_disabled_ends_at_once_what_was_to_begin_and_nothing_else(shop: Node) -> None:
    begin, ana = timezone.now() + timedelta(days=30), people.ensure("user", "ana")
    account = make_account("ana")
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(the("schema", "shop.sales"), (ana,), ("USE_SCHEMA",)), by=acting("olivia"))
    given("ana", begin)
    held("ana", begin)
    accounts.close(account, by=BY, authority=AUTHORITY)
    assert waiting() == 0
    assert ask.ask(ana, "use", the("schema", "shop.sales"))
    accounts.open_again(account, by=BY, authority=AUTHORITY)
    assert not ask.ask(ana, "read", orders, now=begin)


def test_who_is_disabled_after_it_began_keeps_it_until_somebody_takes_it(shop: Node) -> None:
    account, begin = make_account("ana"), timezone.now() + SOON
    given("ana", begin)
    account.is_active = False
    account.save()
    assert scheduled_grants.look(begin + timedelta(seconds=1)) == 0
    assert scheduled_grants.look(begin - timedelta(seconds=1)) == 2


@pytest.mark.parametrize("group", [False, True], ids=["a person", "a group"])
def test_a_rule_made_since_keeps_duties_apart_when_it_would_begin(shop: Node, group: bool) -> None:
    """Mia reads sales as an analyst; a scheduled grant would give Mia the other side, too."""
    now = timezone.now()
    role = a_role(shop, "books")
    holder = people.ensure("group", "analysts") if group else people.ensure("user", "mia")
    begin = now + SOON
    roles.assign(role, holder, by=BY, authority=AUTHORITY, valid_from=begin)
    assert scheduled_grants.look(now) == 0
    first, other = (Side(role=the("role", name).id) for name in ("sales_read", "books"))
    separation.make(shop, "Apart", first, other, by=acting("marek"))
    assert scheduled_grants.look(begin + timedelta(seconds=1)) == 0  # what has begun is for its list
    assert scheduled_grants.look(now) == 1
    assert waiting() == 0
    last = Change.objects.order_by("-revision").first()
    assert last is not None
    assert "rule of separation" in last.reason
