"""The engine, the list in SQL and the map of who has access give one answer, now and as of any revision."""

from __future__ import annotations

import random

import pytest
from django.utils import timezone

from accounts import people
from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import all_below, below, nodes
from lakewarden.law import dialects, engine
from policies.decisions import ask, slices
from policies.decisions.lookups import searches, visible_objects
from policies.decisions.lookups.access import AccessMap
from policies.models import Grant
from policies.services import owners, realms, roles
from policies.services.roles import Privilege
from tests.factories import AUTHORITY, BY, a_person, a_role, a_shop, admit, the

NAMES = ("p0", "p1", "p2", "p3", "p4")
GROUPS = ("g0", "g1")
PRIVILEGES = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE", "SELECT_VIEW", "CREATE_TABLE")


SEEDS = (0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6)))


def a_random_world(chance: random.Random) -> Node:
    root = a_shop()
    for name in NAMES:
        a_person(name, *(group for group in GROUPS if chance.random() < 0.4))
    admit(root, *NAMES, *(f"group:{group}" for group in GROUPS if chance.random() < 0.8))
    members = {str(row) for row in visible_objects.admitted(root)}
    places = [root, *nodes(all_below(root.id).values_list("securable", flat=True)).values()]
    for number in range(4):
        holders = [f"user:{name}" for name in NAMES] + [f"group:{group}" for group in GROUPS]
        held = tuple(h for h in holders if h in members and chance.random() < 0.35)
        role = a_role(root, f"r{number}", held_by=held)
        for _ in range(6):
            _a_rule(chance, role, chance.choice(places))
    for place in chance.sample(places, 3):
        owner = chance.choice(sorted(members))
        owners.set_owner(place, people.ensure(*owner.split(":")), by=BY, authority=AUTHORITY)
    return root


def _a_rule(chance: random.Random, role: Node, place: Node) -> None:
    code, effect = chance.choice(PRIVILEGES), "deny" if chance.random() < 0.2 else "allow"
    clash = (
        Grant.objects.open().filter(role=role.id, securable=place.id, privilege=code).exclude(effect=effect)
    )
    if place.type in dialects.get("gravitino").privileges[code].binds and not clash.exists():
        roles.add_privileges(role, place, [Privilege(code, effect)], by=BY, authority=AUTHORITY)


def everything(root: Node) -> list[Node]:
    return [root, *nodes(all_below(root.id).values_list("securable", flat=True)).values()]


@pytest.mark.parametrize("seed", SEEDS)
def test_lists_show_exactly_what_the_filter_of_each_object_says(db: None, seed: int) -> None:
    root = a_random_world(random.Random(seed))
    now = timezone.now()
    for name in NAMES:
        slice_ = slices.current(people.ensure("user", name), root, now=now)
        for place in everything(root):
            for type_ in dialects.get("gravitino").child_types(place.type):
                listed = set(
                    visible_objects.children(slice_, place, type_, now=now).values_list(
                        "securable", flat=True
                    )
                )
                seen = engine.visible(slice_, place.levels, type_, now=now.timestamp())
                there = set(below(place, type_).values_list("securable", flat=True))
                assert listed == {key for key in there if seen.shows(key)}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_search_finds_what_the_lists_on_the_way_show(db: None, seed: int) -> None:
    root = a_random_world(random.Random(100 + seed))
    now = timezone.now()
    for name in NAMES:
        slice_ = slices.current(people.ensure("user", name), root, now=now)
        ids = set(visible_objects.search(slice_, root, "", now=now).values_list("securable", flat=True))
        walked: set[int] = set()
        waiting = [root]
        while waiting:
            place = waiting.pop()
            for type_ in dialects.get("gravitino").child_types(place.type):
                keys = visible_objects.children(slice_, place, type_, now=now).values_list(
                    "securable", flat=True
                )
                children = nodes(keys).values()
                walked |= {child.id for child in children if child.type in visible_objects.SEARCHED}
                waiting.extend(children)
        assert ids == walked


