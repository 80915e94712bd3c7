"""What a decider is shown before deciding."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from catalog.nodes import Node
from policies.errors import Conflict, NotFound
from policies.requests import decision_context, visibility
from policies.separation.sides import Side
from policies.services import separation
from tests.factories import a_role, the, under
from tests.requests.world import approve, ask, by, can, refuse, who

TWO = ("sales.orders", "sales.refunds")


def shown(request, viewer: str):
    return decision_context.consider(visibility.get(request.pk, who(viewer)))


def test_deciders_see_what_there_is_what_was_asked_before_and_what_a_yes_would_add(shop: Node) -> None:
    before = ask("ana", "read shop.sales.customers")
    refuse(before, "carla")
    request = ask("ana", "read shop.sales.orders", lasts="P30D")
    considered = shown(request, "olivia")
    [present] = considered.present
    assert (present.node.name, present.can) == ("orders", ())
    assert [item.pk for item in considered.earlier] == [before.pk]
    gains = {
        node.name: [(e.principal.name, e.kind) for e in seen.effects] for node, seen in considered.effects
    }
    assert gains["orders"] == [("ana", "gain")]
    assert considered.end is not None


@pytest.mark.parametrize(("viewer", "told"), [("theo", False), ("olivia", True), ("carla", True)])
def test_what_was_asked_before_is_told_to_who_may_see_it(shop: Node, viewer: str, *, told: bool) -> None:
    before = ask("ana", "read shop.sales.customers")
    request = ask("ana", "read shop.sales.orders")
    assert (before in shown(request, viewer).earlier) == told


def test_a_group_is_unfolded_to_the_people_who_would_gain(shop: Node) -> None:
    request = ask("ben", "read shop.sales.orders", holder="group:analysts")
    effects = {node.name: seen for node, seen in shown(request, "theo").effects}["orders"].effects
    assert {(e.principal.name, e.kind) for e in effects} == {("ben", "gain"), ("mia", "gain")}


def test_a_denial_is_shown_to_the_decider_because_no_yes_outweighs_it(shop: Node) -> None:
    a_role(shop, "no_orders", "deny SELECT_TABLE on table shop.sales.orders", held_by=("ana",))
    request = ask("ana", "read shop.sales.orders")
    [denial] = shown(request, "olivia").denials
    assert (denial.privilege, denial.ref.id, denial.role) == (
        "SELECT_TABLE",
        "demo/shop.sales.orders",
        "no_orders",
    )


def test_the_smallest_role_that_gives_exactly_what_is_asked_is_proposed(shop: Node) -> None:
    way = ["allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales"]
    a_role(shop, "orders_reader", *way, "allow SELECT_TABLE on table shop.sales.orders", held_by=("ben",))
    a_role(shop, "sales_reader", *way, "allow SELECT_TABLE on schema shop.sales")
    a_role(
        shop,
        "orders_writer",
        *way,
        *(f"allow {c} on table shop.sales.orders" for c in ("SELECT_TABLE", "MODIFY_TABLE")),
    )
    request = ask("ana", "read shop.sales.orders")
    [proposal] = shown(request, "gil").roles
    assert (proposal.role.name, proposal.holders) == ("orders_reader", 1)
    assert shown(request, "theo").roles == ()
    done = approve(request, "gil", role=proposal.role.id)
    assert done.state == "approved"
    from policies.models import Assignment, Grant

    assert (
        Assignment.objects.open().filter(holder=who("ana"), role=proposal.role.id, origin="request").exists()
    )
    assert not Grant.objects.filter(origin="request").exists()


def test_a_role_that_gives_something_else_is_not_given_in_its_stead(shop: Node) -> None:
    from policies.errors import Invalid, Refused

    request = ask("ana", "read shop.sales.orders")
    with pytest.raises(Invalid, match="exactly"):
        approve(request, "gil", role=the("role", "browse").id)
    way = ["allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales"]
    exact = a_role(shop, "exact", *way, "allow SELECT_TABLE on table shop.sales.orders")
    with pytest.raises(Refused, match="may not assign role exact"):
        approve(request, "theo", role=exact.id)


def test_a_conflict_with_a_rule_of_separation_is_told_before_and_stops_the_yes(shop: Node) -> None:
    writing = Side(object=the("table", "shop.sales.refunds").id, privileges=("MODIFY_TABLE",))
    reading = Side(object=the("table", "shop.sales.orders").id, privileges=("SELECT_TABLE",))
    separation.make(shop, "orders and refunds", reading, writing, by=by("marek"), reason="two pairs of eyes")
    a_role(shop, "refunds", "allow MODIFY_TABLE on table shop.sales.refunds", held_by=("ana",))
    request = ask("ana", "read shop.sales.orders")
    [clash] = shown(request, "theo").clashes
    assert "ana would have both sides of the rule “orders and refunds”" in clash
    approve(request, "carla")
    approve(request, "olivia")
    with pytest.raises(Conflict, match="both sides"):
        approve(request, "theo")
    assert not can("ana")


def test_what_a_decider_may_not_see_is_not_named_to_them(shop: Node) -> None:
    secret = a_role(shop, "secret", "allow MODIFY_TABLE on table shop.stock.items", held_by=("ana",))
    first, other = (
        Side(role=secret.id),
        Side(object=the("table", "shop.sales.orders").id, privileges=("SELECT_TABLE",)),
    )
    separation.make(shop, "two pairs of eyes", first, other, by=by("marek"), reason="two pairs of eyes")
    request = ask("ana", "read shop.sales.orders")
    for decider, names in (("theo", False), ("marek", True)):
        [clash] = shown(request, decider).clashes
        assert ("secret" in clash) == names
        assert ("something that you may not see" in clash) != names
    approve(request, "carla")
    approve(request, "olivia")
    with pytest.raises(Conflict, match="both sides of the rule “two pairs of eyes”") as refused:
        approve(request, "theo")
    assert "secret" not in str(refused.value)
    assert "stock" not in str(refused.value)


def test_how_somebody_has_a_side_names_no_hidden_role(shop: Node) -> None:
    a_role(shop, "secret", "allow MODIFY_TABLE on table shop.sales.orders", held_by=("ana",))
    table = the("table", "shop.sales.orders").id
    writing, reading = (
        Side(object=table, privileges=("MODIFY_TABLE",)),
        Side(object=table, privileges=("SELECT_TABLE",)),
    )
    separation.make(shop, "eyes", writing, reading, by=by("marek"), reason="two pairs of eyes")
    request = ask("ana", "read shop.sales.orders")
    [clash] = shown(request, "theo").clashes
    assert "MODIFY_TABLE on shop.sales.orders (through a role)" in clash


def test_requests_that_conflict_only_together_are_told_of_together(shop: Node) -> None:
    sides = [Side(object=the("table", f"shop.{name}").id, privileges=("SELECT_TABLE",)) for name in TWO]
    separation.make(shop, "eyes", *sides, by=by("marek"), reason="two pairs of eyes")
    requests = [ask("ana", f"read shop.{name}") for name in TWO]
    now = timezone.now()
    placed = decision_context.placed(requests, now=now)
    assert [decision_context.clashes_of([item], who("marek"), now=now) for item in placed] == [[], []]
    [clash] = decision_context.clashes_of(placed, who("marek"), now=now)
    assert "ana would have both sides of the rule “eyes”" in clash


@pytest.mark.parametrize("stranger", ["ben", "mia"])
def test_who_has_nothing_to_do_with_it_does_not_see_it(shop: Node, stranger: str) -> None:
    request = ask("ana", "read shop.sales.orders")
    with pytest.raises(NotFound) as there:
        visibility.get(request.pk, who(stranger))
    with pytest.raises(NotFound) as absent:
        visibility.get(request.pk + 1, who(stranger))
    assert str(there.value).replace(str(request.pk), "N") == str(absent.value).replace(
        str(request.pk + 1), "N"
    )


def test_who_decides_is_found_for_fifty_objects_as_for_two(shop: Node) -> None:
    under(the("schema", "shop.sales"), "table", *(f"t{number}" for number in range(50)))
    asked = []
    for many in (2, 50):
        request = ask("ana", *(f"read shop.sales.t{number}" for number in range(50 - many, 50)))
        with CaptureQueriesContext(connection) as queries:
            seen = visibility.get(request.pk, who("olivia"))
            assert all(seen.deciders(part) for part in seen.parts)
        asked.append(len(queries))
    assert asked[0] == asked[1]
