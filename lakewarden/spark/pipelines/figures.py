"""The figures of effective access: totals, and the foremost objects, roles and people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lakewarden.spark.pipelines.crowds import count
from lakewarden.spark.pipelines.effective import data_types
from lakewarden.spark.pipelines.standing import ROLE, Standing, Unit

FOREMOST = 100
"""So many lines of each kind are kept for the console."""
STEPS = (0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
"""Where the classes of people by how many objects they can read begin."""


def gathered(levels: Any, standing: Standing) -> dict[str, Any]:
    """Everything the console shows of a run, from its rows.  One small answer for each part."""
    from pyspark.sql import functions as f

    data = sorted(data_types(standing.law))
    sums = {"people": f.sum("count.people").alias("people"), "services": f.sum("count.services")}
    exploded = levels.select("*", f.explode("counts").alias("count"))
    totals = levels.where("kind = 'total'").select("type", "people", "counts").collect()
    by_person = exploded.where("kind = 'person'").groupBy("key", "count.action").agg(sums["people"]).collect()
    exposed = (
        exploded.where(f.col("kind") == "object")
        .where(f.col("type").isin(data) & (f.col("count.action") == "read"))
        .withColumn("weight", f.col("count.people") + f.col("count.services"))
        .where("weight > 0")
        .orderBy(f.desc("weight"), "key")
        .limit(FOREMOST)
    )
    units = levels.where("kind = 'unit'").groupBy("unit_kind", "unit").agg(f.sum("people").alias("n"))
    differing = f.slice(f.collect_list("trouble"), 1, 20)
    [sample] = levels.where("kind = 'sample'").agg(f.sum("people"), differing).collect()
    return {
        "objects": _added((row["type"], row["people"]) for row in totals),
        "pairs": _by_type(totals),
        **people_figures(standing, [(row["key"], row["action"], row["people"]) for row in by_person]),
        "exposed": [
            {"key": row["key"], "weight": row["weight"], "numbers": _numbers(row["counts"])}
            for row in exposed.collect()
        ],
        "broadest": roles_figures(
            standing, [(Unit(row["unit_kind"], row["unit"]), row["n"]) for row in units.collect()]
        ),
        "sampled": sample[0] or 0,
        "differences": sample[1],
    }


def _by_type(totals: Any) -> dict[str, dict[str, int]]:
    """For each type the pairs of a person and an object, by action; a row for each task and type."""
    found: dict[str, dict[str, int]] = {}
    for row in totals:
        for one in row["counts"]:
            of_type = found.setdefault(row["type"], {})
            of_type[one["action"]] = of_type.get(one["action"], 0) + one["people"]
    return found


def _added(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, number in rows:
        found[name] = found.get(name, 0) + number
    return found


def _numbers(counts: Any) -> dict[str, list[int]]:
    return {one["action"]: [one["people"], one["services"]] for one in counts}


def people_figures(standing: Standing, rows: list[tuple[int, str, int]]) -> dict[str, Any]:
    """Of people: how many read how much, and who reaches most.  Rows are (person, action, objects)."""
    numbers: dict[int, dict[str, int]] = {}
    for person, action, objects in rows:
        numbers.setdefault(person, {})[action] = objects
    read = {person: found.get("read", 0) for person, found in numbers.items() if found.get("read", 0)}
    foremost = sorted(read, key=lambda person: (-read[person], person))[:FOREMOST]
    return {
        "people": {
            "all": count(standing.people.all & ~standing.services),
            "services": count(standing.services),
            "members": count(standing.members),
            "reading": len(read),
        },
        "reach": classes([read.get(key, 0) for key in standing.people.keys]),
        "furthest": [
            {"key": person, "weight": read[person], "numbers": dict(sorted(numbers[person].items()))}
            for person in foremost
        ],
    }


def classes(reads: list[int]) -> list[list[int]]:
    """How many people read at least so many objects and fewer than the next: pairs [from, people]."""
    found = [0] * len(STEPS)
    for reach in reads:
        found[max(place for place, start in enumerate(STEPS) if reach >= start)] += 1
    last = max((place for place, people in enumerate(found) if people), default=0)
    return [[start, people] for start, people in zip(STEPS, found)][: last + 1]


def roles_figures(standing: Standing, rows: list[tuple[Unit, int]]) -> list[dict[str, Any]]:
    """The roles that give something on most objects; those of one person alone are left out."""
    shared = [
        (unit, objects)
        for unit, objects in rows
        if objects and unit.kind == ROLE and not standing.roles.get(unit.key, "~").startswith("~")
    ]
    shared.sort(key=lambda row: (-row[1], row[0].key))
    return [
        {
            "key": unit.key,
            "weight": objects,
            "numbers": {"objects": objects, "people": count(standing.crowd(unit))},
        }
        for unit, objects in shared[:FOREMOST]
    ]
