"""What a source no longer has is listed with what goes with it, before anybody closes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.models import Backend, BackendFinding
from policies.sync import worker
from tests.factories import a_use, the
from tests.sync.conftest import Source
from tests.sync.test_delivery import grant_ana

Enter = Callable[[str], Client]


@pytest.fixture
def gone(governed: Backend, source: Source) -> Backend:
    """Ana was given orders; then somebody dropped it there, and another table was renamed."""
    grant_ana()
    worker.deliver(governed)
    source.run("DROP TABLE sales.orders CASCADE; ALTER TABLE sales.customers RENAME TO clients")
    worker.look(Backend.objects.get())
    return Backend.objects.get()


def orders() -> object:
    return find(ObjectRef("table", "demo", ("shop", "sales", "orders")))


def page(client: Client, address: str) -> str:
    return " ".join(client.get(address).content.decode().split())


def test_it_is_listed_with_the_grants_that_would_go(gone: Backend, signed_in: Enter) -> None:
    shown = page(signed_in("marek"), f"/sync/{gone.pk}/vanished")
    assert "shop.sales.orders" in shown
    assert "1 grant goes with it: ana" in shown
    assert f"/sync/{gone.pk}/vanished" in page(signed_in("marek"), f"/sync/{gone.pk}?s=unknown")
    assert gone.counts["unknown"] == BackendFinding.objects.filter(kind="unknown").count() == 3
    assert signed_in("mia").get(f"/sync/{gone.pk}/vanished").status_code == 404


def test_the_uses_that_would_be_refused_are_named(gone: Backend, signed_in: Enter) -> None:
    a_use("ana", the("table", "shop.sales.orders"))
    shown = page(signed_in("marek"), f"/sync/{gone.pk}/vanished")
    assert "<strong>ana</strong>" in shown and "could no longer read shop.sales.orders" in shown
    assert "Usage is reported for 1 of the 3 objects with data." in shown


def test_closing_looks_again_and_keeps_what_was_only_renamed(gone: Backend, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/sync/{gone.pk}/vanished"
    chosen = [the("table", "shop.sales.orders").id, the("table", "shop.sales.customers").id]
    assert marek.post(address, {"reason": "x"}).status_code == 422
    response = marek.post(address, {"object": chosen, "reason": "dropped in May"}, follow=True)
    assert "1 object closed; 1 found again and kept" in " ".join(response.content.decode().split())
    assert orders() is None
    assert the("table", "shop.sales.customers")
    assert "dropped in May" in page(marek, "/history")


def test_a_form_sent_twice_closes_once_and_says_so_again(gone: Backend, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/sync/{gone.pk}/vanished"
    form = {"object": [the("table", "shop.sales.orders").id], "nonce": "a" * 24}
    assert "1 object closed" in marek.post(address, form, follow=True).content.decode()
    assert "The selected objects are closed" in marek.post(address, form, follow=True).content.decode()


def test_what_was_made_again_meanwhile_is_not_closed(gone: Backend, source: Source, signed_in: Enter) -> None:
    source.run("CREATE TABLE sales.orders (id int)")
    signed_in("marek").post(f"/sync/{gone.pk}/vanished", {"object": [the("table", "shop.sales.orders").id]})
    assert orders() is not None


def test_who_only_grants_sees_it_and_closes_nothing(gone: Backend, signed_in: Enter) -> None:
    ana = signed_in("ana")
    assert ana.post(f"/sync/{gone.pk}/vanished", {"object": ["1"]}).status_code == 404
    assert orders() is not None
