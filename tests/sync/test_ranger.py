"""A service of Ranger behind a catalog: connected, kept true, foreign policies decided about."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts import people
from catalog.models import Securable
from catalog.nodes import Node, node
from lakewarden.backends.base import Desired, Observation, Right
from lakewarden.backends.kinds import get
from lakewarden.backends.testing.kit import look
from lakewarden.law import engine
from policies.decisions import slices
from policies.models import Backend, BackendFinding, ForeignOrder, OutboxEntry
from policies.services import grants
from policies.services.grants import GrantRequest
from policies.sync import change_detection, worker
from policies.sync.actions import foreign_rights
from policies.sync.backends.ranger.types import HIVE, TRINO
from policies.sync.backends.ranger.wanted import CARRIED, wanted
from policies.sync.connections.opening import open_backend
from policies.sync.desired import Decided
from policies.sync.safeguards import loss_limit
from tests.backends.conftest import ranger_server  # noqa: F401 -- a fixture
from tests.backends.ranger_world import RangerSite, item, table
from tests.factories import a_role, a_shop, acting, admit, owned, the, under
from tests.policies.test_agreement import NAMES, a_random_world
from tests.standins.ranger.process import Plugin, Process


@pytest.fixture
def site(ranger_server: Process) -> Iterator[RangerSite]:  # noqa: F811
    there = RangerSite(ranger_server)
    for name in ("ana", "mia", "carl", "legacy", "olivia", *NAMES):
        there.person(name)
    yield there
    there.close()


@pytest.fixture
def governed(db: None, site: RangerSite) -> Backend:
    """Olivia owns sales; everybody finds the catalog, analysts read sales, Carl must not."""
    root = a_shop()
    admit(root, "ana", "mia", "carl", "olivia", "legacy")
    call_command("connect", "demo/shop", "ranger-hive", "--url", site.url, stdout=StringIO())
    owned(the("schema", "shop.sales"), "olivia")
    a_role(
        root,
        "browse",
        "allow USE_CATALOG on catalog shop",
        held_by=("ana", "mia", "carl", "legacy", "olivia"),
    )
    a_role(
        root,
        "sales_read",
        "allow USE_SCHEMA on schema shop.sales",
        "allow SELECT_TABLE on schema shop.sales",
        held_by=("mia", "carl"),
    )
    a_role(root, "not_carl", "deny SELECT_TABLE on table shop.sales.refunds", held_by=("carl",))
    return Backend.objects.get()


def deliver(row: Backend) -> None:
    report = worker.now(row)
    assert (report.error, report.missing, report.extra) == ("", 0, 0)
    assert report.settled


def reads(site: RangerSite, *names: str) -> dict[str, set[str]]:
    """What each of these reads of three tables, as a plugin that has just loaded says."""
    plugin = Plugin(site.server, site.service).load()
    return {
        name: {
            table
            for table in ("orders", "customers", "refunds")
            if plugin.allows(name, "select", {"database": "sales", "table": table, "column": "id"})
        }
        for name in names
    }


def grant(name: str, *privileges: str, **more: object) -> None:
    who = (people.ensure("user", name),)
    wish = GrantRequest(the("table", "shop.sales.orders"), who, privileges or ("SELECT_TABLE",), **more)  # type: ignore[arg-type]
    grants.add(wish, by=acting("olivia"))


def test_what_was_decided_is_true_in_ranger(governed: Backend, site: RangerSite) -> None:
    deliver(governed)
    every = {"orders", "customers", "refunds"}
    assert reads(site, "ana", "mia", "carl", "olivia") == {
        "ana": set(),
        "mia": every,
        "carl": every - {"refunds"},
        "olivia": every,
    }


def test_a_grant_comes_and_a_revoke_goes(governed: Backend, site: RangerSite) -> None:
    grant("ana")
    deliver(governed)
    assert reads(site, "ana") == {"ana": {"orders"}}
    grants.remove(
        the("table", "shop.sales.orders"),
        [people.ensure("user", "ana")],
        ["SELECT_TABLE"],
        by=acting("olivia"),
    )
    deliver(governed)
    assert reads(site, "ana") == {"ana": set()}


def test_a_denial_also_holds_against_what_others_gave(governed: Backend, site: RangerSite) -> None:
    by_hand = {**table("sales", "refunds"), "database": {"values": ["sal*"]}}
    site.policy("all of sales", by_hand, item("select", users=["carl", "mia"]))
    deliver(governed)
    assert "refunds" not in reads(site, "carl")["carl"]
    assert "refunds" in reads(site, "mia")["mia"]


def test_a_grant_ends_by_itself(governed: Backend, site: RangerSite) -> None:
    soon = timezone.now() + timedelta(hours=1)
    grant("ana", valid_until=soon)
    deliver(governed)
    assert OutboxEntry.objects.filter(backend=governed, due__gte=soon).exists()
    node_ = node(governed.catalog_id)
    assert isinstance(node_, Node)
    there = open_backend(governed, node_)
    decided = Decided(get("ranger-hive"), node_, soon + timedelta(seconds=1))
    later, _ = wanted(there, decided, there.observe())
    there.close()
    assert not [key for key, who in later.members.items() if "ana" in who and later.roles[key]]
    assert all(not policy["validitySchedules"] for policy in site.policies().values())


@pytest.fixture
def found(governed: Backend, site: RangerSite) -> BackendFinding:
    """Somebody gave an old program a table by hand, and the next look saw it."""
    deliver(governed)
    site.policy("stock", table("stock", "items"), item("select", users=["legacy"]), policyLabels=["by hand"])
    worker.look(governed)
    return BackendFinding.objects.get(backend=governed, kind="foreign", grantor="policy stock")


def test_a_policy_made_by_hand_appears_with_its_object_and_holder(found: BackendFinding) -> None:
    assert (found.place, found.holder, found.what) == ("stock.items", "legacy", "select")
    assert found.securable_id == the("table", "shop.stock.items").id
    assert found.people == ["legacy"]


def test_it_is_revoked_and_its_labels_stay(
    found: BackendFinding, governed: Backend, site: RangerSite
) -> None:
    foreign_rights.revoke(found.pk, by=acting("marek"))
    deliver(governed)
    left = site.policies()["stock"]
    assert (left["policyItems"], left["policyLabels"]) == ([], ["by hand"])
    assert ForeignOrder.objects.get().done


def test_it_is_not_adopted_while_it_stands_on_the_object_alone(
    found: BackendFinding, governed: Backend, site: RangerSite
) -> None:
    """Ranger keeps one policy for each resource; what stands in the way is named, and nothing is lost."""
    foreign_rights.adopt(found.pk, by=acting("marek"))
    report = worker.deliver(governed)
    assert report is not None
    assert "policy-name=[stock]" in report.error
    assert report.error_kind == "rejected"
    assert site.policies()["stock"]["policyItems"][0]["users"] == ["legacy"]
    plugin = Plugin(site.server, site.service).load()
    assert plugin.allows("legacy", "select", {"database": "stock", "table": "items", "column": "id"})


def test_it_is_adopted_where_ours_may_stand_beside_it(
    found: BackendFinding, governed: Backend, site: RangerSite
) -> None:
    url = f"{site.url}?beside=yes"
    call_command("connect", "demo/shop", "ranger-hive", "--url", url, stdout=StringIO())
    foreign_rights.adopt(found.pk, by=acting("marek"))
    deliver(Backend.objects.get())
    assert site.policies()["stock"]["policyItems"] == []
    assert not BackendFinding.objects.filter(kind="foreign", grantor="policy stock").exists()
    plugin = Plugin(site.server, site.service).load()
    assert plugin.allows("legacy", "select", {"database": "stock", "table": "items", "column": "id"})


def test_what_is_given_on_several_objects_at_once_is_refused_in_words(
    governed: Backend, site: RangerSite
) -> None:
    both = {**table("sales", "orders"), "table": {"values": ["orders", "customers"]}}
    site.policy("both", both, item("select", users=["legacy"]))
    worker.look(governed)
    finding = BackendFinding.objects.get(kind="foreign", place="sales.orders")
    foreign_rights.revoke(finding.pk, by=acting("olivia"))
    worker.deliver(governed)
    assert "gives this on 2 objects" in ForeignOrder.objects.get().error
    assert reads(site, "legacy") == {"legacy": {"orders", "customers"}}


def test_it_is_told_where_it_is_in_force(governed: Backend, site: RangerSite) -> None:
    deliver(governed)
    governed.refresh_from_db()
    assert governed.counts["in_force"] == "nowhere, no plugin has asked yet"
    before = change_detection.digest(look(site))
    Plugin(site.server, site.service).load()
    assert change_detection.digest(look(site)) != before
    worker.look(governed)
    governed.refresh_from_db()
    assert governed.counts["in_force"] == "hiveServer2 on host1: yes"


LOSSES = [
    # what somebody has by a role of ours, what they will have, and whether that takes something from them
    ({"select"}, {"select", "DENY select"}, True),
    ({"select", "DENY select"}, {"select"}, False),
    ({"select", "DENY drop"}, {"select"}, False),
    ({"select"}, {"select", "DENY drop"}, False),
    ({"select", "update"}, {"select"}, True),
]


@pytest.mark.parametrize(("before", "after", "loses"), LOSSES)
def test_a_denial_counts_as_what_it_takes(before: set[str], after: set[str], loses: bool) -> None:
    had, has = (
        frozenset(Right("table", ("sales", "orders"), word) for word in words) for words in (before, after)
    )
    who = {"r": frozenset({"ana"})}
    seen = Observation(True, "", (), frozenset({"ana"}), {"r": had}, who)
    assert loss_limit.losing(Desired({"r": has}, who), seen) == (int(loses), 1)


def test_what_ranger_does_not_know_has_not_vanished(governed: Backend) -> None:
    orders = the("table", "shop.sales.orders")
    Securable.objects.filter(pk=orders.id).update(external_id="4711")
    call_command("discover", "demo/shop", "--close-vanished", stdout=StringIO())
    assert node(orders.id) is not None


# the law and what a plugin says

PLACES = {
    ("catalog", "shop"): (),
    ("schema", "shop.sales"): ("sales",),
    ("schema", "shop.stock"): ("stock",),
    ("table", "shop.sales.orders"): ("sales", "orders"),
    ("table", "shop.sales.customers"): ("sales", "customers"),
    ("table", "shop.stock.items"): ("stock", "items"),
    ("view", "shop.sales.top"): ("sales", "top"),
}
KINDS = {"ranger-hive": (HIVE, ""), "ranger-trino": (TRINO, "lake")}


def differing(row: Backend, site: RangerSite) -> list[str]:
    """Every question that plugins ask of Ranger to which the law's answer is another."""
    catalog, now = node(row.catalog_id), timezone.now()
    assert isinstance(catalog, Node)
    plugin, root = Plugin(site.server, site.service).load(), the("metalake")
    differences = []
    for name in NAMES:
        slice_ = slices.current(people.ensure("user", name), root, now=now)
        for (type_, full), path in PLACES.items():
            place = the(type_, full)
            for operation, privilege in CARRIED[type_]:
                kind = "table" if type_ == "view" else type_
                words = site.type.rights.get((privilege, kind), ())
                law = engine.decide(slice_, operation, place.levels, now=now.timestamp())
                allowed = all(_says(plugin, site, name, Right(kind, path, word)) for word in words)
                if words and bool(law) != allowed:
                    differences.append(f"{name} {operation} on {full}: {law.reason}, {allowed}")
    return differences


