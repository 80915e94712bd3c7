"""A CDAP whose extension asks Ranger: privileges on texts, written for each person."""

from __future__ import annotations

import random
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from catalog.nodes import Node
from lakewarden.law import engine
from lakewarden.law.dialects.cdap.authorizable import parse
from lakewarden.law.facts import Level, Lineage
from policies.decisions import slices
from policies.models import Backend
from policies.sync import worker
from policies.sync.backends.ranger.types import CDAP
from policies.sync.backends.ranger.wanted_cdap import as_path
from tests.backends.conftest import ranger_server  # noqa: F401 -- a fixture
from tests.backends.ranger_world import RangerSite, item
from tests.cdap.world import a_cdap, a_role, give
from tests.factories import a_person
from tests.standins.ranger.process import Plugin, Process

NAMES = ("ana", "bo", "cy")
ENTITIES = (
    *("namespace:sales", "namespace:stock", "dataset:sales.orders", "dataset:sales.refunds"),
    *(
        "dataset:stock.items",
        "application:sales.daily",
        "program:sales.daily.spark.Sum",
        "artifact:sales.core",
    ),
    *(
        "program:sales.daily.workflow.Run",
        "securekey:sales.key",
        "stream:stock.clicks",
        "kerberosprincipal:etl",
    ),
)
PATTERNS = (
    "dataset:sales.*",
    "dataset:*.*",
    "dataset:sales.o*",
    "program:sales.daily.*",
    "program:sales.*.spark.*",
)
PRIVILEGES = ("READ", "WRITE", "EXECUTE", "ADMIN")


@pytest.fixture
def site(ranger_server: Process) -> Iterator[RangerSite]:  # noqa: F811
    there = RangerSite(ranger_server, CDAP, fixed="cdap")
    for name in NAMES:
        there.person(name)
    yield there
    there.close()


@pytest.fixture
def root(db: None, site: RangerSite) -> Node:
    for name in NAMES:
        a_person(name, *(("staff",) if name != "cy" else ()))
    return a_cdap()


def connected(site: RangerSite) -> Backend:
    call_command("connect", "cdap", "ranger-cdap", "--url", site.url, stdout=StringIO())
    return Backend.objects.get()


def deliver(row: Backend) -> None:
    report = worker.now(row)
    assert (report.error, report.missing, report.extra) == ("", 0, 0)
    assert report.settled


def resource(entity: str) -> dict[str, str]:
    """What CDAP's extension asks about an entity."""
    named = parse(entity)
    shape = next(shape for shape in CDAP.shapes if shape.kind == named.type)
    return shape.resources(as_path(named), "cdap")


def lineage(root: Node, entity: str) -> Lineage:
    named = parse(entity)
    levels = [Level("instance", root.id, root.name)]
    if named.type not in ("namespace", "kerberosprincipal"):
        levels.append(Level("namespace", 0, named.parts[0]))
    if named.type == "program":
        levels.append(Level("application", 0, named.parts[1]))
        return (*levels, Level("program", 0, ".".join(named.parts[2:])))
    return (*levels, Level(named.type, 0, named.parts[-1]))


def differing(root: Node, site: RangerSite) -> list[str]:
    plugin, now = Plugin(site.server, site.service).load(), timezone.now()
    differences = []
    for name in NAMES:
        slice_ = slices.current(a_person(name), root, now=now)
        for entity in ENTITIES:
            for privilege in PRIVILEGES:
                law = engine.permitted(slice_, privilege, lineage(root, entity), now=now.timestamp())
                allowed = plugin.allows(name, privilege.lower(), resource(entity))
                if law != allowed:
                    differences.append(f"{name} {privilege} on {entity}: {law}, {allowed}")
    return differences


@pytest.mark.seed("S1-161")
@pytest.mark.parametrize("seed", range(5))
def test_ranger_answers_as_the_law_does(root: Node, site: RangerSite, seed: int) -> None:
    chance = random.Random(seed)
    for role in ("reader", "keeper"):
        a_role(root, role, *(name for name in (*NAMES, "group:staff") if chance.random() < 0.4))
    holders = (*NAMES, "group:staff", "role:reader", "role:keeper")
    for _ in range(12):
        target = chance.choice((*ENTITIES, *PATTERNS, *PATTERNS))
        give(root, target, chance.choice(holders), chance.choice(PRIVILEGES))
    row = connected(site)
    deliver(row)
    assert differing(root, site) == []
    assert site.policies()


def test_all_datasets_of_a_namespace_are_not_the_namespace(root: Node, site: RangerSite) -> None:
    give(root, "dataset:sales.*", "ana", "ADMIN")
    deliver(connected(site))
    plugin = Plugin(site.server, site.service).load()
    assert plugin.allows("ana", "admin", resource("dataset:sales.orders"))
    assert not plugin.allows("ana", "admin", resource("namespace:sales"))


def on_orders(site: RangerSite) -> dict[str, object]:
    return next(policy for name, policy in site.policies().items() if name.endswith(" cdap.sales.orders"))


def test_who_was_added_by_hand_to_what_is_ours_goes(root: Node, site: RangerSite) -> None:
    give(root, "dataset:sales.orders", "ana", "READ", "WRITE")
    row = connected(site)
    deliver(row)
    ours = on_orders(site)
    by_hand = [*ours["policyItems"], item("admin", users=["bo"])]  # type: ignore[misc]
    site.server.put_policy({**ours, "policyItems": by_hand})
    deliver(row)
    [left] = on_orders(site)["policyItems"]  # type: ignore[misc]
    assert (left["users"], {access["type"] for access in left["accesses"]}) == (["ana"], {"read", "write"})


def test_another_generation_is_refused_in_words(
    db: None, site: RangerSite, capsys: pytest.CaptureFixture[str]
) -> None:
    a_cdap("3.5")
    with pytest.raises(SystemExit):
        connected(site)
    assert "is for realms under the law of cdap43" in capsys.readouterr().err
