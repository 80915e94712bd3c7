"""Ranger's policies as the privileges of a CDAP realm: what is understood, what is refused, a whole realm."""

from __future__ import annotations

import random
from fnmatch import fnmatchcase
from typing import Any

import pytest

from lakewarden.authorizers import BadConfiguration, Configured, make
from lakewarden.law.globs import like
from lakewarden.ranger_policies import Asker, NotUnderstood, privileges, roles_of
from policies.decisions import ask
from policies.sync.backends.ranger.types import CDAP
from tests.backends.conftest import ranger_server  # noqa: F401  a fixture
from tests.backends.ranger_world import PUSHER, SECRET, RangerSite, item
from tests.cdap_law.world import a_cdap, text, user
from tests.standins.ranger import matching

ANA = Asker("ana", frozenset({"staff"}), frozenset({"keepers"}))
ALL_ACCESSES = ("read", "write", "execute", "admin")


def on(**levels: str) -> dict[str, Any]:
    """Resources of instance `c`; `application="!*"` is a level of which all is left out."""
    values = {"instance": "c", **levels}
    return {
        name: {"values": value.removeprefix("!").split(","), "isExcludes": value.startswith("!")}
        for name, value in values.items()
    }


def policy(resources: dict[str, Any], *items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"resources": resources, "policyItems": list(items), **more}


def had(*policies: dict[str, Any], asker: Asker = ANA) -> set[tuple[str, str]]:
    return set(privileges(policies, asker, "c"))


ORDERS = on(namespace="ns1", dataset="orders")
READS = item("read", users=["ana"])


@pytest.mark.seed("S1-161")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (policy(ORDERS, READS), {"dataset:ns1.orders"}),
        (policy(ORDERS, item("read", groups=["staff"])), {"dataset:ns1.orders"}),
        (policy(ORDERS, item("read", groups=["public"])), {"dataset:ns1.orders"}),
        (policy(ORDERS, item("read", roles=["keepers"])), {"dataset:ns1.orders"}),
        (policy(ORDERS, item("read", users=["bob"], groups=["x"], roles=["y"])), set()),
        (policy(on(namespace="ns1", secure_key="k,m*"), READS), {"securekey:ns1.k", "securekey:ns1.m*"}),
        (policy(on(namespace="ns1", dataset="?*"), READS), {"dataset:ns1.*"}),
        (policy(on(namespace="ns1", dataset="*"), READS), {"dataset:ns1.*", "namespace:ns1"}),
        (policy(on(principal="etl"), READS), {"kerberosprincipal:etl"}),
        (policy({**ORDERS, "instance": {"values": ["other"]}}, READS), set()),
        (policy(ORDERS, READS, isEnabled=False), set()),
        (policy(ORDERS, READS, allowExceptions=[item("read", groups=["staff"])]), set()),
        (policy(ORDERS, READS, denyPolicyItems=[item("read", groups=["staff"])]), set()),
        (
            policy(ORDERS, READS, denyPolicyItems=[READS], denyExceptions=[item("read", roles=["keepers"])]),
            {"dataset:ns1.orders"},
        ),
        (policy(ORDERS, item("write", users=["bob"]), isDenyAllElse=True), set()),
    ],
)
def test_a_policy_says_what_somebody_has(given: dict[str, Any], expected: set[str]) -> None:
    assert had(given) == {(target, "READ") for target in expected}


@pytest.mark.seed("S1-162")
def test_all_of_a_lower_level_left_out_means_the_level_above_alone() -> None:
    given = policy(on(namespace="default", application="!*", program="!*"), READS)
    assert had(given) == {("namespace:default", "READ")}
    given = policy(on(namespace="default", application="app", program="!*"), READS)
    assert had(given) == {("application:default.app", "READ")}


