"""What a replay says of uses that are not simply those of people on objects that are still there."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from policies.analytics import uses
from policies.analytics.uses import ReportedUse
from policies.errors import PolicyError
from policies.services import objects
from policies.services.objects import Move
from policies.simulation.changes import Change, GrantAccess, Target, UnassignRole
from policies.simulation.difference import Difference
from policies.simulation.replay import Replay, ReplayedUse
from policies.simulation.simulation import Simulation
from tests.factories import AUTHORITY, BY, a_role, a_shop, a_use, admit, owned, the, under
from tests.kept import kept

from .databases import contents
from .worlds import WORLDS


def a_world() -> Node:
    """Ana and the service etl hold reader, which reads schema sales; olivia owns schema sales."""
    root = a_shop()
    admit(root, "ana", "olivia", "service:etl")
    a_role(
        root,
        "reader",
        "allow USE_CATALOG on catalog shop",
        "allow USE_SCHEMA on schema shop.sales",
        "allow SELECT_TABLE on schema shop.sales",
        held_by=("ana", "service:etl"),
    )
    owned(the("schema", "shop.sales"), "olivia")
    return root


world = kept(a_world)


def without(holder: Principal) -> Change:
    return UnassignRole(the("role", "reader"), holder)


def replay(root: Node, holder: Principal, **within: object) -> Replay:
    simulation = Simulation(root, [without(holder)], at=timezone.now())
    return Replay(Difference(simulation, **within))  # type: ignore[arg-type]


ANA = ("user", "ana")


def named(uses: Sequence[ReplayedUse]) -> list[tuple[str, str, str, int]]:
    return [
        (str(use.person), f"{use.node.type} {use.node.ref.full_name}", use.action, use.times) for use in uses
    ]


def test_uses_of_what_was_dropped_since_are_named_and_not_left_out(world: Node) -> None:
    orders, refunds = the("table", "shop.sales.orders"), the("table", "shop.sales.refunds")
    a_use("ana", orders)
    a_use("ana", orders, days=3)
    a_use("ana", refunds)
    a_use("olivia", orders)
    [books] = under(under(world, "catalog", "other")[0], "schema", "books")
    [paid] = under(books, "table", "paid")
    a_use("ana", paid)
    for node in (orders, paid):
        objects.drop(node, by=BY, authority=AUTHORITY)
    answer = replay(world, people.ensure(*ANA))
    assert named(answer.gone) == [("user:ana", "table shop.sales.orders", "read", 2)]
    assert named(answer.refused) == [("user:ana", "table shop.sales.refunds", "read", 1)]
    assert answer.allowed == []


def test_what_is_gone_with_all_around_it_bears_its_whole_name(world: Node) -> None:
    a_use("ana", the("table", "shop.sales.orders"))
    objects.drop(the("schema", "shop.sales"), by=BY, authority=AUTHORITY)
    answer = replay(world, people.ensure(*ANA))
    assert named(answer.gone) == [("user:ana", "table shop.sales.orders", "read", 1)]


@pytest.mark.parametrize(("governed", "count"), [("shop.sales", 1), ("shop.stock", 0), ("", 0)])
def test_what_is_gone_is_named_to_people_who_may_see_there(world: Node, governed: str, count: int) -> None:
    a_use("ana", the("table", "shop.sales.orders"))
    within = {the("schema", governed).id} if governed else set()
    objects.drop(the("table", "shop.sales.orders"), by=BY, authority=AUTHORITY)
    olivia = people.ensure("user", "olivia")
    assert len(replay(world, people.ensure(*ANA), viewer=olivia, governed=within).gone) == count


def test_what_was_moved_away_and_dropped_there_is_not_named_where_it_came_from(world: Node) -> None:
    sales, stock = the("schema", "shop.sales"), the("schema", "shop.stock")
    orders = the("table", "shop.sales.orders")
    objects.move([Move(orders, stock, "bookings")], by=BY, authority=AUTHORITY)
    a_use("ana", orders)
    objects.drop(the("table", "shop.stock.bookings"), by=BY, authority=AUTHORITY)
    olivia, ana = people.ensure("user", "olivia"), people.ensure(*ANA)
    assert replay(world, ana, viewer=olivia, governed={sales.id}).gone == []
    [use] = replay(world, ana, viewer=olivia, governed={stock.id}).gone
    assert use.node.ref.full_name == "shop.stock.bookings"


def test_what_was_renamed_or_moved_since_is_decided_where_it_is_now(world: Node) -> None:
    a_use("ana", the("table", "shop.sales.orders"))
    orders, sales = the("table", "shop.sales.orders"), the("schema", "shop.sales")
    objects.move([Move(orders, sales, "bookings")], by=BY, authority=AUTHORITY)
    answer = replay(world, people.ensure(*ANA))
    assert ([use.node.name for use in answer.refused], answer.gone) == (["bookings"], [])


def test_each_run_counts_once_and_what_was_only_looked_at_never(world: Node) -> None:
    orders, ana, nightly = (
        the("table", "shop.sales.orders"),
        people.ensure(*ANA),
        people.ensure("service", "n"),
    )
    at = timezone.now() - timedelta(days=1)
    for run, executed in (("run 1", True), ("run 2", True), ("run 3", False)):
        again = [ReportedUse(ana, orders, "read", executed, at)] * 2
        uses.take(world.realm_id, nightly, run, again)
    assert named(replay(world, ana).refused) == [("user:ana", "table shop.sales.orders", "read", 2)]


@pytest.mark.parametrize("law", WORLDS)
def test_looking_writes_nothing(db: None, law: str) -> None:
    chance = random.Random(f"writes {law}")
    world = WORLDS[law](chance)
    changes = [world.propose(chance, world) for _ in range(4)]
    stranger = Principal(kind="user", name="unheard.of")
    before = contents()
    for proposed in (
        [*changes[:1]],
        [*changes[1:2]],
        [*changes[2:]],
        [GrantAccess(Target(world.root), stranger, ())],
    ):
        with suppress(PolicyError):
            outcome = Replay(Difference(Simulation(world.root, proposed, at=timezone.now())))
            outcome.difference.page(limit=10), outcome.outcome
    assert contents() == before


def test_uses_of_service_accounts_count(world: Node) -> None:
    etl = people.ensure("service", "etl")
    yesterday = timezone.now() - timedelta(days=1)
    use = ReportedUse(etl, the("table", "shop.sales.orders"), "read", True, yesterday)
    uses.take(world.realm_id, people.ensure("service", "nightly"), "run 1", [use])
    assert named(replay(world, etl).refused) == [("service:etl", "table shop.sales.orders", "read", 1)]
