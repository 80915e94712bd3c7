"""What Spark finds to differ in a backend is what the sync finds, for each kind of backend."""

from __future__ import annotations

import json
import random
import re
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.utils import timezone

from catalog.nodes import Node
from catalog.queries import find, root
from lakewarden.backends import kinds, planning
from lakewarden.backends.base import Desired, FoundObject, Observation
from lakewarden.backends.kinds import Kind
from lakewarden.law.objects import ObjectRef
from lakewarden.spark.pipelines import drift as program
from lakewarden.spark.pipelines.messages import Telling
from policies.analytics.pipelines import control, drift, running
from policies.analytics.pipelines.definition import RunContext
from policies.authority import OPERATOR
from policies.models import Backend, Counter
from policies.record.exports import parquet
from policies.secrets import decrypt, encrypt
from policies.sync import worker
from policies.sync.connections import registration
from policies.sync.connections.needs import needed
from policies.sync.desired import Decided, Wanted, targets_below
from policies.sync.reconcile import parted
from tests.factories import AUTHORITY, BY, rewritten
from tests.pipelines.worlds import GROUPS, NAMES, SERVICES, a_cdap, a_herd, a_lake
from tests.sync.conftest import Source, demo_members, governed, source

__all__ = ["demo_members", "governed", "source"]
T = TypeVar("T")
LAKE = ("postgresql", "mariadb", "mysql", "gravitino", "posix", "webhdfs", "ranger-hive", "ranger-trino")
WORLDS = [
    (a_lake, 9, LAKE),
    pytest.param(a_herd, 1, ("herd",), marks=pytest.mark.slow),
    pytest.param(a_cdap, 2, ("cdap", "ranger-cdap"), marks=pytest.mark.slow),
]


class Looked:
    """A backend of some kind that was seen to have what a test says."""

    def __init__(self, opened: Any, seen: Observation) -> None:
        self._opened, self.seen = opened, seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    def observe(self) -> Observation:
        return self.seen


def place_of(kind: Kind, top: Node) -> Node:
    """What a backend of that kind is connected to: the realm, or catalog shop of it."""
    node = top if kind.whole_realm else find(ObjectRef("catalog", top.realm, ("shop",)))
    assert node is not None
    return node


def looked(kind: Kind, place: Node, chance: random.Random) -> Looked:
    """A backend that has most of the objects and some of the people, and not quite what was decided."""
    opened = kind.open(
        kind.example.replace(":port", ""),
        realm=place.realm,
        mark="backend-1",
        **needed(kind, None, "backend-1"),
    )
    names = [*NAMES, *SERVICES, *(f"user:{name}" for name in NAMES), *(f"group:{name}" for name in GROUPS)]
    targets = targets_below(place, kind)
    there = [target for target in targets if not target.path or chance.random() < 0.9]
    objects = tuple(FoundObject(item.kind, item.path, id=str(item.id)) for item in there)
    people = frozenset(name for name in names if chance.random() < 0.8)
    looked_ = Looked(opened, Observation(True, "", objects, people, {}, {}))
    wanted = decided(kind, looked_, place)
    roles, members = tampered(wanted.roles, chance), tampered(wanted.members, chance)
    roles["role:0"] = next(iter(roles.values()))
    looked_.seen = replace(
        looked_.seen,
        roles=roles,
        members={role: members.get(role, frozenset()) for role in roles},
        amiss_rights={role: some(rights, chance, 0.1) for role, rights in roles.items()},
        amiss_members={role: some(people, chance, 0.1) for role, people in members.items()},
    )
    return looked_


def tampered(decided: Mapping[str, Collection[T]], chance: random.Random) -> dict[str, frozenset[T]]:
    """Others took some of it, and gave some of what is another's."""
    every = {item for held in decided.values() for item in held}
    return {
        key: some(decided[key], chance, 0.7) | some(every, chance, 0.05)
        for key in sorted(decided, key=by_number)
        if chance.random() < 0.9
    }


def some(things: Iterable[T], chance: random.Random, share: float) -> frozenset[T]:
    return frozenset(thing for thing in sorted(things, key=by_number) if chance.random() < share)


