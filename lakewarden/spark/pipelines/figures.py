"""The figures of effective access: totals, and the foremost objects, roles and people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lakewarden.spark.pipelines.people_sets import count
from lakewarden.spark.pipelines.population import ROLE, Population, Unit
from lakewarden.spark.pipelines.reach_counts import OBJECT, PERSON, SAMPLE, TOTAL, UNIT, data_types

FOREMOST = 100
"""So many lines of each kind are kept for the console."""
STEPS = (0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
"""Where the classes of people by how many objects they can read begin."""


def gathered(levels: Path, standing: Population) -> dict[str, Any]:
    """Everything the console shows of a run, from its rows, which are read file by file.

    By the driver: a task of Spark takes longer to be sent than to add up what one file says.
    """
    totals = _rows(levels, TOTAL, "type", "people", "counts")
    sampled = _rows(levels, SAMPLE, "people", "trouble")
    # on how many objects each unit gives something
    parts = _parts(levels, UNIT, "unit_kind", "unit", "people")
    breadth = [
        (Unit(kind, unit), objects) for kind, unit, objects in _summed(parts, ("unit_kind", "unit"), "people")
    ]
    # for each type the pairs of a person and an object, by action; a row for each task and type
    by_type: dict[str, dict[str, int]] = {}
    for row in totals:
        for item in row["counts"]:
            of_type = by_type.setdefault(row["type"], {})
            of_type[item["action"]] = of_type.get(item["action"], 0) + item["people"]
    return {
        "objects": _added((row["type"], row["people"]) for row in totals),
        "pairs": by_type,
        **people_figures(standing, _reads(levels)),
        "exposed": _exposed(levels, sorted(data_types(standing.law))),
        "broadest": roles_figures(standing, breadth),
        "sampled": sum(row["people"] for row in sampled),
        "differences": [row["trouble"] for row in sampled if row["trouble"] is not None][:20],
    }


def _rows(levels: Path, kind: str, *columns: str) -> list[dict[str, Any]]:
    """The rows of a kind of which a task writes few."""
    return [row for part in _parts(levels, kind, *columns) for row in part.to_pylist()]


def _parts(levels: Path, kind: str, *columns: str) -> Iterator[Any]:
    """The rows of a kind, a table for each file that a task wrote."""
    from pyarrow import parquet

    for path in sorted((levels / f"kind={kind}").glob("*.parquet")):
        yield parquet.read_table(path, columns=list(columns), partitioning=None).combine_chunks()


def _together(parts: Iterable[Any]) -> Any:
    import pyarrow as pa

    return pa.concat_tables(parts)


def _summed(parts: Iterable[Any], by: Sequence[str], number: str) -> list[tuple[Any, ...]]:
    """Rows (*by, sum of the number) of all parts; what is held at once is one part and the sums."""
    sums = None
    for part in parts:
        both = _together([sums, part]) if sums is not None else part
        summed = both.group_by(list(by)).aggregate([(number, "sum")])
        sums = summed.select([*by, f"{number}_sum"]).rename_columns([*by, number])
    return [] if sums is None else list(zip(*(sums[name].to_pylist() for name in (*by, number))))


def _counted(part: Any) -> tuple[Any, Any]:
    """The counts of a part, a row for each action, and the place of the row that each is of."""
    import pyarrow.compute as pc

    return pc.list_flatten(part["counts"]), pc.list_parent_indices(part["counts"])


def _reads(levels: Path) -> list[tuple[int, str, int]]:
    """(person, action, on how many objects)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def told() -> Iterator[Any]:
        for part in _parts(levels, PERSON, "key", "counts"):
            counts, rows = _counted(part)
            fields = {name: pc.struct_field(counts, name) for name in ("action", "people")}
            yield pa.table({"key": part["key"].take(rows), **fields})

    return _summed(told(), ("key", "action"), "people")


def _exposed(levels: Path, data: Sequence[str]) -> list[dict[str, Any]]:
    """The objects that most can read."""
    foremost = None
    for part in _parts(levels, OBJECT, "key", "type", "counts"):
        part = _read_by_some(part, data)
        both = _together([foremost, part]) if foremost is not None else part
        foremost = both.sort_by([("weight", "descending"), ("key", "ascending")]).slice(0, FOREMOST)
    rows = foremost.to_pylist() if foremost is not None else []
    return [{"key": row["key"], "weight": row["weight"], "numbers": _numbers(row["counts"])} for row in rows]


def _read_by_some(part: Any, data: Sequence[str]) -> Any:
    """The objects of a part that hold data and that somebody can read, with how many that are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts, rows = _counted(part)
    weight = pc.add(pc.struct_field(counts, "people"), pc.struct_field(counts, "services"))
    holds = pc.is_in(part["type"], pa.array(data, pa.string())).take(rows)
    readers = pc.and_(holds, pc.equal(pc.struct_field(counts, "action"), "read"))
    readers = pc.and_(readers, pc.greater(weight, 0))
    return part.take(rows.filter(readers)).append_column("weight", weight.filter(readers))


def _added(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for name, number in rows:
        totals[name] = totals.get(name, 0) + number
    return totals


def _numbers(counts: Any) -> dict[str, list[int]]:
    return {item["action"]: [item["people"], item["services"]] for item in counts}


def people_figures(standing: Population, rows: list[tuple[int, str, int]]) -> dict[str, Any]:
    """Of people: how many read how much, and who reaches most.  Rows are (person, action, objects)."""
    numbers: dict[int, dict[str, int]] = {}
    for person, action, objects in rows:
        numbers.setdefault(person, {})[action] = objects
    read = {person: counts.get("read", 0) for person, counts in numbers.items() if counts.get("read", 0)}
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
    counts = [0] * len(STEPS)
    for reach in reads:
        counts[max(place for place, start in enumerate(STEPS) if reach >= start)] += 1
    last = max((place for place, people in enumerate(counts) if people), default=0)
    return [[start, people] for start, people in zip(STEPS, counts)][: last + 1]


def roles_figures(standing: Population, rows: list[tuple[Unit, int]]) -> list[dict[str, Any]]:
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
