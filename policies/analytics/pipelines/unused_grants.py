"""Pipeline `unused_grants`: what is given and not needed, kept as hints from run to run."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from django.conf import settings
from django.db.models import Max, Min

from accounts.models import Principal, Token, User
from catalog.models import Securable
from lakewarden.spark.pipelines import unused_grants
from lakewarden.spark.pipelines.unneeded_grants import WINDOW
from lakewarden.spark.pipelines.unneeded_grants import Hint as Found
from policies.analytics import hint_words
from policies.analytics.pipelines import rows
from policies.analytics.pipelines.definition import Pipeline, Result, RunContext
from policies.analytics.pipelines.effective_access import is_small
from policies.models import Change, Hint, RealmMember
from policies.sentences import Said, say

MOST = 5_000
"""So many hints of one kind are kept, those that concern most people."""
CHANGING = (
    *("run", "revision", "seen", "people", "data", "grant"),
    *("securable", "role", "other_role", "holder", "pattern", "privilege"),
)


def _here(work: RunContext) -> Callable[[], Result]:
    work.tell(1, 3, "reading the facts")
    tables = rows.of(work.place, work.run.revision, work.now)
    work.tell(2, 3, "reading what is granted")
    hints = unused_grants.in_memory(tables, after=settings.LAKEWARDEN_UNUSED_AFTER)
    return lambda: store(work, hints)


def _load(work: RunContext, folder: Path) -> Result:
    days = json.loads((folder / "summary.json").read_text())["days"]
    return {**store(work, read(folder)), "days": days}


def read(folder: Path) -> Iterator[Found]:
    """The hints in a folder of files."""
    for path in sorted((folder / "hints").glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(columns=list(Found._fields)):
            for row in batch.to_pylist():
                yield Found(**{**row, "data": json.loads(row["data"])})


def store(work: RunContext, found: Iterable[Found]) -> Result:
    """Bring the hints of a realm up to what was found; answers how many there are of each kind.

    New ones come, what is mended goes, what is dismissed stays dismissed.
    """
    kept = list(_awake(work, _foremost(found)))
    hints_known = _known(kept)
    hints = {
        item.key: _hint(work, item)
        for item in kept
        if {item.object, item.role, item.other_role} <= hints_known[Securable] | {None}
        and item.holder in hints_known[Principal] | {None}
    }
    Hint.objects.bulk_create(
        hints.values(),
        batch_size=500,
        update_conflicts=True,
        unique_fields=["realm", "key"],
        update_fields=CHANGING,
    )
    Hint.objects.filter(realm=work.place.realm_id).exclude(run=work.run, seen=work.now).delete()
    return {"kinds": dict(Counter(hint.kind for hint in hints.values()))}


def _foremost(found: Iterable[Found]) -> Iterator[Found]:
    by_kind: dict[str, list[Found]] = defaultdict(list)
    for item in found:
        by_kind[item.kind].append(item)
    for some in by_kind.values():
        yield from sorted(some, key=lambda hint: (-hint.people, hint.key))[:MOST]


def _known(found: Iterable[Found]) -> dict[type, set[int | None]]:
    """Which of the objects, roles and principals there still are."""
    found = list(found)
    things = {key for item in found for key in (item.object, item.role, item.other_role) if key is not None}
    people = {item.holder for item in found if item.holder is not None}
    return {
        Securable: set(Securable.objects.filter(pk__in=things, closed=None).values_list("pk", flat=True)),
        Principal: set(Principal.objects.filter(pk__in=people).values_list("pk", flat=True)),
    }


def _hint(work: RunContext, found: Found) -> Hint:
    return Hint(
        realm_id=work.place.realm_id,
        run=work.run,
        kind=found.kind,
        key=found.key,
        revision=work.run.revision,
        found=work.now,
        seen=work.now,
        securable_id=found.object,
        role_id=found.role,
        other_role_id=found.other_role,
        holder_id=found.holder,
        grant=found.grant,
        pattern=found.pattern,
        privilege=found.privilege,
        people=found.people,
        data=dict(found.data),
    )


def _awake(work: RunContext, found: Iterator[Found]) -> Iterator[Found]:
    """The hints, but for those about people who sleep and yet signed in lately or are new here."""
    found_all = list(found)
    people = {item.holder for item in found_all if item.holder and item.kind.startswith("dormant")}
    seen, since = _seen(people), _members_since(work, people)
    lately = work.now - timedelta(days=WINDOW)
    for item in found_all:
        if not item.kind.startswith("dormant"):
            yield item
            continue
        last, able = seen.get(item.holder or 0), bool(item.data["able"])
        fresh = max(filter(None, (last, since.get(item.holder or 0))), default=None)
        if not able or fresh is None or fresh < lately:
            yield item._replace(
                data={**item.data, "why": _why(item.data, able=able, last=last, now=work.now).as_data()}
            )


def _members_since(work: RunContext, people: Collection[int]) -> dict[int, datetime]:
    """Since when each belongs to the realm; who is new had no time to do anything.  Two queries."""
    rows = RealmMember.objects.open().filter(realm=work.place.realm_id, principal__in=people)
    opened = dict(rows.values_list("principal").annotate(first=Min("opened")))
    at = dict(Change.objects.filter(revision__in=opened.values()).values_list("revision", "at"))
    return {person: at[revision] for person, revision in opened.items() if revision in at}


def _why(data: Mapping[str, Any], *, able: bool, last: datetime | None, now: datetime) -> Said:
    if not able:
        return say(hint_words.CLOSED)
    used = data.get("used")
    return hint_words.asleep(last, datetime.fromtimestamp(used, now.tzinfo) if used else None)


def _seen(people: Iterable[int]) -> dict[int, datetime]:
    """When each last signed in or used a token.  Two queries."""
    people = list(people)
    signed = User.objects.filter(principal__in=people, last_login__isnull=False)
    tokens = Token.objects.filter(principal__in=people, last_used__isnull=False).values_list("principal")
    last_seen: dict[int, datetime] = {}
    for key, at in (*signed.values_list("principal", "last_login"), *tokens.annotate(at=Max("last_used"))):
        if key is not None and at is not None:
            last_seen[key] = max(at, last_seen.get(key, at))
    return last_seen


PIPELINE = Pipeline(
    name="unused_grants",
    label="Least privilege",
    about="Access that may not be needed: unused, granted twice, too wide, dormant, without an owner.",
    program="unused_grants",
    options=lambda work: {"after": str(settings.LAKEWARDEN_UNUSED_AFTER)},
    small=is_small,
    here=_here,
    load=_load,
)
