"""Rights that somebody writes into the database past the console: nothing is decided on them, and they show.

The attacker is a superuser of the database, with every trigger off.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from accounts import people
from accounts.models import Principal, User
from accounts.record import Fact, fact_columns
from accounts.seals import is_fact_sealed
from catalog.models import Mode, Realm
from catalog.nodes import Node
from policies import tasks
from policies.decisions import ask, duties, site_permissions, slices
from policies.decisions.seals import unsealed
from policies.errors import Unsealed
from policies.events import FACTS_SEALED, ROLE_ASSIGNED
from policies.models import Assignment, Event, Grant, Notice, Ownership, UnsealedFact, UserDuty
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.record.verify import verify
from policies.services import accounts, members, roles, seals
from policies.services.duties import give as give_duty
from tests.console.conftest import BACKEND
from tests.factories import AUTHORITY, BY, a_person, a_role, a_shop, admit, the
from tests.kept import kept
from tests.metrics import read_metrics
from tests.policies.superuser import past_triggers
from tests.policies.test_replay import FACTS, happens, make_world

pytestmark = pytest.mark.django_db
READ = "allow SELECT_TABLE on table shop.sales.orders"
WAY = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")


@dataclass
class World:
    shop: Node
    orders: Node
    people: dict[str, Principal]

    def may(self, name: str, action: str = "read") -> bool:
        """What a process with a kept slice says, which must be what one without says."""
        person, now = self.people[name], timezone.now()
        first = bool(ask.ask(person, action, self.orders, now=now))
        slices.forget_all()
        again = bool(ask.ask(person, action, self.orders, now=now))
        assert first == again, "two processes disagree"
        return again


@pytest.fixture(autouse=True)
def _slices_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test is one long transaction, in which no slice would be kept."""
    monkeypatch.setattr(slices, "_inside_a_change", lambda: False)


def make() -> World:
    """Ana reads, Ben is denied what a role gives, Eve has nothing, Zoe had it, Max is no member."""
    shop = a_shop()
    names = ("ana", "ben", "eve", "max", "zoe", "tim")
    created_people = {name: a_person(name) for name in names}
    admit(shop, "ana", "ben", "eve", "zoe", "tim", "group:analysts")
    a_role(shop, "reader", READ, *WAY, held_by=("ana", "ben", "group:analysts", "zoe"))
    a_role(shop, "stopped", "deny SELECT_TABLE on table shop.sales.orders", held_by=("ben",))
    reader = the("role", "reader")
    roles.unassign(reader, created_people["zoe"], by=BY, authority=AUTHORITY)
    until = timezone.now() - timedelta(days=1)
    with change(ROLE_ASSIGNED, realm=Realm.objects.get(pk=shop.realm_id), by=BY) as current:
        row = Assignment(role_id=reader.id, holder=created_people["tim"], valid_until=until)
        current.begin(
            row, make_event(ROLE_ASSIGNED, reader, created_people["tim"], role="reader"), by=AUTHORITY
        )
    return World(shop, the("table", "shop.sales.orders"), created_people)


world = kept(make)
COPY = """
INSERT INTO policies_assignment (role_id, holder_id, opened, origin, seal)
SELECT role_id, {who}, opened, origin, seal FROM policies_assignment WHERE holder_id = {ana} LIMIT 1
"""


@dataclass(frozen=True)
class Attack:
    """What is done, who would gain by it, and what they would then do."""

    statement: str
    gains: str
    action: str = "read"


