"""What a client of Ranger can trip over, each a row or a test."""

from __future__ import annotations

import pytest

from lakewarden.backends.base import Desired, Order, Right, Step
from lakewarden.backends.errors import Rejected, Transient
from lakewarden.backends.testing.contract import assert_settled
from lakewarden.backends.testing.kit import look, plan_of, settle, wanted
from policies.sync.backends.ranger import kind as ranger
from policies.sync.backends.ranger.client import Session
from policies.sync.backends.ranger.types import HIVE, TRINO
from policies.sync.connections.destinations import network
from tests.backends.ranger_world import (
    LONG_AGO,
    PUSHER,
    SETTLED,
    WRITE,
    RangerSite,
    errors_of,
    item,
    table,
)
from tests.backends.tries import findings, try_step


@pytest.fixture
def site(ranger):
    return ranger


# one policy for each resource


def test_a_resource_that_has_a_policy_is_parked_with_its_name(site):
    site.policy("hand-made", table("sales", "orders"), item("select", users=["bo"]))
    [error] = errors_of(site, SETTLED)
    assert type(error) is Rejected
    assert "policy-name=[hand-made]" in str(error)
    assert [policy["name"] for policy in site.policies().values()] == ["hand-made"]


def test_ours_stands_beside_it_where_that_was_chosen(site):
    before = site.policy("hand-made", table("sales", "orders"), item("select", users=["bo"]))
    url = f"{site.url}?beside=yes"
    site.backend = lambda: ranger.open(url, realm=site.realm, mark="shop", type_=HIVE, network=network())
    assert errors_of(site, SETTLED) == []
    assert_settled(site, SETTLED)
    assert site.may("ana", "SELECT", "sales", "orders")
    assert site.policies()["hand-made"] == before
    settle(site, Desired({}, {}))
    assert [*site.policies()] == ["hand-made"]


def test_another_consoles_policies_are_not_ours(settled):
    other = RangerSite.__new__(RangerSite)
    other.__dict__.update(settled.__dict__)
    other.backend = lambda: ranger.open(
        settled.url, realm="another realm", mark="shop", type_=HIVE, network=network()
    )
    seen = look(other)
    assert (seen.roles, seen.unknown) == ({}, ())
    assert [right.grantor.startswith("policy lakewarden ") for right in seen.foreign] == [True]
    assert "policy-name=[lakewarden " in str(errors_of(other, SETTLED)[0])
    assert_settled(settled, SETTLED)


# marks


CONTRADICTIONS = {
    "its label": {"policyLabels": []},
    "its name": {"name": "renamed"},
    "its guid": {"guid": "6d7a61d0-0000-0000-0000-000000000000"},
    "its resources": {"resources": {**table("sales", "orders"), "table": {"values": ["orders", "x"]}}},
}


@pytest.mark.parametrize("fault", CONTRADICTIONS)
def test_a_mark_that_contradicts_itself_is_told_and_never_touched(settled, fault):
    ours = settled.our_policy("sales", "orders")
    changed = settled.server.put_policy({**ours, **CONTRADICTIONS[fault]})
    [unknown] = look(settled).unknown
    assert fault in unknown
    assert changed["name"] in unknown
    for desired in (SETTLED, wanted({"r": WRITE}, r={"ana"}), Desired({}, {})):
        settle(settled, desired)
        assert settled.policies()[changed["name"]] == changed
    assert {right.holder for right in look(settled).foreign} == {f"role {settled.identity.role_name('r')}"}


def test_a_put_that_forgets_the_labels_loses_the_mark(settled):
    ours = settled.our_policy("sales", "orders")
    settled.server.put_policy({key: value for key, value in ours.items() if key != "policyLabels"})
    assert "its label" in look(settled).unknown[0]


def test_a_role_that_is_only_named_like_ours_is_left_alone(site):
    name = site.identity.role_name("r")
    site.server.call("POST", "/service/public/v2/api/roles", {"name": name, "options": {}})
    assert name in look(site).unknown[0]
    assert type(try_step(site, Step("make_role", role="r"))) is Rejected
    assert [role["options"] for role in site.server.roles()] == [{}]


# what people change by hand in what is ours


BENT = {
    "switched off": {"isEnabled": False},
    "overriding": {"policyPriority": 1},
    "for a time": {"validitySchedules": [{"startTime": LONG_AGO, "endTime": "2021/01/01 00:00:00"}]},
    "on a condition": {"conditions": [{"type": "ip", "values": ["10.*"]}]},
    "denying all else": {"isDenyAllElse": True},
}


