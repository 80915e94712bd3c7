"""Every call of the seed's table: whose privileges and ownership open it, at which level, after what."""

import tomllib
from pathlib import Path

import pytest

from lakewarden.law import engine
from lakewarden.law.explain import explain
from lakewarden.law.facts import Rule, Station

from .worlds import LAW, TREE, may, of_rules

_TABLE = tomllib.loads((Path(__file__).parent / "seed_calls.toml").read_text())
OBJECTS = {
    "metalake": "lake",
    "catalog": "shop",
    "schema": "shop.sales",
    "table": "shop.sales.orders",
    "topic": "shop.sales.clicks",
    "fileset": "shop.sales.scans",
    "model": "shop.sales.churn",
    "role": "clerk",
    "user": "bob",
    "group": "analysts",
}
SIBLINGS = {
    "catalog": "lab",
    "schema": "shop.hr",
    "table": "shop.sales.refunds",
    "topic": "shop.hr.clicks",
    "fileset": "shop.hr.scans",
    "model": "shop.hr.churn",
    "role": "auditor",
}
GROUP = (Station("group", "stewards"),)


def rows(kind, row, *, when=lambda call: True):
    for call in _TABLE[kind]:
        if row in call["rows"] and when(call):
            yield pytest.param(call, marks=pytest.mark.seed(call["rows"][row]), id=call["name"])


def by_privilege(kind):
    for call in _TABLE[kind]:
        for privilege in call.get("privileges", []):
            row = call["rows"].get(privilege, call["rows"]["whole"])
            yield pytest.param(
                call, privilege, marks=pytest.mark.seed(row), id=f"{call['name']} by {privilege}"
            )


def about(call):
    operation = LAW.operations[call["operation"]]
    return OBJECTS[call.get("of", operation.types[0])]


def before(call, *, without=""):
    return [Rule("lake", privilege) for privilege in call.get("before", []) if privilege != without]


def allowed(call, *rules, **settings):
    return may(of_rules([*before(call), *rules], **settings), call["operation"], about(call))


def levels(call, what):
    return [OBJECTS[type] for type in call.get(what, [])]


@pytest.mark.parametrize(
    "call", list(rows("call", "whole", when=lambda call: "owners" in call or "on" in call))
)
def test_each_alternative_opens_it_and_nothing_else_does(call):
    grants = [Rule(name, code) for name in levels(call, "on") for code in call["privileges"]]
    owners = [Rule(name, "OWNER") for name in levels(call, "owners")]
    assert all(allowed(call, rule) for rule in grants + owners)
    assert not allowed(call), "what comes before is not enough"
    assert not allowed(call, *grants, *owners, member=False)


@pytest.mark.parametrize(("call", "privilege"), list(by_privilege("call")))
def test_a_privilege_counts_at_each_level_and_a_denial_at_any_level_ends_it(call, privilege):
    for given in levels(call, "on"):
        assert allowed(call, Rule(given, privilege)), given
        for denied in levels(call, "on"):
            decision = allowed(call, Rule(given, privilege), Rule(denied, privilege, allow=False))
            assert not decision and decision.reason == "denied", (given, denied)


@pytest.mark.parametrize(("call", "privilege"), list(by_privilege("call")))
def test_no_other_privilege_helps(call, privilege):
    helping = {LAW.privilege(code).code for code in (*call["privileges"], *call.get("before", []))}
    # as in release 1.3, holders of Manage grants see roles
    others = [Rule(name, code) for code in LAW.privileges if code not in helping for name in OBJECTS.values()]
    assert not allowed(call, *others)
    assert allowed(call, *others, Rule(levels(call, "on")[0], privilege))


SEEN_BY_MANAGE_GRANTS = ("Role.getRole",)
"""As in release 1.3, holders of Manage grants see roles."""


@pytest.mark.parametrize(
    "call", list(rows("call", "whole", when=lambda call: "privileges" not in call and "owners" in call))
)
def test_no_privilege_opens_what_only_owners_may(call):
    helping = {"MANAGE_GRANTS"} if call["operation"] in SEEN_BY_MANAGE_GRANTS else set()
    for code in LAW.privileges.keys() - helping:
        assert not allowed(call, *(Rule(name, code) for name in OBJECTS.values())), code
    assert all(allowed(call, Rule("lake", code)) for code in helping)


@pytest.mark.seed("S4-225")
def test_only_site_admins_make_metalakes():
    everything = [Rule(name, code) for code in (*LAW.privileges, "OWNER") for name in OBJECTS.values()]
    assert not may(of_rules(everything), "Metalake.createMetalake", "lake")
    assert may(of_rules([], service_admin=True, member=False), "Metalake.createMetalake", "lake")


@pytest.mark.seed("S4-226")
def test_whoever_belongs_to_a_metalake_opens_it():
    assert may(of_rules([]), "Metalake.loadMetalake", "lake")
    assert not may(of_rules([], member=False), "Metalake.loadMetalake", "lake")


@pytest.mark.parametrize("call", list(rows("call", "owner")))
def test_the_owner_of_each_level_may_in_person_or_through_a_group(call):
    for name in levels(call, "owners"):
        assert allowed(call, Rule(name, "OWNER"))
        assert allowed(call, Rule(name, "OWNER", via=GROUP))
    for type in call["owners"]:
        assert type == "metalake" or not allowed(call, Rule(SIBLINGS[type], "OWNER")), type