def _says(plugin: Plugin, site: RangerSite, name: str, right: Right) -> bool:
    shape, _, access = site.type.shape_of(right)
    values = shape.resources(right.path, site.fixed)
    # a plugin asks about one new table, and about one column of those that are there
    asked = {level: "any" if value == "*" else value for level, value in values.items()}
    return plugin.allows(name, access, asked)


def agrees(server: Process, code: str, seed: int) -> None:
    type_, fixed = KINDS[code]
    site = RangerSite(server, type_, fixed=fixed)
    for name in NAMES:
        site.person(name)
    chance = random.Random(seed)
    root = a_random_world(chance)
    a_role(
        root,
        "way",
        "allow USE_CATALOG on catalog shop",
        "allow USE_SCHEMA on catalog shop",
        held_by=tuple(name for name in NAMES if chance.random() < 0.7),
    )
    arguments = ("connect", "demo/shop", code, "--url", site.url, "--registered", "keep")
    call_command(*arguments, stdout=StringIO())
    row = Backend.objects.get()
    deliver(row)
    assert differing(row, site) == []
    site.close()


@pytest.mark.parametrize("seed", range(4))
def test_a_plugin_answers_as_the_law_does(ranger_server: Process, db: None, seed: int) -> None:  # noqa: F811
    agrees(ranger_server, sorted(KINDS)[seed % 2], seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 64))
