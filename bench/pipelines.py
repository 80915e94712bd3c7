"""How expensive it is to know who reaches what: by sets and levels, beside pair by pair, in one run.

python bench/pipelines.py [workers]
Lakes M (10,000 tables, 1,000 people) and L (100,000 tables, 10,000 people, 60,000 grants), on Spark; with
`workers` only what a second worker is worth, on the cluster of scripts/cluster.py.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

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
ROUNDS, RUNS = 1, 5
"""So often one worker and two take turns, and so many runs each time."""
CLUSTER = Path(__file__).resolve().parent.parent / "scripts" / "cluster.py"


class Run(NamedTuple):
    """Seconds in which a task was at work, and seconds in all."""

    tasks: float
    seconds: float


def ran(spark: Any, folder: Path) -> dict[str, float]:
    """Seconds of the whole run after the start of Spark, pairs answered, rows in and out."""
    from lakewarden.spark.pipelines import effective_access
    from lakewarden.spark.pipelines.messages import Telling

    output = folder.parent / f"{folder.name}-out-{time.monotonic_ns()}"
    output.mkdir()
    given = Namespace(input=str(folder), output=str(output), pairs=effective_access.PAIRS)
    started = time.perf_counter()
    effective_access.run(spark, given, Telling(spark, StringIO()))
    seconds = time.perf_counter() - started
    summary = json.loads((output / "summary.json").read_text())
    rows = sum(spark.read.parquet(str(folder / name)).count() for name in ("objects", "grants", "principals"))
    rows += spark.read.parquet(str(output / "levels")).count()
    people = summary["people"]["all"] + summary["people"]["services"]
    pairs = people * sum(summary["objects"].values())
    return {"seconds": seconds, "pairs": pairs, "rows": rows, "sampled": summary["sampled"]}


def one_by_one(spark: Any, folder: Path) -> float:
    """Pairs a second when the law is asked about each, on the same Spark: slices sent, tables spread."""
    from lakewarden.spark.pipelines.reach_counts import actions
    from lakewarden.spark.pipelines.snapshot import Snapshot

    snapshot = Snapshot(spark, str(folder))
    every = snapshot.places(snapshot.facts())
    places = every.where("type = 'table'").limit(TABLES).cache()
    slices, realm = _slices(snapshot), snapshot.realm()
    names = {key: (node.type, node.name) for key, node in snapshot.containers(every).items()}
    sent = spark.sparkContext.broadcast((slices, names, actions(realm.dialect, "table"), realm.at))

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
    return len(slices) * TABLES / (time.perf_counter() - started)


def _decided(batch: Any, slices: Any, names: Any, operations: Any, now: float) -> int:
    from lakewarden.law import engine
    from lakewarden.law.facts import Level

    yes = 0
    for key, name, ancestors in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        above = tuple(Level(names[ancestor][0], ancestor, names[ancestor][1]) for ancestor in ancestors)
        lineage = (*above, Level("table", key, name))
        for slice in slices:
            for _, operation in operations:
                yes += bool(engine.decide(slice, operation, lineage, now=now))
    return yes


def _slices(snapshot: Any) -> list[Any]:
    """The slices of some people, with everything that is given to them anywhere."""
    from lakewarden.law import engine
    from lakewarden.law.facts import Rule

    realm = snapshot.realm()
    standing = snapshot.standing(realm)
    rows = snapshot.rows("grants", "role", "object", "privilege", "effect")
    given: dict[int, list[Any]] = {}
    for role, on, code, effect in rows:
        given.setdefault(role, []).append((on, code, effect))
    slices = []
    for person in standing.people.keys[:ASKED]:
        rules = [
            Rule(on, code, effect == "allow", via)
            for unit, via, _ in standing.paths(person)
            for on, code, effect in given.get(unit.key, ())
            if unit.kind == "role"
        ]
        who = standing.ref(person)
        slices.append(
            engine.build(who, realm.name, realm.law, realm.revision, rules, member=True, now=realm.at)
        )
    return slices


def workers(folder: Path) -> bool:
    """Seconds in which tasks are at work on one worker of one core, and on two: on a real cluster.

    It counts where each worker has one processor for its Java, its Python and everything: else what is
    called one core takes both of a small machine, and a second worker finds nothing left to take.
    """
    confined = on_cluster(folder, ROUNDS, RUNS, "--confined")
    free = on_cluster(folder, 1, 1)
    for words, runs in (("one processor each", confined), ("all processors for all", free)):
        single, two = runs
        print(f"{words}: tasks on one worker {single.tasks:.1f} s, on two {two.tasks:.1f} s:", end=" ")
        print(f"{two.tasks / single.tasks:.2f}; with what the driver does alone", end=" ")
        print(f"{single.seconds:.1f} s and {two.seconds:.1f} s", flush=True)
    share = confined[1].tasks / confined[0].tasks
    print(f"where each worker has one processor: {share:.2f}, at most {MOST_SHARE}", flush=True)
    return share <= MOST_SHARE


def on_cluster(folder: Path, rounds: int, runs: int, *more: str) -> tuple[Run, Run]:
    """The run on one of two workers, and on both, in turn: of each the one that was disturbed least."""
    with socket.socket() as free, tempfile.TemporaryDirectory(prefix="lakewarden-bench-") as kept:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
        free.close()
        command = [sys.executable, str(CLUSTER), "--workers", "2", "--port", port, "--folder", kept, *more]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            line = process.stdout.readline() if process.stdout else ""
            master = line.strip().removeprefix("SPARK_MASTER=")
            measured_runs: dict[int, list[Run]] = {1: [], 2: []}
            for _ in range(rounds):
                for cores, every in measured_runs.items():
                    every += a_session(folder, master, cores, runs)
        finally:
            process.terminate()
            process.wait(60)
    single, two = (min(every, key=lambda run: run.tasks) for every in measured_runs.values())
    return single, two


def a_session(folder: Path, master: str, cores: int, runs: int) -> Iterator[Run]:
    """Runs in a Spark of their own, on so many workers of one core each."""
    with tempfile.TemporaryDirectory(prefix="lakewarden-bench-") as events:
        settings = {
            "spark.cores.max": str(cores),
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{events}",
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }
        options = " ".join(f"--conf {name}={value}" for name, value in settings.items())
        environment = {
            **os.environ,
            "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell",
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        command = [sys.executable, __file__, str(folder), master, str(runs)]
        output = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=environment
        ).stdout
        spans = sorted(span for path in Path(events).rglob("*") if path.is_file() for span in _spans(path))
    for began, seconds in json.loads(output.splitlines()[-1]):
        yield Run(while_tasks_ran(spans, began, seconds), seconds)


def while_tasks_ran(spans: Iterable[tuple[float, float]], began: float, seconds: float) -> float:
    """Seconds of a run in which at least one task was at work, as Spark's own log of events tells."""
    measured_seconds, end = 0.0, began
    for first, last in spans:
        if began <= first < began + seconds:
            measured_seconds += max(0.0, last - max(first, end))
            end = max(end, last)
    return measured_seconds