@pytest.mark.parametrize("how", BENT)
def test_a_policy_of_ours_that_was_bent_is_straightened(settled, how):
    settled.server.put_policy({**settled.our_policy("sales", "orders"), **BENT[how]})
    assert plan_of(settled, SETTLED).missing == 1
    settle(settled, SETTLED)
    assert_settled(settled, SETTLED)
    assert settled.may("ana", "SELECT", "sales", "orders")


ITEMS = {
    "a condition": ("policyItems", {"conditions": [{"type": "ip", "values": ["10.*"]}]}, "select", (1, 0)),
    "delegation": ("policyItems", {"delegateAdmin": True}, "delegate admin", (1, 1)),
    "an exception": ("allowExceptions", {}, "EXCEPT select", (0, 1)),
    "a denial": ("denyPolicyItems", {}, "DENY select", (0, 1)),
}


@pytest.mark.parametrize("how", ITEMS)
def test_an_item_of_ours_that_was_bent_is_straightened(settled, how):
    items, more, word, counts = ITEMS[how]
    ours, role = settled.our_policy("sales", "orders"), settled.identity.role_name("r")
    settled.server.put_policy({**ours, items: [{**item("select", roles=[role]), **more}]})
    assert word in {right.right for right in look(settled).roles["r"]}
    plan = plan_of(settled, SETTLED)
    assert (plan.missing, plan.extra) == counts
    settle(settled, SETTLED)
    assert_settled(settled, SETTLED)
    assert settled.may("ana", "SELECT", "sales", "orders")


@pytest.mark.parametrize(
    ("which", "name", "shown"),
    [("groups", "analysts", "@group:analysts"), ("roles", "theirs", "@role:theirs")],
)
def test_a_group_or_role_that_somebody_put_into_ours_goes(settled, which, name, shown):
    settled.server.call("POST", "/service/public/v2/api/roles", {"name": "theirs"})
    settled.server.put_role({**settled.our_role("r"), which: [{"name": name, "isAdmin": False}]})
    assert shown in look(settled).members["r"]
    settle(settled, SETTLED)
    assert_settled(settled, SETTLED)
    assert settled.our_role("r")[which] == []


def test_who_may_pass_our_role_on_may_not_any_more(settled):
    settled.server.put_role({**settled.our_role("r"), "users": [{"name": "ana", "isAdmin": True}]})
    assert plan_of(settled, SETTLED).missing == 1
    settle(settled, SETTLED)
    assert settled.our_role("r")["users"] == [{"name": "ana", "isAdmin": False}]


def test_what_others_put_into_our_policy_is_theirs(settled):
    ours = settled.our_policy("sales", "orders")
    settled.server.put_policy(
        {**ours, "policyItems": [*ours["policyItems"], item("select update", users=["bo"])]}
    )
    assert {(right.holder, right.right.right) for right in look(settled).foreign} == {
        ("bo", "select"),
        ("bo", "update"),
    }
    settle(settled, wanted({}))
    assert settled.may("bo", "SELECT", "sales", "orders")
    settle(settled, wanted({}), orders=[Order(right) for right in look(settled).foreign])
    assert settled.policies() == {}


def test_a_change_between_reading_and_writing_is_noticed(settled, monkeypatch):
    real, ours = Session.put_policy, settled.our_policy("sales", "orders")

    def beaten(session, id_, policy):
        settled.server.put_policy({**ours, "description": "by somebody else"})
        return real(session, id_, policy)

    with monkeypatch.context() as patched:
        patched.setattr(Session, "put_policy", beaten)
        [error] = errors_of(settled, wanted({"r": WRITE}, r={"ana"}))
    assert type(error) is Transient
    assert "by another hand at the same moment" in str(error)


# what others have


FOREIGN = [
    # resources, and how the right is told
    ({"database": "sales"}, [("schema", ("sales",), "select")]),
    ({"database": "*"}, [("catalog", (), "select")]),
    ({"database": "sales", "table": "*", "column": "*"}, [("schema", ("sales",), "any table: select")]),
    ({"database": "sales", "table": "orders", "column": "*"}, [("table", ("sales", "orders"), "select")]),
    (
        {"database": "sales", "table": "orders", "column": "id"},
        [("table", ("sales", "orders"), "select(id)")],
    ),
    (
        {"database": "sales", "table": "a,b", "column": "*"},
        [("table", ("sales", "a"), "select"), ("table", ("sales", "b"), "select")],
    ),
    (
        {"database": "sal*", "table": "orders", "column": "*"},
        [("catalog", (), "select on database sal*; table orders; column *")],
    ),
    (
        {"database": "!sales", "table": "*", "column": "*"},
        [("catalog", (), "select on database not sales; table *; column *")],
    ),
    ({"url": "s3a://lake/x"}, [("catalog", (), "select on url s3a://lake/x")]),
]