ATTACKS = {
    "an assignment inserted": Attack(COPY.format(who="{eve}", ana="{ana}"), "eve"),
    "an assignment given to another": Attack(
        "UPDATE policies_assignment SET holder_id = {eve} WHERE holder_id = {ana}", "eve"
    ),
    "an ended assignment opened again": Attack(
        "UPDATE policies_assignment SET closed = NULL WHERE holder_id = {zoe}", "zoe"
    ),
    "a window taken off": Attack(
        "UPDATE policies_assignment SET valid_until = NULL WHERE holder_id = {tim}", "tim"
    ),
    "a window moved": Attack(
        "UPDATE policies_assignment SET valid_until = '2030-01-01' WHERE holder_id = {tim}", "tim"
    ),
    "a grant inserted": Attack(
        "INSERT INTO policies_grant (role_id, privilege, written, effect, securable_id, pattern, opened,"
        " origin, seal) SELECT role_id, 'MODIFY_TABLE', written, effect, securable_id, pattern, opened,"
        " origin, seal FROM policies_grant WHERE privilege = 'SELECT_TABLE' AND effect = 'allow'",
        "ana",
        "write",
    ),
    "another privilege": Attack(
        "UPDATE policies_grant SET privilege = 'MODIFY_TABLE' WHERE privilege = 'SELECT_TABLE'"
        " AND effect = 'allow'",
        "ana",
        "write",
    ),
    "a denial made a grant": Attack(
        "UPDATE policies_grant SET effect = 'allow' WHERE effect = 'deny'", "ben"
    ),
    "a denial of something else": Attack(
        "UPDATE policies_grant SET privilege = 'CREATE_TABLE' WHERE effect = 'deny'", "ben"
    ),
    "a denial on something else": Attack(
        "UPDATE policies_grant SET securable_id = {shop} WHERE effect = 'deny'", "ben"
    ),
    "a denial of later": Attack(
        "UPDATE policies_grant SET valid_from = '2099-01-01' WHERE effect = 'deny'", "ben"
    ),
    "an owner replaced": Attack(
        "UPDATE policies_ownership SET owner_id = {eve} WHERE closed IS NULL", "eve", "write"
    ),
    "somebody admitted": Attack(
        "INSERT INTO policies_realmmember (realm_id, principal_id, opened, origin, seal)"
        " SELECT realm_id, {max}, opened, origin, seal FROM policies_realmmember LIMIT 1",
        "max",
        "list",
    ),
    "somebody put into a group": Attack(
        "INSERT INTO accounts_membership (group_id, member_id, opened, origin)"
        " SELECT id, {eve}, 1, 'hand' FROM accounts_principal WHERE name = 'analysts'",
        "eve",
    ),
    "the law switched off": Attack("UPDATE catalog_mode SET mode = 'off'", "eve"),
    "the law passed through": Attack("UPDATE catalog_mode SET mode = 'pass-through'", "eve"),
    "the seal of another": Attack(
        "UPDATE policies_grant SET privilege = 'MODIFY_TABLE', seal ="
        " (SELECT seal FROM policies_ownership LIMIT 1)"
        " WHERE privilege = 'SELECT_TABLE' AND effect = 'allow'",
        "ana",
        "write",
    ),
}


def test_what_the_writer_wrote_has_seals(world: World) -> None:
    assert world.may("ana") and not world.may("ben") and not world.may("eve") and not world.may("tim")
    assert unsealed.sweep() == 0


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_nothing_is_decided_on_a_row_that_no_change_made(world: World, attack: Attack) -> None:
    assert not world.may(attack.gains, attack.action)
    numbers = {name: row.pk for name, row in world.people.items()} | {"shop": world.shop.id}
    past_triggers(attack.statement.format(**numbers))
    assert not world.may(attack.gains, attack.action)
    assert unsealed.sweep() or UnsealedFact.objects.exists(), "it is not seen"
    unsealed_facts = UnsealedFact.objects.all()
    assert unsealed_facts and all(item.writer and item.content for item in unsealed_facts)


