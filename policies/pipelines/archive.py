"""Pipeline `archive`: old history to files, the whole chain verified, then out of the live tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from django.db import transaction

from lakewarden.record import chain
from policies.archiving import files, live, moving, retention
from policies.changes import body_of
from policies.errors import Conflict
from policies.exports import columns
from policies.exports.columns import NUMBER, TEXT, Row
from policies.models import Archive, Change, Counter
from policies.pipelines.known import Pipeline, Result, Work, register

CHANGES = pa.schema([("revision", NUMBER), ("previous", TEXT), ("digest", TEXT), ("body", TEXT)])
CHAIN, VERDICT = "chain", "verdict.json"
LIVE = """
c.revision <= %(last)s AND NOT EXISTS (
    SELECT FROM policies_archive a
     WHERE a.realm_id = c.realm AND c.revision > a.first AND c.revision <= a.upto)"""


def is_small(work: Work) -> bool:
    """Nothing is beyond the retention, so there is nothing to start Spark for."""
    realm = work.run.realm
    if realm is None or Archive.objects.filter(realm=realm).exclude(state="removed").exists():
        return False
    return retention.old(realm, work.now) <= live.floor(realm.pk)


def _here(work: Work) -> Callable[[], Result]:
    days = retention.days(work.run.realm) if work.run.realm else None
    return lambda: {"moved": 0, "retention_days": days or 0}


def _prepare(work: Work) -> None:
    """Write the archive, and beside it the chain as it will be once what is archived is removed."""
    assert work.run.realm is not None  # noqa: S101  it is no pipeline of the site
    work.tell(0, 0, "writing what is beyond the retention")
    moving.write(work.run.realm, work.now)
    folder = work.output / CHAIN
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    with transaction.atomic():
        last = Counter.objects.get().revision
        columns.write(folder / "changes.parquet", CHANGES, _changes(last))
        events = columns.streamed(files.EVENT_ROWS.format(which=LIVE), {"last": last}, files.BATCH)
        columns.write(folder / "live.parquet", files.EVENT_COLUMNS, events)
    (folder / "last").write_text(str(last))


def _changes(last: int) -> Iterator[list[Row]]:
    rows: list[Row] = []
    for change in Change.objects.filter(revision__lte=last).order_by("revision").iterator(chunk_size=2000):
        body = body_of(change, [])
        rows.append((change.revision, change.previous, change.digest, chain.canonical(body)))
        if len(rows) == columns.BATCH:
            yield rows
            rows = []
    if rows:
        yield rows


def _options(work: Work) -> Mapping[str, str]:
    folder = work.output / CHAIN
    last = int((folder / "last").read_text())
    archived = [str(files.top() / one.folder / files.EVENTS) for one in Archive.objects.order_by("first")]
    digest = Change.objects.filter(revision=last).values_list("digest", flat=True).first()
    return {"chain": str(folder), "archives": "\n".join(archived), "last": str(last), "digest": digest or "-"}


def _carry(work: Work, folder: Path) -> None:
    """Record and remove what was archived, once the whole chain was found good with it.  Raises Conflict."""
    verdict = json.loads((folder / VERDICT).read_text())
    shutil.rmtree(folder / CHAIN, ignore_errors=True)
    if verdict["broken"]:
        raise Conflict(f"The record is broken, so nothing was moved: {verdict['broken']}.")
    for archive in Archive.objects.filter(realm=work.run.realm).exclude(state="removed"):
        moving.record(archive)
        moving.remove(archive, lambda step: work.tell(work.run.done, work.run.total, step))


def _load(work: Work, folder: Path) -> Result:
    verdict = json.loads((folder / VERDICT).read_text())
    moved = Archive.objects.filter(realm=work.run.realm, recorded__gt=work.run.revision)
    told = {"events_moved": sum(one.events for one in moved), "facts_moved": sum(one.facts for one in moved)}
    days = retention.days(work.run.realm) if work.run.realm else None
    kept = {"changes": verdict["changes"], "events": verdict["events"]}
    return {**kept, **told, "moved": moved.count(), "retention_days": days or 0}


PIPELINE = register(
    Pipeline(
        name="archive",
        label="Archive and verify",
        about="History beyond the retention to files; the whole chain read again, live and archived.",
        program="archive",
        snapshot=False,
        options=_options,
        prepare=_prepare,
        small=is_small,
        here=_here,
        carry=_carry,
        load=_load,
    )
)
