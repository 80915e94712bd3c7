"""What backends were given, as far as the kept runs of the sync tell: by a moment, since then, and at making.

Steps and runs are no part of the chained record, and are kept as long as the operator says; so each
answer says how far back it goes, and what is only true of the moment at which it was made.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from catalog.nodes import Node, nodes
from policies.models import Backend, BackendFinding, SyncItem, SyncRun
from policies.record.revisions import Past

MOST = 500
"""So many steps of one backend are told, the newest."""
MEANING = {
    "by_then": "up to as_of: the last run after which a revision was read back there, and what was done "
    "about the object; of runs since runs_since alone",
    "reached": "the first such run that had the revision asked about, or a later one: by then it was true "
    "there",
    "since_then": "what was done about the object after as_of, up to made",
    "at_making": "the state at the time of making, which says nothing of as_of",
}


def backend_states(node: Node, past: Past, made: datetime) -> dict[str, Any]:
    """Of each backend that now mirrors the object what is known; a few queries for each."""
    kept = made - timedelta(days=settings.LAKEWARDEN_RUNS_KEPT)
    rows = Backend.objects.filter(catalog__in=node.lineage).order_by("pk")
    return {
        "as_of": past.moment.isoformat(),
        "revision": past.revision,
        "made": made.isoformat(),
        "steps_kept_since": kept.isoformat(),
        "meaning": MEANING,
        "backends": [_backend(row, node, past, made) for row in rows],
    }


def _backend(row: Backend, node: Node, past: Past, made: datetime) -> dict[str, Any]:
    names = {item.path_below(row.catalog_id) for item in (node, *nodes([node.id]).values())}
    runs, steps = SyncRun.objects.filter(backend=row), _steps(row, names)
    proved = runs.filter(state=SyncRun.State.PROVED, ended__isnull=False).order_by("ended")
    first = runs.order_by("started").first()
    since = steps.filter(at__gt=past.moment, at__lte=made)
    return {
        "kind": row.kind,
        "runs_since": _time(first.started) if first else None,
        "by_then": {
            "proved": _proof(proved.filter(ended__lte=past.moment).last()),
            "steps": _listed(steps.filter(at__lte=past.moment), names),
        },
        "reached": _proof(proved.filter(revision__gte=past.revision).first()),
        "since_then": {"steps": _listed(since, names)},
        "at_making": {
            "state": row.state,
            "proved_at": _time(row.proved_at),
            "proved_revision": row.proved_revision,
            "compared_revision": row.compared_revision,
            "counts": row.counts,
            "findings": list(
                BackendFinding.objects.filter(backend=row, securable=node.id).values(
                    "kind", "place", "holder", "what", "attempts", "error_kind"
                )
            ),
        },
    }


def _steps(row: Backend, names: Collection[str]) -> QuerySet[SyncItem]:
    """What was done about the object there, under the name it had then and that which it has now."""
    done = SyncItem.objects.filter(run__backend=row, state=SyncItem.State.DONE, at__isnull=False)
    return done.filter(places__overlap=sorted(names)).order_by("-at", "-pk")


def _listed(steps: QuerySet[SyncItem], names: Collection[str]) -> list[dict[str, Any]]:
    """The newest of them, oldest first, with the rights on the object; of very many not all are kept."""
    return [
        {
            "at": _time(step.at),
            "run": step.run_id,
            "step": step.step,
            "to": step.person or step.label or step.role,
            "rights": [right for right in step.what.get("rights", ()) if right[1] in names],
            "of": step.what.get("many", 0),
        }
        for step in reversed(steps[:MOST])
    ]


def _proof(run: SyncRun | None) -> dict[str, Any] | None:
    """A run after which all of a revision was read back there."""
    return {"revision": run.revision, "at": _time(run.ended), "run": run.pk} if run else None


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
