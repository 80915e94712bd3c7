"""A fact that ended is put back by SQL as it was, seal and all: within a minute nothing is decided on it.

The attacker is a superuser of the database who kept a copy of the row, with every trigger off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from accounts import people
from accounts.fact_content import fact_code
from accounts.models import Membership, Principal
from accounts.record import Fact
from accounts.seals import is_fact_sealed
from catalog.nodes import Node
from lakewarden.client.changes import EVERYBODY
from policies import tasks
from policies.decisions import ask, duties, slices, snapshots, touched
from policies.decisions.seals import opened_again, unsealed
from policies.events import FACTS_SET_RIGHT
from policies.models import Assignment, Event, Grant, GroupDuty, Notice, Ownership, UnsealedFact, UserDuty
from policies.record.verify import verify
from policies.services import members, roles, seals
from policies.services.duties import give as give_duty
from policies.services.duties import take as take_duty
from tests.factories import AUTHORITY, BY, a_metalake, a_person, a_role, a_shop, admit, owned, the
from tests.kept import kept
from tests.metrics import read_metrics
from tests.policies.superuser import former, past_triggers

pytestmark = pytest.mark.django_db
READ = "allow SELECT_TABLE on table shop.sales.orders"
WAY = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")
BY_CONSOLE: dict[str, Any] = {"by": BY, "authority": AUTHORITY}


@dataclass
class World:
    shop: Node
    orders: Node
    people: dict[str, Principal]

    def may(self, name: str) -> bool:
        """What a process with a kept slice says, which must be what one without says."""
        person, now = self.people[name], timezone.now()
        first = bool(ask.ask(person, "read", self.orders, now=now))
        slices.forget_all()
        again = bool(ask.ask(person, "read", self.orders, now=now))
        assert first == again, "two processes disagree"
        return again


def make() -> World:
    """Ana reads by a role, Zoe by another role, Ben as one of the analysts, Oli as an owner."""
    shop = a_shop()
    created_people = {name: a_person(name) for name in ("ana", "zoe", "oli")}
    created_people["ben"] = a_person("ben", "analysts")
    admit(shop, "ana", "zoe", "oli", "ben", "group:analysts")
    a_role(shop, "reader", READ, *WAY, held_by=("ana", "group:analysts"))
    a_role(shop, "other", READ, *WAY, held_by=("zoe",))
    a_role(shop, "way", *WAY, held_by=("oli",))
    orders = the("table", "shop.sales.orders")
    owned(orders, "oli")
    return World(shop, orders, created_people)


world = kept(make)


@pytest.fixture(autouse=True)
def _slices_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test is one long transaction, in which no slice would be kept."""
    monkeypatch.setattr(slices, "_inside_a_change", lambda: False)


@dataclass(frozen=True)
class Case:
    """Which fact ends, how, and who had something by it."""

    model: type[Fact]
    where: dict[str, Any]
    end: Callable[[World], object]
    who: str


CASES = {
    "a role that was held": Case(
        Assignment,
        {"holder__name": "zoe"},
        lambda world: roles.unassign(the("role", "other"), world.people["zoe"], **BY_CONSOLE),
        "zoe",
    ),
    "a privilege of a role": Case(
        Grant,
        {"privilege": "SELECT_TABLE", "written": "other"},
        lambda world: roles.remove_privileges(
            the("role", "other"), world.orders, [roles.Privilege("SELECT_TABLE")], **BY_CONSOLE
        ),
        "zoe",
    ),
    "a membership": Case(
        Membership,
        {"member__name": "ben"},
        lambda world: members.leave_group(
            people.ensure("group", "analysts"), world.people["ben"], **BY_CONSOLE
        ),
        "ben",
    ),
    "an owner": Case(Ownership, {"owner__name": "oli"}, lambda world: owned(world.orders, "marek"), "oli"),
}


def revive(world: World, case: Case) -> Fact:
    """End the fact in the console, and put its row back as it was."""
    where = case.where
    if "written" in where:
        where = {"privilege": where["privilege"], "role_id": the("role", where["written"]).id}
    put_back, number = former(case.model, **where), case.model.objects.get(**where).pk
    assert world.may(case.who)
    case.end(world)
    assert not world.may(case.who)
    if case.model is Ownership:  # an object has one owner
        past_triggers(
            "UPDATE policies_ownership SET closed = 9999"
            f" WHERE closed IS NULL AND securable_id = {world.orders.id}"
        )
    with transaction.atomic():  # on its rows it has a number of its own
        put_back()
    fact = case.model.objects.get(pk=number)
    assert fact.closed is None and is_fact_sealed(fact)
    return fact


