"""Groups and accounts: duties reach exactly the people of a group, and a closed account opens nothing."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from accounts import people, tokens
from accounts.models import Membership, Token, User
from accounts.record import Origin
from catalog.nodes import Node
from policies.decisions import ask, duties
from policies.events import GROUP_JOINED, MEMBER_ADDED
from policies.models import RealmMember
from policies.record import history
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import members
from policies.services.duties import give as give_duty
from tests.factories import AUTHORITY, BY, a_person, the

DUTY = "view_history"


def give(node: Node, group: str) -> None:
    give_duty(node, DUTY, people.ensure("group", group), by=BY, authority=AUTHORITY)


def test_a_duty_of_one_group_is_no_duty_of_another_whose_long_name_begins_alike(shop: Node) -> None:
    for name in ("one", "two"):
        people.make_account(name)
        a_person(name, "x" * 200 + name)
    give(shop, "x" * 200 + "one")
    assert duties.has(people.ensure("user", "one"), DUTY, shop)
    assert not duties.has(people.ensure("user", "two"), DUTY, shop)
    assert duties.held(people.ensure("user", "two"), DUTY) == frozenset()


def test_who_was_in_the_group_before_they_had_an_account_has_its_duties(shop: Node) -> None:
    late = a_person("late", "auditors")
    give(shop, "auditors")
    people.make_account("late")
    assert duties.has(late, DUTY, shop)


def test_a_membership_that_ended_by_itself_ends_its_duties(shop: Node) -> None:
    guest, group = a_person("guest"), people.ensure("group", "auditors")
    people.make_account("guest")
    give(shop, "auditors")
    with change(GROUP_JOINED, realm=None, by=BY) as current:
        row = Membership(group=group, member=guest, valid_until=timezone.now() + timedelta(hours=1))
        current.begin(row, make_event(GROUP_JOINED, None, guest, group, group=group.pseudonym), by=AUTHORITY)
    now = timezone.now()
    for moment, holds in ((now, True), (now + timedelta(hours=2), False)):
        assert duties.has(guest, DUTY, shop, now=moment) is holds
        assert bool(duties.held(guest, DUTY, now=moment)) is holds


def test_the_duty_to_view_history_shows_it_and_leaving_the_group_hides_it(shop: Node) -> None:
    people.make_account("ada")
    ada, group = a_person("ada", "auditors"), people.ensure("group", "auditors")
    give(the("schema", "shop.sales"), "auditors")
    assert history.sight(ada, [shop]).sees(the("table", "shop.sales.orders"))
    members.leave_group(group, ada, by=BY, authority=AUTHORITY)
    assert not history.sight(ada, [shop]).sees(the("table", "shop.sales.orders"))


def test_leaving_ends_every_membership_however_it_came_about(shop: Node) -> None:
    ana, group = people.ensure("user", "ana"), people.ensure("group", "analysts")
    with change(GROUP_JOINED, realm=None, by=BY) as current:
        for origin in (Origin.HAND, Origin.API):
            row = Membership(group=group, member=ana, origin=origin)
            current.begin(
                row, make_event(GROUP_JOINED, None, ana, group, group=group.pseudonym), by=AUTHORITY
            )
        again = RealmMember(realm_id=shop.realm_id, principal=ana, origin=Origin.API)
        current.begin(again, make_event(MEMBER_ADDED, shop, ana), by=AUTHORITY)
    assert members.leave_group(group, ana, by=BY, authority=AUTHORITY)
    assert not Membership.objects.open().filter(group=group, member=ana).exists()
    assert members.remove(shop, ana, by=BY, authority=AUTHORITY)
    assert not ask.ask(ana, "read", shop)


def test_a_token_of_a_closed_account_opens_nothing(db: None) -> None:
    people.make_account("gone")
    text = tokens.create(people.ensure("user", "gone"))
    service = tokens.create(people.ensure("service", "etl"))
    assert tokens.recognise(text)
    User.objects.filter(username="gone").update(is_active=False)
    assert tokens.recognise(text) is None
    assert tokens.recognise(service)
    assert Token.objects.count() == 2