def by_number(named: object) -> list[tuple[int, str]]:
    """An order in which role:99 comes before role:100, so that chance falls alike whatever the keys are."""
    return [(int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", str(named))]


def decided(kind: Kind, backend: Any, place: Node) -> Desired:
    """What the sync wants there."""
    seen = backend.observe()
    if kind.wanted is not None:
        wanted: Desired = kind.wanted(backend, Decided(kind, place, timezone.now()), seen)[0]
        return wanted
    present, _ = parted(targets_below(place, kind), seen)
    return Wanted(backend, kind, place, present, now=timezone.now(), seen=seen).desired(seen.people)


def test_every_kind_is_among_them() -> None:
    worlds = [getattr(world, "values", world)[2] for world in WORLDS]
    assert {code for codes in worlds for code in codes} == set(kinds.codes())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("world", "seed", "codes"), WORLDS)
def test_it_agrees_with_the_sync(
    plain: Any, var: Path, world: Callable[..., Node], seed: int, codes: tuple[str, ...]
) -> None:
    top, chance = world(seed, **({"mode": "on"} if world is a_lake else {})), random.Random(seed)
    tables: drift.Tables = {name: [] for name in drift.SHAPES}
    expected = {}
    for number, code in enumerate(codes, 1):
        kind, row = kinds.get(code), Backend(pk=number, kind=code)
        place = place_of(kind, top)
        backend = looked(kind, place, chance)
        expected[code] = planning.plan(decided(kind, backend, place), backend.observe())
        drift.export(row, backend, place, tables)
    drift.write(var / "acls", tables)
    parquet.export(top, Counter.objects.get().revision, var / "input")
    given = Namespace(input=str(var / "input"), output=str(var), acls=str(var / "acls"))
    program.run(plain, given, Telling(plain, StringIO()))
    counts, differences = json.loads((var / "summary.json").read_text()), list(drift.differences(var))
    for number, (code, plan) in enumerate(expected.items(), 1):
        counts_ = {"missing": plan.missing, "extra": plan.extra, "same": plan.in_sync}
        assert (code, counts[str(number)]) == (code, counts_)
        assert min(counts_.values()) > 0, code
        for what, step in (("missing", "give"), ("extra", "take")):
            rights = {
                (item.role, right.path, right.right)
                for item in plan.steps
                if item.kind == step
                for right in item.rights
            }
            assert rights == {
                (item["role"], tuple(item["path"]), item["right"])
                for item in differences
                if (item["backend"], item["what"]) == (number, what) and item["right"]
            }, code


def test_a_small_realm_is_compared_by_the_sync(governed: Backend) -> None:
    run = control.ask("drift", root(governed.realm), by=OPERATOR)
    running.run(run)
    assert (run.state, run.trouble, run.master) == ("done", "", "")
    report = worker.now(governed, dry_run=True)
    expected = {"missing": report.missing, "extra": report.extra, "same": report.in_sync}
    expected["foreign"] = report.foreign
    assert run.result == {"backends": {"shop": expected}}
    assert report.missing > 0
    assert governed.runs.filter(done__gt=0).count() == 0


def test_one_that_is_away_keeps_nobody_from_the_others(governed: Backend, tmp_path: Path) -> None:
    at = decrypt(governed.sealed_url)
    other = registration.connect(
        root(governed.realm), "stock", "postgresql", at, policy="report", by=BY, authority=AUTHORITY
    )
    nowhere = encrypt("postgresql://postgres@127.0.0.1:1/governed")
    rewritten(Backend.objects.filter(pk=other.pk), sealed_url=nowhere)
    run = control.ask("drift", root(governed.realm), by=OPERATOR)
    work = RunContext(run, root(governed.realm), timezone.now(), tmp_path, tmp_path, lambda *told: None)
    drift.PIPELINE.prepare(work)
    exported = pq.read_table(tmp_path / "acls" / "backends.parquet").column("backend").to_pylist()
    assert exported == [governed.pk]
    counts = {"missing": 1, "extra": 0, "same": 2}
    (tmp_path / "summary.json").write_text(json.dumps({str(governed.pk): counts}))
    backends = drift.PIPELINE.load(work, tmp_path)["backends"]
    assert backends.keys() == {"shop", "stock"}
    assert backends["shop"] == {**counts, "foreign": worker.now(governed, dry_run=True).foreign}
    assert "connect" in backends["stock"]["trouble"]


def compared(row: Backend, **more: Any) -> dict[str, Any]:
    """What drift says of a backend when it is asked now, by the command as an operator types it."""
    out = StringIO()
    call_command("pipeline", "drift", realm=root(row.realm).name, stdout=out, **more)
    result = json.loads(out.getvalue())
    assert result["state"] == "done"
    return dict(result["result"]["backends"]["shop"])


def test_asked_again_it_looks_again(governed: Backend, source: Source) -> None:
    worker.now(governed)
    before = compared(governed)
    assert before == compared(governed)
    names = [name for (name,) in source.run("SELECT rolname FROM pg_roles ORDER BY rolname")]
    role = next(name for name in names if name.startswith("lw"))
    source.run(f'GRANT TRUNCATE ON sales.orders TO "{role}"')
    revision = Counter.objects.get().revision
    assert compared(governed)["extra"] == before["extra"] + 1
    assert Counter.objects.get().revision == revision
    source.run(f'REVOKE TRUNCATE ON sales.orders FROM "{role}"')
    assert compared(governed) == before


def test_a_right_that_somebody_gave_to_a_person_counts(governed: Backend, source: Source) -> None:
    before = compared(governed)["foreign"]
    source.run("CREATE ROLE direct_one LOGIN")
    source.run("GRANT SELECT ON sales.orders TO direct_one")
    try:
        assert compared(governed)["foreign"] == before + 1
    finally:
        source.run("REVOKE ALL ON sales.orders FROM direct_one")
        source.run("DROP ROLE direct_one")
