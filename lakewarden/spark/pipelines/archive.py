"""Pipeline `archive`: verify the chain of a site's record, live and archived, in parallel.

Reads `changes.parquet` and `live.parquet` from `--chain` and each file of `--archives`, and what is known of
the chain from `--plan`: it begins after change `start`, whose digest is `before`, ends at `last` with `end`,
and was read up to `read`, which had `digest`.  Recomputes the digests of changes that are given with what
they say, and looks whether each follows from the one before.  Writes `verdict.json`: `changes` and `events`
that were recomputed, and `broken`, the first thing that does not fit, or null.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Optional

from lakewarden.record import chain
from lakewarden.spark.pipelines.messages import Telling

FIELDS = ("number", "kind", "object_type", "object_name", "object_key", "lineage", "people", "data")
CHECKED = "revision bigint, events bigint, broken string"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--chain", required=True, help="the folder of the changes and of the live events")
    parser.add_argument("--plan", required=True, help="a file that tells where the chain begins and ends")
    parser.add_argument("--archives", default="", help="files of archived events, one a line")


def run(spark: Any, given: Namespace, tell: Telling) -> None:
    """Never raises for a broken record: the verdict says so."""
    chain_folder, archives = Path(given.chain), [item for item in given.archives.split("\n") if item]
    plan = json.loads(Path(given.plan).read_text())
    with tell.step("reading the audit log", 150):
        changes = spark.read.parquet(str(chain_folder / "changes.parquet")).cache()
        count = changes.count()
        events = spark.read.parquet(str(chain_folder / "live.parquet"), *archives)
        events = events.where(f"change > {int(plan['start'])}")
    with tell.step(f"recomputing digests of {count:,} changes", 650):
        checked = recomputed(changes, events).cache()
        totals = checked.selectExpr("count(events) AS changes", "sum(events) AS events").first()
        wrong = checked.where("broken IS NOT NULL").orderBy("revision").first()
    with tell.step("following the chain", 150):
        broken = wrong.broken if wrong else None
        broken = broken or unlinked(changes, plan["before"]) or ending(changes, count, plan)
    for kept in (checked, changes):
        kept.unpersist()  # the next run's files are called alike: it would be answered from these
    verdict = {"changes": totals.changes, "events": totals.events or 0, "broken": broken}
    (Path(given.output) / "verdict.json").write_text(json.dumps(verdict))


def recomputed(changes: Any, events: Any) -> Any:
    """For each change how many events it has, and what is wrong with its digest; neither of a mere link."""
    from pyspark.sql import functions as f

    grouped = events.groupBy("change").agg(f.collect_list(f.struct(*FIELDS)).alias("events"))
    joined = changes.join(grouped, changes.revision == grouped.change, "full_outer")
    return joined.select("revision", "change", "previous", "digest", "body", "events").mapInArrow(
        _checked, CHECKED
    )


def _checked(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    schema = pa.schema([("revision", pa.int64()), ("events", pa.int64()), ("broken", pa.string())])
    for batch in batches:
        rows = [_row(row) for row in batch.to_pylist()]
        columns = [list(column) for column in zip(*rows)] or [[], [], []]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _row(row: Mapping[str, Any]) -> tuple[int, Optional[int], Optional[str]]:
    revision, events = row["revision"], row["events"] or []
    if revision is None:
        return row["change"], len(events), f"there are events of revision {row['change']}, which is missing"
    if row["body"] is None:  # read before, and not moved
        return revision, None, None
    body = json.loads(row["body"])
    body["events"] = [_event(event) for event in sorted(events, key=lambda event_: event_["number"])]
    good = chain.digest(row["previous"], body) == row["digest"]
    return revision, len(events), None if good else f"revision {revision} was changed after it was written"


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: row[name] for name in FIELDS}
    return {**values, "data": json.loads(row["data"])}


def unlinked(changes: Any, start: str) -> Optional[str]:
    """The first change that does not follow from the one before, the first of all from the digest `start`."""
    from pyspark.sql import functions as f

    before = changes.select((f.col("revision") + 1).alias("revision"), f.col("digest").alias("expected"))
    linked = changes.join(before, "revision", "left").where(
        f.col("previous") != f.coalesce("expected", f.lit(start))
    )
    row = linked.orderBy("revision").select("revision").first()
    return f"revision {row.revision} does not follow from the one before" if row else None


def ending(changes: Any, count: int, plan: Mapping[str, Any]) -> Optional[str]:
    """What is wrong with how far the record goes, and with where it was read up to before."""
    start, last = plan["start"], plan["last"]
    if count != last - start:
        return f"the record has {start + count} changes, the site is at {last}"
    ends = [(plan["read"], plan["digest"]), (last, plan["end"])]
    rows = changes.where(changes.revision.isin([revision for revision, _ in ends]))
    digests = {row.revision: row.digest for row in rows.select("revision", "digest").collect()}
    for revision, digest in ends:
        if revision > start and digests.get(revision) != digest:
            return f"revision {revision} has not the digest that the site knows of it"
    return None