def test_in_many_worlds_too(ranger_server: Process, db: None, seed: int) -> None:  # noqa: F811
    agrees(ranger_server, sorted(KINDS)[seed % 2], seed)


ONE_ROLE = [
    # what Carl's two roles say, what Carl reads then, and whether by the console's roles or resolved rights
    (("allow SELECT_TABLE on schema shop.sales",), (), {"orders", "customers", "refunds"}, "role:"),
    (
        ("allow SELECT_TABLE on schema shop.sales", "deny SELECT_TABLE on table shop.sales.refunds"),
        (),
        {"orders", "customers"},
        "role:",
    ),
    (
        ("allow SELECT_TABLE on schema shop.sales",),
        ("deny SELECT_TABLE on table shop.sales.refunds",),
        {"orders", "customers"},
        "rights:",
    ),
    (
        ("allow SELECT_TABLE on schema shop.sales",),
        ("deny USE_SCHEMA on schema shop.sales",),
        set(),
        "rights:",
    ),
    (
        ("deny SELECT_TABLE on schema shop.sales",),
        ("deny SELECT_TABLE on table shop.sales.orders",),
        set(),
        "role:",
    ),
    (
        ("allow MODIFY_TABLE on schema shop.sales", "deny SELECT_TABLE on table shop.sales.orders"),
        (),
        {"orders", "customers", "refunds"},
        "rights:",
    ),
]


