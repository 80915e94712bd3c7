"""Pipeline `archive`: old history to files, the chain verified with them, then out of the live tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from lakewarden.record import chain
from policies.analytics.pipelines.definition import Pipeline, Result, RunContext
from policies.decisions import live_history
from policies.errors import Conflict
from policies.models import Archive, Change, Counter, PipelineRun
from policies.record import columns
from policies.record.archive import files as archive_files
from policies.record.archive import removal, retention
from policies.record.change import body_of
from policies.record.columns import NUMBER, TEXT, Row

CHANGES = pa.schema([("revision", NUMBER), ("previous", TEXT), ("digest", TEXT), ("body", TEXT)])
CHAIN, VERDICT, PLAN = "chain", "verdict.json", "plan.json"
WHOLE_AGAIN = timedelta(days=30)
"""So long a record is read on from where it was read last; then all of it is read again."""
LIVE = """
c.revision > %(read)s AND c.revision <= %(last)s AND NOT EXISTS (
    SELECT FROM policies_archive a
     WHERE a.realm_id = c.realm AND c.revision > a.first AND c.revision <= a.upto)"""


@dataclass(frozen=True)
class Plan:
    """How much of the chain a run reads: how changes after `start` up to `last` follow, and what some say.

    Up to `read` an earlier run found all of it good, and this change had `digest` then; what comes later is
    read, and whatever is moved now, wherever it stands.  `before` is the digest of change `start`, `end` that
    of the last one; `whole` is when all of the record was read.
    """

    start: int
    before: str
    read: int
    digest: str
    last: int
    end: str
    whole: str


def is_small(work: RunContext) -> bool:
    """Nothing is beyond the retention, so there is nothing to start Spark for."""
    realm = work.run.realm
    if realm is None or Archive.objects.filter(realm=realm).exclude(state="removed").exists():
        return False
    return retention.old(realm, work.now) <= live_history.floor(realm.pk)


def _here(work: RunContext) -> Callable[[], Result]:
    days = retention.days(work.run.realm) if work.run.realm else None
    return lambda: {"moved": 0, "retention_days": days or 0}


def _prepare(work: RunContext) -> None:
    """Write the archive, and beside it the chain as it will be once what is archived is removed.

    Of what an earlier run has read, only the links are written, and these no further back than the events
    reach that are moved now: so a run costs what is new and what is kept live, not all there ever was.
    """
    assert work.run.realm is not None  # noqa: S101  it is no pipeline of the site
    work.tell(0, 0, "writing what is beyond the retention")
    removal.write(work.run.realm, work.now)
    folder = work.output / CHAIN
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    with transaction.atomic():
        plan = _plan(work)
        columns.write(folder / "changes.parquet", CHANGES, _changes(work, plan))
        events = columns.streamed(
            archive_files.EVENT_ROWS.format(which=LIVE), asdict(plan), archive_files.BATCH
        )
        columns.write(folder / "live.parquet", archive_files.EVENT_COLUMNS, events)
    (work.output / PLAN).write_text(json.dumps(asdict(plan)))


def _plan(work: RunContext) -> Plan:
    counter, before_read = Counter.objects.get(), _read_before(work)
    if before_read is None:
        return Plan(0, "", 0, "", counter.revision, counter.digest, work.now.isoformat())
    read, digest = before_read["verified"], before_read["digest"]
    start = min([read, *_moving(work).values_list("first", flat=True)])
    before = Change.objects.filter(revision=start).values_list("digest", flat=True).first()
    digest_before = digest if start == read else before or ""
    return Plan(start, digest_before, read, digest, counter.revision, counter.digest, before_read["whole"])


def _read_before(work: RunContext) -> Result | None:
    """What the last run found good, unless all of the record is to be read again."""
    done = PipelineRun.objects.filter(name="archive", state="done", result__has_key="verified")
    row = done.order_by("-ended").first()
    if row is None or datetime.fromisoformat(row.result["whole"]) < work.now - WHOLE_AGAIN:
        return None
    result: Result = row.result
    return result


def _moving(work: RunContext) -> QuerySet[Archive]:
    """What is written and not yet gone from the live tables."""
    return Archive.objects.filter(realm=work.run.realm).exclude(state="removed")


def _changes(work: RunContext, plan: Plan) -> Iterator[list[Row]]:
    """The links of the chain, each with what the change says where that is to be read."""
    spans = [(item.first, item.upto) for item in _moving(work)]
    rows: list[Row] = []
    links = Change.objects.filter(revision__gt=plan.start, revision__lte=plan.last).order_by("revision")
    for change in links.iterator(chunk_size=2000):
        moves = change.realm == work.run.realm_id and any(a < change.revision <= b for a, b in spans)
        body = chain.canonical(body_of(change, [])) if moves or change.revision > plan.read else None
        rows.append((change.revision, change.previous, change.digest, body))
        if len(rows) == columns.BATCH:
            yield rows
            rows = []
    if rows:
        yield rows


def _options(work: RunContext) -> Mapping[str, str]:
    wanted = Q(upto__gt=_plan_in(work.output).read) | Q(pk__in=_moving(work))
    rows = Archive.objects.filter(wanted).order_by("first")
    return {
        "chain": str(work.output / CHAIN),
        "plan": str(work.output / PLAN),
        "archives": "\n".join(str(archive_files.top() / row.folder / archive_files.EVENTS) for row in rows),
    }


def _plan_in(folder: Path) -> Plan:
    return Plan(**json.loads((folder / PLAN).read_text()))


def _carry(work: RunContext, folder: Path) -> None:
    """Record and remove what was archived, once the whole chain was found good with it.  Raises Conflict."""
    verdict = json.loads((folder / VERDICT).read_text())
    shutil.rmtree(folder / CHAIN, ignore_errors=True)
    if verdict["broken"]:
        raise Conflict(
            gettext("The audit log is damaged, so nothing was moved: %(problem)s.")
            % {"problem": verdict["broken"]}
        )
    for archive in Archive.objects.filter(realm=work.run.realm).exclude(state="removed"):
        removal.record(archive)
        removal.remove(archive, lambda step: work.tell(work.run.done, work.run.total, step))


def _load(work: RunContext, folder: Path) -> Result:
    verdict = json.loads((folder / VERDICT).read_text())
    moved = Archive.objects.filter(realm=work.run.realm, recorded__gt=work.run.revision)
    totals = {
        "events_moved": sum(item.events for item in moved),
        "facts_moved": sum(item.facts for item in moved),
    }
    days = retention.days(work.run.realm) if work.run.realm else None
    plan = _plan_in(folder)
    kept = {"changes": verdict["changes"], "events": verdict["events"]}
    totals_read = {"verified": plan.last, "digest": plan.end, "whole": plan.whole}
    return {**kept, **totals_read, **totals, "moved": moved.count(), "retention_days": days or 0}


PIPELINE = Pipeline(
    name="archive",
    label="Archive and verify",
    about="Moves history older than the retention into files, after verifying the chain.",
    program="archive",
    snapshot=False,
    options=_options,
    prepare=_prepare,
    small=is_small,
    here=_here,
    carry=_carry,
    load=_load,
)
