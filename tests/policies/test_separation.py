"""Separation of duties: nobody comes to have both sides of a rule, by no path and in no order."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.law.facts import Station
from policies.authority import Actor
from policies.errors import AlreadyExists, Conflict, Invalid, Refused, Unsealed
from policies.models import Change, SeparationRule
from policies.record import invariants
from policies.separation import Separated, conflicts, forecast, visibility, wording
from policies.separation.rules import load, of_realm
from policies.separation.sides import Side, SidePath
from policies.services import grants, members, objects, owners, roles
from policies.services import separation as rules
from policies.services.grants import GrantRequest, revision_now
from policies.services.objects import NewObject
from policies.services.roles import Privilege
from tests.factories import AUTHORITY, BY, a_metalake, a_person, a_role, acting, admit, the
from tests.kept import kept
from tests.policies.superuser import past_triggers

pytestmark = pytest.mark.django_db

NOW = timezone.now()
DAY = timedelta(days=1)


def make_parted(shop: Node) -> SeparationRule:
    """Nobody both holds role payer and may write in stock."""
    a_role(shop, "payer")
    a_role(shop, "packer", "allow MODIFY_TABLE on table shop.stock.items")
    for name in ("finance", "packers"):
        a_person("dummy", name)
        admit(shop, f"group:{name}")
    return rule(shop)


parted = kept(make_parted, on="shop")


def rule(root: Node, name: str = "Payments", **more: Any) -> SeparationRule:
    payer = Side(role=the("role", "payer").id)
    stock = Side(object=the("schema", "shop.stock").id, privileges=("MODIFY_TABLE",))
    return rules.make(root, name, more.get("one", payer), more.get("other", stock), by=acting("marek"))


def ana() -> Principal:
    return people.ensure("user", "ana")


def group(name: str) -> Principal:
    return people.ensure("group", name)


def assign(role: str, holder: Principal, start: datetime | None = None, end: datetime | None = None) -> None:
    node = the("role", role)
    roles.assign(node, holder, by=BY, authority=AUTHORITY, valid_from=start, valid_until=end)


def give(
    holder: Principal, start: datetime | None = None, end: datetime | None = None, on: str = "items"
) -> None:
    kind, name = {"items": ("table", "shop.stock.items"), "stock": ("schema", "shop.stock")}.get(
        on, ("catalog", "shop")
    )
    wish = GrantRequest(the(kind, name), (holder,), ("MODIFY_TABLE",), start, end, way=False)
    grants.add(wish, by=acting("marek"))


def join(name: str, person: Principal | None = None) -> None:
    members.join_group(group(name), person or ana(), by=BY, authority=AUTHORITY)


def give_role(name: str) -> None:
    items, right = the("table", "shop.stock.items"), Privilege("MODIFY_TABLE")
    roles.add_privileges(the("role", name), items, [right], by=BY, authority=AUTHORITY)


def both(*deeds: Callable[[], object]) -> Callable[[], None]:
    def do() -> None:
        for deed in deeds:
            deed()

    return do


ROUNDABOUT: dict[str, Callable[[], object]] = {
    "a grant on a table inside": lambda: give(ana()),
    "a grant on the schema itself": lambda: give(ana(), on="stock"),
    "a grant on the catalog above": lambda: give(ana(), on="shop"),
    "a role that may": lambda: assign("packer", ana()),
    "a group that is given it": both(lambda: join("packers"), lambda: give(group("packers"))),
    "joining a group that has it": both(lambda: give(group("packers")), lambda: join("packers")),
    "a group that holds a role that may": both(
        lambda: join("packers"), lambda: assign("packer", group("packers"))
    ),
    "a role already held that is given it": both(
        lambda: a_role(the("metalake"), "harmless", held_by=("ana",)), lambda: give_role("harmless")
    ),
    "owning the table": lambda: owners.set_owner(
        the("table", "shop.stock.items"), ana(), by=BY, authority=AUTHORITY
    ),
    "owning all of it": lambda: owners.set_owner(the("catalog", "shop"), ana(), by=BY, authority=AUTHORITY),
    "making and owning a table there": lambda: objects.register(
        the("schema", "shop.stock"), [NewObject("table", "new")], by=BY, authority=AUTHORITY, owner=ana()
    ),
    "a grant that begins later": lambda: give(ana(), NOW + 5 * DAY, NOW + 6 * DAY),
}


@pytest.mark.parametrize("deed", ROUNDABOUT.values(), ids=ROUNDABOUT)
def test_no_way_leads_round_a_rule(parted: SeparationRule, deed: Callable[[], object]) -> None:
    assign("payer", ana())
    with pytest.raises(Separated) as refused:
        deed()
    message = str(refused.value)
    assert "ana would have both sides of the rule “Payments”" in message
    assert "role payer" in message
    assert "MODIFY_TABLE on shop.stock" in message
    assert "marek can create one" in message


def test_a_rule_says_whether_owning_counts(shop: Node) -> None:
    """Marek owns all of it: by a rule that counts owners Marek has both, by another nobody has."""
    items, orders = the("table", "shop.stock.items").id, the("table", "shop.sales.orders").id
    sides = [Side(object=item, privileges=("MODIFY_TABLE",)) for item in (items, orders)]
    for counts in (True, False):
        made = rules.make(shop, f"Counts: {counts}", *sides, by=acting("marek"), owners=counts)
        only = [
            item
            for item in conflicts.existing(shop, of_realm(shop, NOW.timestamp()))
            if item.clash.rule == made
        ]
        assert {item.clash.person.name for item in only} == ({"marek"} if counts else set())
    rules.end(SeparationRule.objects.get(name="Counts: True"), shop, by=acting("marek"))
    owners.set_owner(the("table", "shop.stock.items"), ana(), by=BY, authority=AUTHORITY)
    wish = GrantRequest(the("table", "shop.sales.orders"), (ana(),), ("MODIFY_TABLE",), way=False)
    grants.add(wish, by=acting("marek"))  # Ana owns one side and is given the other
    with pytest.raises(Separated):
        grants.add(
            GrantRequest(the("table", "shop.stock.items"), (ana(),), ("MODIFY_TABLE",), way=False),
            by=acting("marek"),
        )


@pytest.mark.parametrize("deed", ROUNDABOUT.values(), ids=ROUNDABOUT)
def test_nor_in_the_other_order(parted: SeparationRule, deed: Callable[[], object]) -> None:
    deed()  # who has one side only is left alone
    with pytest.raises(Separated):
        assign("payer", ana())
    join("finance")
    with pytest.raises(Separated):
        assign("payer", group("finance"))


def test_moving_a_table_to_where_a_rule_speaks(parted: SeparationRule) -> None:
    assign("payer", ana())
    refunds, stock = the("table", "shop.sales.refunds"), the("schema", "shop.stock")
    grants.add(GrantRequest(refunds, (ana(),), ("MODIFY_TABLE",), way=False), by=acting("marek"))
    with pytest.raises(Separated):
        objects.move([objects.Move(refunds, stock, "refunds")], by=BY, authority=AUTHORITY)


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_who_give_one_side_each_one_is_refused(parted: SeparationRule) -> None:
    start, refused = threading.Barrier(2), []

    def run(deed: Callable[[], None]) -> None:
        start.wait()
        try:
            deed()
        except Separated as error:
            refused.append(error)
        finally:
            connections.close_all()

    deeds = (lambda: assign("payer", ana()), lambda: give(ana()))
    threads = [threading.Thread(target=run, args=(deed,)) for deed in deeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1


WINDOWS = {
    "after it": (2, 3, 3, 4, True),
    "before it": (2, 3, 1, 2, True),
    "over its end": (2, 3, 2.5, 4, False),
    "within it": (2, 5, 3, 4, False),
    "around it": (2, 3, 1, 4, False),
    "from now on": (2, 3, None, None, False),
    "both without an end": (None, None, None, None, False),
    "from its very end": (None, 3, 3, None, True),
    "a moment before its end": (None, 3, 2.999999, None, False),
}


@pytest.mark.parametrize(("start", "end", "begin", "until", "fine"), WINDOWS.values(), ids=WINDOWS)
def test_windows_that_ever_meet_are_a_conflict(
    parted: SeparationRule,
    start: float | None,
    end: float | None,
    begin: float | None,
    until: float | None,
    fine: bool,
) -> None:
    at = {key: None if key is None else NOW + key * DAY for key in (start, end, begin, until)}
    assign("payer", ana(), at[start], at[end])
    if fine:
        return give(ana(), at[begin], at[until])
    with pytest.raises(Separated):
        give(ana(), at[begin], at[until])
    return None


def test_a_rule_touches_nobody_who_has_both_already(parted: SeparationRule, shop: Node) -> None:
    rules.end(parted, shop, by=acting("marek"))
    assign("payer", ana())
    give(ana(), None, NOW + 5 * DAY)
    again = rule(shop)
    give(ana(), None, NOW + 3 * DAY)  # not longer than before
    with pytest.raises(Separated):
        give(ana(), None, NOW + 9 * DAY)
    [violation] = conflicts.existing(shop, of_realm(shop, NOW.timestamp()))
    assert (violation.clash.person, violation.clash.rule) == (ana(), again)
    grants.remove(the("table", "shop.stock.items"), [ana()], ["MODIFY_TABLE"], by=acting("marek"))
    assert conflicts.existing(shop, of_realm(shop, NOW.timestamp())) == []
    with pytest.raises(Separated):
        give(ana())


def test_since_when_is_told(parted: SeparationRule, shop: Node) -> None:
    rules.end(parted, shop, by=acting("marek"))
    join("finance")
    give(ana())
    assign("payer", group("finance"))
    last = Change.objects.order_by("-revision").first()
    rule(shop)
    [violation] = conflicts.existing(shop, of_realm(shop, NOW.timestamp()))
    assert last is not None
    assert violation.since == last.at
    first, other = violation.clash.both.pairs[0]
    assert [station.name for station in first.via] == ["finance", "payer"]
    assert other.privilege == "MODIFY_TABLE"


# Exceptions


def let(parted: SeparationRule, shop: Node, until: datetime, **more: Any) -> None:
    asked = {"owner": people.ensure("user", "olivia"), "reason": "One person at night", **more}
    rules.let(parted, shop, asked.pop("person", ana()), until=until, by=acting("marek"), **asked)


def test_an_exception_that_no_change_made_lets_nobody(parted: SeparationRule, shop: Node) -> None:
    let(parted, shop, NOW + 3 * DAY, person=people.ensure("user", "mia"))
    past_triggers(f"UPDATE policies_separationexception SET person_id = {ana().pk}")
    assign("payer", ana())
    with pytest.raises(Separated):
        give(ana(), None, NOW + DAY)


ALTERED = {
    "another role": "UPDATE policies_separationrule SET one_role_id = {packer}",
    "another realm": "UPDATE policies_separationrule SET realm_id = {realm}",
    "over": "UPDATE policies_separationrule SET valid_until = now()",
    "closed": "UPDATE policies_separationrule SET closed = opened + 1",
    "without its seal": "UPDATE policies_separationrule SET seal = NULL",
}


@pytest.mark.parametrize("how", ALTERED)
def test_a_rule_that_was_altered_past_the_console_lets_nothing_be_given_in_its_realm(
    parted: SeparationRule, shop: Node, how: str
) -> None:
    other = a_metalake("other")
    admit(other, "ana", "mia")
    past_triggers(ALTERED[how].format(packer=the("role", "packer").id, realm=other.realm_id))
    for deed in (
        lambda: assign("payer", ana()),
        lambda: give(ana()),
        lambda: join("finance"),
        lambda: admit(shop, "leo"),
    ):
        with pytest.raises(Unsealed, match=f"separationrule:{parted.pk}"):
            deed()
    a_role(other, "far", held_by=("ana",))
    call_command("facts", "--set-right")
    assign("payer", ana())
    with pytest.raises(Separated):
        give(ana())


def test_a_rule_that_nobody_made_stops_the_realm_that_it_names(parted: SeparationRule, shop: Node) -> None:
    other = a_metalake("other")
    admit(other, "ana")
    past_triggers(
        "INSERT INTO policies_separationrule SELECT (jsonb_populate_record(r, jsonb_build_object("
        f"'id', 90000, 'name', 'Forged', 'realm_id', {other.realm_id}))).* FROM policies_separationrule r"
    )
    assign("payer", ana())
    with pytest.raises(Unsealed, match="separationrule:90000"):
        a_role(other, "far", held_by=("ana",))


def test_rights_are_taken_though_a_rule_was_altered(parted: SeparationRule, shop: Node) -> None:
    give(ana())
    past_triggers(ALTERED["without its seal"])
    items = the("table", "shop.stock.items")
    assert grants.remove(items, [ana()], ["MODIFY_TABLE"], by=acting("marek")) == 1


def test_a_rule_that_ended_long_ago_without_a_seal_stops_nobody(parted: SeparationRule, shop: Node) -> None:
    rules.end(parted, shop, by=acting("marek"))
    past_triggers(ALTERED["without its seal"])
    assign("payer", ana())
    give(ana())


def test_an_exception_that_was_changed_since_it_ended_does_not_come_back(
    parted: SeparationRule, shop: Node
) -> None:
    let(parted, shop, NOW + 3 * DAY, person=people.ensure("user", "mia"))
    rules.end(parted, shop, by=acting("marek"))
    past_triggers(f"UPDATE policies_separationexception SET person_id = {ana().pk}")
    with pytest.raises(Unsealed):
        rules.bring_back(SeparationRule.objects.get(), shop, by=acting("marek"))


@pytest.mark.parametrize(
    ("kind", "told"),
    [("group", "through group a"), ("role", "through role a"), ("pattern", "through pattern a")],
)
def test_the_way_to_a_side_is_told_by_each_kind_of_station(shop: Node, kind: str, told: str) -> None:
    role = a_role(shop, "a")
    path = SidePath((Station(kind, "a", role.id),), (0.0, 1.0))
    assert wording.way(path, visibility.of(None, (role.id,))) == told


def test_an_exception_lets_until_its_end_and_no_longer(parted: SeparationRule, shop: Node) -> None:
    assign("payer", ana())
    let(parted, shop, NOW + 3 * DAY)
    give(ana(), None, NOW + 3 * DAY)
    with pytest.raises(Separated, match="beyond the exception"):
        give(ana(), None, NOW + 4 * DAY)
    [violation] = conflicts.existing(shop, of_realm(shop, NOW.timestamp()))
    assert violation.clash.spans == ()
    assert rules.end_exception(parted, shop, ana(), by=acting("marek"))
    [violation] = conflicts.existing(shop, of_realm(shop, NOW.timestamp()))
    assert violation.clash.spans


WRONG: dict[str, dict[str, Any]] = {
    "no reason": {"reason": " x "},
    "no end": {"until": NOW - DAY},
    "too long": {"until": NOW + 500 * DAY},
    "answering for themselves": {"owner": "ana"},
    "a group": {"person": "finance"},
}


@pytest.mark.parametrize("more", WRONG.values(), ids=WRONG)
def test_an_exception_has_an_owner_a_reason_and_an_end(
    parted: SeparationRule, shop: Node, more: dict[str, Any]
) -> None:
    asked: dict[str, Any] = {"until": NOW + DAY, **more}
    asked |= {"owner": ana()} if "owner" in more else {}
    asked |= {"person": group("finance")} if "person" in more else {}
    with pytest.raises(Invalid):
        let(parted, shop, **asked)


# Rules


def test_who_may_write_rules(shop: Node, settings: Any) -> None:
    a_role(shop, "payer")
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    first, other = Side(role=the("role", "payer").id), Side(role=the("role", "browse").id)
    for name in ("olivia", "ana", "zoe"):
        with pytest.raises(Refused):
            rules.make(shop, "Payments", first, other, by=acting(a_person(name)))
    made = rules.make(shop, "Payments", first, other, by=acting(a_person("sam")))
    for deed in (
        lambda by: rules.end(made, shop, by=by),
        lambda by: rules.let(
            made, shop, ana(), owner=a_person("mia"), until=NOW + DAY, reason="at night", by=by
        ),
        lambda by: rules.end_exception(made, shop, ana(), by=by),
    ):
        with pytest.raises(Refused):
            deed(acting("olivia"))


def test_rules_that_mean_nothing(shop: Node) -> None:
    a_role(shop, "payer")
    payer, items = Side(role=the("role", "payer").id), the("table", "shop.stock.items").id
    marek: Actor = acting("marek")
    for first, other in (
        (payer, payer),
        (payer, Side(object=items)),
        (payer, Side(object=items, privileges=("FLY",))),
        (payer, Side(role=items)),
        (payer, Side(role=10**9)),
        (payer, Side()),
        (payer, Side(object=payer.role, privileges=("MODIFY_TABLE",))),
    ):
        with pytest.raises(Invalid):
            rules.make(shop, "Payments", first, other, by=marek)
    with pytest.raises(Invalid):
        rules.make(shop, "  ", payer, Side(role=the("role", "browse").id), by=marek)
    rules.make(shop, "Payments", payer, Side(role=the("role", "browse").id), by=marek)
    with pytest.raises(AlreadyExists):
        rules.make(shop, "Payments", payer, Side(role=the("role", "sales_read").id), by=marek)


def test_an_ended_rule_stops_nobody(parted: SeparationRule, shop: Node) -> None:
    assign("payer", ana())
    assert rules.end(parted, shop, by=acting("marek"))
    assert not rules.end(parted, shop, by=acting("marek"))
    give(ana())


# Before it is done


def test_what_is_foreseen_is_what_is_refused(parted: SeparationRule, shop: Node) -> None:
    assign("payer", ana())
    [conflict] = forecast.conflicts(shop, [forecast.role(ana(), the("role", "packer"))])
    assert (conflict.person, conflict.rule) == (ana(), parted)
    assert forecast.conflicts(shop, [forecast.role(a_person("mia"), the("role", "packer"))]) == []
    give(group("packers"))
    [conflict] = forecast.of_joining(shop, group("packers"), [ana(), a_person("mia")])
    assert conflict.person == ana()
    let(parted, shop, NOW + 3 * DAY)
    ends = (None, NOW + 2 * DAY)
    assert forecast.conflicts(shop, [forecast.role(ana(), the("role", "packer"), ends)]) == []


# What it costs


def queries_of(deed: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as asked:
        deed()
    return len(asked)


def test_a_change_where_there_are_no_rules_asks_once(shop: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    grown = queries_of(lambda: give(ana()))
    monkeypatch.setattr(invariants, "_registered", [lambda current: None])
    grants.remove(the("table", "shop.stock.items"), [ana()], ["MODIFY_TABLE"], by=acting("marek"))
    assert grown - queries_of(lambda: give(ana())) <= 1


def test_where_nobody_judges_separation_nothing_is_changed(
    shop: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invariants, "_registered", [])
    before = revision_now()
    with pytest.raises(RuntimeError, match="no change can be judged"):
        give(ana())
    assert revision_now() == before


# Whatever is done in whatever order


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_no_sequence_of_changes_gives_anybody_both(parted: SeparationRule, shop: Node, seed: int) -> None:
    chance = random.Random(seed)
    rule(shop, "Roles", one=Side(role=the("role", "packer").id), other=Side(role=the("role", "browse").id))
    persons = [ana(), a_person("mia"), a_person("olivia")]
    holders = [*persons, group("finance"), group("packers")]

    def window() -> tuple[datetime | None, datetime | None]:
        start = chance.choice([None, 1, 3])
        end = chance.choice([None, 2, 5])
        if start and end and end <= start:
            end = None
        return (NOW + start * DAY if start else None), (NOW + end * DAY if end else None)

    deeds: list[Callable[[], object]] = [
        lambda: assign(chance.choice(["payer", "packer", "browse"]), chance.choice(holders), *window()),
        lambda: give(chance.choice(holders), *window(), on=chance.choice(["items", "stock", "shop"])),
        lambda: join(chance.choice(["finance", "packers"]), chance.choice(persons)),
        lambda: members.leave_group(
            group(chance.choice(["finance", "packers"])), chance.choice(persons), by=BY, authority=AUTHORITY
        ),
        lambda: roles.unassign(
            the("role", chance.choice(["payer", "packer"])),
            chance.choice(holders),
            by=BY,
            authority=AUTHORITY,
        ),
        lambda: owners.set_owner(
            the("table", "shop.stock.items"), chance.choice(persons), by=BY, authority=AUTHORITY
        ),
    ]
    before = {(item.clash.rule.pk, item.clash.person.pk) for item in seen(shop)}
    refused = 0
    for _ in range(30):
        try:
            chance.choice(deeds)()
        except Separated:
            refused += 1
        except (Invalid, Conflict):
            pass
        now = {(item.clash.rule.pk, item.clash.person.pk) for item in seen(shop)}
        assert now <= before
        before = now
    assert refused


def seen(root: Node) -> list[conflicts.OpenViolation]:
    """The conflicts that a plain look at every person finds, and that `existing` finds too."""
    book = of_realm(root, NOW.timestamp())
    violations = conflicts.existing(root, book)
    everybody = list(Principal.objects.filter(kind__in=("user", "service")))
    plain = book.clashes(load(Realm(pk=root.realm_id, kind=root.kind), everybody))
    assert {(item.rule.pk, item.person.pk) for item in plain} == {
        (item.clash.rule.pk, item.clash.person.pk) for item in violations
    }
    return violations