@pytest.mark.parametrize(("first", "second", "read", "by"), ONE_ROLE)
def test_roles_are_mirrored_where_that_gives_the_laws_answer(
    db: None,
    site: RangerSite,
    first: tuple[str, ...],
    second: tuple[str, ...],
    read: set[str],
    by: str,
) -> None:
    root = a_shop()
    admit(root, "carl")
    call_command("connect", "demo/shop", "ranger-hive", "--url", site.url, stdout=StringIO())
    way = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")
    if any("deny USE_SCHEMA" in rule for rule in second):
        way = way[:1]
        first = (*first, "allow USE_SCHEMA on catalog shop")
    a_role(root, "first", *way, *first, held_by=("carl",))
    a_role(root, "second", *second, held_by=("carl",))
    row = Backend.objects.get()
    deliver(row)
    assert reads(site, "carl") == {"carl": read}
    there = site.server.roles()
    keys = {
        role["options"]["lakewarden"]
        for role in there
        if any(user["name"] == "carl" for user in role["users"])
    }
    assert {key.split(":")[0] + ":" for key in keys} == {by}


def test_names_that_differ_in_case_alone_get_nothing_and_are_named(db: None, site: RangerSite) -> None:
    root = a_shop()
    under(the("schema", "shop.sales"), "table", "ORDERS")
    admit(root, "carl")
    call_command("connect", "demo/shop", "ranger-hive", "--url", site.url, stdout=StringIO())
    row = Backend.objects.get()
    way = ("allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales")
    a_role(root, "r", *way, "allow SELECT_TABLE on schema shop.sales", held_by=("carl",))
    report = worker.deliver(row)
    assert report is not None
    findings = BackendFinding.objects.filter(kind="unknown").values_list("what", flat=True)
    assert {text.split(" is not written")[0] for text in findings} == {"sales.orders", "sales.ORDERS"}
    assert reads(site, "carl") == {"carl": {"customers", "refunds"}}