def test_the_door_lets_no_fact_in_that_no_event_names(world: World) -> None:
    numbers = {name: row.pk for name, row in world.people.items()}
    insert = COPY.format(who="{eve}", ana="{ana}").format(**numbers)
    for statement in (
        insert,
        insert.replace("SELECT role_id, ", "SELECT role_id, ").replace(
            " opened, origin, seal FROM", " (SELECT revision + 1 FROM policies_counter), origin, seal FROM"
        ),
        f"UPDATE policies_assignment SET closed = 2 WHERE holder_id = {numbers['ana']}",
        f"DELETE FROM policies_assignment WHERE holder_id = {numbers['ana']}",
        "SET lakewarden.maintenance = 'on'; DELETE FROM policies_assignment",
    ):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert world.may("ana") and not world.may("eve")


def test_what_no_change_made_cannot_be_ended_into_history(world: World) -> None:
    past_triggers("UPDATE policies_grant SET privilege = 'MODIFY_TABLE' WHERE effect = 'deny'")
    stopped = the("role", "stopped")
    with pytest.raises(Unsealed, match="outside the console"):
        roles.delete(stopped, by=BY, authority=AUTHORITY)


def test_with_the_keys_gone_nothing_is_allowed(world: World, settings: Any) -> None:
    old = settings.LAKEWARDEN_SECRET_KEYS
    settings.LAKEWARDEN_SECRET_KEYS = (Fernet.generate_key().decode(),)
    slices.forget_all()
    assert not world.may("ana")
    settings.LAKEWARDEN_SECRET_KEYS = (Fernet.generate_key().decode(), *old)
    slices.forget_all()
    assert world.may("ana")


def test_an_upgrade_seals_what_the_record_bears_out_and_names_the_rest(world: World) -> None:
    numbers = {name: row.pk for name, row in world.people.items()}
    past_triggers(COPY.format(who="{eve}", ana="{ana}").format(**numbers))
    forged = Assignment.objects.get(holder=world.people["eve"])
    past_triggers(
        *(f"UPDATE {model._meta.db_table} SET seal = NULL" for model in FACTS if model.objects.exists())
    )
    slices.forget_all()
    assert seals.is_new() and not world.may("ana")
    sealed = seals.seal_what_is_told()
    assert sealed.wrong == [f"assignment:{forged.pk}: no change made it"]
    slices.forget_all()
    assert world.may("ana") and not world.may("eve") and not world.may("ben")
    assert seals.seal_what_is_told().sealed == 0


EVENT = """
INSERT INTO policies_event
SELECT (jsonb_populate_record(e, jsonb_build_object('id', 90000, 'number', 99, 'change_id', {revision},
        'data', jsonb_set(e.data, '{{fact}}', '"assignment:{forged}"')
                || jsonb_build_object('state', e.data->'state' || '{{"holder_id": {eve}}}')))).*
  FROM policies_event e WHERE data->>'fact' = 'assignment:{own}'"""


@pytest.mark.parametrize("words", [["--seal"], ["--if-new"], ["--set-right"]])
def test_an_event_written_into_the_record_launders_no_fact(world: World, words: list[str]) -> None:
    numbers = {name: row.pk for name, row in world.people.items()}
    past_triggers(COPY.format(who="{eve}", ana="{ana}").format(**numbers))
    forged = Assignment.objects.get(holder=world.people["eve"])
    own = Assignment.objects.filter(holder=world.people["ana"]).earliest("pk")
    past_triggers(
        EVENT.format(revision=forged.opened, forged=forged.pk, eve=numbers["eve"], own=own.pk),
        *(f"UPDATE {model._meta.db_table} SET seal = NULL" for model in FACTS if model.objects.exists()),
    )
    with pytest.raises(SystemExit):
        call_command("facts", *words)
    assert not Assignment.objects.exclude(seal=None).exists()


def test_what_is_sealed_again_is_named_in_the_record(world: World) -> None:
    denial = Grant.objects.get(effect="deny")
    past_triggers("UPDATE policies_grant SET seal = NULL WHERE effect = 'deny'")
    call_command("facts", "--seal")
    [event] = Event.objects.filter(kind=FACTS_SEALED)
    assert event.data["facts"] == f"grant:{denial.pk}"
    call_command("facts", "--seal")
    assert Event.objects.filter(kind=FACTS_SEALED).count() == 1