@pytest.mark.seed("S1-161")
@pytest.mark.parametrize(
    "strange",
    [
        policy(ORDERS, item("read", users=["ana"], conditions=[{"type": "ip"}])),
        policy(ORDERS, READS, conditions=[{"type": "expression"}]),
        policy(ORDERS, READS, zoneName="finance"),
        policy(ORDERS, READS, additionalResources=[ORDERS]),
        policy(ORDERS, READS, validitySchedules=[{"recurrences": [{}]}]),
        policy(ORDERS, READS, validitySchedules=[{"startTime": "tomorrow"}]),
        policy(ORDERS, READS, validitySchedules=[{"endTime": "2020/01/01 00:00:00"}]),
        policy(ORDERS, item("all", users=["ana"])),
        policy(ORDERS, {**READS, "accesses": [{"type": "read", "isAllowed": False}]}),
        policy(on(namespace="ns1.orders", dataset="x"), READS),
        policy(ORDERS, item("read", users=["{USER}"])),
        policy(on(namespace="ns1", dataset="!secret"), READS),
        policy(on(namespace="{USER}", dataset="x"), READS),
        policy({**ORDERS, "column": {"values": ["*"]}}, READS),
        policy({"namespace": {"values": ["ns1"]}}, READS),
        policy(ORDERS, READS, policyType=2),
    ],
)
def test_what_is_not_understood_allows_nothing(strange: dict[str, Any]) -> None:
    assert had(strange) == set()


@pytest.mark.parametrize(
    "strange",
    [
        policy(ORDERS, denyPolicyItems=[item("read", users=["ana"], conditions=[{"type": "ip"}])]),
        policy(ORDERS, denyPolicyItems=[READS], conditions=[{"type": "expression"}]),
        policy(ORDERS, denyPolicyItems=[READS], zoneName="finance"),
        policy(ORDERS, denyPolicyItems=[READS], validitySchedules=[{"recurrences": [{}]}]),
        policy(ORDERS, denyPolicyItems=[item("fly", users=["ana"])]),
        policy(ORDERS, denyPolicyItems=[item("read", users=["{OWNER}"])]),
        policy(on(namespace="ns1", dataset="!other"), denyPolicyItems=[READS]),
        policy(ORDERS, denyPolicyItems=[READS], denyExceptions=[{**READS, "conditions": [{"type": "ip"}]}]),
        policy(on(namespace="n*", dataset="*s"), denyPolicyItems=[READS]),
    ],
)
def test_a_denial_that_is_not_understood_holds(strange: dict[str, Any]) -> None:
    assert had(policy(ORDERS, READS), strange) == set()


BANANA = {"accesses": [{"type": "read"}], "users": "banana"}


@pytest.mark.parametrize(
    "malformed",
    [
        policy(ORDERS, BANANA),
        policy(ORDERS, {**BANANA, "users": [], "groups": "staff"}),
        policy(ORDERS, {**READS, "accesses": [{"type": "read", "isAllowed": "false"}]}),
        policy(ORDERS, {**READS, "accesses": "read"}),
        policy(ORDERS, READS, isEnabled="false"),
        policy(ORDERS, READS, policyPriority="9"),
        policy(ORDERS, READS, policyPriority=1.5),
        policy(ORDERS, READS, denyPolicyItems={"users": ["ana"]}),
        policy(ORDERS, READS, validitySchedules=[3]),
        policy({**ORDERS, "dataset": {"values": "orders"}}, READS),
        policy({**ORDERS, "dataset": {"values": ["orders"], "isExcludes": "false"}}, READS),
        policy({**ORDERS, "dataset": None}, READS),
        policy(["instance"], READS),  # type: ignore[arg-type]
        "a policy",
        None,
    ],
)
def test_nothing_is_read_from_what_ranger_does_not_write(malformed: Any) -> None:
    with pytest.raises(NotUnderstood):
        had(policy(ORDERS, READS), malformed)


def test_null_is_as_if_left_out() -> None:
    denial = policy(ORDERS, denyPolicyItems=[READS], isEnabled=None, policyType=None, validitySchedules=None)
    assert had(policy(ORDERS, READS), denial) == set()
    plain = {**READS, "accesses": [{"type": "read", "isAllowed": None}], "groups": None}
    assert had(policy(ORDERS, plain, policyPriority=None)) == {("dataset:ns1.orders", "READ")}