OWNERS_NEED = {"metalake": (), "catalog": (), "schema": ("USE_CATALOG",)}
"""What the owner of a level must hold above it; owners in a schema need both."""


def misses(call, lost, rules):
    """That without `lost` the call is refused, and `lost` alone is named as missing."""
    why = explain(
        of_rules([*before(call, without=lost), *rules]), call["operation"], TREE[about(call)], now=0
    )
    return not why.decision and [lack.privilege for lack in why.missing] == [lost]


@pytest.mark.parametrize("call", list(rows("call", "precondition")))
def test_what_comes_first_is_missed_and_named(call):
    own = [Rule(name, code) for name in levels(call, "on") for code in call.get("privileges", [])]
    if own:
        assert allowed(call, *own) and all(misses(call, lost, own) for lost in call["before"])
    for type in call["owners"]:
        needed = OWNERS_NEED.get(type, ("USE_CATALOG", "USE_SCHEMA"))
        assert all(misses(call, lost, [Rule(OBJECTS[type], "OWNER")]) for lost in needed), type


@pytest.mark.parametrize("call", list(rows("call", "MANAGE_GRANTS", when=lambda call: "owners" not in call)))
def test_the_owner_of_the_metalake_may_give_and_take_roles(call):
    assert allowed(call, Rule("lake", "OWNER"))


@pytest.mark.parametrize("call", list(rows("call", "self")))
def test_one_sees_oneself(call):
    name = about(call)
    other = {"bob": "alice", "analysts": "stewards", "clerk": "auditor"}[name]
    assert may(of_rules([], selves=[name]), call["operation"], name)
    assert not may(of_rules([], selves=[other]), call["operation"], name)


def container(listed):
    gates = LAW.listings[listed["children"]].gates
    return TREE[OBJECTS[next(iter(gates))]]


def shown(listed, *rules, **settings):
    slice = of_rules([*before(listed), *rules], **settings)
    return engine.visible(slice, container(listed), listed["children"], now=0)


@pytest.mark.parametrize("listed", list(rows("list", "owner")))
def test_a_list_shows_all_to_the_owner_of_each_level(listed):
    for name in levels(listed, "owners"):
        seen = shown(listed, Rule(name, "OWNER"))
        assert seen.gate and seen.default and not seen.exceptions
    for type in listed["owners"]:
        assert type == "metalake" or not shown(listed, Rule(SIBLINGS[type], "OWNER")).default


ONE_OF_MANY = {
    # what is listed: who or what alone makes one of them visible, that one, and one that stays hidden
    "catalog": ("USE_CATALOG", "shop", "lab"),
    "schema": ("USE_SCHEMA", "shop.hr", "shop.sales"),
    "table": ("SELECT_TABLE", "shop.sales.refunds", "shop.sales.orders"),
    "topic": ("CONSUME_TOPIC", "shop.sales.clicks", "another topic"),
    "fileset": ("READ_FILESET", "shop.sales.scans", "another fileset"),
    "model": ("USE_MODEL", "shop.sales.churn", "another model"),
    "user": ("", "alice", "bob"),
    "group": ("", "analysts", "stewards"),
    "role": ("", "clerk", "auditor"),
}


@pytest.mark.parametrize("listed", list(rows("list", "whole")))
def test_a_list_shows_others_what_they_can_load_and_is_never_an_error(listed):
    privilege, first, another = ONE_OF_MANY[listed["children"]]
    nothing = shown(listed)
    assert nothing.gate and not nothing.default and not nothing.exceptions
    seen = shown(listed, Rule(first, privilege)) if privilege else shown(listed, selves=[first])
    assert seen.shows(first) and not seen.shows(another)
    assert not shown(listed, Rule("lake", "OWNER"), member=False).gate


LOADING = {
    "model": "Model.getModel",
    "user": "User.getUser",
    "group": "Group.getGroup",
    "role": "Role.getRole",
}


@pytest.mark.parametrize("listed", list(rows("list", "whole")))
def test_a_list_shows_what_can_be_loaded_and_nothing_else(listed):
    type = listed["children"]
    child, load = OBJECTS[type], LOADING.get(type, f"{type.title()}.load{type.title()}")
    for level in TREE[child]:
        for code in (*LAW.privileges, "OWNER"):
            rule = Rule(level.key, code)
            loads = may(of_rules([*before(listed), rule]), load, child)
            assert shown(listed, rule).shows(child) == bool(loads), (level.key, code)


@pytest.mark.parametrize(("listed", "privilege"), list(by_privilege("list")))
def test_a_list_shows_all_to_the_holder_of_its_privilege(listed, privilege):
    seen = shown(listed, Rule("lake", privilege))
    assert seen.gate and seen.default and not seen.exceptions
    assert not shown(listed, Rule("lake", privilege), Rule("lake", privilege, allow=False)).default


@pytest.mark.parametrize("listed", list(rows("list", "precondition")))
def test_a_list_stays_closed_without_what_comes_first(listed):
    own = Rule(OBJECTS[listed["children"]], "OWNER")
    assert shown(listed, own).gate
    for lost in listed["before"]:
        slice = of_rules([own, *before(listed, without=lost)])
        gate = LAW.listings[listed["children"]].gates[container(listed)[-1].type]
        why = explain(slice, gate, container(listed), now=0)
        assert not engine.visible(slice, container(listed), listed["children"], now=0).gate
        assert [lack.privilege for lack in why.missing] == [lost]
