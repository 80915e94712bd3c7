"""How dear it is to know who reaches what: by sets and levels, beside pair by pair, in one run.

python bench/pipelines.py
Lakes M (10,000 tables, 1,000 people) and L (100,000 tables, 10,000 people, 60,000 grants), on Spark.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

LEAST_GAIN = 20.0
"""So many times as many pairs a second as pair by pair, at the least."""
MOST_GROWTH = 1.5
"""From M to L it may take so many times more than input and output grew."""
MOST_SHARE = 0.6
"""What tasks on two workers take of the time that they take on one, at the most."""
ASKED = 400
"""People whose pairs with many tables are decided one by one, beside it."""
TABLES = 2_000


def ran(spark: Any, folder: Path) -> dict[str, float]:
    """Seconds of the whole run after the start of Spark, pairs answered, rows in and out."""
    from lakewarden.spark.pipelines import effective_access
    from lakewarden.spark.pipelines.telling import Telling

    output = folder.parent / f"{folder.name}-out-{time.monotonic_ns()}"
    output.mkdir()
    given = Namespace(input=str(folder), output=str(output), pairs=effective_access.PAIRS)
    started = time.perf_counter()
    effective_access.run(spark, given, Telling(spark, StringIO()))
    taken = time.perf_counter() - started
    found = json.loads((output / "summary.json").read_text())
    rows = sum(spark.read.parquet(str(folder / name)).count() for name in ("objects", "grants", "principals"))
    rows += spark.read.parquet(str(output / "levels")).count()
    people = found["people"]["all"] + found["people"]["services"]
    pairs = people * sum(found["objects"].values())
    return {"seconds": taken, "pairs": pairs, "rows": rows, "sampled": found["sampled"]}


def one_by_one(spark: Any, folder: Path) -> float:
    """Pairs a second when the law is asked about each, on the same Spark: slices sent, tables spread."""
    from lakewarden.spark.pipelines.effective import actions
    from lakewarden.spark.pipelines.snapshot import Snapshot

    snapshot = Snapshot(spark, str(folder))
    every = snapshot.places(snapshot.facts())
    places = every.where("type = 'table'").limit(TABLES).cache()
    asked, realm = _slices(snapshot), snapshot.realm()
    names = {key: (one.type, one.name) for key, one in snapshot.containers(every).items()}
    sent = spark.sparkContext.broadcast((asked, names, actions(realm.dialect, "table"), realm.at))

    def decide(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        yes = 0
        for batch in batches:
            yes += _decided(batch, *sent.value)
        yield pa.RecordBatch.from_arrays([pa.array([yes], pa.int64())], names=["yes"])

    spread = places.select("key", "name", "ancestors").repartition(spark.sparkContext.defaultParallelism)
    spread.mapInArrow(decide, "yes bigint").collect()  # starts the workers, as the other has them started
    started = time.perf_counter()
    spread.mapInArrow(decide, "yes bigint").collect()
    return len(asked) * TABLES / (time.perf_counter() - started)


def _decided(batch: Any, slices: Any, names: Any, asked: Any, now: float) -> int:
    from lakewarden import engine
    from lakewarden.facts import Level

    yes = 0
    for key, name, ancestors in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        above = tuple(Level(names[one][0], one, names[one][1]) for one in ancestors)
        lineage = (*above, Level("table", key, name))
        for slice in slices:
            for _, operation in asked:
                yes += bool(engine.decide(slice, operation, lineage, now=now))
    return yes


def _slices(snapshot: Any) -> list[Any]:
    """The slices of some people, with everything that is given to them anywhere."""
    from lakewarden import engine
    from lakewarden.facts import Rule

    realm = snapshot.realm()
    standing = snapshot.standing(realm)
    rows = snapshot.rows("grants", "role", "object", "privilege", "effect")
    given: dict[int, list[Any]] = {}
    for role, on, code, effect in rows:
        given.setdefault(role, []).append((on, code, effect))
    found = []
    for person in standing.people.keys[:ASKED]:
        rules = [
            Rule(on, code, effect == "allow", via)
            for unit, via, _ in standing.paths(person)
            for on, code, effect in given.get(unit.key, ())
            if unit.kind == "role"
        ]
        who = standing.ref(person)
        found.append(
            engine.build(who, realm.name, realm.law, realm.revision, rules, member=True, now=realm.at)
        )
    return found


def on_workers(folder: Path, workers: int) -> dict[str, float]:
    """Seconds of the run on so many workers of one core each, in a Spark of their own, and of its tasks."""
    command = [sys.executable, __file__, str(folder), f"local-cluster[{workers},1,1024]"]
    with tempfile.TemporaryDirectory(prefix="lakewarden-bench-") as events:
        settings = {
            "enabled": "true",
            "dir": f"file://{events}",
            "compress": "false",
            "rolling.enabled": "false",
        }
        said = " ".join(f"--conf spark.eventLog.{name}={value}" for name, value in settings.items())
        there = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"{said} pyspark-shell"}
        told = subprocess.run(command, check=True, capture_output=True, text=True, env=there).stdout
        found: dict[str, float] = json.loads(told.splitlines()[-1])
        return {**found, "tasks": while_tasks_ran(Path(events), found["began"], found["seconds"])}


def while_tasks_ran(events: Path, began: float, seconds: float) -> float:
    """Seconds of a run in which at least one task was at work, as Spark's own log of events tells."""
    told = (span for path in events.rglob("*") if path.is_file() for span in _spans(path))
    spans = sorted((first, last) for first, last in told if began <= first < began + seconds)
    taken, end = 0.0, began
    for first, last in spans:
        taken += max(0.0, last - max(first, end))
        end = max(end, last)
    return taken