def test_an_overriding_permission_stands_above_a_denial() -> None:
    denial = policy(ORDERS, denyPolicyItems=[READS])
    assert had(policy(ORDERS, READS, policyPriority=1), denial) == {("dataset:ns1.orders", "READ")}
    assert had(policy(ORDERS, READS, policyPriority=1), {**denial, "policyPriority": 1}) == set()


def test_roles_are_found_through_groups_and_roles() -> None:
    rows = [
        {"name": "a", "groups": [{"name": "staff"}]},
        {"name": "b", "roles": [{"name": "a"}]},
        {"name": "c", "users": [{"name": "bob"}]},
    ]
    assert roles_of("ana", ["staff"], rows) == {"a", "b"}


def drawn(chance: random.Random) -> dict[str, Any]:
    def some(*lists: str) -> dict[str, Any]:
        items: dict[str, Any] = {name: [] for name in lists}
        for name in lists:
            while chance.random() < 0.4:
                who = chance.choice([{"users": ["ana"]}, {"groups": ["staff"]}, {"users": ["bob"]}])
                items[name].append(item(chance.choice(ALL_ACCESSES), **who))
        return items

    names = {level: chance.choice(["a", "b", "a*", "?", "?*", "*"]) for level in ("namespace", "dataset")}
    lists = some("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions")
    return {"resources": on(**names), "policyPriority": chance.choice([0, 0, 1]), **lists}


@pytest.mark.seed("S1-161")
def test_nothing_is_allowed_that_a_plugin_of_ranger_refuses() -> None:
    chance, answers = random.Random(1), set()
    for _ in range(400):
        policies = [drawn(chance) for _ in range(chance.randint(1, 4))]
        plugin = matching.Policies("cdap", policies)
        asker = matching.Asker("ana", frozenset({"staff"}), frozenset())
        mine = had(*policies, asker=Asker("ana", frozenset({"staff"}), frozenset()))
        exact = not any(given["denyPolicyItems"] for given in policies)
        for namespace, dataset in ((a, b) for a in ("a", "b", "ab") for b in ("a", "b", "ab")):
            resource = {"instance": "c", "namespace": namespace, "dataset": dataset}
            for access in ALL_ACCESSES:
                theirs = plugin.allows(asker, access, resource)
                ours = any(
                    code == access.upper() and _is_like(target, f"dataset:{namespace}.{dataset}")
                    for target, code in mine
                )
                assert theirs or not ours, (policies, resource, access)
                assert ours or not theirs or not exact, (policies, resource, access)
                answers.add((ours, theirs))
    assert {(True, True), (False, False)} <= answers


def _is_like(target: str, name: str) -> bool:
    assert like(target, name) == fnmatchcase(name, target)
    return like(target, name)


@pytest.mark.parametrize(
    "config",
    [{}, {"url": "ftp://x", "service": "s", "instance": "c"}, {"url": "http://x", "fly": 1}, {"timeout": []}],
)
def test_a_wrong_configuration_is_said(config: dict[str, Any]) -> None:
    with pytest.raises(BadConfiguration):
        make("ranger", config)


@pytest.mark.django_db
@pytest.mark.seed("S1-161", "S1-023", "S2-009")
def test_a_realm_follows_what_is_managed_in_ranger(ranger_server: Any, settings: Any) -> None:  # noqa: F811
    site = RangerSite(ranger_server, CDAP, fixed="cdap")
    url = f"http://127.0.0.1:{ranger_server.port}"
    config = {"url": url, "user": PUSHER, "password": SECRET, "service": site.service, "instance": "cdap"}
    settings.LAKEWARDEN_AUTHORIZERS = {"cdap": Configured("ranger", config, refresh=0.0)}
    root = a_cdap("cdap")

    def may(action: str) -> bool:
        return bool(ask.ask_entity(user("ana"), action, root, text("dataset:ns1.orders")))

    assert not may("READ")
    resources = {**ORDERS, "instance": {"values": ["cdap"]}}
    site.person("ana")
    made = site.policy("orders", resources, item("read", users=["ana"]))
    assert may("READ") and may("dataset.get") and not may("WRITE")
    site.server.put_policy({**made, "denyPolicyItems": [item("read", users=["ana"])]})
    assert not may("READ")
    site.close()
