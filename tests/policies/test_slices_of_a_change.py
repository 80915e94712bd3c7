"""A change loads the facts of the people it asks about once, and anew what its own writes concern."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import people
from catalog.models import Realm
from catalog.nodes import Node
from policies.decisions import facts, slices
from policies.events import GRANT_ADDED
from policies.record.change import change
from policies.services import grants, members, owners, realm_of, roles
from policies.services.grants import GrantRequest
from policies.services.roles import Privilege
from tests.factories import AUTHORITY, BY, a_person, a_role, acting, the, under

pytestmark = pytest.mark.django_db
NAMES = ("ana", "mia", "carl")


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of whom the facts were loaded, each time."""
    numbers: list[int] = []
    load = facts.load

    def counted(realm: Realm, name: str, principals: Collection[int], **more: Any) -> facts.Loaded:
        numbers.extend(principals)
        return load(realm, name, principals, **more)

    monkeypatch.setattr(facts, "load", counted)
    return numbers


def test_a_bulk_grant_loads_the_facts_of_each_once(shop: Node, loads: list[int]) -> None:
    tables = under(the("schema", "shop.sales"), "table", *(f"t{number}" for number in range(6)))
    holders, olivia = tuple(map(a_person, NAMES)), a_person("olivia")
    wishes = [GrantRequest(table, holders, ("SELECT_TABLE",)) for table in tables]
    loads.clear()
    assert 6 * 3 < grants.add_all(wishes, by=acting("olivia")) <= 6 * 3 + 3  # and the way, once for each
    assert sorted(loads) == sorted([olivia.pk, *(holder.pk for holder in holders)])
    loads.clear()
    assert grants.remove_all(tables, holders, ("SELECT_TABLE",), by=acting("olivia")) == 6 * 3
    assert loads == [olivia.pk]


def test_grants_for_several_times_each_keep_their_own(shop: Node) -> None:
    first, second = under(the("schema", "shop.sales"), "table", "t0", "t1")
    ana, end = a_person("ana"), timezone.now() + timedelta(days=7)
    wishes = [
        GrantRequest(first, (ana,), ("SELECT_TABLE",)),
        GrantRequest(second, (ana,), ("SELECT_TABLE",), valid_until=end),
    ]
    grants.add_all(wishes, by=acting("olivia"))
    way = grants.direct(the("schema", "shop.sales"), ana).get()
    assert way.valid_until is None  # the shorter one takes nothing of the longer
    assert grants.direct(second, ana).get().valid_until == end


@pytest.mark.parametrize("seed", range(3))
def test_what_a_change_writes_is_seen_by_what_it_asks_next(shop: Node, seed: int) -> None:
    chance, now = random.Random(seed), timezone.now()
    orders, schema = the("table", "shop.sales.orders"), the("schema", "shop.sales")
    role = a_role(shop, "reader", "allow SELECT_TABLE on schema shop.sales")
    watched = [people.ensure("user", name) for name in (*NAMES, "olivia")]
    group = people.ensure("group", "staff")

    def write() -> None:
        person, place = chance.choice([*watched, group]), chance.choice((orders, schema))
        by: Any = {"by": BY, "authority": AUTHORITY}
        steps: list[Callable[[], object]] = [
            lambda: roles.assign(role, person, **by),
            lambda: roles.unassign(role, person, **by),
            lambda: grants.add(GrantRequest(orders, (person,), ("MODIFY_TABLE",), way=False), **by),
            lambda: grants.remove(orders, [person], ["MODIFY_TABLE"], **by),
            lambda: roles.add_privileges(role, place, [Privilege("MODIFY_TABLE")], **by),
            lambda: owners.set_owner(place, person, **by),
            lambda: members.join_group(group, people.ensure("user", chance.choice(NAMES)), **by),
            lambda: members.leave_group(group, people.ensure("user", chance.choice(NAMES)), **by),
        ]
        chance.choice(steps)()

    with change(GRANT_ADDED, realm=realm_of(shop), by=BY):
        for _ in range(25):
            write()
            kept = slices.currents(watched, shop)
            loaded = facts.load(realm_of(shop), shop.realm, [item.pk for item in watched], now=now)
            for person in watched:
                fresh = loaded.slice_of(person)
                assert set(kept[person.pk].rules) == set(fresh.rules), (seed, person)
                assert kept[person.pk].bits == fresh.bits, (seed, person)
                assert kept[person.pk].selves == fresh.selves, (seed, person)