def _spans(path: Path) -> Iterator[tuple[float, float]]:
    for line in path.read_text().splitlines():
        told = json.loads(line)
        if told.get("Event") == "SparkListenerTaskEnd":
            info = told["Task Info"]
            yield info["Launch Time"] / 1000, info["Finish Time"] / 1000


def measure() -> bool:
    import django

    django.setup()  # the shape of the tables is the export's
    from lakewarden.spark.pipelines.session import session
    from tests.pipelines import snapshots

    with tempfile.TemporaryDirectory(prefix="lakewarden-bench-") as home:
        folders = {
            name: snapshots.write(Path(home) / name, snapshots.lake(size))
            for name, size in (("M", snapshots.M), ("L", snapshots.L))
        }
        spark = session("local[2]", "bench")
        ran(spark, folders["M"])  # the first run starts workers and compiles
        alone = one_by_one(spark, folders["M"])
        m, large = ran(spark, folders["M"]), ran(spark, folders["L"])
        spark.stop()
        good = _judged(alone, m, large)
        one, two = on_workers(folders["L"], 1), on_workers(folders["L"], 2)
        share = two["tasks"] / one["tasks"]
        print(f"tasks on one worker {one['tasks']:.1f} s, on two {two['tasks']:.1f} s:", end=" ")
        print(f"{share:.2f}, at most {MOST_SHARE}", end="; ")
        print(f"with all that the driver does alone {one['seconds']:.1f} s and {two['seconds']:.1f} s")
    good = good and share <= MOST_SHARE
    print("ok" if good else "TOO MUCH")
    return good


def _judged(alone: float, m: dict[str, float], large: dict[str, float]) -> bool:
    rate, rows = large["pairs"] / large["seconds"], large["rows"] / m["rows"]
    gain, growth = rate / alone, large["seconds"] / m["seconds"] / rows
    print(f"pair by pair        {alone:14,.0f} pairs/s")
    print(f"by sets, L          {rate:14,.0f} pairs/s, {gain:.0f} times as many, at least {LEAST_GAIN:.0f}")
    print(f"M {m['seconds']:.1f} s, L {large['seconds']:.1f} s; rows {rows:.1f} times:", end=" ")
    print(f"growth {growth:.2f}, at most {MOST_GROWTH}", flush=True)
    return gain >= LEAST_GAIN and growth <= MOST_GROWTH


def main(words: list[str]) -> int:
    if words:  # one run in a Spark of its own
        from lakewarden.spark.pipelines.session import session

        spark = session(words[1], "bench")
        ran(spark, Path(words[0]))
        began = time.time()
        told = ran(spark, Path(words[0]))
        spark.stop()
        print(json.dumps({**told, "began": began}))
        return 0
    return 0 if measure() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
