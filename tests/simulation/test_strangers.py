"""People of whom nobody has heard yet are counted as they are once they are known."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.authority import OPERATOR
from policies.services import entities
from policies.simulation.changes import (
    AddMember,
    AddToRole,
    AssignRole,
    Change,
    GrantAccess,
    SetOwner,
    Target,
)
from policies.simulation.difference import Difference
from policies.simulation.simulation import Simulation
from tests.cdap import world as cdap
from tests.factories import a_person, a_role, a_shop, admit, the
from tests.herd import world as herd

AccessChanges = dict[tuple[str, int], tuple[frozenset[str], frozenset[str]]]
Make = Callable[[Principal], list[Change]]


def changes_of_access(root: Node, changes: list[Change]) -> AccessChanges:
    difference = Difference(Simulation(root, changes, at=timezone.now()))
    lines = difference.page(limit=1000)
    assert difference.totals.pairs_gaining == sum(bool(line.gains) for line in lines)
    assert difference.totals.people_gaining == len({line.person.pk for line in lines if line.gains})
    return {(str(line.person), line.node.id): (line.gains, line.loses) for line in lines}


def a_metalake() -> tuple[Node, Make]:
    root = a_shop()
    admit(root, "ana")
    role = a_role(root, "reader", "allow USE_CATALOG on catalog shop", held_by=("ana",))
    sales = the("schema", "shop.sales")

    def changes(person: Principal) -> list[Change]:
        gives = AddToRole(role, Target(sales), ("USE_SCHEMA",))
        granted = GrantAccess(Target(sales), person, ("SELECT_TABLE",))
        return [AddMember(person), AssignRole(role, person), gives, granted, SetOwner(sales, person)]

    return root, changes


def a_herd() -> tuple[Node, Make]:
    """Everybody at shop.example reads SALES, by a pattern."""
    root = herd.a_herd()
    herd.namespaces(root, "SALES", "STOCK")
    herd.give("*@shop.example", "SALES", "READ")
    return root, lambda person: [
        GrantAccess(Target(herd.the_namespace(code)), person, ("READ", "WRITE"))
        for code in ("SALES", "STOCK")
    ]


def a_cdap() -> tuple[Node, Make]:
    root = cdap.a_cdap("4.3")
    entities.create(root, parse("namespace:ns1"), by=OPERATOR)
    entities.create(root, parse("dataset:ns1.orders"), by=OPERATOR)
    target = Target.of_text(root, parse("dataset:ns1.*"))
    return root, lambda person: [GrantAccess(target, person, ("READ",))]


@pytest.mark.parametrize("make", [a_metalake, a_herd, a_cdap])
@pytest.mark.parametrize("name", ["never.seen", "Never.Seen@SHOP.example"])
def test_they_count_as_if_they_were_known(db: None, make: Callable[[], tuple[Node, Make]], name: str) -> None:
    root, changes = make()
    unknown = changes_of_access(root, changes(Principal(kind="user", name=name)))
    assert f"user:{name}" in {who for who, _ in unknown}
    assert changes_of_access(root, changes(people.ensure("user", name))) == unknown


def test_what_a_pattern_gives_to_anybody_is_no_gain(db: None) -> None:
    root, _ = a_herd()
    sales = Target(herd.the_namespace("SALES"))
    reads = [GrantAccess(sales, Principal(kind="user", name="new@shop.example"), ("READ",))]
    assert changes_of_access(root, reads) == {}


def test_a_name_in_another_case_is_that_of_who_is_known(db: None) -> None:
    root, _ = a_herd()
    a_person("ana")
    writes = [
        GrantAccess(Target(herd.the_namespace("STOCK")), Principal(kind="user", name="ANA"), ("WRITE",))
    ]
    assert {who for who, _ in changes_of_access(root, writes)} == {"user:ana", "user:ANA"}


def test_one_who_is_named_by_many_changes_counts_once(db: None) -> None:
    root, changes = a_metalake()
    twice = [*changes(Principal(kind="user", name="new")), *changes(Principal(kind="user", name="new"))]
    assert {who for who, _ in changes_of_access(root, twice)} == {"user:ana", "user:new"}