def _spans(path: Path) -> Iterator[tuple[float, float]]:
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if event.get("Event") == "SparkListenerTaskEnd":
            info = event["Task Info"]
            yield info["Launch Time"] / 1000, info["Finish Time"] / 1000


def by_sets(m: Path, large: Path) -> bool:
    """The gain over pair by pair, and how the time grows with the lake."""
    from lakewarden.spark.pipelines.session import session

    spark = session("local[2]", "bench")
    ran(spark, m)  # the first run starts workers and compiles
    alone = one_by_one(spark, m)
    runs = ran(spark, m), ran(spark, large)
    spark.stop()
    return _judged(alone, *runs)


def measure(*, whole: bool) -> bool:
    import django

    django.setup()  # the shape of the tables is the export's
    from tests.pipelines import snapshots

    with tempfile.TemporaryDirectory(prefix="lakewarden-bench-") as home:
        large = snapshots.write(Path(home) / "L", snapshots.lake(snapshots.L))
        good = not whole or by_sets(snapshots.write(Path(home) / "M", snapshots.lake(snapshots.M)), large)
        good = workers(large) and good
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


def a_few(folder: Path, master: str, runs: int) -> list[tuple[float, float]]:
    """When each of some runs began and how long it took, after one that starts workers and compiles."""
    from lakewarden.spark.pipelines.session import session

    spark, pairs = session(master, "bench"), []
    ran(spark, folder)
    for _ in range(runs):
        began = time.time()
        pairs.append((began, ran(spark, folder)["seconds"]))
    spark.stop()
    return pairs


def main(words: list[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started ends with us
    if len(words) == 3:  # some runs in a Spark of their own
        print(json.dumps(a_few(Path(words[0]), words[1], int(words[2]))))
        return 0
    if words not in ([], ["workers"]):
        sys.stderr.write(f"{__doc__}")
        return 2
    return 0 if measure(whole=not words) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
