"""Pipeline `unused_grants`: where a realm gives more than is needed, as hints.

Written to the output folder: `hints` with a row for each hint (`Found` of `unneeded_grants`), and
`summary.json` with how many of each kind there are.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lakewarden.spark.pipelines import people, subtree_facts
from lakewarden.spark.pipelines.inherited_facts import ObjectFacts
from lakewarden.spark.pipelines.memory_tables import InMemory
from lakewarden.spark.pipelines.messages import Telling
from lakewarden.spark.pipelines.population import EVER, HOLDER, LASTING, ROLE
from lakewarden.spark.pipelines.reach_counts import data_types
from lakewarden.spark.pipelines.snapshot import Snapshot, places_of
from lakewarden.spark.pipelines.unneeded_grants import AFTER, DAY, WINDOW, Beneath, Hint, Least
from lakewarden.spark.pipelines.unneeded_patterns import OnTexts

COLUMNS = (
    "kind string, object bigint, role bigint, other_role bigint, holder bigint, grant bigint, "
    "pattern string, privilege string, people bigint, data string"
)


def arguments(parser: ArgumentParser) -> None:
    help_text = "days for which something must have been given before it is called unused"
    parser.add_argument("--after", type=int, default=AFTER, help=help_text)


def in_memory(tables: InMemory, *, after: int = AFTER) -> list[Hint]:
    """The hints of a small realm, from its rows; what was given less than `after` days ago is not unused."""
    places = tables.places()
    containers = tables.containers(places)
    uses = tables.rows("uses", "principal", "object", "action", "executed", "at")
    below = subtree_facts.of_rows(
        places, tables.facts, uses, data_types(tables.realm.dialect), tables.realm.at
    )
    standing = tables.standing()
    personal = _personal(tables.rows("roles", "key", "holder"))
    done = [(at, on) for _, on, _, executed, at in uses if executed]
    least = Least(
        standing,
        tables.standing(LASTING),
        tables.standing(EVER),
        tables.standing(lasting=after * DAY),
        containers,
        personal,
        min((at for at, _ in done), default=None),
        _tops(places, {on for _, on in done}),
        after,
    )
    last: dict[int, float] = {}
    for person, _, _, executed, at in uses:
        if executed:
            last[person] = max(at, last.get(person, at))
    owners = [fact.unit.key for _, fact in tables.facts if fact.unit.kind == "owner"]
    direct = [fact.unit.key for _, fact in tables.facts if fact.unit.kind == HOLDER]
    rules = [
        (fact.unit.key, (on, fact.on, fact.privilege, fact.allow))
        for on, fact in tables.facts
        if fact.unit.kind == ROLE
    ]
    assigned = tables.rows("assignments", "role", "holder")
    used = {(use[0], use[1], use[2]) for use in uses if use[3] and tables.realm.at - use[4] < WINDOW * DAY}
    return [
        *(item for place in places for item in least.found(place, below[place.key])),
        *(OnTexts(least, tables.texts(), places, sorted(used)).found() if least.law.by_text else ()),
        *people.sleeping(standing, assigned, people.counted(direct), people.counted(owners), last),
        *people.nearly_one(standing, rules, personal),
    ]


def run(spark: Any, given: Namespace, tell: Telling) -> None:
    output = Path(given.output)
    with tell.step("reading the snapshot", 150):
        snapshot = Snapshot(spark, given.input)
        facts, uses = snapshot.facts(), snapshot.table("uses")
        places = snapshot.places(facts).cache()
        least = _least(snapshot, places, uses, given.after)
    target = str(output / "hints")
    if not (output / "hints" / "_SUCCESS").exists():
        with tell.step("reading what is granted", 650):
            rest = [*_sleeping(snapshot, least, facts, uses), *_nearly_one(least, facts)]
            rest += _on_texts(snapshot, least, facts, places, uses) if least.law.by_text else ()
            rows = spark.createDataFrame([_row(item) for item in rest], COLUMNS)
            frame = subtree_facts.with_beneath(
                places, facts, uses, data_types(least.law), least.standing.realm.at
            )
            mapped = _mapped(spark, least, frame)
            mapped.union(rows).write.mode("overwrite").parquet(target)
    with tell.step("adding up", 150):
        kinds = spark.read.parquet(target).groupBy("kind").count().collect()
    summary = {"kinds": {row["kind"]: row["count"] for row in kinds}, "days": least.days}
    (output / "summary.json").write_text(json.dumps(summary))


def _mapped(spark: Any, least: Least, frame: Any) -> Any:
    sent = spark.sparkContext.broadcast(least)

    def find(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        finding = sent.value
        for batch in batches:
            rows = [_row(item) for place, below in _read(batch) for item in finding.found(place, below)]
            number, text = pa.int64(), pa.string()
            types = (text, number, number, number, number, number, text, text, number, text)
            columns = list(zip(*rows)) or [()] * len(types)
            yield pa.RecordBatch.from_arrays(
                [pa.array(list(column), type) for column, type in zip(columns, types)],
                names=list(Hint._fields),
            )

    return frame.mapInArrow(find, COLUMNS)


def _read(batch: Any) -> Iterator[tuple[ObjectFacts, Beneath]]:
    more = zip(*(column.to_pylist() for column in batch.columns[len(ObjectFacts._fields) :]))
    for place, row in zip(places_of(batch), more):
        yield place, subtree_facts.beneath_of(*row)


def _row(hint: Hint) -> tuple[Any, ...]:
    return (*hint[:-1], json.dumps(hint.data, sort_keys=True))


def _least(snapshot: Snapshot, places: Any, uses: Any, after: int) -> Least:
    from pyspark.sql import functions as f

    realm = snapshot.realm()
    done = uses.where("executed")
    [first] = done.agg(f.min("at")).collect()
    top = f.coalesce(f.try_element_at("ancestors", f.lit(2)), f.col("key"))
    tops = places.join(done.select(f.col("object").alias("key")).distinct(), "key", "left_semi").select(top)
    return Least(
        snapshot.standing(realm),
        snapshot.standing(realm, LASTING),
        snapshot.standing(realm, EVER),
        snapshot.standing(realm, lasting=after * DAY),
        snapshot.containers(places),
        _personal(snapshot.rows("roles", "key", "holder")),
        first[0],
        frozenset(row[0] for row in tops.distinct().collect()),
        after,
    )


def _sleeping(snapshot: Snapshot, least: Least, facts: Any, uses: Any) -> Iterator[Hint]:
    from pyspark.sql import functions as f

    last = uses.where("executed").groupBy("principal").agg(f.max("at")).collect()
    held = facts.where("fact.kind <> 'role'").groupBy("fact.kind", "fact.unit").count().collect()
    direct = {row["unit"]: row["count"] for row in held if row["kind"] == HOLDER}
    owned = {row["unit"]: row["count"] for row in held if row["kind"] != HOLDER}
    assigned = snapshot.rows("assignments", "role", "holder")
    return people.sleeping(least.standing, assigned, direct, owned, {row[0]: row[1] for row in last})


def _on_texts(snapshot: Snapshot, least: Least, facts: Any, places: Any, uses: Any) -> Iterator[Hint]:
    """Of texts there are few; what they name is looked up in the driver."""
    from pyspark.sql import functions as f

    lately = f.lit(least.standing.realm.at) - f.col("at") < WINDOW * DAY
    done = uses.where("executed").where(lately).select("principal", "object", "action").distinct()
    every = places.select("key", "type", "name", "ancestors").toLocalIterator()
    named = (ObjectFacts(row["key"], row["type"], row["name"], tuple(row["ancestors"])) for row in every)
    return OnTexts(least, snapshot.texts(facts), named, sorted(map(tuple, done.collect()))).found()


def _nearly_one(least: Least, facts: Any) -> Iterator[Hint]:
    from pyspark.sql import functions as f

    rule = f.xxhash64("object", "fact.on", "fact.privilege", "fact.allow")
    rules = facts.where("fact.kind = 'role'").select("fact.unit", rule).collect()
    return people.nearly_one(least.standing, [(row[0], row[1]) for row in rules], least.personal)


def _personal(rows: Iterable[tuple[int, int | None]]) -> dict[int, int]:
    return {role: holder for role, holder in rows if holder is not None}


def _tops(places: Iterable[ObjectFacts], ids: set[int]) -> frozenset[int]:
    """The objects right below the root that a use was told of, or of something below them."""
    return frozenset(
        place.ancestors[1] if len(place.ancestors) > 1 else place.key for place in places if place.key in ids
    )


def kinds(found: Iterable[Hint]) -> dict[str, int]:
    return dict(Counter(item.kind for item in found))
