"""Pipeline `effective_access`: who reaches how much, as totals for a realm and its foremost objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts.models import Principal
from catalog.models import Placement, Securable
from lakewarden.spark.pipelines.figures import FOREMOST
from policies.analytics.figures import Measured
from policies.analytics.pipelines.definition import Pipeline, Result, RunContext
from policies.models import Figure, Grant, PipelineRun, RealmMember

SMALL = 300_000
"""Up to so many pairs of a person and an object, the law itself answers sooner than Spark starts."""
KINDS = {"exposed": Figure.Kind.OBJECT, "broadest": Figure.Kind.ROLE, "furthest": Figure.Kind.PERSON}


def is_small(work: RunContext) -> bool:
    """Whether a realm is small enough to be worked out in this process; never where there is a cluster."""
    objects = Placement.objects.open().filter(securable__realm=work.place.realm_id).count()
    people = RealmMember.objects.open().filter(realm=work.place.realm_id).count()
    if work.place.kind != "gravitino":  # everybody belongs to it
        people = Principal.objects.count()
    return settings.SPARK_MASTER.startswith("local") and objects * people <= SMALL


def _here(work: RunContext) -> Callable[[], Result]:
    work.tell(1, 3, "reading the facts")
    with transaction.atomic():
        measured = Measured(work.place, now=work.now)
    work.tell(2, 3, f"asking about {len(measured.places):,} objects")
    figures = measured.figures()
    return lambda: store(work.run, figures)


def _load(work: RunContext, folder: Path) -> Result:
    return store(work.run, json.loads((folder / "summary.json").read_text()))


def store(run: PipelineRun, found: Mapping[str, Any]) -> Result:
    """Put the figures of a run in the place of those before; answers its totals."""
    Figure.objects.filter(realm=run.realm_id).delete()
    Figure.objects.bulk_create(_lines(run, found), batch_size=500)
    grants = Grant.objects.as_of(run.revision).filter(role__realm=run.realm_id)
    direct = Grant.objects.as_of(run.revision).filter(realm=run.realm_id, role=None)
    kept = {name: found[name] for name in ("objects", "pairs", "people", "reach")}
    return {**kept, "grants": grants.count() + direct.count(), "sampled": found.get("sampled", 0)}


def _lines(run: PipelineRun, figures: Mapping[str, Any]) -> Iterator[Figure]:
    """What was dropped or forgotten since the snapshot is left out."""
    keys = {line["key"] for name in KINDS for line in figures[name]}
    things = set(Securable.objects.filter(pk__in=keys).values_list("pk", flat=True))
    people = set(Principal.objects.filter(pk__in=keys).values_list("pk", flat=True))
    for name, kind in KINDS.items():
        names, field = (people, "principal") if kind == Figure.Kind.PERSON else (things, "securable")
        lines = [line for line in figures[name] if line["key"] in names][:FOREMOST]
        for place, line in enumerate(lines, 1):
            yield Figure(
                run=run,
                realm=run.realm,
                kind=kind,
                place=place,
                weight=line["weight"],
                numbers=line["numbers"],
                **{f"{field}_id": line["key"]},
            )


PIPELINE = Pipeline(
    name="effective_access",
    label="Effective access",
    about="Who can access what: totals, the most exposed objects, the broadest roles.",
    program="effective_access",
    small=is_small,
    here=_here,
    load=_load,
)
