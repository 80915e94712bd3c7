"""What a client of Ranger can trip over, each a row or a test."""

from __future__ import annotations

import re

import pytest

from lakewarden.backends import kinds
from lakewarden.backends.base import Bypass, Desired, Order, Right, Step
from lakewarden.backends.contract import assert_settled
from lakewarden.backends.errors import Gone, Misconfigured, Rejected, Transient
from lakewarden.backends.kit import look, opened, plan_of, settle, wanted
from policies.sync.backends import ranger
from policies.sync.backends.ranger_session import Session
from policies.sync.backends.ranger_types import HIVE, TRINO
from tests.backends.ranger_world import LONG_AGO, PUSHER, SECRET, RangerSite, item, table
from tests.backends.tries import findings, try_step
from tests.standins.ranger.process import Plugin

SELECT = Right("table", ("sales", "orders"), "select")
READ, WRITE = frozenset({SELECT}), frozenset({SELECT, Right("table", ("sales", "orders"), "update")})


@pytest.fixture
def site(ranger_server):
    there = RangerSite(ranger_server)
    there.person("ana")
    there.person("bo", "analysts")
    yield there
    there.close()


@pytest.fixture
def settled(site):
    """Ana reads sales.orders by our role r."""
    settle(site, wanted({"r": READ}, r={"ana"}))
    return site


DESIRED = wanted({"r": READ}, r={"ana"})


def errors(site, desired):
    return [one.error for one in settle(site, desired) if one.error]


# one policy for each resource


def test_a_resource_that_has_a_policy_is_parked_with_its_name(site):
    site.policy("hand-made", table("sales", "orders"), item("select", users=["bo"]))
    [error] = errors(site, DESIRED)
    assert type(error) is Rejected
    assert "policy-name=[hand-made]" in str(error)
    assert [one["name"] for one in site.policies().values()] == ["hand-made"]


def test_ours_stands_beside_it_where_that_was_chosen(site):
    before = site.policy("hand-made", table("sales", "orders"), item("select", users=["bo"]))
    url = f"{site.url}?beside=yes"
    site.backend = lambda: ranger.open(url, realm=site.realm, mark="shop", type_=HIVE)
    assert errors(site, DESIRED) == []
    assert_settled(site, DESIRED)
    assert site.may("ana", "SELECT", "sales", "orders")
    assert site.policies()["hand-made"] == before
    settle(site, Desired({}, {}))
    assert [*site.policies()] == ["hand-made"]


def test_another_consoles_policies_are_not_ours(settled):
    other = RangerSite.__new__(RangerSite)
    other.__dict__.update(settled.__dict__)
    other.backend = lambda: ranger.open(settled.url, realm="another realm", mark="shop", type_=HIVE)
    seen = look(other)
    assert (seen.roles, seen.unknown) == ({}, ())
    assert [one.grantor.startswith("policy lakewarden ") for one in seen.foreign] == [True]
    assert "policy-name=[lakewarden " in str(errors(other, DESIRED)[0])
    assert_settled(settled, DESIRED)


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
    [told] = look(settled).unknown
    assert fault in told
    assert changed["name"] in told
    for desired in (DESIRED, wanted({"r": WRITE}, r={"ana"}), Desired({}, {})):
        settle(settled, desired)
        assert settled.policies()[changed["name"]] == changed
    assert {one.holder for one in look(settled).foreign} == {f"role {settled.identity.role_name('r')}"}


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
    assert plan_of(settled, DESIRED).missing == 1
    settle(settled, DESIRED)
    assert_settled(settled, DESIRED)
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
    plan = plan_of(settled, DESIRED)
    assert (plan.missing, plan.extra) == counts
    settle(settled, DESIRED)
    assert_settled(settled, DESIRED)
    assert settled.may("ana", "SELECT", "sales", "orders")


