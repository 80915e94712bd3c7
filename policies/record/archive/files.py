"""Archives as Parquet files: the events of old changes, and facts that ended; streamed in and out."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from django.conf import settings
from django.db import transaction

from catalog.models import Realm
from policies.models import Change, Event
from policies.record import columns
from policies.record.archive import facets
from policies.record.columns import NUMBER, NUMBERS, TEXT, Row, WrittenFile

MANIFEST = "manifest.json"
EVENTS, FACTS, INDEX = "events.parquet", "facts.parquet", "index.parquet"
BATCH = 5_000
SEARCHED = 2_000
"""Events of a row group: so many are read where one of them may be what is looked for."""

EVENT_COLUMNS = pa.schema(
    [
        ("change", NUMBER),
        ("number", NUMBER),
        ("kind", TEXT),
        ("object_type", TEXT),
        ("object_name", TEXT),
        ("object_key", NUMBER),
        ("lineage", NUMBERS),
        ("people", pa.list_(TEXT)),
        ("data", TEXT),
    ]
)
FACT_COLUMNS = pa.schema(
    [("table", TEXT), ("id", NUMBER), ("opened", NUMBER), ("closed", NUMBER), ("row", TEXT)]
)
INDEX_COLUMNS = pa.schema([("facet", TEXT)])
EVENT_ROWS = """
SELECT e.change_id, e.number, e.kind, e.object_type, e.object_name, e.object_key, e.lineage, e.people,
       e.data::text
  FROM policies_event e JOIN policies_change c ON c.revision = e.change_id
 WHERE {which}
 ORDER BY e.change_id, e.number"""
OLD = "c.realm = %(realm)s AND c.revision > %(first)s AND c.revision <= %(upto)s"

_OF_OBJECT = "EXISTS (SELECT FROM catalog_securable s WHERE s.id = t.{key} AND s.realm_id = %(realm)s)"
TABLES = {
    "policies_grant": "("
    + " OR ".join(
        [_OF_OBJECT.format(key="role_id"), _OF_OBJECT.format(key="securable_id"), "t.realm_id = %(realm)s"]
    )
    + ")",
    "policies_assignment": _OF_OBJECT.format(key="role_id"),
    "policies_ownership": _OF_OBJECT.format(key="securable_id"),
    "policies_realmmember": "t.realm_id = %(realm)s",
    "catalog_mode": "t.realm_id = %(realm)s",
    "catalog_placement": _OF_OBJECT.format(key="securable_id"),
}
"""The facts of a realm, and which rows of each table are its own."""


class ArchiveBroken(Exception):
    """An archive differs from what was written, or is not there; the message says which."""


def top() -> Path:
    return Path(settings.ENVIRONMENT.var) / "archive"


def write(realm: Realm, first: int, upto: int) -> tuple[str, str, int, int]:
    """Write the archive of some revisions: its folder, its digest, its events and its facts.

    Raises OSError; then nothing of it is left.
    """
    folder = f"{realm.pk}/{first}-{upto}"
    place, aside = top() / folder, top() / str(realm.pk) / f".{secrets.token_hex(6)}"
    for item in (top(), aside.parent, aside):
        item.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        files = _write(aside, {"realm": realm.pk, "first": first, "upto": upto})
        manifest = json.dumps({name: asdict(written) for name, written in files.items()}, sort_keys=True)
        path = aside / MANIFEST
        path.touch(mode=0o600)
        path.write_text(manifest)
        shutil.rmtree(place, ignore_errors=True)  # of an attempt that nobody recorded
        os.rename(aside, place)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return folder, _digest(manifest), files[EVENTS].rows, files[FACTS].rows


def _write(place: Path, values: dict[str, int]) -> dict[str, WrittenFile]:
    with transaction.atomic():
        events = columns.streamed(EVENT_ROWS.format(which=OLD), values, SEARCHED)
        facts = (rows for table in TABLES for rows in columns.streamed(_ended(table), values, BATCH))
        return {
            EVENTS: columns.write(place / EVENTS, EVENT_COLUMNS, events, group=1),
            FACTS: columns.write(place / FACTS, FACT_COLUMNS, facts),
            INDEX: columns.write(place / INDEX, INDEX_COLUMNS, _index(place), group=1),
        }


def _index(place: Path) -> Iterator[list[Row]]:
    """Of each group of the events what occurs in it, in order, a group of the index each."""
    with pq.ParquetFile(place / EVENTS) as file:
        for number in range(file.num_row_groups):
            rows = file.read_row_group(number).to_pylist()
            changes = Change.objects.in_bulk({row["change"] for row in rows})
            yield [(facet,) for facet in sorted(facets.occurring(rows, changes))]


def _ended(table: str) -> str:
    # a personal role is called by its person's name, which must not outlive that person in a file
    row = "to_jsonb(t)"
    if table == "catalog_placement":
        row = "CASE WHEN t.type = 'role' AND t.name LIKE '~%%' THEN to_jsonb(t) - 'name' ELSE to_jsonb(t) END"
    return (
        f"SELECT '{table}', t.id, t.opened, t.closed, ({row})::text FROM {table} t"  # noqa: S608 - ours
        f" WHERE t.closed <= %(upto)s AND {TABLES[table]} ORDER BY t.id"
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def check(folder: str, digest: str) -> Path:
    """The folder of an archive whose manifest and files have their digests.  Raises ArchiveBroken."""
    place = top() / folder
    try:
        manifest = (place / MANIFEST).read_text()
        if _digest(manifest) != digest:
            raise ArchiveBroken(f"the manifest of archive {folder} was changed")
        for name, expected in json.loads(manifest).items():
            if columns.digest_of(place / name) != expected["digest"]:
                raise ArchiveBroken(f"{name} of archive {folder} was changed")
    except OSError as error:
        raise ArchiveBroken(f"archive {folder} cannot be read: {error.strerror}") from error
    return place


def batches(folder: str, name: str, wanted: Sequence[str] | None = None) -> Iterator[Any]:
    """The record batches of one file of an archive.  Raises ArchiveBroken."""
    with opened(folder, name) as file:
        yield from file.iter_batches(BATCH, columns=wanted)


@contextmanager
def opened(folder: str, name: str) -> Iterator[Any]:
    """One file of an archive, to be read group by group.  Raises ArchiveBroken."""
    try:
        with pq.ParquetFile(top() / folder / name) as file:
            yield file
    except (OSError, pa.ArrowException) as error:
        raise ArchiveBroken(f"archive {folder} cannot be read: {error}") from error


def events(folder: str, after: int = 0) -> Iterator[Event]:
    """The events of an archive after a revision, in their order.  Raises ArchiveBroken."""
    for batch in batches(folder, EVENTS):
        for row in batch.to_pylist():
            if row["change"] > after:
                yield event_of(row)


def events_among(folder: str, revisions: Sequence[int]) -> Iterator[Event]:
    """The events of some revisions, which are given in order; groups without any are not read.

    Raises ArchiveBroken.
    """
    with opened(folder, EVENTS) as file:
        for number in range(file.num_row_groups):
            first, last = _span(file, number)
            wanted_here = set(revisions[bisect_left(revisions, first) : bisect_right(revisions, last)])
            if wanted_here:
                rows = file.read_row_group(number).to_pylist()
                yield from (event_of(row) for row in rows if row["change"] in wanted_here)


def events_within(folder: str, first: int, last: int) -> Iterator[Event]:
    """The events of the revisions from one to another, both included; groups without any are not read.

    Raises ArchiveBroken.
    """
    with opened(folder, EVENTS) as file:
        for number in range(file.num_row_groups):
            begins, ends = _span(file, number)
            if begins <= last and first <= ends:
                rows = file.read_row_group(number).to_pylist()
                yield from (event_of(row) for row in rows if first <= row["change"] <= last)


@dataclass(frozen=True)
class ArchivedFact:
    """A fact that had ended when it was moved out of its table."""

    id: int
    opened: int
    closed: int
    values: dict[str, Any]


def facts_among(folder: str, table: str, numbers: Collection[int]) -> Iterator[ArchivedFact]:
    """The facts of a table that have one of these numbers, group by group.  Raises ArchiveBroken."""
    wanted = pa.array(sorted(numbers), NUMBER)
    with opened(folder, FACTS) as file:
        for number in range(file.num_row_groups):
            keys = file.read_row_group(number, columns=["table", "id"])
            if pc.any(_is_wanted(keys, table, wanted)).as_py():
                group = file.read_row_group(number)
                for row in group.filter(_is_wanted(group, table, wanted)).to_pylist():
                    yield ArchivedFact(row["id"], row["opened"], row["closed"], json.loads(row["row"]))


def _is_wanted(rows: Any, table: str, numbers: Any) -> Any:
    return pc.and_(pc.equal(rows["table"], table), pc.is_in(rows["id"], value_set=numbers))


def _span(file: Any, number: int) -> tuple[int, int]:
    """The first and the last revision of a group, as the file tells without being read."""
    statistics = file.metadata.row_group(number).column(0).statistics
    return (statistics.min, statistics.max) if statistics and statistics.has_min_max else (0, sys.maxsize)


def event_of(row: dict[str, Any]) -> Event:
    values = {name: value for name, value in row.items() if name not in ("change", "data")}
    return Event(change_id=row["change"], data=json.loads(row["data"]), **values)


__all__ = ["ArchiveBroken", "Row", "batches", "check", "events", "events_among", "opened", "write"]
