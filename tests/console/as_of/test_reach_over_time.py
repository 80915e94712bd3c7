"""On how many objects somebody had something, state by state: the same numbers as each state alone gives."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from authzsite.console.as_of.people import ReachThen, rights_over_time
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from catalog.nodes import Node
from policies.models import Assignment, Grant
from policies.record import compare, revisions
from policies.record.revisions import Past
from policies.services import grants, members, objects, roles
from policies.services.grants import GrantRequest
from policies.services.roles import Privilege
from tests.factories import AUTHORITY, a_person, a_role, acting, the, under
from tests.factories import BY as OPERATOR
from tests.policies.superuser import past_triggers

SignedIn = Callable[[str], Client]
BY = {"by": OPERATOR, "authority": AUTHORITY}


def much_changes(shop: Node) -> Past:
    """Ana comes and goes by every way there is; the state before."""
    before = revisions.latest()
    ana, marek = a_person("ana"), acting("marek")
    sales, orders = the("schema", "shop.sales"), the("table", "shop.sales.orders")
    bills, notes = under(sales, "table", "bills", "notes")
    soon = timezone.now() + timedelta(milliseconds=1)
    grants.add(GrantRequest(orders, (ana,), ("SELECT_TABLE",), way=True), by=marek)
    grants.add(GrantRequest(bills, (ana,), ("SELECT_TABLE",), valid_from=soon, way=False), by=marek)
    role = a_role(shop, "clerk", "allow SELECT_TABLE on table shop.sales.notes", held_by=("ana",))
    roles.add_privileges(role, bills, [Privilege("MODIFY_TABLE", "deny")], **BY)
    clerks = people.ensure("group", "clerks")
    members.join_group(clerks, ana, **BY)
    members.add(shop, clerks, **BY)
    a_role(shop, "of-clerks", "allow CREATE_TABLE on schema shop.sales", held_by=("group:clerks",))
    objects.rename(notes, "remarks", **BY)
    members.remove(shop, clerks, **BY)
    grants.remove(orders, (ana,), ("SELECT_TABLE",), by=marek)
    objects.drop(bills, **BY)
    members.leave_group(clerks, ana, **BY)
    roles.unassign(role, ana, **BY)
    return before


def each_alone(circle: VisiblePrincipals, name: str, states: list[Past]) -> list[int]:
    """The same asked of every state for itself."""
    counts = []
    for past in states:
        then = ReachThen(circle, a_person(name), past=past)
        counts.append(len({rule.object for _, rule in then.rules if rule.allow} & then.places.keys()))
    return counts


@pytest.mark.parametrize("viewer", ["marek", "olivia", "ana", "mia"])
def test_the_numbers_are_those_of_each_state_alone(shop: Node, viewer: str) -> None:
    before = much_changes(shop)
    circle, ana = VisiblePrincipals(a_person(viewer)), a_person("ana")
    states = compare.turning_points_of(ana, circle.realms, before, revisions.latest())
    counts = rights_over_time(circle, ana, states)
    assert counts == each_alone(circle, "ana", states)
    if viewer in ("marek", "ana"):
        assert len(set(counts)) > 3, "there is something to see"


def test_a_row_written_past_the_console_takes_all_as_it_does_alone(shop: Node) -> None:
    before = much_changes(shop)
    circle, ana = VisiblePrincipals(a_person("marek")), a_person("ana")
    states = compare.turning_points_of(ana, circle.realms, before, revisions.latest())
    held = Assignment.objects.filter(holder=ana).values("role")
    row = Grant.objects.filter(role__in=held, privilege="SELECT_TABLE", effect="allow").latest("pk")
    past_triggers(f"UPDATE policies_grant SET seal = NULL WHERE id = {row.pk}")
    counts = rights_over_time(circle, ana, states)
    assert counts == each_alone(circle, "ana", states)
    assert 0 in counts[1:]


def test_so_many_queries_however_many_states(shop: Node) -> None:
    before = much_changes(shop)
    circle, ana = VisiblePrincipals(a_person("marek")), a_person("ana")
    states = compare.turning_points_of(ana, circle.realms, before, revisions.latest())
    assert len(states) > 10
    circle.sees(ana, shop)  # what the viewer may see is asked once for the page
    with CaptureQueriesContext(connection) as queries:
        rights_over_time(circle, ana, states)
    assert len(queries) == len(circle.realms) + 1


def test_the_page_draws_them(shop: Node, signed_in: SignedIn) -> None:
    before = much_changes(shop)
    page = f"/people/{a_person('ana').pk}/then?at={before.revision}&to={revisions.latest().revision}"
    answer = signed_in("marek").get(page)
    assert answer.status_code == 200
    assert "Objects with rights" in answer.content.decode()
