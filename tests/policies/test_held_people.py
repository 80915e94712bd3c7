"""Facts held about many people say what reading them anew says, whatever happened in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from accounts.models import DirectoryEntry, Principal
from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.law import dialects
from policies.decisions import ask, facts, slices
from policies.decisions.held import people as held
from policies.decisions.lookups import searches
from policies.decisions.lookups.access import AccessMap
from policies.decisions.seals import unsealed
from policies.errors import Conflict, Invalid
from policies.services import directory, members, owners, realms, roles
from policies.services.directory import PersonData
from policies.services.roles import Privilege
from tests.factories import AUTHORITY, BY, a_person, a_role, a_shop, admit, the
from tests.policies.superuser import past_triggers
from tests.policies.test_agreement import NAMES, a_random_world, everything

pytestmark = pytest.mark.django_db
READ = "allow SELECT_TABLE on table shop.sales.orders"
WAY = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")
RIGHT = {"by": BY, "authority": AUTHORITY}


@pytest.fixture(autouse=True)
def _people_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test is one long transaction, in which nothing would be kept, and has few people."""
    slices.forget_all()
    monkeypatch.setattr(slices, "_inside_a_change", lambda: False)
    monkeypatch.setattr(held, "_may_roll_back", lambda: False)
    monkeypatch.setattr(held, "FEW", 0)


def seeds(first: int) -> list[object]:
    return [first, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(first + 1, first + 7))]


def told(node: Node, *, anew: bool = False) -> dict[str, object]:
    """All that is known of everybody on an object, by name."""
    everybody = list(Principal.objects.exclude(kind=Principal.Kind.PATTERN))
    realm, now = Realm(pk=node.realm_id, kind=node.kind), timezone.now()
    load: Callable[..., facts.Loaded] = facts.load if anew else held.load
    loaded = load(realm, node.realm, [one.pk for one in everybody], now=now, objects=node.lineage)
    return {
        str(one): (
            sorted(map(repr, loaded.rules_for(one, one.pk))),
            loaded.slice_of(one).bits,
            loaded.slice_of(one).selves,
            one.pk in loaded.members,
            one.pk in loaded.shut,
            loaded.mode,
            loaded.keys_of(one.pk),
        )
        for one in everybody
    }


def same(node: Node) -> bool:
    return told(node) == told(node, anew=True)


def classes(node: Node, *, anew: bool) -> set[frozenset[str]]:
    """Who are alike."""
    everybody = list(Principal.objects.exclude(kind=Principal.Kind.PATTERN))
    realm, now = Realm(pk=node.realm_id, kind=node.kind), timezone.now()
    load: Callable[..., facts.Loaded] = facts.load if anew else held.load
    loaded = load(realm, node.realm, [one.pk for one in everybody], now=now, objects=node.lineage)
    alike: dict[object, set[str]] = {}
    for one in everybody:
        alike.setdefault(loaded.class_of(one.pk), set()).add(str(one))
    return set(map(frozenset, alike.values()))


@pytest.mark.parametrize(
    "seed", [11, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 18))]
)
def test_held_facts_are_those_that_reading_anew_brings(seed: int) -> None:
    root = a_random_world(random.Random(seed))
    for place in [*everything(root), the("role", "r0")]:
        assert same(place)
        assert classes(place, anew=False) == classes(place, anew=True)


@pytest.mark.parametrize(
    "seed", [21, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(22, 28))]
)
def test_who_is_found_is_who_may_after_each_of_many_changes(seed: int) -> None:
    chance = random.Random(seed)
    root = a_random_world(chance)
    places = everything(root)
    for number in range(25):
        a_change(chance, root, places, number)
        place = chance.choice(places)
        assert same(place)
        access, now = AccessMap(place), timezone.now()
        for action in ("read", "write", "use"):
            if dialects.get("gravitino").action(place.type, action) is None:
                continue
            asked = [people.ensure("user", name) for name in NAMES]
            able = {one.name for one in asked if ask.ask(one, action, place)}
            found = searches.subjects(place, action, "user", after=0, limit=100, now=now).found
            assert {one.name for one in found} & set(NAMES) == able
            mapped = {
                one.name for one in asked if one.pk in access.people and action in access.access_of(one).can
            }
            assert mapped == able or place.type == "metalake"


def a_change(chance: random.Random, root: Node, places: list[Node], number: int) -> None:
    role = the("role", f"r{chance.randrange(4)}")
    person = people.ensure("user", chance.choice(NAMES))
    group = people.ensure("group", chance.choice(("g0", "g1")))
    place, read = chance.choice(places), [Privilege("SELECT_TABLE")]
    changes: list[Callable[[], object]] = [
        lambda: members.join_group(group, person, **RIGHT),
        lambda: members.leave_group(group, person, **RIGHT),
        lambda: members.add(root, group, **RIGHT),
        lambda: members.remove(root, group, **RIGHT),
        lambda: roles.assign(role, person, **RIGHT),
        lambda: roles.unassign(role, person, **RIGHT),
        lambda: roles.hold(role, person, None, timezone.now() + timedelta(hours=1), **RIGHT),
        lambda: roles.add_privileges(role, place, read, **RIGHT),
        lambda: roles.remove_privileges(role, place, read, **RIGHT),
        lambda: owners.set_owner(place, person, **RIGHT),
        lambda: realms.set_mode(
            Realm.objects.get(pk=root.realm_id), chance.choice(("on", "pass-through")), **RIGHT
        ),
    ]
    with suppress(Invalid, Conflict):  # what the world does not allow now; the next change may do
        chance.choice(changes)()


