"""What Spark finds to differ in a backend is what the sync's own comparison finds, for random realms."""

from __future__ import annotations

import json
import random
from argparse import Namespace
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from catalog.nodes import Node
from catalog.queries import root
from lakewarden.backends import kinds, planning
from lakewarden.backends.base import Plan
from lakewarden.backends.memory import Memory, World
from lakewarden.spark.pipelines import drift as program
from lakewarden.spark.pipelines.telling import Telling
from policies.authority import OPERATOR
from policies.exports import parquet
from policies.models import Backend, Counter, Grant
from policies.pipelines import asking, drift, running
from policies.pipelines.known import Work
from policies.services import backends
from policies.sync import worker
from policies.sync.desired import Wanted, targets_below
from policies.sync.seal import unseal
from tests.factories import AUTHORITY, BY, the
from tests.pipelines.worlds import NAMES, a_lake
from tests.sync.conftest import governed, source

__all__ = ["governed", "source"]
BACKEND = Backend(pk=7, kind="postgresql")
KIND = kinds.get(BACKEND.kind)


def there(catalog: Node, chance: random.Random) -> World:
    """The catalog as a server has it, but for an object that is gone, with some of the people."""
    world = World(people=set(chance.sample(NAMES, 6)))
    for target in targets_below(catalog, KIND):
        if target.path and chance.random() < 0.95:
            world.create(target.kind, target.path)
    return world


def planned(backend: Memory, catalog: Node) -> Plan:
    seen = backend.observe()
    here = {(one.kind, one.path) for one in seen.objects}
    targets = [one for one in targets_below(catalog, KIND) if (one.kind, one.path) in here]
    wanted = Wanted(backend, KIND, catalog, targets, now=timezone.now()).desired(seen.people)
    return planning.plan(wanted, seen)


def tamper(world: World, chance: random.Random) -> None:
    """Others take some rights from our roles, and some people."""
    for held in (*world.roles.values(), *world.members.values()):
        for one in sorted(held):
            if chance.random() < 0.3:
                held.discard(one)  # type: ignore[arg-type]


@pytest.mark.django_db(transaction=True)
def test_it_agrees_with_the_sync(plain: Any, var: Path) -> None:
    realm, chance = a_lake(9, mode="on"), random.Random(9)
    catalog = the("catalog", "shop")
    world = there(catalog, chance)
    backend = Memory(world)
    list(backend.apply(planned(backend, catalog)))
    tamper(world, chance)
    ended = Grant.objects.open().order_by("pk").values_list("pk", flat=True)[::3]
    Grant.objects.filter(pk__in=ended).update(closed=Counter.objects.get().revision)
    expected = planned(backend, catalog)
    tables: dict[str, list[tuple[Any, ...]]] = {name: [] for name in drift.SHAPES}
    drift.export(BACKEND, backend, catalog, tables)
    drift.write(var / "acls", tables)
    parquet.export(realm, Counter.objects.get().revision, var / "input")
    given = Namespace(input=str(var / "input"), output=str(var), acls=str(var / "acls"))
    program.run(plain, given, Telling(plain, StringIO()))
    found = json.loads((var / "summary.json").read_text())[str(BACKEND.pk)]
    counts = {"missing": expected.missing, "extra": expected.extra, "same": expected.in_sync}
    assert found == counts
    assert min(counts.values()) > 0
    told = list(drift.differences(var))
    assert len(told) == expected.missing + expected.extra
    steps = {
        (step.role, one.path, one.right)
        for step in expected.steps
        if step.kind == "give"
        for one in step.rights
    }
    assert steps == {
        (one["role"], tuple(one["path"]), one["right"])
        for one in told
        if one["right"] and one["what"] == "missing"
    }


def test_a_small_realm_is_compared_by_the_sync(governed: Backend) -> None:
    run = asking.ask("drift", root(governed.realm), by=OPERATOR)
    running.run(run)
    assert (run.state, run.trouble, run.master) == ("done", "", "")
    report = worker.now(governed, dry_run=True)
    expected = {"missing": report.missing, "extra": report.extra, "same": report.in_sync}
    assert run.result == {"backends": {"shop": expected}}
    assert report.missing > 0
    assert governed.runs.filter(done__gt=0).count() == 0


def test_what_is_wanted_in_a_way_of_its_own_is_compared_by_the_sync_even_beside_spark(
    governed: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirrored = kinds.get("postgresql")
    odd = replace(mirrored, code="odd", by_person=True)
    monkeypatch.setattr(kinds, "get", {"odd": odd, "postgresql": mirrored}.__getitem__)
    other = backends.connect(
        root(governed.realm), "stock", "odd", source_of(governed), policy="report", by=BY, authority=AUTHORITY
    )
    run = asking.ask("drift", root(governed.realm), by=OPERATOR)
    work = Work(run, root(governed.realm), timezone.now(), tmp_path, tmp_path, lambda *told: None)
    drift.PIPELINE.prepare(work)
    exported = pq.read_table(tmp_path / "acls" / "rights.parquet").column("backend").to_pylist()
    assert set(exported) == {governed.pk}
    (tmp_path / "summary.json").write_text(
        json.dumps({str(governed.pk): {"missing": 1, "extra": 0, "same": 2}})
    )
    told = drift.PIPELINE.load(work, tmp_path)["backends"]
    report = worker.now(other, dry_run=True)
    assert told == {
        "shop": {"missing": 1, "extra": 0, "same": 2},
        "stock": {"missing": report.missing, "extra": report.extra, "same": report.in_sync},
    }


def source_of(row: Backend) -> str:
    return unseal(row.sealed_url)