def stated(model: type[Fact]) -> set[tuple[Any, ...]]:
    return set(model.objects.values_list("pk", "opened", "closed", *fact_columns(model)))


DENIED = "policies_grant WHERE effect = 'deny'"


@pytest.mark.parametrize(
    "statement",
    [
        *(attack.statement for attack in ATTACKS.values()),
        f"DELETE FROM {DENIED}",
        "UPDATE policies_grant SET closed = 9 WHERE effect = 'deny'",
        "UPDATE policies_grant SET seal = NULL",
        "UPDATE catalog_placement SET name = 'other' WHERE name = 'orders'",
    ],
)
def test_setting_right_makes_the_facts_what_the_record_says(world: World, statement: str) -> None:
    before = {model: stated(model) for model in (Assignment, Grant, Ownership, Mode)}
    numbers = {name: row.pk for name, row in world.people.items()} | {"shop": world.shop.id}
    past_triggers(statement.format(**numbers))
    unsealed.sweep()
    seals.set_right()
    assert unsealed.sweep() == 0 and not UnsealedFact.objects.exists()
    assert before == {model: stated(model) for model in before}
    assert world.may("ana") and not world.may("ben") and not world.may("eve")
    assert verify() and not seals.seal_what_is_told().wrong


OTHER: dict[str, str] = {
    "bigint": "coalesce({0}, 0) + 1000000",
    "timestamp with time zone": "coalesce({0}, now()) - interval '1 day'",
    "boolean": "NOT {0}",
    "ARRAY": "array_append({0}, '7')",
}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_of_any_history_every_fact_passes_and_no_edit_of_any_column_does(db: None, seed: int) -> None:
    happens(make_world(seed), 40)
    assert unsealed.sweep() == 0
    chance = random.Random(seed)
    for model in FACTS:
        rows = list(model._default_manager.filter(closed__isnull=True))
        assert all(map(is_fact_sealed, model._default_manager.all()))
        for column in (*fact_columns(model), "opened", "id"):
            if rows:
                edited(chance.choice(rows), column)


def edited(fact: Fact, column: str) -> None:
    """Any other value in that column, and the row counts for nothing."""
    table = fact._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT data_type FROM information_schema.columns WHERE table_name = %s AND column_name = %s",
            [table, column],
        )
        other = OTHER.get(cursor.fetchone()[0], "'x' || substr({0}, 2)").format(column)
        if column == "id":
            other = "id + 1000000"
    with transaction.atomic():
        hostile_to = f"UPDATE {table} SET {column} = {other} WHERE id = {fact.pk}"
        without_constraints(table, hostile_to)
        held = unsealed.sweep()
        transaction.set_rollback(True)
    assert held == 1, (table, column)


def without_constraints(table: str, statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conname FROM pg_constraint WHERE contype IN ('c', 'f') AND conrelid = %s::regclass",
            [table],
        )
        checks = [f"ALTER TABLE {table} DROP CONSTRAINT {name}" for (name,) in cursor.fetchall()]
    past_triggers(statement, checks=checks)


GIVE = """
INSERT INTO policies_userduty (permission_id, user_id, content_object_id, seal)
SELECT p.id, {account}, {shop}, (SELECT seal FROM policies_userduty LIMIT 1)
  FROM auth_permission p WHERE codename = 'view_history'
"""


