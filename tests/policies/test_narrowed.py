"""A slice of the facts on some objects says of those what the whole one says, and roles are shared."""

from __future__ import annotations

import random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from lakewarden.law import dialects
from policies.decisions import ask, role_facts, slices
from policies.decisions.seals import unsealed
from policies.models import UnsealedFact
from policies.services import roles
from policies.services.roles import Privilege
from tests.factories import AUTHORITY, BY, a_role, a_shop, admit, the
from tests.policies.superuser import past_triggers
from tests.policies.test_agreement import NAMES, a_random_world, everything

pytestmark = pytest.mark.django_db
READ = "allow SELECT_TABLE on table shop.sales.orders"
WAY = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")


@pytest.fixture(autouse=True)
def _roles_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test is one long transaction, in which nothing would be kept."""
    slices.forget_all()
    monkeypatch.setattr(slices, "_inside_a_change", lambda: False)


def may(name: str, node: Node, action: str = "read") -> bool:
    """By the facts on that object alone, which is what somebody gets who is seldom asked about."""
    person, now = people.ensure("user", name), timezone.now()
    slice_ = slices.currents([person], node, now=now, objects={person.pk: node.lineage})[person.pk]
    return bool(ask.answer(slice_, action, node, now=now))


@pytest.mark.parametrize("seed", [7, 8, pytest.param(9, marks=pytest.mark.slow)])
def test_the_facts_on_an_object_decide_as_all_facts_do(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(slices, "WORTH_KEEPING", 10**9)
    root = a_random_world(random.Random(seed))
    yes = 0
    for place in everything(root):
        law = dialects.get("gravitino")
        known = [name for name in ("read", "write", "use", "drop", "grant") if law.action(place.type, name)]
        for name in NAMES:
            decisions = {action: may(name, place, action) for action in known}
            assert decisions == {
                action: bool(ask.ask(people.ensure("user", name), action, place)) for action in known
            }
            yes += sum(decisions.values())
    assert yes > 5


def world() -> Node:
    shop = a_shop()
    admit(shop, "ana", "ben")
    a_role(shop, "reader", READ, *WAY, held_by=("ana", "ben"))
    a_role(shop, "stopped", "deny SELECT_TABLE on table shop.stock.items", held_by=("ben",))
    return the("table", "shop.sales.orders")


def test_a_role_is_read_once_for_all_who_hold_it() -> None:
    orders = world()
    assert may("ana", orders)
    with CaptureQueriesContext(connection) as asked:
        assert may("ben", orders)
    assert [query["sql"].count("'unheld'") for query in asked].count(1) == 2, "another role is new, so twice"
    with CaptureQueriesContext(connection) as asked:
        assert may("ben", orders)
    assert [query["sql"].count("'unheld'") for query in asked].count(1) == 1


def test_what_a_role_loses_counts_on_the_next_question() -> None:
    orders = world()
    reader, read = the("role", "reader"), [Privilege("SELECT_TABLE")]
    for _ in range(3):
        assert may("ana", orders)
        roles.remove_privileges(reader, orders, read, by=BY, authority=AUTHORITY)
        assert not may("ana", orders)
        roles.add_privileges(reader, orders, read, by=BY, authority=AUTHORITY)
    roles.delete(the("role", "reader"), by=BY, authority=AUTHORITY)
    assert not may("ana", orders)


def test_a_row_without_a_seal_on_another_object_shuts_too() -> None:
    orders = world()
    assert may("ben", orders)
    slices.forget_all()
    past_triggers(f"UPDATE policies_grant SET securable_id = {orders.id - 1} WHERE effect = 'deny'")
    assert not may("ben", orders), "perhaps it was a denial on these orders"
    assert UnsealedFact.objects.exists()
    assert not may("ben", orders) and may("ana", orders)
    assert not role_facts.find([the("role", "stopped").id]), "what cannot be trusted is not held"


def test_a_row_known_to_lack_its_seal_shuts_where_the_role_is_held() -> None:
    orders = world()
    assert may("ben", orders)
    past_triggers(f"UPDATE policies_grant SET securable_id = {orders.id - 1} WHERE effect = 'deny'")
    assert may("ben", orders), "held as it was before somebody changed it"
    assert unsealed.sweep() == 1
    assert not may("ben", orders) and may("ana", orders)
