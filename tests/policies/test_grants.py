"""What an owner does: grant, see beforehand what it will do, revoke; and what nobody else can."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask
from policies.errors import Conflict, Invalid, Refused
from policies.models import Change, Counter, Grant
from policies.previews import grants as previews_grants
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, acting, admit, the


def can(name: str, action: str = "read", table: str = "shop.sales.orders", kind: str = "user") -> bool:
    return bool(ask.ask(people.ensure(kind, name), action, the("table", table)))


def wish(*names: str, privileges=("SELECT_TABLE",), kind: str = "user", **more) -> GrantRequest:
    holders = tuple(people.ensure(kind, name) for name in names)
    return GrantRequest(the("table", "shop.sales.orders"), holders, privileges, **more)


def effects(asked: GrantRequest, by: str = "olivia") -> dict[str, str]:
    return {
        effect.principal.name: effect.kind for effect in previews_grants.of_grant(asked, acting(by)).effects
    }


@pytest.mark.seed("S4-020")
def test_the_owner_of_a_schema_grants_read_on_one_table_and_what_is_needed_to_reach_it(shop: Node) -> None:
    assert not can("ana")
    assert grants.add(wish("ana"), by=acting("olivia"), reason="SALES-419") == 2  # and USE_SCHEMA
    assert can("ana")
    assert not can("ana", "write")
    assert not can("ana", table="shop.sales.customers")


def test_a_grant_without_the_way_is_granted_but_not_yet_usable(shop: Node) -> None:
    grants.add(wish("ana", way=False), by=acting("olivia"))
    answer = ask.ask(people.ensure("user", "ana"), "read", the("table", "shop.sales.orders"))
    assert not answer
    assert [(lack.privilege, lack.name) for lack in answer.explained().missing] == [("USE_SCHEMA", "sales")]


@pytest.mark.parametrize("stranger", ["ana", "mia", "nobody"])
def test_who_owns_nothing_grants_nothing_and_leaves_no_trace(shop: Node, stranger: str) -> None:
    before = Counter.objects.get().revision
    with pytest.raises(Refused):
        grants.add(wish("ana"), by=acting(stranger))
    assert Counter.objects.get().revision == before
    assert not can("ana")


def test_revoking_ends_access_and_the_personal_role_with_its_last_privilege(shop: Node) -> None:
    grants.add(wish("ana", way=False), by=acting("olivia"))
    assert find(ObjectRef("role", "demo", ("~ana",)))
    orders, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    assert grants.remove(orders, [ana], ["SELECT_TABLE"], by=acting("olivia"), reason="done") == 1
    assert not find(ObjectRef("role", "demo", ("~ana",)))
    assert grants.remove(orders, [ana], ["SELECT_TABLE"], by=acting("olivia")) == 0


def test_the_same_grant_twice_is_one_grant_and_one_change(shop: Node) -> None:
    grants.add(wish("ana"), by=acting("olivia"))
    changes = Change.objects.count()
    assert grants.add(wish("ana"), by=acting("olivia")) == 0
    assert Change.objects.count() == changes


def test_a_new_end_replaces_the_old_one(shop: Node) -> None:
    soon, later = timezone.now() + timedelta(days=1), timezone.now() + timedelta(days=30)
    grants.add(wish("ana", valid_until=later), by=acting("olivia"))
    assert effects(wish("ana", valid_until=soon)) == {"ana": "lose"}
    assert effects(wish("ana", valid_until=None)) == {"ana": "gain"}
    grants.add(wish("ana", valid_until=soon), by=acting("olivia"))
    open_now = Grant.objects.open().filter(privilege="SELECT_TABLE", role__placements__name="~ana")
    assert [row.valid_until for row in open_now] == [soon]


@pytest.mark.parametrize(
    ("moment", "allowed"),
    [(timedelta(0), True), (timedelta(days=1, microseconds=-1), True), (timedelta(days=1), False)],
)
def test_a_grant_ends_by_itself_at_its_very_end(shop: Node, moment: timedelta, allowed: bool) -> None:
    now = timezone.now()
    grants.add(wish("ana", valid_until=now + timedelta(days=1)), by=acting("olivia"))
    ana, orders = people.ensure("user", "ana"), the("table", "shop.sales.orders")
    at = max(now + moment, timezone.now()) if allowed and not moment else now + moment
    assert bool(ask.ask(ana, "read", orders, now=at)) is allowed


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"valid_until": timezone.now() - timedelta(days=1)}, "past"),
        ({"privileges": ()}, "at least one"),
        ({"privileges": ("CREATE_CATALOG",)}, "cannot be granted on a table"),
        ({"privileges": ("DROP EVERYTHING",)}, "is no privilege"),
    ],
)
def test_what_cannot_be_meant_is_said_and_changes_nothing(shop: Node, changed: dict, words: str) -> None:
    before = Counter.objects.get().revision
    with pytest.raises(Invalid, match=words):
        grants.add(wish("ana", **changed), by=acting("olivia"))
    assert Counter.objects.get().revision == before


def test_nobody_is_granted_who_is_no_member(shop: Node) -> None:
    a_person("eve")
    with pytest.raises(Invalid, match="not a member"):
        grants.add(wish("eve"), by=acting("olivia"))


def test_two_people_changing_the_same_grant_are_told_of_each_other(shop: Node) -> None:
    seen = grants.revision_now()
    grants.add(wish("ana"), by=acting("olivia"))
    with pytest.raises(Conflict, match="since you opened"):
        grants.add(wish("ana", valid_until=timezone.now() + timedelta(days=2)), by=acting("marek"), seen=seen)


PREVIEW = [
    # who is granted read on orders, and what becomes of them
    ("user", "ana", {"ana": "gain"}),
    ("user", "mia", {"mia": "same"}),
    ("user", "carl", {"carl": "denied"}),
    ("user", "olivia", {"olivia": "same"}),
    ("group", "staff", {"ana": "gain", "mia": "same", "carl": "denied", "olivia": "same"}),
]


@pytest.mark.parametrize(("kind", "name", "expected"), PREVIEW, ids=[row[1] for row in PREVIEW])
def test_the_preview_says_what_then_happens(
    shop: Node, kind: str, name: str, expected: dict[str, str]
) -> None:
    asked = wish(name, kind=kind)
    before = {person: can(person) for person in expected}
    assert effects(asked) == expected
    grants.add(asked, by=acting("olivia"))
    for person, effect in expected.items():
        assert can(person) is (before[person] or effect == "gain"), person


def test_a_preview_writes_nothing(shop: Node) -> None:
    before = Counter.objects.get().revision, Grant.objects.count()
    previews_grants.of_grant(wish("ana", "carl"), acting("olivia"))
    previews_grants.of_removal(
        the("table", "shop.sales.orders"), [people.ensure("user", "ana")], ["SELECT_TABLE"]
    )
    assert (Counter.objects.get().revision, Grant.objects.count()) == before


def test_a_removal_says_who_keeps_access_by_another_path(shop: Node) -> None:
    orders = the("table", "shop.sales.orders")
    grants.add(wish("ana", "mia"), by=acting("olivia"))
    both = [people.ensure("user", "ana"), people.ensure("user", "mia")]
    shown = previews_grants.of_removal(orders, both, ["SELECT_TABLE"])
    assert {effect.principal.name: effect.kind for effect in shown.effects} == {"ana": "lose", "mia": "same"}


def test_names_of_every_sort_can_be_granted_to(shop: Node) -> None:
    for name in ("o'neil", 'a"b', "dots.in.name", "slash/es", "Ünïcødé", "名前", "🐘", "x" * 255, "a b"):
        admit(shop, name)
        grants.add(wish(name), by=acting("marek"))
        assert can(name), name


@pytest.mark.parametrize("name", ["", "nul\0", "tab\t", "x" * 256, "\ud800"])
def test_no_principal_bears_a_name_that_cannot_be_told(db: None, name: str) -> None:
    with pytest.raises(people.BadName):
        people.ensure("user", name)


@pytest.mark.parametrize("deed", ["given for the first time", "given until another day", "taken back"])
def test_many_receivers_ask_the_database_no_more_than_few(shop: Node, deed: str) -> None:
    def queries(*names: str) -> int:
        for name in names:
            admit(shop, a_person(name).name)
        given = wish(*names)
        again = replace(given, valid_until=timezone.now() + timedelta(days=9))
        if deed != "given for the first time":
            grants.add(given, by=acting("olivia"))
        with CaptureQueriesContext(connection) as captured:
            if deed == "taken back":
                grants.remove(given.node, given.holders, given.privileges, by=acting("olivia"))
            else:
                grants.add(again, by=acting("olivia"))
        return len(captured)

    few, many = queries("few1", "few2"), queries(*(f"many{number}" for number in range(40)))
    assert many <= few
