"""Nobody decides their own request, by whatever way they come to it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.authority import Actor
from policies.errors import NotFound, PolicyError, Refused
from policies.models import Grant, Substitute
from policies.record.verify import verify
from policies.requests import decisions, submission, substitutes, visibility
from policies.services import accounts, members
from tests.factories import AUTHORITY, BY, a_role, admit, owned, the
from tests.policies.superuser import former, past_triggers
from tests.requests.world import an_asking, approve, ask, by, refuse, who

OWN = "You cannot decide a request that you made"


def test_the_owner_of_all_does_not_approve_their_request_for_a_group_of_theirs(shop: Node) -> None:
    members.join_group(who("group:analysts"), who("marek"), by=BY, authority=AUTHORITY)
    request = ask("marek", "read shop.sales.orders", holder="group:analysts")
    for deed in (approve, refuse):
        with pytest.raises(Refused, match=OWN):
            deed(request, "marek")
    assert request.pk not in visibility.waiting_for(who("marek")).values_list("pk", flat=True)
    assert request.pk in visibility.waiting_for(who("theo")).values_list("pk", flat=True)


def test_a_member_of_the_group_does_not_approve_what_another_asks_for_it(shop: Node) -> None:
    owned(the("table", "shop.sales.orders"), "mia")
    a_role(
        shop,
        "way",
        "allow USE_CATALOG on catalog shop",
        "allow USE_SCHEMA on schema shop.sales",
        held_by=("mia",),
    )
    request = ask("ben", "read shop.sales.orders", holder="group:analysts")
    with pytest.raises(Refused, match=OWN):
        approve(request, "mia")
    assert not visibility.waiting_for(who("mia")).exists()


def test_who_keeps_a_service_account_does_not_approve_what_it_is_to_have(shop: Node) -> None:
    service = people.ensure("service", "etl")
    accounts.set_keeper(service, who("theo"), by=BY, authority=AUTHORITY)
    admit(shop, "service:etl")
    request = ask("theo", "read shop.sales.orders", holder="service:etl")
    with pytest.raises(Refused, match=OWN):
        approve(request, "theo")
    assert approve(request, "marek", parts=[p.number for p in request.parts.all()]).state == "approved"


def test_a_program_decides_nothing_whatever_it_may_grant(shop: Node) -> None:
    service = people.ensure("service", "bot")
    admit(shop, "service:bot")
    owned(the("table", "shop.sales.orders"), "service:bot")
    request = ask("ana", "read shop.sales.orders")
    with pytest.raises(Refused, match="people"):
        decisions.approve(request.pk, by=Actor(service, "api"))


def test_a_substitute_decides_for_who_is_away_but_never_for_who_asks(shop: Node) -> None:
    now = timezone.now()
    substitutes.name(who("theo"), who("ben"), now, now + timedelta(days=7), by=by("theo"))
    request = ask("ana", "read shop.sales.orders")
    assert list(visibility.waiting_for(who("ben"))) == [request]
    approve(request, "ben")
    part = request.parts.get(type="table")
    assert (part.decided_by.name, part.decided_for.name) == ("ben", "theo")
    own = ask("ben", "read shop.sales.orders")
    with pytest.raises(Refused, match=OWN):
        approve(own, "ben")
    substitutes.name(who("marek"), who("ana"), now, now + timedelta(days=7), by=by("marek"))
    members.join_group(who("group:analysts"), who("marek"), by=BY, authority=AUTHORITY)
    group = ask("ben", "read shop.stock.items", holder="group:analysts")
    with pytest.raises(NotFound):
        approve(group, "ana", parts=[0])


FORGED = {
    "a row": "INSERT INTO policies_substitute (person_id, deputy_id, starts, ends, made_at) VALUES"
    " ({theo}, {ben}, '2020-01-01', '2099-01-01', now())",
    "another person": "UPDATE policies_substitute SET person_id = {theo}",
    "another deputy": "UPDATE policies_substitute SET deputy_id = {ben}",
    "a longer time": "UPDATE policies_substitute SET ends = '2099-01-01', starts = '2020-01-01'",
}


@pytest.mark.parametrize("deed", FORGED)
def test_who_made_themselves_a_substitute_past_the_console_decides_nothing(shop: Node, deed: str) -> None:
    now = timezone.now()
    person, deputy = ("marek", "ben") if deed == "another person" else ("theo", "mia")
    if deed != "a row":
        deputy = "ben" if deed == "a longer time" else deputy
        start = now + timedelta(days=1)
        substitutes.name(who(person), who(deputy), start, now + timedelta(days=2), by=by(person))
    past_triggers(FORGED[deed].format(theo=who("theo").pk, ben=who("ben").pk))
    past_triggers("UPDATE policies_substitute SET starts = '2020-01-01'")
    request = ask("ana", "read shop.sales.orders")
    with pytest.raises(NotFound):
        approve(request, "ben")
    assert any("substitute" in line for line in verify().differing)


@pytest.mark.parametrize("before", [True, False])
def test_a_substitution_counts_from_its_beginning_until_before_its_end(shop: Node, before: bool) -> None:
    now = timezone.now()
    start = now - timedelta(hours=1) if before else now + timedelta(hours=1)
    row = substitutes.name(who("theo"), who("ben"), start, now + timedelta(hours=2), by=by("theo"))
    request = ask("ana", "read shop.sales.orders")
    from policies.requests.mandates import present

    assert present(who("ben"), row.starts) == [who("theo")]
    assert present(who("ben"), row.starts - timedelta(microseconds=1)) == []
    assert present(who("ben"), row.ends - timedelta(microseconds=1)) == [who("theo")]
    assert present(who("ben"), row.ends) == []
    if before:
        assert approve(request, "ben").parts.get(type="table").state == "approved"
        substitutes.call_off(row.pk, by=by("theo"))
        assert present(who("ben"), now) == []
    else:
        with pytest.raises(NotFound):
            approve(request, "ben")


def test_nobody_makes_another_ones_substitute(shop: Node) -> None:
    now = timezone.now()
    for person, deputy, actor in (("theo", "ana", "ana"), ("theo", "ana", "marek"), ("ana", "ana", "ana")):
        with pytest.raises(PolicyError):
            substitutes.name(who(person), who(deputy), now, now + timedelta(days=1), by=by(actor))


def test_who_said_yes_and_lost_the_right_has_not_said_it(shop: Node) -> None:
    request = ask("ana", "read shop.sales.orders")
    approve(request, "theo")
    approve(request, "olivia", parts=[1])
    owned(the("table", "shop.sales.orders"), "mia")
    assert approve(request, "carla", parts=[0]).state == "asked"
    assert not Grant.objects.filter(origin="request").exists()
    assert request.parts.get(type="table").state == "asked"
    assert request.steps.filter(move="reopened").count() == 1
    assert approve(request, "olivia", parts=[2]).state == "approved"


def test_who_said_yes_and_then_became_one_of_those_it_serves_has_not_said_it(shop: Node) -> None:
    request = ask("ben", "read shop.sales.orders", holder="group:analysts")
    approve(request, "theo")
    approve(request, "olivia", parts=[1])
    members.join_group(who("group:analysts"), who("theo"), by=BY, authority=AUTHORITY)
    assert approve(request, "carla", parts=[0]).state == "asked"
    assert request.parts.get(type="table").state == "asked"
    assert not Grant.objects.filter(origin="request").exists()


def test_owners_give_themselves_access_openly_and_not_by_request(shop: Node) -> None:
    from policies.errors import Invalid

    with pytest.raises(Invalid, match="may do this already"):
        submission.ask(an_asking("marek", "read shop.sales.orders"), by=by("marek"))


def test_a_substitution_that_was_called_off_decides_nothing_though_it_is_put_back(shop: Node) -> None:
    now = timezone.now()
    row = substitutes.name(who("theo"), who("ben"), now, now + timedelta(days=7), by=by("theo"))
    put_back = former(Substitute, pk=row.pk)
    substitutes.call_off(row.pk, by=by("theo"))
    assert verify()
    put_back()
    assert Substitute.objects.get().is_sealed
    request = ask("ana", "read shop.sales.orders")
    assert not visibility.waiting_for(who("ben"))
    with pytest.raises(NotFound):
        approve(request, "ben")
    assert any("an earlier state" in line for line in verify().differing)
    substitutes.call_off(row.pk, by=by("theo"))
    assert verify()