@pytest.mark.parametrize(
    ("which", "name", "shown"),
    [("groups", "analysts", "@group:analysts"), ("roles", "theirs", "@role:theirs")],
)
def test_a_group_or_role_that_somebody_put_into_ours_goes(settled, which, name, shown):
    settled.server.call("POST", "/service/public/v2/api/roles", {"name": "theirs"})
    settled.server.put_role({**settled.our_role("r"), which: [{"name": name, "isAdmin": False}]})
    assert shown in look(settled).members["r"]
    settle(settled, DESIRED)
    assert_settled(settled, DESIRED)
    assert settled.our_role("r")[which] == []


def test_who_may_pass_our_role_on_may_not_any_more(settled):
    settled.server.put_role({**settled.our_role("r"), "users": [{"name": "ana", "isAdmin": True}]})
    assert plan_of(settled, DESIRED).missing == 1
    settle(settled, DESIRED)
    assert settled.our_role("r")["users"] == [{"name": "ana", "isAdmin": False}]


def test_what_others_put_into_our_policy_is_theirs(settled):
    ours = settled.our_policy("sales", "orders")
    settled.server.put_policy(
        {**ours, "policyItems": [*ours["policyItems"], item("select update", users=["bo"])]}
    )
    assert {(one.holder, one.right.right) for one in look(settled).foreign} == {
        ("bo", "select"),
        ("bo", "update"),
    }
    settle(settled, wanted({}))
    assert settled.may("bo", "SELECT", "sales", "orders")
    settle(settled, wanted({}), orders=[Order(one) for one in look(settled).foreign])
    assert settled.policies() == {}


def test_a_change_between_reading_and_writing_is_noticed(settled, monkeypatch):
    real, ours = Session.put_policy, settled.our_policy("sales", "orders")

    def beaten(session, id_, policy):
        settled.server.put_policy({**ours, "description": "by somebody else"})
        return real(session, id_, policy)

    with monkeypatch.context() as patched:
        patched.setattr(Session, "put_policy", beaten)
        [error] = errors(settled, wanted({"r": WRITE}, r={"ana"}))
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
    found = [one for one in look(site).foreign if one.grantor == "policy theirs"]
    assert [(one.right.kind, one.right.path, one.right.right) for one in found] == told
    assert {one.holder for one in found} == {"group analysts"}


def test_groups_and_roles_of_others_say_who_is_in_them(site):
    site.server.call("POST", "/service/public/v2/api/roles", {"name": "theirs", "users": [{"name": "ana"}]})
    groups = look(site).groups
    assert (groups["group analysts"], groups["role theirs"]) == ({"bo"}, {"ana"})


def test_in_trino_only_our_catalog_matters(ranger_server):
    site = RangerSite(ranger_server, TRINO, fixed="lake")
    site.person("ana")
    for catalog in ("lake", "other", "*"):
        site.policy(f"on {catalog}", {"catalog": {"values": [catalog]}}, item("use", users=["ana"]))
    told = {(one.grantor, one.right.path, one.right.right) for one in look(site).foreign}
    assert told == {("policy on lake", (), "use"), ("policy on *", (), "use on catalog *")}


BYPASSES = [
    # what stands in Ranger beside, and who is told to be able to do what, where
    ({"policyPriority": 1}, "bo", "select before every normal policy", ("sales", "orders")),
    ({"policyPriority": 1}, "bo", "select though it is denied here", ("sales", "orders")),
    ({"isDenyAllElse": True}, "everybody else", "is denied all", ("sales", "orders")),
    (
        {"policyItems": [{"delegateAdmin": True, "users": ["bo"]}]},
        "bo",
        "may give rights himself",
        ("sales", "orders"),
    ),
]