@pytest.mark.parametrize("seed", SEEDS)
def test_who_has_access_is_who_may(db: None, seed: int) -> None:
    root = a_random_world(random.Random(200 + seed))
    yes = 0
    for place in everything(root):
        access = AccessMap(place)
        for name in NAMES:
            person = people.ensure("user", name)
            for action in ("read", "write", "use", "drop", "grant"):
                if dialects.get("gravitino").action(place.type, action) is None:
                    continue
                asked = bool(ask.ask(person, action, place))
                shown = person.pk in access.people and action in access.access_of(person).can
                by_membership = place.type == "metalake" and action in ("read", "use")
                assert asked == shown or by_membership, (name, action, place.ref)
                yes += asked
    assert yes > 5


@pytest.mark.parametrize("seed", SEEDS)
def test_a_search_for_people_finds_all_who_may_and_no_others(
    monkeypatch: pytest.MonkeyPatch, db: None, seed: int
) -> None:
    monkeypatch.setattr(searches, "LEAST", 1)  # so that even these few come in several parts
    root, now, many = a_random_world(random.Random(300 + seed)), timezone.now(), 0
    for place in [*everything(root), the("role", "r0"), the("role", "r1")]:
        for action in ("read", "write", "use", "drop", "grant", "list"):
            asked = [people.ensure("user", name) for name in (*NAMES, "marek")]
            able = {person.name for person in asked if ask.ask(person, action, place, now=now)}
            assert set(_who_may(place, action)) == able, (action, place.ref)
            many += len(able)
    assert many > 5


@pytest.mark.parametrize("code", ["SELECT_TABLE", "MODIFY_TABLE"])
def test_each_way_that_the_law_knows_makes_somebody_a_candidate(db: None, code: str) -> None:
    root = a_shop()
    admit(root, a_person("ana").name)
    way = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")
    a_role(root, "only", *way, f"allow {code} on schema shop.sales", held_by=("ana",))
    assert sorted(_who_may(the("table", "shop.sales.orders"), "read")) == ["ana", "marek"]


def _who_may(place: Node, action: str) -> list[str]:
    names: list[str] = []
    after: int | None = 0
    while after is not None:
        part = searches.subjects(place, action, "user", after=after, limit=2, now=timezone.now())
        names += [person.name for person in part.found]
        after = part.next
    return names


def test_nothing_below_a_hidden_container_is_found(shop: Node) -> None:
    slice_ = slices.current(people.ensure("user", "ana"), shop)
    assert [row.name for row in visible_objects.search(slice_, shop, "orders")] == []
    assert [row.name for row in visible_objects.search(slice_, shop, "shop")] == ["shop"]
    mia = slices.current(people.ensure("user", "mia"), shop)
    assert [row.name for row in visible_objects.search(mia, shop, "orders")] == ["orders"]


def test_rows_of_an_object_name_each_path_nearest_first(shop: Node) -> None:
    rows = AccessMap(the("table", "shop.sales.orders")).rows()
    path_rows = [(row.principal.name, sorted(row.can & {"read", "write"}), row.denied) for row in rows]
    assert path_rows == [
        ("analysts", ["read"] if "read" in rows[0].can else [], False),
        ("carl", [], True),
        ("marek", ["read", "write"], False),
        ("olivia", ["read", "write"], False),
    ]


@pytest.mark.parametrize(("mode", "listed"), [("on", False), ("off", True)])
def test_who_can_only_come_near_is_listed_where_the_law_is_not_enforced(
    db: None, mode: str, listed: bool
) -> None:
    root = a_shop()
    admit(root, a_person("ana").name)
    a_role(root, "near", "allow USE_CATALOG on catalog shop", held_by=("ana",))
    realms.set_mode(Realm.objects.get(pk=root.realm_id), mode, by=BY, authority=AUTHORITY)
    access, ana = AccessMap(the("table", "shop.sales.orders")), people.ensure("user", "ana")
    assert (ana.pk in access.people) == listed
    assert bool(ask.ask(ana, "read", access.node)) == listed