def resources(words):
    return {
        level: {"values": value.lstrip("!").split(","), "isExcludes": value.startswith("!")}
        for level, value in words.items()
    }


@pytest.mark.parametrize(("words", "told"), FOREIGN)
def test_a_policy_of_others_is_told_as_rights_on_our_objects(site, words, told):
    site.policy("theirs", resources(words), item("select", groups=["analysts"]))
    rights = [right for right in look(site).foreign if right.grantor == "policy theirs"]
    assert [(right.right.kind, right.right.path, right.right.right) for right in rights] == told
    assert {right.holder for right in rights} == {"group analysts"}


def test_groups_and_roles_of_others_say_who_is_in_them(site):
    site.server.call("POST", "/service/public/v2/api/roles", {"name": "theirs", "users": [{"name": "ana"}]})
    groups = look(site).groups
    assert (groups["group analysts"], groups["role theirs"]) == ({"bo"}, {"ana"})


def test_in_trino_only_our_catalog_matters(ranger_server):
    site = RangerSite(ranger_server, TRINO, fixed="lake")
    site.person("ana")
    for catalog in ("lake", "other", "*"):
        site.policy(f"on {catalog}", {"catalog": {"values": [catalog]}}, item("use", users=["ana"]))
    rights = {(right.grantor, right.right.path, right.right.right) for right in look(site).foreign}
    assert rights == {("policy on lake", (), "use"), ("policy on *", (), "use on catalog *")}


BYPASSES = [
    # what stands in Ranger beside, and who is told to be able to do what, where
    ({"policyPriority": 1}, "bo", "select before every normal policy", ("sales", "orders")),
    ({"policyPriority": 1}, "bo", "select though it is denied here", ("sales", "orders")),
    ({"isDenyAllElse": True}, "everybody else", "is denied all", ("sales", "orders")),
    (
        {"policyItems": [{"delegateAdmin": True, "users": ["bo"]}]},
        "bo",
        "may give rights to others",
        ("sales", "orders"),
    ),
]


@pytest.mark.parametrize(("more", "holder", "what", "path"), BYPASSES)
def test_what_no_policy_of_ours_can_limit_is_told(site, more, holder, what, path):
    denial = Right("table", ("sales", "orders"), "DENY select")
    settle(site, wanted({"r": frozenset({denial})}, r={"bo"}))
    by_hand = {"validitySchedules": [{"startTime": LONG_AGO}]}
    site.policy("theirs", table("sales", "orders"), item("select", users=["bo"]), **{**by_hand, **more})
    bypasses = [bypass for bypass in look(site).bypasses if bypass.holder == holder and what in bypass.what]
    assert [bypass.path for bypass in bypasses] == [path]


def test_administrators_superusers_and_tags_are_told(site):
    configs = {"ranger.plugin.super.users": "etl, ops"}
    site.server.by_hand("set", service=site.service, configs=configs, tagService="tags")
    bypasses = {(bypass.holder, bypass.what.split(":")[0]) for bypass in look(site).bypasses}
    assert bypasses >= {
        ("operator", "is an administrator of Ranger"),
        ("etl", "is a superuser of the plugin"),
        ("ops", "is a superuser of the plugin"),
        ("tag service tags", "its policies are checked first, and are not read here"),
    }
    assert PUSHER not in {bypass.holder for bypass in look(site).bypasses}


def test_denials_that_are_switched_off_are_told(site):
    site.server.by_hand("option", type="hive", options={"enableDenyAndExceptionsInPolicies": "false"})
    denial = Right("table", ("sales", "orders"), "DENY select")
    settle(site, wanted({"r": frozenset({denial})}, r={"bo"}))
    wild = {**table("sales", "orders"), "database": {"values": ["s*"]}}
    site.policy("wild", wild, item("select", users=["bo"]))
    assert site.may("bo", "SELECT", "sales", "orders")
    what = "select though it is denied here, by policy wild"
    bypasses = [bypass for bypass in look(site).bypasses if bypass.what.startswith(f"{what} on database s*")]
    assert [(bypass.holder, bypass.path) for bypass in bypasses] == [("bo", ("sales", "orders"))]
    assert any("switched off" in finding.text for finding in findings(site) if not finding.ok)
