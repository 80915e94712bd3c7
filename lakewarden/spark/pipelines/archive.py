"""Pipeline `archive`: verify the whole chain of a site's record, live and archived, in parallel.

Reads `changes.parquet` and `live.parquet` from `--chain` and each file of `--archives`, recomputes every
digest and looks whether each follows from the one before.  Writes `verdict.json`: `changes`, `events`, and
`broken`, the first thing that does not fit, or null.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Optional

from lakewarden.record import chain
from lakewarden.spark.pipelines.telling import Telling

FIELDS = ("number", "kind", "object_type", "object_name", "object_key", "lineage", "people", "data")
CHECKED = "revision bigint, events bigint, broken string"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--chain", required=True, help="the folder of all changes and of the live events")
    parser.add_argument("--archives", default="", help="files of archived events, one a line")
    parser.add_argument("--last", type=int, required=True, help="the number of the last change")
    parser.add_argument("--digest", required=True, help="its digest, as the site keeps it")


def run(spark: Any, given: Namespace, tell: Telling) -> None:
    """Never raises for a broken record: the verdict says so."""
    chain_folder, archives = Path(given.chain), [one for one in given.archives.split("\n") if one]
    with tell.step("reading the record", 150):
        changes = spark.read.parquet(str(chain_folder / "changes.parquet")).cache()
        count = changes.count()
        events = spark.read.parquet(str(chain_folder / "live.parquet"), *archives)
    with tell.step(f"recomputing the digests of {count:,} changes", 650):
        checked = recomputed(changes, events).cache()
        told = checked.selectExpr("count(revision) AS changes", "sum(events) AS events").first()
        wrong = checked.where("broken IS NOT NULL").orderBy("revision").first()
    with tell.step("following the chain", 150):
        broken = wrong.broken if wrong else None
        broken = broken or unlinked(changes) or ending(changes, count, given.last, given.digest)
    for kept in (checked, changes):
        kept.unpersist()  # the next run's files are called alike: it would be answered from these
    verdict = {"changes": told.changes, "events": told.events or 0, "broken": broken}
    (Path(given.output) / "verdict.json").write_text(json.dumps(verdict))


def recomputed(changes: Any, events: Any) -> Any:
    """For each change how many events it has, and what is wrong with its digest."""
    from pyspark.sql import functions as f

    told = events.groupBy("change").agg(f.collect_list(f.struct(*FIELDS)).alias("events"))
    joined = changes.join(told, changes.revision == told.change, "full_outer")
    return joined.select("revision", "change", "previous", "digest", "body", "events").mapInArrow(
        _checked, CHECKED
    )


def _checked(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    schema = pa.schema([("revision", pa.int64()), ("events", pa.int64()), ("broken", pa.string())])
    for batch in batches:
        rows = [_row(row) for row in batch.to_pylist()]
        columns = [list(column) for column in zip(*rows)] or [[], [], []]  # noqa: B905  not in 3.9
        arrays = [pa.array(column, one.type) for column, one in zip(columns, schema)]  # noqa: B905  not in 3.9
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _row(row: Mapping[str, Any]) -> tuple[int, int, Optional[str]]:
    revision, events = row["revision"], row["events"] or []
    if revision is None:
        return row["change"], len(events), f"there are events of revision {row['change']}, which is missing"
    body = json.loads(row["body"])
    body["events"] = [_event(one) for one in sorted(events, key=lambda one: one["number"])]
    good = chain.digest(row["previous"], body) == row["digest"]
    return revision, len(events), None if good else f"revision {revision} was changed after it was written"


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: row[name] for name in FIELDS}
    return {**told, "data": json.loads(row["data"])}


def unlinked(changes: Any) -> Optional[str]:
    """The first change that does not follow from the one before."""
    from pyspark.sql import functions as f

    before = changes.select((f.col("revision") + 1).alias("revision"), f.col("digest").alias("expected"))
    linked = changes.join(before, "revision", "left").where(
        "previous <> coalesce(expected, '')"  # the first one follows from nothing
    )
    row = linked.orderBy("revision").select("revision").first()
    return f"revision {row.revision} does not follow from the one before" if row else None


def ending(changes: Any, count: int, last: int, digest: str) -> Optional[str]:
    """What is wrong with how far the record goes."""
    if count != last:
        return f"the record has {count} changes, the site is at {last}"
    row = changes.where(f"revision = {last}").select("digest").first()
    if count and (row is None or row.digest != digest):
        return f"the record ends at another digest than the site at revision {last}"
    return None