@pytest.mark.parametrize(("more", "holder", "what", "path"), BYPASSES)
def test_what_no_policy_of_ours_can_limit_is_told(site, more, holder, what, path):
    denial = Right("table", ("sales", "orders"), "DENY select")
    settle(site, wanted({"r": frozenset({denial})}, r={"bo"}))
    by_hand = {"validitySchedules": [{"startTime": LONG_AGO}]}
    site.policy("theirs", table("sales", "orders"), item("select", users=["bo"]), **{**by_hand, **more})
    found = [one for one in look(site).bypasses if one.holder == holder and what in one.what]
    assert [one.path for one in found] == [path]


def test_administrators_superusers_and_tags_are_told(site):
    configs = {"ranger.plugin.super.users": "etl, ops"}
    site.server.by_hand("set", service=site.service, configs=configs, tagService="tags")
    told = {(one.holder, one.what.split(":")[0]) for one in look(site).bypasses}
    assert told >= {
        ("operator", "is an administrator of Ranger"),
        ("etl", "is a superuser of the plugin"),
        ("ops", "is a superuser of the plugin"),
        ("tag service tags", "its policies are asked first, and are not read here"),
    }
    assert PUSHER not in {one.holder for one in look(site).bypasses}


def test_denials_that_are_switched_off_are_told(site):
    site.server.by_hand("option", type="hive", options={"enableDenyAndExceptionsInPolicies": "false"})
    denial = Right("table", ("sales", "orders"), "DENY select")
    settle(site, wanted({"r": frozenset({denial})}, r={"bo"}))
    wild = {**table("sales", "orders"), "database": {"values": ["s*"]}}
    site.policy("wild", wild, item("select", users=["bo"]))
    assert site.may("bo", "SELECT", "sales", "orders")
    what = "select though it is denied here, by policy wild"
    assert Bypass("bo", what, ("sales", "orders")) in look(site).bypasses
    assert any("switched off" in one.text for one in findings(site) if not one.ok)


# what Ranger refuses, and what it means


def test_a_user_that_went_is_no_reason_to_stop(site):
    plan = plan_of(site, wanted({"r": READ}, r={"ana", "bo"}))
    site.server.by_hand("forget", name="bo")
    with opened(site) as backend:
        failed = {one.step.person: type(one.error) for one in backend.apply(plan) if one.error}
    assert failed == {"bo": Gone}
    assert site.may("ana", "SELECT", "sales", "orders")


def test_a_role_that_others_use_stays_and_is_told_with_where(settled):
    role = settled.identity.role_name("r")
    settled.policy("theirs", table("stock", "items"), item("select", roles=[role]))
    [error] = errors(settled, Desired({}, {}))
    assert type(error) is Rejected
    assert "theirs" in str(error)
    assert not settled.may("ana", "SELECT", "sales", "orders")


PAGES = [1, 2, 3, 7]


@pytest.mark.parametrize("page", PAGES)
def test_lists_are_read_to_their_end_however_short_the_pages(settled, page):
    for number in range(6):
        settled.policy(f"p{number}", table("stock", f"t{number}"), item("select", users=["bo"]))
    settled.server.by_hand("page", size=page)
    seen = look(settled)
    assert (len(seen.foreign), len(seen.people), seen.complete) == (6, 4, True)
    assert seen.roles == {"r": READ}


def test_a_look_while_others_change_is_not_taken_for_whole(settled, monkeypatch):
    real = Session.policies

    def disturbed(session):
        found = real(session)
        made = settled.policy("new", table("stock", "items"), item("select", users=["bo"]))
        settled.server.call("DELETE", f"/service/public/v2/api/policy/{made['id']}")
        return found

    monkeypatch.setattr(Session, "policies", disturbed)
    assert not look(settled).complete


TROUBLES = [
    # how it answers, and what that means
    ("503", Transient, "503"),
    ("502", Transient, "502"),
    ("cut before", Transient, "does not answer"),
    ("403", Misconfigured, "403"),
    ("page", Misconfigured, "no JSON"),
]


