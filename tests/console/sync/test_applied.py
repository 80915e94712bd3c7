"""Wherever a grant is shown it says how far it has come in the backend: applied to 41 of 42."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people
from authzsite.console.kit.display.parts import State
from authzsite.console.sync import applied
from authzsite.console.sync.backend_state import BackendState
from policies.models import Backend, OutboxEntry
from policies.sync import worker
from policies.sync.status import SyncStatus
from tests.factories import a_person, admit, rewritten, the
from tests.sync.conftest import Source
from tests.sync.test_delivery import grant_ana

Enter = Callable[[str], Client]


@pytest.fixture
def looked(governed: Backend) -> Backend:
    """Nina is an analyst without a login there; the rest has what was decided."""
    a_person("nina", "analysts", "staff")
    admit(the("metalake"), "nina")
    worker.deliver(governed)
    return Backend.objects.get()


def page(client: Client, address: str) -> str:
    return " ".join(client.get(address).content.decode().split())


def orders() -> int:
    return the("table", "shop.sales.orders").id


@pytest.mark.parametrize(("differs", "said"), [(1, "1 differs"), (2, "2 differ"), (3, "2 differ, 1 stuck")])
def test_what_differs_is_counted_in_words(differs: int, said: str) -> None:
    row = Backend(state=Backend.State.BEHIND, policy=Backend.Policy.REPAIR)
    assert BackendState(row, 0, stuck=int(differs > 2), differs=differs).state().note == said


def test_the_object_says_it_of_each_line(looked: Backend, signed_in: Enter) -> None:
    shown = page(signed_in("olivia"), f"/objects/{orders()}")
    line = shown[shown.index("analysts") :]
    # Mia has it, Carl is denied here and there, Nina cannot sign in there
    assert "Applied 2 of 3" in line[: line.index("</tr>")]
    assert "1 without login" in line[: line.index("</tr>")]
    # of what is denied to Carl nothing could arrive
    denied = shown[shown.index("Read denied") - 900 :]
    assert "Applied" not in denied[: denied.index("Read denied")].rpartition("<tr")[2]


def test_a_grant_is_on_its_way_until_it_was_read_back(looked: Backend, signed_in: Enter) -> None:
    grant_ana()
    olivia, ana = signed_in("olivia"), people.ensure("user", "ana")
    for address in (f"/objects/{orders()}", f"/people/{ana.pk}", "/history"):
        assert "On its way" in page(olivia, address), address
    worker.deliver(Backend.objects.get())
    for address in (f"/objects/{orders()}", f"/people/{ana.pk}", "/history"):
        shown = page(olivia, address)
        assert "On its way" not in shown, address
        assert "Applied" in shown, address


def test_what_could_not_be_compared_waits_for_somebody(looked: Backend, signed_in: Enter) -> None:
    grant_ana()
    OutboxEntry.objects.update(parked=True, attempts=3)
    olivia = signed_in("olivia")
    for address in (f"/objects/{orders()}", "/history"):
        assert "PostgreSQL fails" in page(olivia, address)


def test_a_role_says_it_of_each_object(looked: Backend, signed_in: Enter) -> None:
    shown = page(signed_in("marek"), f"/roles/{the('role', 'sales_read').id}")
    assert "Applied 2 of 3" in shown
    # Mia may not know who else holds it, so not to how many it is applied either
    assert "Applied" not in page(signed_in("mia"), f"/roles/{the('role', 'sales_read').id}")


def test_a_right_taken_away_by_hand_is_told_while_the_backend_only_reports(
    looked: Backend, source: Source, signed_in: Enter
) -> None:
    rewritten(Backend.objects.all(), policy="report")
    for (role,) in source.run("SELECT rolname FROM pg_roles WHERE rolname LIKE 'lw%'"):
        source.run(f'REVOKE ALL ON sales.orders FROM "{role}"')
    worker.look(Backend.objects.get())
    shown = page(signed_in("olivia"), f"/objects/{orders()}")
    assert "Applied 1 of 3" in shown
    assert "only reports" in shown


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ((1, 1, (), ()), State("ok", "Applied")),
        ((42, 42, (), ()), State("ok", "Applied 42 of 42")),
        ((41, 42, ("a",), ()), State("behind", "Applied 41 of 42", "1 on the way")),
        ((40, 42, ("a",), ("b",)), State("behind", "Applied 40 of 42", "1 on the way and 1 without login")),
        ((0, 1, (), ("a",)), State("unknown", "No login", "in PostgreSQL")),
        ((0, 1, ("a",), ()), State("behind", "On its way")),
        ((0, 0, (), ()), None),
    ],
)
def test_in_words(found: Any, told: State | None) -> None:
    row = Backend(kind="postgresql", policy="repair", state="in_sync")
    row.compared_at = timezone.now()
    assert applied.state(SyncStatus(*found, backend=row)) == told
    assert applied.state(None) is None