def world() -> Node:
    shop = a_shop()
    for name in ("ana", "ben", "carl"):
        a_person(name, "staff")
    admit(shop, "ana", "ben", "carl", "group:staff")
    a_role(shop, "reader", READ, *WAY, held_by=("user:ana", "group:staff"))
    a_role(shop, "stopped", "deny SELECT_TABLE on table shop.sales.orders", held_by=("user:ben",))
    return the("table", "shop.sales.orders")


def able(node: Node) -> set[str]:
    found = searches.subjects(node, "read", "user", after=0, limit=100, now=timezone.now()).found
    return {one.name for one in found} - {"marek"}


def test_where_nothing_was_changed_one_small_statement_is_enough() -> None:
    orders = world()
    told(orders)
    with CaptureQueriesContext(connection) as asked:
        told(orders)
    statements = [query["sql"] for query in asked if "policies_counter" in query["sql"]]
    assert len(statements) == 1 and "policies_assignment" not in statements[0]


def test_who_is_found_are_the_members_of_now() -> None:
    orders, shop = world(), the("metalake")
    a_person("dora", "staff")
    assert able(orders) == {"ana", "carl"}
    admit(shop, "dora")
    assert able(orders) == {"ana", "carl", "dora"}
    members.remove(shop, people.ensure("user", "carl"), **RIGHT)
    assert able(orders) == {"ana", "dora"}


def test_pages_of_held_members_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    orders, shop = world(), the("metalake")
    admit(shop, *(f"n{number}" for number in range(9)))
    a_role(shop, "anybody", *WAY, held_by=tuple(f"user:n{number}" for number in range(9)))
    for name in ("dora", "egon", "fred"):
        a_person(name, "staff")
        admit(shop, name)
    monkeypatch.setattr(searches, "LEAST", 1)
    names, after = [], 0
    while after is not None:
        part = searches.subjects(orders, "read", "user", after=after, limit=2, now=timezone.now())
        assert len(part.found) <= 2
        names += [person.name for person in part.found]
        after = part.next
    assert set(names) - {"marek"} == {"ana", "carl", "dora", "egon", "fred"} and len(names) == len(set(names))


def test_of_members_that_are_held_only_names_are_read_again() -> None:
    orders = world()
    able(orders)
    with CaptureQueriesContext(connection) as queries:
        assert able(orders) == {"ana", "carl"}
    assert len(queries) == 2 + bool(settings.LAKEWARDEN_SERVICE_ADMINS)


def test_who_left_has_nothing_at_once() -> None:
    orders = world()
    assert able(orders) == {"ana", "carl"}
    directory.keep_person(PersonData(name="ana"), **RIGHT)
    assert able(orders) == {"ana", "carl"} and same(orders)
    directory.end_person(DirectoryEntry.objects.get(principal__name="ana"), **RIGHT)
    assert able(orders) == {"carl"} and same(orders)


def test_a_copy_put_back_is_not_answered_by_what_was_held() -> None:
    orders = world()
    assert able(orders) == {"ana", "carl"}
    roles.unassign(the("role", "reader"), people.ensure("group", "staff"), **RIGHT)
    assert able(orders) == {"ana"}
    with connection.cursor() as cursor:
        cursor.execute("UPDATE policies_counter SET revision = revision - 1")
    assert same(orders)


def test_who_is_known_to_have_a_row_without_a_seal_is_shut() -> None:
    orders = world()
    assert able(orders) == {"ana", "carl"}
    past_triggers("UPDATE policies_grant SET privilege = 'MODIFY_TABLE' WHERE effect = 'deny'")
    assert able(orders) == {"ana", "carl"}, "held as it was before somebody changed it"
    assert unsealed.sweep() == 1
    assert able(orders) == {"ana", "carl"} and same(orders)
    slices.forget_all()
    assert able(orders) == {"ana", "carl"}


def test_a_name_that_was_written_past_the_console_is_nobodys() -> None:
    orders = world()
    assert able(orders) == {"ana", "carl"}
    past_triggers("UPDATE accounts_principal SET name = 'mallory' WHERE name = 'ana'")
    assert able(orders) == {"carl"}


def test_in_a_change_nothing_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = world()
    monkeypatch.undo()
    monkeypatch.setattr(held, "FEW", 0)
    assert same(orders)
    assert not held._realms, "a test is a transaction that rolls back"


def test_too_many_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = world()
    monkeypatch.setattr(held, "KEPT", 3)
    assert same(orders)
    assert sum(item.weight for item in held._realms.values()) <= 3
