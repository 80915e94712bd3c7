"""Names that somebody swaps in the database: facts lead to numbers, and a seal keeps the names with them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts import editions, tokens
from accounts.models import Principal
from accounts.people import ensure
from policies.decisions import ask, duties, site_permissions, slices
from policies.decisions.seals import unsealed
from policies.events import NAMES_CONFIRMED
from policies.models import Event, UnsealedFact
from policies.record.verify import verify
from policies.services.duties import give as give_duty
from tests.factories import AUTHORITY, BY, a_person, admit, rewritten
from tests.kept import kept
from tests.policies.test_seals import World, make

pytestmark = pytest.mark.django_db
world = kept(make)


@pytest.fixture(autouse=True)
def _slices_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test is one long transaction, in which no slice would be kept."""
    monkeypatch.setattr(slices, "_inside_a_change", lambda: False)


def swap(one: str, other: str, *columns: str, kind: str = "user") -> None:
    """What is in these columns changes place between two principals, as the owner of the tables can do it."""
    held = {
        name: Principal.objects.filter(kind=kind, name=name).values("pk", *columns).get()
        for name in (one, other)
    }
    into = ", ".join(f"{column} = %s" for column in columns)
    unique = ", ".join(f"{column} = 'x' || id" for column in columns if column in ("name", "pseudonym"))
    with connection.cursor() as cursor:
        if unique:
            cursor.execute(f"UPDATE accounts_principal SET {unique} WHERE id = %s", [held[one]["pk"]])
        for mine, theirs in ((other, one), (one, other)):
            values = [held[theirs][column] for column in columns]
            cursor.execute(f"UPDATE accounts_principal SET {into} WHERE id = %s", [*values, held[mine]["pk"]])


def may(world: World, name: str, kind: str = "user") -> bool:
    """What is answered about a name, by a process with a kept slice and by one without."""
    person = Principal.objects.get(kind=kind, name=name)
    first = bool(ask.ask(person, "read", world.orders, now=timezone.now()))
    slices.forget_all()
    again = bool(ask.ask(person, "read", world.orders, now=timezone.now()))
    assert first == again, "two processes disagree"
    return again


COLUMNS = (("name",), ("name", "seal"), ("name", "pseudonym", "display_name", "erased", "seal"))


@pytest.mark.parametrize("columns", COLUMNS, ids=", ".join)
@pytest.mark.parametrize("seen", [False, True], ids=["not seen yet", "swept"])
def test_whose_name_was_swapped_gets_nobodys_rights(
    world: World, columns: tuple[str, ...], seen: bool
) -> None:
    ask.ask(world.people["ana"], "read", world.orders)
    assert may(world, "ana") and not may(world, "eve")
    swap("ana", "eve", *columns)
    if seen:
        assert unsealed.sweep() == 2
    assert not may(world, "eve") and not may(world, "ana")
    assert unsealed.sweep() == 2
    rows = UnsealedFact.objects.filter(model="principal")
    assert {row.row for row in rows} == {world.people[name].pk for name in ("ana", "eve")}
    assert all(row.writer and "ana" not in str(row.content) for row in rows)


def test_who_is_asked_about_by_a_swapped_name_is_refused_over_http(world: World) -> None:
    asker = ensure("service", "gate")
    admit(world.shop, "service:gate")
    client = Client(headers={"Authorization": f"Bearer {tokens.create(asker)}"})
    question = {
        "subject": {"type": "user", "id": "eve"},
        "action": {"name": "read"},
        "resource": {"type": "table", "id": "demo/shop.sales.orders"},
    }

    def decided(name: str) -> Any:
        body = {**question, "subject": {"type": "user", "id": name}}
        return client.post("/access/v1/evaluation", body, content_type="application/json").json()["decision"]

    assert decided("ana") and decided("ana") and decided("ana") and not decided("eve")
    swap("ana", "eve", "name")
    assert not decided("eve") and not decided("ana")


def test_a_group_that_bears_anothers_name_gives_its_people_nothing(world: World) -> None:
    a_person("gil", "analysts")
    a_person("hal", "others")
    admit(world.shop, "gil", "hal", "group:others")
    assert may(world, "gil") and not may(world, "hal")
    swap("analysts", "others", "name", kind="group")
    assert not may(world, "hal") and not may(world, "gil")


def test_a_site_admins_name_makes_nobody_a_site_admin(world: World, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"ada"})
    with connection.cursor() as cursor:
        cursor.execute("UPDATE accounts_principal SET name = 'ada' WHERE name = 'eve'")
    assert not site_permissions.ask_admin(Principal.objects.get(name="ada"))
    assert site_permissions.ask_admin(Principal(kind="user", name="ada"))


def test_a_groups_duty_stays_with_the_group_it_was_given_to(world: World) -> None:
    a_person("gil", "analysts")
    eve = a_person("eve", "others")
    give_duty(world.shop, "approve_requests", ensure("group", "analysts"), by=BY, authority=AUTHORITY)
    assert not duties.held(eve, "approve_requests")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE auth_group SET name = 'gone' WHERE name = 'others'")
        cursor.execute("UPDATE auth_group SET name = 'others' WHERE name = 'analysts'")
    assert not duties.held(eve, "approve_requests")


def test_verification_tells_of_it_and_an_operator_answers_for_a_name(world: World) -> None:
    assert verify()
    swap("ana", "eve", "name")
    verdict = verify()
    assert not verdict and "principal" in str(verdict)
    for words in ([], ["--confirm-name", "user:nobody-knows"]):
        with pytest.raises(SystemExit):
            call_command("facts", *words)
    swap("eve", "ana", "name")
    assert verify() and may(world, "ana")
    swap("ana", "eve", "name", "seal")
    call_command("facts", "--confirm-name", "all")
    assert verify() and may(world, "eve") and not may(world, "ana")
    assert Event.objects.get(kind=NAMES_CONFIRMED).data["many"] == "2 names"
    assert not UnsealedFact.objects.exists()


def test_a_name_that_was_forged_stays_so_whatever_the_console_then_writes(world: World) -> None:
    swap("ana", "eve", "name")
    row = Principal.objects.get(name="eve")
    row.display_name = "Eve"
    with editions.gathered():
        row.save()
    rewritten(Principal.objects.filter(pk=row.pk), display_name="Eve E.")
    assert not Principal.objects.get(pk=row.pk).is_sealed
    rewritten(Principal.objects.filter(name="ben"), display_name="Ben B.")
    assert Principal.objects.get(name="ben").is_sealed
