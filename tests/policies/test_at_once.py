"""Two at the same moment, over two connections: one comes first, the other meets what is true then."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from accounts import people, tokens
from accounts.models import Principal, Token
from catalog.nodes import Node
from policies.decisions import ask
from policies.emergency import access as emergency_access
from policies.emergency.access import EmergencyRequest
from policies.models import Change, Emergency, Event, Grant
from policies.record.verify import verify
from policies.services import accounts, duties, grants, members, owners, roles, undo
from policies.services import tokens as token_services
from policies.services.grants import GrantRequest
from tests.at_once import at_once
from tests.factories import AUTHORITY, BY, a_person, a_role, acting, an_account, the
from tests.policies.conftest import make_shop

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 6
OURS: Any = {"by": BY, "authority": AUTHORITY}


def refused(results: list[object]) -> int:
    return sum(isinstance(item, Exception) for item in results)


def last(kind: str) -> int:
    """The revision of the last change of a kind; 0 for none."""
    return Event.objects.filter(kind=kind).order_by("-change").values_list("change", flat=True).first() or 0


def orders() -> Node:
    return the("table", "shop.sales.orders")


def give(by: str, to: Principal) -> object:
    return grants.add(GrantRequest(orders(), (to,), ("SELECT_TABLE",)), by=acting(by))


def a_newcomer(root: Node, name: str) -> Principal:
    person = a_person(name, "staff")
    members.add(root, person, **OURS)
    return person


def test_an_undo_that_is_sent_twice_is_done_once() -> None:
    root = make_shop()
    for number in range(ROUNDS):
        who = a_newcomer(root, f"new{number}")
        give("olivia", who)
        revision = last("grant.added")
        before = Change.objects.count()
        results = at_once(*[partial(undo.undo, revision, by=acting("olivia"))] * 2)
        assert refused(results) == 1 and Change.objects.count() == before + 1, results
        assert not ask.ask(who, "read", orders())
    assert verify()


def test_who_hands_an_object_over_grants_before_that_or_not_at_all() -> None:
    root = make_shop()
    for number in range(ROUNDS):
        who, sales = a_newcomer(root, f"new{number}"), the("schema", "shop.sales")
        owners.set_owner(sales, people.ensure("user", "olivia"), **OURS)
        handed = partial(owners.hand_over, [sales], people.ensure("user", "mia"), by=acting("olivia"))
        results = at_once(handed, partial(give, "olivia", who))
        assert not isinstance(results[0], Exception), results
        given = bool(ask.ask(who, "read", orders()))
        assert given is not isinstance(results[1], Exception), results
        assert not given or last("grant.added") < last("owner.set")
    assert verify()


def test_who_loses_the_right_grants_before_that_or_not_at_all() -> None:
    root = make_shop()
    for number in range(ROUNDS):
        role = a_role(root, f"granting{number}", "allow MANAGE_GRANTS on metalake", held_by=("mia",))
        who, mia = a_newcomer(root, f"new{number}"), people.ensure("user", "mia")
        results = at_once(partial(roles.unassign, role, mia, **OURS), partial(give, "mia", who))
        given = bool(ask.ask(who, "read", orders()))
        assert given is not isinstance(results[1], Exception), results
        assert not given or last("grant.added") < last("role.unassigned")
    assert verify()


def test_who_is_disabled_grants_before_that_or_not_at_all() -> None:
    root = make_shop()
    account = an_account("olivia")
    for number in range(ROUNDS):
        who = a_newcomer(root, f"new{number}")
        results = at_once(partial(accounts.close, account, **OURS), partial(give, "olivia", who))
        assert not isinstance(results[0], Exception)
        given = bool(ask.ask(who, "read", orders()))
        assert given is not isinstance(results[1], Exception), results
        accounts.open_again(account, **OURS)
    assert verify()


def test_a_token_is_rotated_once() -> None:
    make_shop()
    ana = people.ensure("user", "ana")
    for _ in range(ROUNDS):
        row = tokens.find(tokens.create(ana, days=30))
        before = Token.objects.count()
        deed = partial(token_services.rotate, ana, row.pk, days=30, overlap=1, by=acting("ana"))
        results = at_once(deed, deed)
        assert refused(results) == 1 and Token.objects.count() == before + 1, results


def test_an_emergency_is_opened_once() -> None:
    make_shop()
    for name in ("ana", "olivia"):
        an_account(name)
    ana = people.ensure("user", "ana")
    duties.give(the("catalog", "shop"), emergency_access.DUTY, ana, **OURS)
    for place in (orders(), the("table", "shop.sales.customers")):
        wish = EmergencyRequest(node=place, action="read", hours=1, reason="The nightly load stopped")
        results = at_once(*[partial(emergency_access.open_for_oneself, wish, by=acting("ana"))] * 2)
        assert refused(results) == 1, results
        assert Emergency.objects.filter(securable=place.id).count() == 1
        Emergency.objects.update(until=timezone.now() - timedelta(hours=1))
        emergency_access.finish_all(timezone.now())
        for row in Emergency.objects.exclude(state="closed"):
            emergency_access.close(row.pk, "It was needed", by=acting("olivia"))
    assert verify()


def test_a_role_that_goes_is_held_by_nobody() -> None:
    root = make_shop()
    ana = people.ensure("user", "ana")
    for number in range(ROUNDS):
        role = a_role(root, f"going{number}", "allow SELECT_TABLE on table shop.sales.customers")
        at_once(partial(roles.delete, role, **OURS), partial(roles.assign, role, ana, **OURS))
        assert not ask.ask(ana, "read", the("table", "shop.sales.customers"))
        assert not Grant.objects.open().filter(role=role.id).exists()
    assert verify()
