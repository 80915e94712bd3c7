"""What is known of each object and all below it: objects, uses, and what is given; by rows or by Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from lakewarden.spark.pipelines.inherited_facts import Fact, ObjectFacts
from lakewarden.spark.pipelines.population import OWNER, Unit
from lakewarden.spark.pipelines.unneeded_grants import DAY, WINDOW, Beneath, ReportedUse

USED = "array<struct<person:bigint,type:string,action:string>>"
TOUCHED = "array<struct<type:string,action:string,objects:bigint>>"
ALLOWED = "array<struct<privilege:string,kind:string,unit:bigint>>"


def of_rows(
    places: Iterable[ObjectFacts],
    facts: Iterable[tuple[int | None, Fact]],
    uses: Iterable[tuple[int, int, str, bool, float]],
    data: Collection[str],
    now: float,
) -> dict[int, Beneath]:
    """For each object; `uses` are rows (principal, object, action, executed, at)."""
    by_key = {place.key: place for place in places}
    objects: dict[int, int] = defaultdict(int)
    reported: dict[int, set[int]] = defaultdict(set)
    used: dict[int, set[ReportedUse]] = defaultdict(set)
    touched: dict[int, set[tuple[str, str, int]]] = defaultdict(set)
    allowed: dict[int, set[tuple[str, Unit]]] = defaultdict(set)
    for place in by_key.values():
        for key in _up(place) if place.type in data else ():
            objects[key] += 1
    for person, on, action, executed, at in uses:
        if on not in by_key or not executed or now - at >= WINDOW * DAY:
            continue
        type = by_key[on].type
        for key in _up(by_key[on]):
            used[key].add(ReportedUse(person, type, action))
            touched[key].add((type, action, on))
            if type in data:
                reported[key].add(on)
    for under, fact in facts:
        if under in by_key and fact.allow and fact.unit.kind != OWNER:
            for key in by_key[under].ancestors:
                allowed[key].add((fact.privilege, fact.unit))
    return {
        key: Beneath(
            objects[key],
            len(reported[key]),
            tuple(sorted(used[key])),
            _by_action(touched[key]),
            tuple(sorted(allowed[key])),
        )
        for key in by_key
    }


def _up(place: ObjectFacts) -> Iterable[int]:
    return (*place.ancestors, place.key)


def _by_action(touched: Iterable[tuple[str, str, int]]) -> tuple[tuple[str, str, int], ...]:
    objects: dict[tuple[str, str], int] = defaultdict(int)
    for type, action, _ in touched:
        objects[type, action] += 1
    return tuple((type, action, n) for (type, action), n in sorted(objects.items()))


def with_beneath(places: Any, facts: Any, uses: Any, data: Collection[str], now: float) -> Any:
    """The frame of objects that need a look, with what is beneath each: see Beneath.

    `places` are Snapshot.places, `facts` Snapshot.facts, `uses` the table.  Only objects with facts, and
    those with something below them, are in the answer.
    """
    from pyspark.sql import functions as f

    up = places.select("key", "type", f.explode(f.concat("ancestors", f.array("key"))).alias("on"))
    done = uses.where("executed").where(f.lit(now) - f.col("at") < WINDOW * DAY)
    done = done.select("principal", "action", f.col("object").alias("key")).distinct().join(up, "key")
    is_data = f.col("type").isin(sorted(data))
    parts = [
        up.groupBy("on").agg(f.count(f.when(is_data, 1)).alias("objects")),
        done.groupBy("on").agg(f.count_distinct(f.when(is_data, f.col("key"))).alias("reported")),
        done.groupBy("on").agg(
            f.collect_set(f.struct(f.col("principal").alias("person"), "type", "action")).alias("used")
        ),
        done.groupBy("on", "type", "action")
        .agg(f.count_distinct("key").alias("objects"))
        .groupBy("on")
        .agg(f.collect_list(f.struct("type", "action", "objects")).alias("touched")),
        _allowed(places, facts),
    ]
    looked = places.join(
        up.where("on <> key").select(f.col("on").alias("key")).distinct(), "key", "left_semi"
    )
    frame = places.where("size(facts) > 0").union(looked).dropDuplicates(["key"])
    for part in parts:
        frame = frame.join(part.withColumnRenamed("on", "key"), "key", "left")
    none = f.array()
    return frame.select(
        *("key", "type", "name", "ancestors", "facts"),
        f.coalesce("objects", f.lit(0)).alias("objects"),
        f.coalesce("reported", f.lit(0)).alias("reported"),
        f.coalesce("used", none.cast(USED)).alias("used"),
        f.coalesce("touched", none.cast(TOUCHED)).alias("touched"),
        f.coalesce("allowed", none.cast(ALLOWED)).alias("allowed"),
    )


def _allowed(places: Any, facts: Any) -> Any:
    from pyspark.sql import functions as f

    given = facts.where(f"fact.allow AND fact.kind <> '{OWNER}'").select(f.col("object").alias("key"), "fact")
    up = places.select("key", f.explode("ancestors").alias("on"))
    unit = f.struct(
        f.col("fact.privilege").alias("privilege"),
        f.col("fact.kind").alias("kind"),
        f.col("fact.unit").alias("unit"),
    )
    return given.join(up, "key").groupBy("on").agg(f.collect_set(unit).alias("allowed"))


def beneath_of(objects: int, reported: int, used: Any, touched: Any, allowed: Any) -> Beneath:
    """One row of the frame, from plain Python values."""
    return Beneath(
        objects,
        reported,
        tuple(sorted(ReportedUse(item["person"], item["type"], item["action"]) for item in used)),
        tuple(sorted((item["type"], item["action"], item["objects"]) for item in touched)),
        tuple(sorted((item["privilege"], Unit(item["kind"], item["unit"])) for item in allowed)),
    )
