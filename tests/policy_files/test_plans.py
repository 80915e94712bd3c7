"""What a file would change: only what it says, and of removals only what it owns; applied as it was seen."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.authority import OPERATOR
from policies.errors import Conflict, Invalid, Refused
from policies.models import Change
from policies.policy_files import document
from policies.policy_files.applying import apply
from policies.policy_files.effects import Effects
from policies.policy_files.plan import Plan
from policies.services import roles
from policies.services.roles import Privilege
from tests.factories import AUTHORITY, BY, a_role, a_shop, acting, admit, owned, the
from tests.kept import kept
from tests.simulation.databases import contents
from tests.simulation.worlds import access, differing

from .world import READER, applied, exported, plan


def a_world() -> Node:
    """marek owns shop; ana holds reader, which reads schema sales."""
    root = a_shop()
    admit(root, "ana", "bo", "group:analysts")
    a_role(
        root,
        "reader",
        "allow USE_CATALOG on catalog shop",
        "allow USE_SCHEMA on schema shop.sales",
        "allow SELECT_TABLE on schema shop.sales",
        held_by=("ana",),
    )
    owned(the("schema", "shop.stock"), "bo")
    return root


world = kept(a_world)
GIVEN = ("sales.orders", "stock.items")


def lines(steps: list[Any]) -> list[str]:
    return [str(step) for step in steps]


def test_removals_stand_apart_and_only_what_is_owned_is_removed(world: Node) -> None:
    planned = plan(world, READER)
    assert lines(planned.adds) == ["user:bo holds role reader"]
    assert lines(planned.removals) == [
        "role reader allows SELECT_TABLE on schema:shop.sales",
        "user:ana holds role reader",
    ]
    nothing_owned = plan(world, READER.replace("[role:reader]", "[]"))
    assert (lines(nothing_owned.adds), nothing_owned.removals) == (["user:bo holds role reader"], [])


def test_a_plan_is_carried_out_as_one_change_with_its_reason(world: Node) -> None:
    before = Change.objects.count()
    applied(world, READER, reason="merge 17 by ana")
    [change] = Change.objects.order_by("-revision")[: Change.objects.count() - before]
    assert (change.kind, change.reason) == ("policy.applied", "merge 17 by ana")
    assert plan(world, READER).steps == []
    assert applied(world, READER).steps == []
    assert Change.objects.count() == before + 1


def test_a_plan_that_is_another_by_now_is_refused_and_does_nothing(world: Node) -> None:
    file = document.read(READER)
    seen = Plan(world, file).digest
    roles.add_privileges(
        the("role", "reader"),
        the("schema", "shop.stock"),
        [Privilege("USE_SCHEMA")],
        by=BY,
        authority=AUTHORITY,
    )
    before = contents()
    with pytest.raises(Conflict, match="Plan again"):
        apply(world, file, seen=seen, by=OPERATOR)
    assert contents() == before


def test_planning_writes_nothing(world: Node) -> None:
    before = contents()
    planned = plan(world, READER.replace("user:bo", "user:never.seen") + "members: [user:never.seen]\n")
    assert planned.steps
    planned.proposed()
    assert contents() == before


def test_each_step_takes_the_right_to_it(world: Node) -> None:
    before = contents()
    with pytest.raises(Refused):
        applied(world, READER, by=acting("bo"))
    assert contents() == before
    applied(world, READER, by=acting("marek"))
    assert plan(world, READER).steps == []


def test_an_owned_part_of_the_tree_is_decided_by_the_file_alone(world: Node) -> None:
    objects = [f"  table:shop.{name}: {{grants: {{user:bo: [SELECT_TABLE]}}}}\n" for name in GIVEN]
    applied(world, "".join(("format: 1\nrealm: demo\nobjects:\n", *objects)))
    text = "format: 1\nrealm: demo\nowns: [schema:shop.sales]\n"
    assert lines(plan(world, text).removals) == ["user:bo has SELECT_TABLE on table:shop.sales.orders"]
    applied(world, text)
    left = exported(world, objects=False)
    assert "table:shop.stock.items:\n    grants:\n      user:bo:" in left
    assert "table:shop.sales.orders" not in left
    assert plan(world, text).steps == []


def test_a_window_that_differs_is_a_change(world: Node) -> None:
    text = READER.replace("[user:bo]", "[{principal: user:ana, until: '2100-01-01T00:00:00+01:00'}]")
    [step] = plan(world, text).changes
    assert str(step) == (
        "user:ana holds role reader, then user:ana holds role reader until 2099-12-31T23:00:00+00:00"
    )
    applied(world, text)
    assert plan(world, text).steps == []


def test_what_a_file_does_to_people_whom_it_admits_is_worked_out(world: Node) -> None:
    people.ensure("user", "newcomer")
    holders = "[user:ana, user:newcomer, user:unheard.of]"
    text = READER.replace("[user:bo]", holders) + "members: [user:newcomer, user:unheard.of]\n"
    gains = {str(line.person) for line in Effects(plan(world, text)).difference.page(limit=100) if line.gains}
    assert gains == {"user:newcomer", "user:unheard.of"}


def test_people_whom_nobody_has_heard_of_are_counted_exactly(world: Node) -> None:
    names = [f"user:new{number}" for number in range(300)]
    holders, members = ", ".join(["user:ana", *names]), ", ".join(names)
    text = READER.replace("[user:bo]", f"[{holders}]") + f"members: [{members}]\n"
    foretold = Effects(plan(world, text)).difference
    assert (foretold.totals.people_gaining, foretold.totals.people_losing) == (300, 1)
    before, pages = contents(), [*foretold.page(limit=10_000)]
    assert foretold.totals.pairs_gaining == sum(bool(line.gains) for line in pages)
    assert contents() == before
    was = access(world, timezone.now())
    applied(world, text)
    happened = differing(was, access(world, timezone.now()))
    foretold_access = {
        (str(line.person), f"{line.node.type} {line.node.id}"): (line.gains, line.loses) for line in pages
    }
    assert foretold_access == happened


def test_an_owner_is_set_and_never_left_out(world: Node) -> None:
    text = (
        "format: 1\nrealm: demo\nowns: [everything]\nobjects: {schema:shop.stock: {owner: group:analysts}}\n"
    )
    assert "user:bo owns schema:shop.stock, then group:analysts owns schema:shop.stock" in lines(
        plan(world, text).changes
    )
    silent = plan(world, "format: 1\nrealm: demo\nowns: [schema:shop.stock]\n")
    assert silent.steps == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "At"),
        ("format: 2\nrealm: demo", "format"),
        ("format: 1\nrealm: demo\nroles: {a: {allow: {}}}", "allow"),
        ("format: 1\nrealm: demo\nrealm: other", "twice"),
        ("format: 1\nrealm: &x demo\nlaw: *x", "marks"),
        ("format: 1\nrealm: [", "line"),
        ("format: 1\nrealm: !!python/object:os.system demo", "no types"),
        ("format: 1\nrealm: other", "other"),
        ("format: 1\nrealm: demo\nlaw: herd", "rules of herd"),
        ("format: 1\nrealm: demo\nobjects: {table:shop.none: {owner: user:ana}}", "no table:shop.none"),
        (f"format: 1\nrealm: {'[' * 5000}", "deeply"),
        ("format: 1\nrealm: demo\nmembers: [ana]", "Ana"),
        ("format: 1\nrealm: demo\nroles: {r: {holders: [{principal: user:ana, until: soon}]}}", "soon"),
        ("format: 1\nrealm: demo\nroles: {r: {holders: [{principal: user:a, until: '2100-01-01'}]}}", "zone"),
    ],
)  # fmt: skip
def test_a_file_that_makes_no_sense_says_where(world: Node, text: str, problem: str) -> None:
    with pytest.raises(Invalid, match=f"(?i){problem}"):
        plan(world, text)
