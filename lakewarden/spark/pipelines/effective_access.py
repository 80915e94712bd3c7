"""Pipeline `effective_access`: who can reach what in a realm, at the moment of the snapshot.

Written to the output folder: `levels/kind=…` with a row for each object, holder, person, unit and type
(lakewarden.spark.pipelines.reach_counts.ResultRow), and `summary.json` with the figures of the console.
"""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lakewarden.spark.pipelines import figures
from lakewarden.spark.pipelines.inherited_facts import Fact, Levels, ObjectFacts
from lakewarden.spark.pipelines.messages import Telling
from lakewarden.spark.pipelines.pattern_answers import Named
from lakewarden.spark.pipelines.population import Population, Unit
from lakewarden.spark.pipelines.reach_counts import SAMPLE, AccessCollector, LawAnswers, ResultRow
from lakewarden.spark.pipelines.sampling import Sample
from lakewarden.spark.pipelines.snapshot import Snapshot, places_of

PAIRS = 10_000
"""Pairs of a person and an object that each run asks the law itself about."""
LEAST, MOST = 2_000, 20_000
"""Objects of one task: each task tells of every person once more, so many small ones repeat much."""
EACH = 4
"""Tasks for each core, so that none waits long for the last one."""
COLUMNS = (
    "kind string, key bigint, parent bigint, type string, plain boolean, unit_kind string, unit bigint, "
    "allowed array<string>, denied array<string>, owns boolean, people bigint, "
    "counts array<struct<action:string,people:bigint,services:bigint>>, trouble string"
)


class Differs(Exception):
    """What was worked out is not what the law says; nothing of it may be used."""


class World(NamedTuple):
    """Everything that every task needs, sent to each executor once."""

    standing: Population
    containers: dict[int, ObjectFacts]
    texts: list[Fact]
    units: list[Unit]
    pairs: float

    def asked(self) -> LawAnswers:
        if self.standing.law.by_text:
            return Named(self.standing, self.containers, self.texts)
        return Levels(self.standing, self.containers)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs to ask the law itself about")


def run(spark: Any, given: Namespace, tell: Telling) -> None:
    """Raises Differs when the sampled decisions differ from what was worked out."""
    output = Path(given.output)
    with tell.step("reading the snapshot", 150):
        snapshot = Snapshot(spark, given.input)
        places = snapshot.places(snapshot.facts()).cache()
        objects = snapshot.length("objects")
        world = _world(snapshot, places, objects, given.pairs)
    levels = output / "levels"
    if not (levels / "_SUCCESS").exists():  # else it was finished before the run ended early
        with tell.step(f"calculating who has access to {objects:,} objects", 650):
            rows = reached(spark, places, world, objects)
            rows.write.mode("overwrite").partitionBy("kind").parquet(str(levels))
    places.unpersist()
    with tell.step("adding up", 150):
        figures_ = figures.gathered(levels, world.standing)
        _check(figures_)
    (output / "summary.json").write_text(json.dumps(figures_))


def _world(snapshot: Snapshot, places: Any, objects: int, pairs: int) -> World:
    realm = snapshot.realm()
    return World(
        snapshot.standing(realm),
        snapshot.containers(places),
        snapshot.texts(snapshot.facts()) if realm.dialect.by_text else [],
        snapshot.units(),
        pairs / max(objects, 1),
    )


def reached(spark: Any, places: Any, world: World, objects: int) -> Any:
    """The frame of all rows; neighbours come to the same task."""
    from pyspark.sql import functions as f

    sent = spark.sparkContext.broadcast(world)
    spread = places.withColumn("near", f.try_element_at("ancestors", f.lit(-1))) if objects else places
    if objects:
        tasks = tasks_for(objects, spark.sparkContext.defaultParallelism)
        spread = spread.repartitionByRange(tasks, "near", "key").drop("near")
    return spread.mapInArrow(lambda batches: batches_of(sent.value, batches), COLUMNS)


def tasks_for(objects: int, cores: int) -> int:
    """In how many tasks so many objects are worked through."""
    wanted = max(EACH * cores, math.ceil(objects / MOST))
    return max(cores, min(wanted, math.ceil(objects / LEAST)))


def batches_of(world: World, batches: Iterable[Any]) -> Iterator[Any]:
    """What one task does: its objects in, rows out."""
    import pyarrow as pa

    questions = world.asked()
    reaching = AccessCollector(questions, world.units)
    sample = Sample(questions, world.pairs)
    number, text, truth, texts = pa.int64(), pa.string(), pa.bool_(), pa.list_(pa.string())
    counts = pa.list_(pa.struct([("action", text), ("people", number), ("services", number)]))
    types = (text, number, number, text, truth, text, number, texts, texts, truth, number, counts, text)
    schema = pa.schema(list(zip(ResultRow._fields, types)))
    for batch in batches:
        places = list(places_of(batch))
        yield _batch(pa, schema, list(reaching.rows(places)))
        yield _batch(pa, schema, list(_sampled(sample, reaching, places)))
    yield _batch(pa, schema, [*reaching.ended(), ResultRow(SAMPLE, people=sample.decided)])


def _sampled(sample: Sample, reaching: AccessCollector, places: Iterable[ObjectFacts]) -> Iterator[ResultRow]:
    for place in places:
        for trouble in sample.differences(place, reaching.able):
            yield ResultRow(SAMPLE, place.key, trouble=trouble)


def _batch(pa: Any, schema: Any, rows: list[ResultRow]) -> Any:
    named = ("action", "people", "services")
    columns = [list(column) for column in zip(*rows)] or [[] for _ in schema]
    counts = ResultRow._fields.index("counts")
    columns[counts] = [[dict(zip(named, item)) for item in each] for each in columns[counts]]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _check(sums: dict[str, Any]) -> None:
    if sums["differences"]:
        raise Differs(
            f"of {sums['sampled']} sampled pairs at least {len(sums['differences'])} differ from the law; "
            f"the first: {sums['differences'][0]}"
        )