@pytest.mark.parametrize(("how", "error", "words"), TROUBLES)
def test_trouble_is_told_apart_by_what_to_do_next(settled, how, error, words):
    settled.fail(how, times=9)
    with opened(settled) as backend, pytest.raises(error) as told:
        backend.observe()
    assert words in str(told.value)
    settled.close()
    assert_settled(settled, DESIRED)


URLS = [
    # the URL, and what is wrong with it
    ("ranger+http://lakewarden:wrong@{place}/{service}", "401"),
    ("ranger+http://{who}@{place}/nothing", "Ranger has no service nothing"),
    ("ranger+http://{who}@{place}/tags", "is of type trino, not hive"),
    ("ranger+http://{who}@{place}/{service}?catalog=x", "must have nothing behind a ?"),
    ("ranger+http://{place}/{service}", "names no account"),
    ("ranger+http://{who}@{place}/", "must look like"),
    ("http://{who}@{place}/{service}", "must look like"),
    ("ranger+http://{who}@{place}/{service}?beside=perhaps", "beside is yes or no"),
]


@pytest.mark.parametrize(("url", "words"), URLS)
def test_an_address_that_leads_nowhere_is_told_without_the_password(site, url, words):
    site.server.by_hand("service", name="tags", type="trino")
    who, place = f"{PUSHER}:{SECRET.replace('/', '%2F').replace('@', '%40')}", f"127.0.0.1:{site.server.port}"
    url = url.format(who=who, place=place, service=site.service)
    site.backend = lambda: ranger.open(url, realm="r", mark="m", type_=HIVE)
    with pytest.raises(Misconfigured, match=re.escape(words)) as told:
        look(site)
    assert SECRET not in str(told.value)


def test_a_server_that_is_away_is_tried_again():
    backend = ranger.open("ranger+http://u:p@127.0.0.1:1/s", realm="r", mark="m", type_=HIVE)
    with pytest.raises(Transient):
        backend.observe()


def test_an_account_that_sees_a_part_blocks_the_connection(site):
    with site.blinded():
        assert [one.text for one in findings(site) if one.blocks] == [
            f"{PUSHER} is no administrator of Ranger and sees only a part; nothing can be written"
        ]


# proof


def test_what_is_in_force_is_told_for_each_plugin(settled):
    assert "nothing enforces them" in next(one.text for one in findings(settled) if not one.ok)
    first, second = (Plugin(settled.server, settled.service, f"h{n}@hiveServer2").load() for n in (1, 2))
    settle(settled, wanted({"r": WRITE}, r={"ana"}))
    first.load()
    version = first.version
    told = [(one.ok, one.text) for one in findings(settled) if "on h" in one.text]
    assert told == [
        (True, "hiveServer2 on h1: in force"),
        (False, f"hiveServer2 on h2: not yet in force, it has version {second.version}"),
    ]
    assert look(settled).in_force == (
        f"hiveServer2 on h1: yes, hiveServer2 on h2: not yet, version {second.version} of {version}"
    )


FORMS = [
    # what the form says, and the URL that comes of it
    ("ranger-hive", {}, "ranger+https://us%2Fer:p%40ss@ranger.example.org:6182/cl1_hive"),
    ("ranger-hive", {"tls": "no"}, "ranger+http://us%2Fer:p%40ss@ranger.example.org:6182/cl1_hive"),
    (
        "ranger-trino",
        {"catalog": "la ke", "beside": "yes"},
        "ranger+https://us%2Fer:p%40ss@ranger.example.org:6182/cl1_hive?catalog=la+ke&beside=yes",
    ),
]


@pytest.mark.parametrize(("code", "more", "url"), FORMS)
def test_a_form_becomes_a_url(code, more, url):
    asked = {"host": "ranger.example.org", "port": "6182", "user": "us/er", "password": "p@ss"}
    assert kinds.get(code).address({**asked, "service": "cl1_hive", **more}) == url
    kinds.get(code).open(url, realm="r", mark="m").close()
