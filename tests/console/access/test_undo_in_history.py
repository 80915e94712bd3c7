"""Undo where changes are shown: offered in the history while it can work, with what it does shown first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from catalog.nodes import Node
from policies.decisions import site_permissions
from policies.events import GRANT_ADDED
from policies.models import Change, Event
from policies.record.change import change
from policies.services import duties, grants, realm_of
from policies.services.grants import GrantRequest
from policies.services.undoable import undoable
from tests.console.access.test_undo import CASES, facts, role
from tests.console.conftest import shown
from tests.console.settings.test_owners_and_members import posted
from tests.factories import a_person, a_role, acting, the, under
from tests.policies.superuser import past_triggers

Enter = Callable[[str], Client]


@pytest.fixture
def marek(shop: Node, signed_in: Enter) -> Client:
    a_role(shop, "extra", "allow USE_SCHEMA on schema shop.sales", held_by=("ana",))
    return signed_in("marek")


def last() -> int:
    return Change.objects.latest("revision").revision


def offered(client: Client, address: str = "/history") -> bool:
    """Whether a page offers to undo the last change."""
    return f'href="/undo/{last()}"' in shown(client, address)


def give_orders(**window: object) -> Node:
    """Olivia gives Ana read on the orders."""
    orders: Node = the("table", "shop.sales.orders")
    asked: Any = {"way": False, **window}
    wish = GrantRequest(orders, (a_person("ana"),), ("SELECT_TABLE",), **asked)
    grants.add(wish, by=acting("olivia"))
    return orders


@pytest.mark.parametrize("case", CASES)
def test_what_is_offered_is_shown_before_it_is_done(case: str, marek: Client) -> None:
    before = facts()
    address, form = CASES[case]()
    if case == "an owning member removed":
        give_orders()
    posted(marek, address, **form)
    revision, there, events = last(), facts(), Event.objects.count()
    assert offered(marek)
    body = shown(marek, f"/undo/{revision}")
    assert "What the history will say" in body
    assert (last(), facts(), Event.objects.count()) == (revision, there, events)  # looking writes nothing
    marek.post(f"/undo/{revision}")
    assert Change.objects.latest("revision").reason == f"Undoes change {revision}"
    assert f'href="/undo/{revision}"' not in shown(marek, "/history")
    if case != "an owning member removed":
        assert facts() == before


def test_who_really_loses_something_is_named(shop: Node, signed_in: Enter) -> None:
    orders, olivia = give_orders(way=True), signed_in("olivia")
    for page in (f"/objects/{orders.id}/history", f"/people/{a_person('ana').pk}/history"):
        assert offered(olivia, page), page
    body = shown(olivia, f"/undo/{last()}")
    assert "loses read on orders" in body
    assert not offered(signed_in("marek"))  # who may see it and did not make it


def test_only_what_the_undo_removes_is_lost(shop: Node, signed_in: Enter) -> None:
    """Ana reads and writes the bills; the change to undo gave writing them, and reading the orders."""
    orders, ana = the("table", "shop.sales.orders"), (a_person("ana"),)
    (bills,) = under(the("schema", "shop.sales"), "table", "bills")
    grants.add(GrantRequest(bills, ana, ("SELECT_TABLE",)), by=acting("olivia"))
    with change(GRANT_ADDED, realm=realm_of(shop), by=acting("olivia")):
        grants.add(GrantRequest(bills, ana, ("MODIFY_TABLE",), way=False), by=acting("olivia"))
        grants.add(GrantRequest(orders, ana, ("SELECT_TABLE",), way=False), by=acting("olivia"))
    body = shown(signed_in("olivia"), f"/undo/{last()}")
    assert "loses read on orders" in body
    assert "loses write on bills" in body
    assert "loses read and write on bills" not in body
    assert "loses read on bills" not in body
    assert "loses write on orders" not in body


def test_it_is_not_offered_where_it_must_fail(shop: Node, signed_in: Enter) -> None:
    orders, olivia = give_orders(), signed_in("olivia")
    given = last()
    grants.remove(orders, (a_person("ana"),), ("SELECT_TABLE",), by=acting("marek"))
    assert f"/undo/{given}" not in shown(olivia, "/history")
    body = shown(olivia, f"/undo/{given}")
    assert "cannot be undone" in body
    assert "It was changed again since." in body


def test_who_may_no_more_is_not_offered_it(marek: Client, signed_in: Enter) -> None:
    orders, olivia = give_orders(), signed_in("olivia")
    assert offered(olivia, f"/objects/{orders.id}/history")
    given = last()
    posted(marek, f"/objects/{the('schema', 'shop.sales').id}/owner", who="user:mia", step="save")
    assert f"/undo/{given}" not in shown(olivia, "/history")
    assert "cannot be undone" in shown(olivia, f"/undo/{given}")


def test_what_has_run_out_is_not_given_back(
    shop: Node, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = timezone.now() + timedelta(hours=1)
    orders, olivia = give_orders(valid_until=soon), signed_in("olivia")
    grants.remove(orders, (a_person("ana"),), ("SELECT_TABLE",), by=acting("olivia"))
    assert offered(olivia)
    monkeypatch.setattr("policies.services.undoable.timezone.now", lambda: soon + timedelta(minutes=1))
    assert not offered(olivia)


def test_a_role_that_is_called_personal_role_is_one_like_others(marek: Client, shop: Node) -> None:
    a_role(shop, "personal role", "allow USE_SCHEMA on schema shop.sales")
    posted(marek, f"/roles/{role('personal role')}/assign", who="user:mia", step="save")
    assert offered(marek)


def test_rights_are_asked_once_however_many_changes(
    marek: Client, shop: Node, django_assert_num_queries: Any
) -> None:
    for duty in ("view_history", "export_history"):
        authority = site_permissions.of_realm(acting("marek"), shop)
        duties.give(shop, duty, a_person("marek"), by=acting("marek"), authority=authority)
    changes = list(Change.objects.order_by("-revision")[:2])
    with CaptureQueriesContext(connection) as few:
        assert len(undoable(changes[:1], by=acting("marek"))) == 1
    with django_assert_num_queries(len(few)):
        assert len(undoable(changes, by=acting("marek"))) == 2


def test_another_s_change_has_no_such_page(marek: Client, signed_in: Enter) -> None:
    posted(marek, f"/roles/{role('browse')}/assign", who="user:mia", step="save")
    assert signed_in("olivia").get(f"/undo/{last()}")["Location"] == f"/history?revision={last()}"


def test_what_was_changed_since_past_the_console_is_not_brought_back(shop: Node, signed_in: Enter) -> None:
    orders, ana, olivia = give_orders(), a_person("ana"), signed_in("olivia")
    grants.remove(orders, [ana], ["SELECT_TABLE"], by=acting("olivia"))
    past_triggers(f"UPDATE policies_grant SET privilege = 'MODIFY_TABLE' WHERE closed = {last()}")
    before = facts()
    answer = olivia.post(f"/undo/{last()}", follow=True)
    assert "outside the console" in answer.content.decode()
    assert facts() == before
