"""On Spark both pipelines say what they say in this process, for random realms of each kind."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from catalog.nodes import Node
from lakewarden.spark.pipelines import effective_access, unused_grants
from lakewarden.spark.pipelines.messages import Telling
from policies.analytics.figures import Measured
from policies.analytics.pipelines import unused_grants as pipelines_unused_grants
from policies.models import Counter
from policies.record.exports import parquet
from tests.pipelines.worlds import a_cdap, a_herd, a_lake, some_uses, tables_of

FIGURES = ("objects", "pairs", "people", "reach", "exposed", "broadest", "furthest")


def exported(root: Node, var: Path) -> Path:
    folder = var / "input"
    parquet.export(root, Counter.objects.get().revision, folder)
    return folder


def ran(program: Any, spark: Any, folder: Path, **more: Any) -> tuple[Path, list[dict[str, Any]]]:
    """Run a program here; its folder, and what it told."""
    output, output_lines = folder.parent / "output", StringIO()
    output.mkdir(exist_ok=True)
    given = Namespace(input=str(folder), output=str(output), **more)
    program.run(spark, given, Telling(spark, output_lines))
    return output, [json.loads(line) for line in output_lines.getvalue().splitlines()]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("world", "seed"),
    [(a_lake, 1), (a_herd, 1), pytest.param(a_cdap, 1, marks=pytest.mark.slow)],
    ids=lambda param: getattr(param, "__name__", param),
)
def test_both_say_the_same(plain: Any, var: Path, world: Callable[[int], Node], seed: int) -> None:
    root = world(seed)
    some_uses(root, seed)
    folder = exported(root, var)
    output, output_lines = ran(effective_access, plain, folder, pairs=2_000)
    here = Measured(root, now=timezone.now()).figures()
    there = json.loads((output / "summary.json").read_text())
    assert {name: there[name] for name in FIGURES} == json.loads(json.dumps({n: here[n] for n in FIGURES}))
    assert there["sampled"] > 1_000
    done = [line["done"] for line in output_lines]
    assert (done, done[-1]) == (
        sorted(done),
        output_lines[-1]["total"] - 50,
    )  # the rest is the start of Spark

    output, _ = ran(unused_grants, plain, folder, after=0)
    rows = {
        (item.key, *item[:-1], json.dumps(item.data, sort_keys=True))
        for item in pipelines_unused_grants.read(output)
    }
    expected = unused_grants.in_memory(tables_of(root), after=0)
    assert rows == {(item.key, *item[:-1], json.dumps(item.data, sort_keys=True)) for item in expected}
    assert len({item[1] for item in rows}) > (3 if world is a_lake else 0)


def test_a_difference_from_the_law_fails_the_run(
    plain: Any, var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the sets wrong, the samples would say so: here they are told that nobody is denied anything."""
    from tests.pipelines.snapshots import Size, lake, write

    rows = lake(Size(catalogs=1, schemas=2, tables=30, people=12, roles=6, grants=60))
    folder = write(var / "input", rows)
    snapshot = effective_access.Snapshot(plain, str(folder))
    places = snapshot.places(snapshot.facts())
    world = effective_access._world(snapshot, places, 50, 4_000)
    wrong = world._replace(standing=_everybody_in_the_first_role(world.standing))
    rows_found = effective_access.reached(plain, places, wrong, 50)
    samples = rows_found.where("kind = 'sample' AND trouble IS NOT NULL").limit(3).collect()
    assert samples
    assert all("the law says" in row["trouble"] for row in samples)
    with pytest.raises(effective_access.Differs, match="differ from the law"):
        effective_access._check({"sampled": 9, "differences": [row["trouble"] for row in samples]})


def _everybody_in_the_first_role(standing: Any) -> Any:
    role = min(standing._in_role)
    standing._in_role[role] = standing.people.all
    return standing
