"""Rows that somebody puts back as they once were, with the seals of that time: who owns the tables can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts import editions, people
from accounts.models import Principal
from accounts.people import ensure, make_account
from accounts.record import Fact
from accounts.seals import is_fact_sealed
from catalog.models import Mode, Realm
from catalog.nodes import Node
from policies.decisions import duties
from policies.events import ACCOUNT_NAMED
from policies.models import Assignment, Event, Grant, Ownership, UserDuty
from policies.record import newest_editions
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.record.verify import verify
from policies.services import accounts, erasure, owners, realms, roles
from policies.services.duties import give, take
from tests.factories import AUTHORITY, BY, a_person, a_role, a_shop, admit, the
from tests.kept import kept
from tests.policies.superuser import former, past_triggers
from tests.policies.verdicts import is_reported, whole

pytestmark = pytest.mark.django_db
READ = "allow SELECT_TABLE on table shop.sales.orders"
WAY = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")


@dataclass
class World:
    shop: Node
    orders: Node
    ana: Principal


def make() -> World:
    shop = a_shop()
    ana = a_person("ana")
    admit(shop, "ana")
    a_role(shop, "reader", READ, *WAY, held_by=("ana",))
    accounts.make_person("zoe", "Zoe", by=BY, authority=AUTHORITY)
    return World(shop, the("table", "shop.sales.orders"), ana)


world = kept(make)


def shown_as(person: Principal, name: str) -> None:
    with change(ACCOUNT_NAMED, realm=None, by=BY) as current:
        person.display_name = name
        person.save(update_fields=["display_name"])
        current.say(make_event(ACCOUNT_NAMED, None, person), by=AUTHORITY)


def test_a_name_of_before_is_told_and_an_operator_answers_for_it(world: World) -> None:
    put_back = former(Principal, pk=world.ana.pk)
    shown_as(world.ana, "Ana Lima")
    assert whole()
    put_back()
    assert Principal.objects.get(pk=world.ana.pk).is_sealed
    assert is_reported("an earlier state")
    call_command("facts", "--confirm-name", "user:ana")
    assert whole()
    shown_as(Principal.objects.get(pk=world.ana.pk), "Ana L.")
    assert whole()


def test_going_on_from_an_earlier_state_does_not_make_it_ours(world: World) -> None:
    shown_as(world.ana, "Ana Lima")
    put_back = former(Principal, pk=world.ana.pk)
    shown_as(world.ana, "Ana L.")
    put_back()
    for name in ("Ana", "Ana B."):
        shown_as(Principal.objects.get(pk=world.ana.pk), name)
        assert is_reported("two states after one")


def test_an_erased_person_who_is_put_back_is_told(world: World) -> None:
    zoe = ensure("user", "zoe")
    put_back = former(Principal, pk=zoe.pk)
    erasure.erase(zoe, by=BY, authority=AUTHORITY)
    assert whole()
    put_back()
    assert is_reported(f"principal {zoe.pk}")


def test_what_is_written_outside_a_change_is_refused(world: World) -> None:
    world.ana.display_name = "Ana Lima"
    with pytest.raises(editions.Untold, match=f"principal:{world.ana.pk}"):
        world.ana.save(update_fields=["display_name"])
    with pytest.raises(editions.Untold):
        Principal.objects.filter(pk=world.ana.pk).update(display_name="Ana Lima")
    assert Principal.objects.get(pk=world.ana.pk).display_name == "" and whole()


def test_an_account_that_is_made_again_under_another_name_is_on_record(world: World) -> None:
    make_account("ana", display_name="Ana Lima")
    assert Event.objects.latest("pk").data["editions"] == {f"principal:{world.ana.pk}": 1}
    events = Event.objects.count()
    make_account("ana", display_name="Ana Lima")
    assert Event.objects.count() == events and whole()


def test_another_name_that_nothing_would_put_on_record_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "_show_as", people._not_registered)
    with pytest.raises(ImproperlyConfigured):
        make_account("ana", display_name="Ana Lima")
    assert Principal.objects.get(pk=world.ana.pk).display_name == ""


def test_what_is_written_in_a_change_that_says_nothing_is_refused(world: World) -> None:
    with pytest.raises(editions.Untold), change(ACCOUNT_NAMED, realm=None, by=BY):
        Principal.objects.filter(pk=world.ana.pk).update(display_name="Ana Lima")
    assert Principal.objects.get(pk=world.ana.pk).display_name == "" and whole()


def test_what_was_rolled_back_within_a_change_is_not_told_of(world: World) -> None:
    with change(ACCOUNT_NAMED, realm=None, by=BY) as current:
        with transaction.atomic():
            Principal.objects.filter(pk=world.ana.pk).update(display_name="Nobody")
            transaction.set_rollback(True)
        current.say(make_event(ACCOUNT_NAMED, None, world.ana), by=AUTHORITY)
    assert "editions" not in Event.objects.latest("pk").data
    shown_as(world.ana, "Ana Lima")
    assert Event.objects.latest("pk").data["editions"] == {f"principal:{world.ana.pk}": 1}
    assert whole()


def unassigned(world: World) -> None:
    roles.unassign(the("role", "reader"), world.ana, by=BY, authority=AUTHORITY)


def revoked(world: World) -> None:
    wanted = [roles.Privilege("SELECT_TABLE")]
    roles.remove_privileges(the("role", "reader"), world.orders, wanted, by=BY, authority=AUTHORITY)


def handed_over(world: World) -> None:
    owners.set_owner(world.orders, ensure("user", "ben"), by=BY, authority=AUTHORITY)


def switched(world: World) -> None:
    realms.set_mode(Realm.objects.get(pk=world.shop.realm_id), "off", by=BY, authority=AUTHORITY)


ENDINGS: tuple[tuple[type[Fact], Callable[[World], None]], ...] = (
    (Assignment, unassigned),
    (Grant, revoked),
    (Ownership, handed_over),
    (Mode, switched),
)


@pytest.mark.parametrize(("model", "ending"), ENDINGS)
def test_a_fact_that_ended_and_is_opened_again_with_its_old_seal_is_told(
    world: World, model: type[Fact], ending: Callable[[World], None]
) -> None:
    admit(world.shop, "ben")
    owners.set_owner(world.orders, world.ana, by=BY, authority=AUTHORITY)
    before = {row.pk: former(model, pk=row.pk) for row in model.objects.open()}
    ending(world)
    assert whole()
    ended = model.objects.filter(closed__isnull=False).latest("closed", "pk")
    for row in model.objects.open().filter(opened=ended.closed or 0):  # what took its place
        past_triggers(f"DELETE FROM {model._meta.db_table} WHERE id = {row.pk}")
    before[ended.pk]()
    assert is_fact_sealed(model.objects.get(pk=ended.pk, closed=None))
    assert any(line.startswith(f"{model._meta.model_name} {ended.pk}: ") for line in verify().differing)


def test_a_duty_that_was_taken_and_is_put_back_is_told(world: World) -> None:
    zoe = ensure("user", "zoe")
    give(world.shop, "view_history", zoe, by=BY, authority=AUTHORITY)
    put_back = former(UserDuty, user__principal=zoe)
    take(world.shop, "view_history", zoe, by=BY, authority=AUTHORITY)
    assert whole()
    put_back()
    assert duties.held(zoe, "view_history")  # until the record is replayed
    assert is_reported("userduty")


def test_who_decides_asks_once_and_by_an_index(world: World) -> None:
    shown_as(world.ana, "Ana Lima")
    with CaptureQueriesContext(connection) as asked:
        assert newest_editions.among([world.ana]) == [world.ana] and not newest_editions.among([])
    [query] = asked.captured_queries
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
        cursor.execute(f"EXPLAIN {query['sql']}")
        assert "events_by_edition" in str(cursor.fetchall())
