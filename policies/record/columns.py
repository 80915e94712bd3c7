"""Rows from the database into Parquet files, a batch at a time: memory does not grow with their number."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.db import connection

BATCH = 10_000
"""Rows that are in memory at a time."""
GROUP = 5
"""Batches that make a row group, which one Spark task reads at the least, unless a file is to be searched."""
BLOCK = 1 << 20
NUMBER, TEXT, TRUTH = pa.int64(), pa.string(), pa.bool_()
MOMENT = pa.timestamp("us", tz="UTC")  # Spark refuses nanoseconds
NUMBERS = pa.list_(pa.int64())

Row = tuple[Any, ...]


@dataclass(frozen=True)
class WrittenFile:
    """One file: how many rows, how many bytes, and the SHA-256 of these in hex."""

    rows: int
    bytes: int
    digest: str


def streamed(statement: str, values: Mapping[str, Any], size: int = BATCH) -> Iterator[list[Row]]:
    """The answer to a statement by a cursor that stays in the database.  Needs a transaction."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, values)
        while rows := cursor.fetchmany(size):
            yield rows


def write(
    path: Path, schema: pa.Schema, batches: Iterable[Sequence[Row]], *, group: int = GROUP
) -> WrittenFile:
    """Write one file that only its owner may read, and read it back for its digest.  Raises OSError."""
    with path.open("xb") as file:
        path.chmod(0o600)
        count, waiting = 0, []
        with pq.ParquetWriter(file, schema, compression="zstd", store_schema=False) as writer:
            for rows in batches:
                count += len(rows)
                waiting.append(batch_of(schema, rows))
                if len(waiting) == group:
                    writer.write_table(pa.Table.from_batches(waiting, schema))
                    waiting = []
            if waiting or not count:
                writer.write_table(pa.Table.from_batches(waiting, schema))
        file.flush()
        os.fsync(file.fileno())
    return WrittenFile(count, path.stat().st_size, digest_of(path))


def batch_of(schema: pa.Schema, rows: Sequence[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)


def digest_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
