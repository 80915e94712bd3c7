"""Two dates beside each other, and what came and went between them."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from catalog.models import Realm
from catalog.nodes import Node
from policies.decisions.lookups.access import AccessMap
from policies.models import Change, Counter
from policies.record import compare, revisions
from policies.record.revisions import Past
from policies.services import duties, grants, members, objects, patterns, realms, roles
from policies.services.grants import GrantRequest
from policies.services.roles import Privilege
from tests.cdap_law.world import a_cdap, make, text, user
from tests.factories import AUTHORITY, BY, a_person, acting, admit, owned, the
from tests.policies.test_agreement import NAMES, PRIVILEGES, a_random_world, everything

pytestmark = pytest.mark.django_db


def read_by(id: int, at: Past) -> set[str]:
    now = compare.state(id, at)
    return {now.people[key].name for key, can in now.actions.items() if "read" in can}


def test_the_state_at_a_revision_is_the_map_of_that_revision(shop: Node) -> None:
    table, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    before = revisions.latest()
    grants.add(GrantRequest(table, (ana,), ("SELECT_TABLE",), way=True), by=acting("olivia"))
    assert "ana" not in read_by(table.id, before)
    assert "ana" in read_by(table.id, revisions.latest())


def test_differences_say_who_gained_and_who_lost(shop: Node) -> None:
    table, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    before = revisions.latest()
    grants.add(GrantRequest(table, (ana,), ("SELECT_TABLE",), way=True), by=acting("olivia"))
    members.remove(shop, people.ensure("group", "analysts"), by=BY, authority=AUTHORITY)
    kinds = {
        row.principal.name: row.kind for row in compare.differences(table.id, before, revisions.latest())
    }
    assert kinds == {"ana": "gain", "mia": "lose"}
    assert compare.differences(table.id, before, before) == []


def test_what_came_and_went_between_two_dates_is_there(shop: Node) -> None:
    table, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    since = revisions.latest()
    grants.add(GrantRequest(table, (ana,), ("SELECT_TABLE",), way=True), by=acting("olivia"))
    given = Counter.objects.get().revision
    grants.remove(table, (ana,), ("SELECT_TABLE",), by=acting("olivia"))
    taken = Counter.objects.get().revision
    until = revisions.latest()
    assert compare.differences(table.id, since, until) == []
    [course] = [item for item in compare.courses(table, since, until) if item.principal == ana]
    [spell] = course.spells
    assert course.came_and_went
    assert (spell.since.revision, spell.until and spell.until.revision) == (given, taken)
    assert "read" in spell.actions


def a_dataset() -> tuple[Node, Node]:
    root = a_cdap()
    make(root, "namespace:ns1", "dataset:ns1.orders", "dataset:ns1.items")
    a_person("mia", "analysts")
    return root, the("dataset", "ns1.orders", root.realm)


TEXTS = (
    ("a text that is its name", "dataset:ns1.orders", "ana", "ana"),
    ("a text that it is like", "dataset:ns1.ord*", "ana", "ana"),
    ("a text like all of a namespace", "dataset:*.*", "group:analysts", "mia"),
)


@pytest.mark.parametrize(("target", "holder", "who"), [row[1:] for row in TEXTS], ids=[r[0] for r in TEXTS])
def test_what_came_and_went_by_a_text_is_there_too(db: None, target: str, holder: str, who: str) -> None:
    root, orders = a_dataset()
    since = revisions.latest()
    given = patterns.grant(root, text(target), user(holder), ["READ"], by=BY) and revisions.latest()
    patterns.grant(root, text("dataset:ns1.items"), user("carl"), ["READ"], by=BY)
    patterns.revoke(root, text(target), user(holder), ["READ"], by=BY)
    taken = revisions.latest()
    assert compare.differences(orders.id, since, revisions.latest()) == []
    courses = compare.courses(orders, since, revisions.latest())
    spells = {item.principal.name: item.spells for item in courses if item.principal.name != "admin"}
    assert set(spells) == {who}
    [spell] = spells[who]
    assert (spell.since.revision, spell.until and spell.until.revision) == (given.revision, taken.revision)
    assert "read" in spell.actions


def test_more_texts_take_no_more_queries(db: None) -> None:
    root, orders = a_dataset()
    since = revisions.latest()
    patterns.grant(root, text("dataset:ns1.orders"), user("ana"), ["READ"], by=BY)

    def counted() -> int:
        with CaptureQueriesContext(connection) as asked:
            compare.turning_points(orders, since, revisions.latest())
        return len(asked)

    few = counted()
    for number in range(5):
        patterns.grant(root, text(f"dataset:ns{number}*.*"), user(f"u{number}"), ["READ"], by=BY)
    assert counted() == few


def test_a_window_that_opens_and_closes_is_a_spell(shop: Node) -> None:
    table, ana, now = the("table", "shop.sales.orders"), people.ensure("user", "ana"), timezone.now()
    since = revisions.latest()
    start, end = now + timedelta(hours=1), now + timedelta(hours=2)
    wish = GrantRequest(table, (ana,), ("SELECT_TABLE",), valid_from=start, valid_until=end, way=True)
    grants.add(wish, by=acting("olivia"))
    until = Past(Counter.objects.get().revision, now + timedelta(days=1))
    [course] = [item for item in compare.courses(table, since, until) if item.principal == ana]
    assert [(spell.since.moment, spell.until and spell.until.moment) for spell in course.spells] == [
        (start, end)
    ]


def test_an_object_that_was_dropped_was_open_to_those_it_was_open_to(shop: Node) -> None:
    table = the("table", "shop.sales.orders")
    before = revisions.latest()
    objects.drop(table, by=BY, authority=AUTHORITY)
    assert "mia" in read_by(table.id, before)
    assert read_by(table.id, revisions.latest()) == set()
    assert {row.kind for row in compare.differences(table.id, before, revisions.latest())} == {"lose"}


def test_before_the_first_change_nobody_had_anything(shop: Node) -> None:
    long_ago = revisions.at_moment(timezone.now() - timedelta(days=400))
    assert long_ago.revision == 0
    assert compare.state(the("table", "shop.sales.orders").id, long_ago).actions == {}


def test_the_state_at_a_moment_is_that_of_the_last_change_before_it(shop: Node) -> None:
    for change in Change.objects.order_by("revision"):
        assert revisions.at_moment(change.at).revision == change.revision
        assert revisions.at_moment(change.at - timedelta(microseconds=1)).revision == change.revision - 1


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_at_every_revision_the_courses_say_what_the_map_says(db: None, seed: int) -> None:
    """Spells replayed give exactly the access of each revision; compare(a, b) applied to a gives b."""
    chance = random.Random(seed)
    root = a_random_world(chance)
    since = revisions.at_revision(Counter.objects.get().revision - 12)
    assert since is not None
    _more_changes(chance, root)
    until = revisions.latest()
    for place in chance.sample(everything(root), 4):
        courses = compare.courses(place, since, until)
        for revision in range(since.revision, until.revision + 1):
            at = revisions.at_revision(revision)
            assert at is not None
            state = compare.state(place.id, at)
            assert {
                item.principal.pk: spell.actions
                for item in courses
                for spell in item.spells
                if spell.since.revision <= revision
                and (spell.until is None or spell.until.revision > revision)
            } == state.actions
        first, last = compare.state(place.id, since), compare.state(place.id, until)
        applied = dict(first.actions)
        for row in compare.differences(place.id, since, until):
            applied[row.principal.pk] = row.after
        assert {key: can for key, can in applied.items() if can} == last.actions


def test_where_the_law_is_not_enforced_every_member_has_access(shop: Node) -> None:
    """A mode is a fact like others: it came, and it went, and compare knows whom it let in and out."""
    table, before = the("table", "shop.sales.orders"), revisions.latest()
    realm = Realm.objects.get(pk=shop.realm_id)
    assert read_by(table.id, before) == {"marek", "mia", "olivia"}
    realms.set_mode(realm, "pass-through", by=BY, authority=AUTHORITY)
    meanwhile = revisions.latest()
    realms.set_mode(realm, "on", by=BY, authority=AUTHORITY)
    assert read_by(table.id, meanwhile) == {"ana", "carl", "marek", "mia", "olivia"}
    gained = {row.principal.name: row.kind for row in compare.differences(table.id, before, meanwhile)}
    assert {gained["ana"], gained["carl"]} == {"gain"}
    courses = compare.courses(table, before, revisions.latest())
    assert {item.principal.name for item in courses if item.came_and_went} == {"ana", "carl"}
    assert compare.differences(table.id, before, revisions.latest()) == []


KINDS_OF_CHANGES: dict[str, Callable[[Node, Node], object]] = {
    "a grant": lambda root, table: grants.add(wish("ana", table), by=acting("olivia")),
    "a denial lifted": lambda root, table: roles.unassign(
        the("role", "no_contractors"), people.ensure("user", "carl"), by=BY, authority=AUTHORITY
    ),
    "a role given": lambda root, table: _given(root, the("role", "sales_read"), "cleo"),
    "a group joined": lambda root, table: a_person("bea", "analysts"),
    "a group left": lambda root, table: members.leave_group(
        people.ensure("group", "analysts"), people.ensure("user", "mia"), by=BY, authority=AUTHORITY
    ),
    "a group let into the realm": lambda root, table: admit(root, "group:newcomers"),
    "a member removed": lambda root, table: members.remove(
        root, people.ensure("user", "bea"), by=BY, authority=AUTHORITY
    ),
    "a role deleted": lambda root, table: roles.delete(the("role", "sales_read"), by=BY, authority=AUTHORITY),
    "a denial": lambda root, table: roles.add_privileges(
        the("role", "browse"), table, [Privilege("SELECT_TABLE", "deny")], by=BY, authority=AUTHORITY
    ),
    "an owner": lambda root, table: owned(table, "ana"),
    "the realm's owner": lambda root, table: owned(root, "ana"),
    "a mode": lambda root, table: realms.set_mode(
        Realm.objects.get(pk=root.realm_id), "off", by=BY, authority=AUTHORITY
    ),
    "renamed": lambda root, table: objects.rename(table, "purchases", by=BY, authority=AUTHORITY),
    "dropped": lambda root, table: objects.drop(table, by=BY, authority=AUTHORITY),
    # a duty gives no access to data, so nothing differs
    "a duty": lambda root, table: duties.give(
        table, "view_history", a_person("olivia"), by=BY, authority=AUTHORITY
    ),
}


def test_a_difference_applied_to_the_one_gives_the_other_whatever_changed(shop: Node) -> None:
    """For each kind of change, and for all of them after one another: compare(a, b) applied to a gives b."""
    people.make_account("olivia")
    for name in ("bea", "cleo"):
        a_person(name, "staff")
        admit(shop, name)
    table = the("table", "shop.sales.orders")
    states = [revisions.latest()]
    for change in KINDS_OF_CHANGES.values():
        change(shop, table)
        states.append(revisions.latest())
    for before, after in [*pairwise(states), (states[0], states[-2]), (states[3], states[9])]:
        restored_states = dict(compare.state(table.id, before).actions)
        restored_states |= {
            row.principal.pk: row.after for row in compare.differences(table.id, before, after)
        }
        assert {key: can for key, can in restored_states.items() if can} == compare.state(
            table.id, after
        ).actions
    differing = dict(zip(KINDS_OF_CHANGES, pairwise(states), strict=True))
    silent = {how for how, ends in differing.items() if not compare.differences(table.id, *ends)}
    assert silent == {"a group let into the realm", "renamed", "a duty"}


def wish(name: str, table: Node) -> GrantRequest:
    return GrantRequest(table, (people.ensure("user", name),), ("SELECT_TABLE",), way=True)


def _more_changes(chance: random.Random, root: Node) -> None:
    held = [node for node in everything(root) if node.type == "schema"]
    for number in range(6):
        role = roles.create(root, f"late{number}", by=BY, authority=AUTHORITY)
        code = chance.choice([code for code in PRIVILEGES if code != "USE_CATALOG"])
        roles.add_privileges(
            role, chance.choice(held), [Privilege(code, "allow")], by=BY, authority=AUTHORITY
        )
        holder = people.ensure("user", chance.choice(NAMES))
        if str(holder) in {str(row) for row in AccessMap(root).people.values()} or number < 4:
            _given(root, role, holder.name)
        if chance.random() < 0.5:
            roles.delete(role, by=BY, authority=AUTHORITY)


def _given(root: Node, role: Node, name: str) -> None:
    holder = people.ensure("user", name)
    roles.assign(role, holder, by=BY, authority=AUTHORITY)