def test_a_duty_that_no_change_gave_is_none(world: World) -> None:
    for name in ("ana", "eve"):
        people.make_account(name)
    give_duty(world.shop, "view_history", world.people["ana"], by=BY, authority=AUTHORITY)
    account = User.objects.get(principal=world.people["eve"]).pk
    past_triggers(GIVE.format(account=account, shop=world.shop.id))
    assert duties.has(world.people["ana"], "view_history", world.orders)
    assert not duties.has(world.people["eve"], "view_history", world.orders)
    assert [item.holder for item in duties.duties_along(world.orders)] == [world.people["ana"]]
    past_triggers("UPDATE policies_userduty SET seal = NULL")
    assert not duties.has(world.people["ana"], "view_history", world.orders)
    [wrong] = seals.seal_what_is_told().wrong
    assert wrong.endswith("no change gave it")
    assert duties.has(world.people["ana"], "view_history", world.orders)
    assert not duties.has(world.people["eve"], "view_history", world.orders)
    seals.set_right()
    assert UserDuty.objects.count() == 1


def test_everybody_who_runs_the_site_is_told(world: World, settings: Any, client: Client) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    account = people.make_account("sam")
    numbers = {name: row.pk for name, row in world.people.items()}
    past_triggers(COPY.format(who="{eve}", ana="{ana}").format(**numbers))
    tasks.hold_facts()
    assert "facts: FORGED - 1 were written" in client.get("/health/ready").content.decode()
    assert read_metrics(client)["lakewarden_facts_unsealed"] == 1
    [notice] = Notice.objects.filter(recipient=account.principal)
    assert (
        "written into the database outside the console" in notice.text and notice.link == "/history/integrity"
    )
    client.force_login(account, backend=BACKEND)
    assert "outside the console" in client.get("/").content.decode()
    forged = Assignment.objects.get(holder=world.people["eve"])
    page = client.get("/history/integrity").content.decode()
    assert f"assignment:{forged.pk}" in page and "Its role is not known here" in page


def test_the_command_names_them_and_sets_them_right(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("facts")
    assert "all facts are as the console wrote them" in capsys.readouterr().out
    past_triggers("UPDATE catalog_mode SET mode = 'off'")
    with pytest.raises(SystemExit):
        call_command("facts")
    assert "mode:" in capsys.readouterr().out
    call_command("facts", "--set-right")
    call_command("facts")
    assert "all facts are as the console wrote them" in capsys.readouterr().out


JOIN = """
INSERT INTO accounts_membership (group_id, member_id, opened, origin, seal)
SELECT group_id, {eve}, opened, origin, seal FROM accounts_membership WHERE group_id = {staff}
"""


def test_a_forged_membership_gives_no_duty_of_the_group(world: World) -> None:
    staff, (ana, eve) = people.ensure("group", "staff"), (world.people["ana"], world.people["eve"])
    members.join_group(staff, ana, by=BY, authority=AUTHORITY)
    give_duty(world.shop, "view_history", staff, by=BY, authority=AUTHORITY)
    past_triggers(JOIN.format(eve=eve.pk, staff=staff.pk))
    assert duties.has(ana, "view_history", world.orders)
    assert not duties.has(eve, "view_history", world.orders)


KEEP = """
INSERT INTO accounts_keeping (keeper_id, service_id, opened, origin, seal)
VALUES ({keeper}, {service}, 1, 'console', (SELECT seal FROM accounts_membership LIMIT 1))
"""


def test_who_answers_for_a_service_account_by_a_forged_row_does_not(world: World) -> None:
    robot, own, eve = people.ensure("service", "robot"), people.ensure("service", "own"), world.people["eve"]
    staff = people.ensure("group", "staff")
    members.join_group(staff, world.people["ana"], by=BY, authority=AUTHORITY)
    accounts.set_keeper(own, staff, by=BY, authority=AUTHORITY)
    past_triggers(
        KEEP.format(keeper=eve.pk, service=robot.pk), JOIN.format(eve=world.people["ben"].pk, staff=staff.pk)
    )
    assert not site_permissions.ask_keeper(eve, robot)
    assert site_permissions.ask_keeper(world.people["ana"], own) and not site_permissions.ask_keeper(
        world.people["ben"], own
    )