@pytest.fixture(autouse=True)
def _somebody_runs_the_site(settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = ("sam",)
    people.make_account("sam")


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_looked_at", None)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_nothing_is_decided_on_a_fact_that_was_opened_again(world: World, case: Case) -> None:
    assert unsealed.sweep() == 0
    fact = revive(world, case)
    tasks.hold_ended_facts()
    assert not world.may(case.who)
    closed_for_it = case.model.objects.filter(closed=9999)
    assert [str(item) for item in UnsealedFact.objects.all()] == [*map(fact_code, (fact, *closed_for_it))]
    seals.set_right()
    assert unsealed.sweep() == 0 and not UnsealedFact.objects.exists()
    assert not world.may(case.who)
    assert case.model.objects.get(pk=fact.pk).closed


def test_who_was_given_a_yes_by_it_meanwhile_is_told_and_gets_a_new_snapshot(world: World) -> None:
    tasks.hold_ended_facts()
    revive(world, CASES["a role that was held"])
    zoe, given = world.people["zoe"], touched.last_revision()
    assert snapshots.hold(zoe, world.shop, now=timezone.now()).slice.rules
    tasks.hold_ended_facts()
    assert touched.since(world.shop.realm_id, given).keys == (EVERYBODY,)
    held = snapshots.hold(zoe, world.shop, now=timezone.now()).slice
    assert held.revision > given and not held.rules
    revision = touched.last_revision()
    tasks.hold_ended_facts()
    tasks.hold_facts()
    assert touched.last_revision() == revision, "it is put on record once"
    seals.set_right()
    assert verify()


def test_it_is_told_and_keeps_the_backends_of_its_realm_alone(world: World, client: Client) -> None:
    revive(world, CASES["a role that was held"])
    assert unsealed.sweep(world.shop.realm_id + 1) == 0
    tasks.hold_ended_facts()
    assert "facts: FORGED - 1 were written" in client.get("/health/ready").content.decode()
    assert read_metrics(client)["lakewarden_facts_unsealed"] == 1
    assert unsealed.standing(world.shop.realm_id).count() == 1
    assert not unsealed.standing(world.shop.realm_id + 1).exists()


def test_a_look_is_at_what_was_written_since_the_last(world: World) -> None:
    tasks.hold_ended_facts()
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(xmin::text::bigint) + 1 FROM policies_assignment")
        after: int = cursor.fetchone()[0]
    rows = Assignment.objects.open()
    assert not opened_again.written_since(rows, after).exists()
    fact = revive(world, CASES["a role that was held"])
    assert list(opened_again.written_since(rows, after)) == [fact]
    assert fact in opened_again.written_since(rows, after + 2**32)  # the numbers on rows go round
    tasks.hold_ended_facts()
    assert not world.may("zoe")


def test_after_another_server_was_put_in_its_place_every_fact_is_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    revive(world, CASES["a role that was held"])
    monkeypatch.setattr(tasks, "_looked_at", 2**40)
    tasks.hold_ended_facts()
    assert not world.may("zoe")


def test_one_whose_seal_is_put_back_again_is_found_again(world: World) -> None:
    fact = revive(world, CASES["a role that was held"])
    tasks.hold_ended_facts()
    past_triggers(
        f"UPDATE policies_assignment SET seal = '\\x{bytes(fact.seal or b'').hex()}' WHERE id = {fact.pk}"
    )
    tasks.hold_ended_facts()
    assert not world.may("zoe") and UnsealedFact.objects.count() == 1


def test_a_membership_that_was_opened_again_gives_no_duty_of_the_group(world: World) -> None:
    group = people.ensure("group", "analysts")
    give_duty(world.shop, "view_history", group, **BY_CONSOLE)
    assert duties.has(world.people["ben"], "view_history", world.orders)
    revive(world, CASES["a membership"])
    tasks.hold_ended_facts()
    assert not duties.has(world.people["ben"], "view_history", world.orders)


def test_it_is_found_by_an_index(world: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    for model in unsealed.fact_models():
        assert "events_by_ended_fact" in opened_again.among(model.objects.open()).explain()


def test_a_duty_that_was_taken_and_is_put_back_counts_for_a_minute(world: World) -> None:
    zoe, ben, analysts = world.people["zoe"], world.people["ben"], people.ensure("group", "analysts")
    people.make_account("zoe")
    for who in (zoe, analysts):
        give_duty(world.shop, "view_history", who, **BY_CONSOLE)
    put_back = former(UserDuty), former(GroupDuty)
    for who in (zoe, analysts):
        take_duty(world.shop, "view_history", who, **BY_CONSOLE)
    tasks.hold_ended_facts()
    with transaction.atomic():
        [back() for back in put_back]
    assert duties.held(zoe, "view_history") and duties.held(ben, "view_history")
    tasks.hold_ended_facts()
    assert not duties.held(zoe, "view_history") and not duties.held(ben, "view_history")
    assert {row.model for row in UnsealedFact.objects.all()} == {"userduty", "groupduty"}
    call_command("facts", "--set-right")
    assert not UserDuty.objects.exists() and not GroupDuty.objects.exists()
    assert not UnsealedFact.objects.exists() and verify()


def test_a_duty_that_was_taken_and_given_anew_stays(world: World) -> None:
    zoe = world.people["zoe"]
    people.make_account("zoe")
    for deed in (give_duty, take_duty, give_duty):
        deed(world.shop, "view_history", zoe, **BY_CONSOLE)
    tasks.hold_facts()
    assert duties.held(zoe, "view_history") and not UnsealedFact.objects.exists()


@pytest.mark.parametrize("how", ["UPDATE policies_touch SET revision = 1", "DELETE FROM policies_touch"])
def test_touches_that_are_put_back_keep_an_old_answer_alive_for_a_minute(world: World, how: str) -> None:
    zoe = world.people["zoe"]
    tasks.hold_ended_facts()
    for _ in range(slices.WORTH_KEEPING):
        assert ask.ask(zoe, "read", world.orders)
    roles.unassign(the("role", "other"), zoe, **BY_CONSOLE)
    past_triggers(how)
    tasks.hold_ended_facts()
    assert not ask.ask(zoe, "read", world.orders)
    assert f"touch of p:{zoe.pk}" in Event.objects.filter(kind=FACTS_SET_RIGHT).latest("pk").data["facts"]
    is_told(f"touch of principal:{zoe.pk}")


def is_told(code: str) -> None:
    """In the inbox, where a site is watched, and until an operator has looked."""
    assert code in [str(item) for item in UnsealedFact.objects.all()]
    assert Notice.objects.filter(kind=unsealed.FOUND).exists()
    assert verify()
    tasks.hold_facts()
    before = Notice.objects.count()
    tasks.hold_facts()
    assert Notice.objects.count() == before
    seals.set_right()
    assert not UnsealedFact.objects.exists()


def test_a_forged_fact_says_of_nobody_that_they_were_touched(world: World) -> None:
    tasks.hold_ended_facts()
    past_triggers("UPDATE policies_grant SET closed = 1000000 WHERE privilege = 'SELECT_TABLE'")
    tasks.hold_ended_facts()
    assert not Event.objects.filter(kind=FACTS_SET_RIGHT).exists()
    assert {row.model for row in UnsealedFact.objects.all()} == {"grant"}


def test_a_role_without_a_place_gives_its_holders_nothing_at_once(world: World) -> None:
    denial = a_role(world.shop, "no", "deny SELECT_TABLE on table shop.sales.orders", held_by=("zoe",))
    assert not world.may("zoe")
    past_triggers(f"UPDATE catalog_placement SET closed = 1000000 WHERE securable_id = {denial.id}")
    assert not world.may("zoe") and world.may("ana")


REALM_TOUCHES = {
    "those of the realm alone": ("UPDATE policies_realmtouch SET realm = 0 WHERE key = '{key}'",),
    "all to before": (
        "UPDATE policies_realmtouch SET revision = 1 WHERE key = '{key}'",
        "UPDATE policies_touch SET revision = 1 WHERE key = '{key}'",
    ),
}


@pytest.mark.parametrize("how", REALM_TOUCHES)
def test_who_keeps_answers_and_was_told_of_no_touch_is_told_within_a_minute(world: World, how: str) -> None:
    zoe, realm = world.people["zoe"], world.shop.realm_id
    tasks.hold_ended_facts()
    roles.unassign(the("role", "other"), zoe, **BY_CONSOLE)
    past_triggers(*(statement.format(key=f"p:{zoe.pk}") for statement in REALM_TOUCHES[how]))
    heard = touched.last_revision()
    assert not touched.since(realm, heard - 1).keys
    tasks.hold_ended_facts()
    assert touched.since(realm, heard).keys == (EVERYBODY,)
    is_told(f"touch of principal:{zoe.pk}")


@pytest.mark.parametrize("column", ["realm_id = {other}", "type = 'table'"])
def test_a_role_that_was_moved_past_the_console_takes_its_denial_along_for_a_minute(
    world: World, column: str
) -> None:
    other, zoe = a_metalake("elsewhere"), world.people["zoe"]
    denial = a_role(world.shop, "no", "deny SELECT_TABLE on table shop.sales.orders", held_by=("zoe",))
    tasks.hold_ended_facts()
    with transaction.atomic():
        moved = column.format(other=other.realm_id)
        past_triggers(f"UPDATE catalog_securable SET {moved} WHERE id = {denial.id}")
    for _ in range(slices.WORTH_KEEPING):
        ask.ask(zoe, "read", world.orders)
    tasks.hold_ended_facts()
    assert not ask.ask(zoe, "read", world.orders)
    [event] = Event.objects.filter(kind=FACTS_SET_RIGHT)
    assert event.data["facts"] == f"object:{denial.id}"
    is_told(f"securable:{denial.id}")
