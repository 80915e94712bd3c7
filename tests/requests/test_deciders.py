"""Who decides about an object: those who may grant it by its law, and who has the duty; nearest first."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import User
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.decisions import approvers
from policies.services import realms
from tests.factories import AUTHORITY, BY, a_person, a_role, admit, owned, the


def told(node: Node, **more) -> list[str]:
    return [
        f"{item.principal.name}: {item.ground} at {item.where.name}" for item in approvers.of(node, **more)
    ]


WAY = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")
ORDERS = [
    "theo: owner at orders",
    "olivia: owner at sales",
    "carla: owner at shop",
    "gil: MANAGE_GRANTS at demo",
    "marek: owner at demo",
]


@pytest.mark.parametrize(
    ("type", "name", "duty", "expected"),
    [
        ("table", "shop.sales.orders", "", ORDERS),
        (
            "table",
            "shop.sales.orders",
            "approve_requests",
            [ORDERS[0], "dora: approve_requests at sales", *ORDERS[1:]],
        ),
        ("table", "shop.sales.orders", "review_access", ORDERS),
        ("schema", "shop.stock", "approve_requests", ORDERS[2:]),
        ("metalake", "", "", ORDERS[3:]),
    ],
)
def test_the_owner_of_the_nearest_object_comes_first(shop: Node, type, name, duty, expected) -> None:
    assert told(the(type, name), duty=duty) == expected


def test_a_group_stands_for_the_people_in_it_who_can_sign_in(shop: Node) -> None:
    owned(the("table", "shop.sales.refunds"), "group:analysts")
    a_role(shop, "look", *WAY, held_by=("group:analysts",))
    User.objects.filter(username="mia").update(is_active=False)
    a_person("nina", "analysts")
    assert told(the("table", "shop.sales.refunds"))[:2] == ["ben: owner at refunds", "olivia: owner at sales"]


def test_whom_one_leaves_out_is_not_named(shop: Node) -> None:
    without = [people.ensure("user", "theo"), people.ensure("user", "gil")]
    assert told(the("table", "shop.sales.orders"), without=without) == [ORDERS[1], ORDERS[2], ORDERS[4]]


def test_who_is_denied_the_way_or_whose_right_has_ended_is_none(shop: Node) -> None:
    from policies.services import roles
    from policies.services.roles import Privilege

    soon = timezone.now() + timedelta(hours=1)
    role = a_role(shop, "for_a_while", held_by=("ana",))
    roles.add_privileges(
        role, the("metalake"), [Privilege("MANAGE_GRANTS", valid_until=soon)], by=BY, authority=AUTHORITY
    )
    assert "ana: MANAGE_GRANTS at demo" in told(shop)
    assert "ana: MANAGE_GRANTS at demo" not in told(shop, now=soon)
    a_role(shop, "no", "deny MANAGE_GRANTS on metalake", held_by=("gil",))
    assert told(shop) == ["ana: MANAGE_GRANTS at demo", "marek: owner at demo"]


def test_who_may_grant_above_but_cannot_come_down_is_none(shop: Node) -> None:
    assert "gil: MANAGE_GRANTS at demo" in told(the("schema", "shop.sales"))
    a_role(shop, "not_there", "deny USE_SCHEMA on schema shop.sales", held_by=("gil",))
    assert "gil: MANAGE_GRANTS at demo" not in told(the("table", "shop.sales.orders"))


@pytest.mark.parametrize(
    ("name", "duty", "ground"),
    [
        ("theo", "", "Permission.grantPrivilegeToRole"),
        ("dora", "approve_requests", "approve_requests"),
        ("dora", "", None),
        ("ana", "approve_requests", None),
    ],
)
def test_the_same_question_for_one(shop: Node, name, duty, ground) -> None:
    answer = approvers.may(people.ensure("user", name), the("table", "shop.sales.orders"), duty=duty)
    assert (answer.operation if answer else None) == ground


def test_in_a_herd_it_takes_the_office_and_the_permission(db: None) -> None:
    from policies.services import entries, objects
    from policies.services.entries import Turn
    from policies.services.objects import NewObject

    for name in ("adam", "dana", "gus"):
        people.make_account(name)
    root = realms.create("herd", "herd", owner=people.ensure("user", "adam"), by=BY, authority=AUTHORITY)
    [ns] = objects.register(root, [NewObject("namespace", "RISK")], by=BY, authority=AUTHORITY)
    dana, gus = people.ensure("user", "dana"), people.ensure("user", "gus")
    turns = [Turn(item, frozenset({"GRANT", "READ"})) for item in (dana, gus)]
    entries.turn(ns, turns, by=BY, authority=AUTHORITY)
    office = find(ObjectRef("role", "herd", ("DATA_OWNER",)))
    from policies.services import roles

    roles.assign(office, dana, by=BY, authority=AUTHORITY)
    assert told(ns) == ["dana: GRANT at RISK", "adam: owner at herd"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("4.3", ["adam: owner at cdap"]),
        ("3.5", ["dana: ADMIN at ns1", "adam: owner at cdap"]),
    ],
)
def test_in_a_cdap_it_is_the_administrator_and_before_that_holders_of_admin(
    db: None, policy, expected
) -> None:
    from lakewarden.law.dialects.cdap.authorizable import parse
    from policies.services import entities, patterns

    for name in ("adam", "dana"):
        people.make_account(name)
    adam, dana = people.ensure("user", "adam"), people.ensure("user", "dana")
    root = realms.create("cdap", "cdap", owner=adam, by=BY, authority=AUTHORITY, settings={"policy": policy})
    for text in ("namespace:ns1", "dataset:ns1.d"):
        entities.create(root, parse(text), by=BY)
    patterns.grant(root, parse("namespace:ns1"), dana, ["ADMIN"], by=BY)
    node = find(ObjectRef("dataset", "cdap", ("ns1", "d")))
    assert told(node) == expected


def test_how_many_there_are_costs_no_query_more(shop: Node, django_assert_max_num_queries) -> None:
    for number in range(10):
        people.make_account(f"p{number}")
        a_person(f"p{number}", f"g{number}", "all")
        admit(shop, f"group:g{number}", f"p{number}")
        a_role(shop, f"r{number}", "allow MANAGE_GRANTS on metalake", *WAY, held_by=(f"group:g{number}",))
    with django_assert_max_num_queries(11):
        assert len(approvers.of(the("table", "shop.sales.orders"), duty="approve_requests")) == 16


def test_of_many_objects_they_are_those_of_each(shop: Node, django_assert_max_num_queries) -> None:
    names = ("orders", "customers", "refunds")
    nodes = [shop, the("schema", "shop.stock"), *(the("table", f"shop.sales.{name}") for name in names)]
    each = [approvers.of(node, duty="approve_requests") for node in nodes]
    with django_assert_max_num_queries(11):
        approvers_ = approvers.of_many([(node, approvers.GRANT) for node in nodes], duty="approve_requests")
    assert approvers_ == each
    assert len({tuple(some) for some in approvers_}) > 2
