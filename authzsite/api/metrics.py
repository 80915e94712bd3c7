"""`GET /metrics`: how the sync does, as Prometheus reads it.  Backends appear by number, never by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, Max, Min, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from authzsite.api.monitoring import comes_from_a_monitor, has_a_token
from authzsite.api.v1.call import problem
from catalog.models import Mode
from policies import unsealed, verifications
from policies.models import Backend, BackendFinding, ForeignOrder, OutboxEntry, SyncRun
from policies.models.sync import STUCK
from policies.services.grants import revision_now
from policies.sync.safeguards import alerts

MAY_NOT = "ask from this machine or a network of monitors, or with a token of scope audit"
KIND = "text/plain; version=0.0.4; charset=utf-8"
FOUND = ("in_sync", "missing", "extra", "foreign", "unknown", "bypass")


class Metric(NamedTuple):
    """One family: its name, kind, help, and a value for each set of labels."""

    name: str
    kind: str
    help: str
    values: Iterable[tuple[str, float]]

    def lines(self) -> Iterator[str]:
        yield f"# HELP lakewarden_{self.name} {self.help}"
        yield f"# TYPE lakewarden_{self.name} {self.kind}"
        for labels, value in self.values:
            yield f"lakewarden_{self.name}{labels} {value:.15g}"


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Everything at once, in nine queries; for monitors alone."""
    if not (comes_from_a_monitor(request) or has_a_token(request)):
        answer = problem(401, MAY_NOT)
        answer["WWW-Authenticate"] = "Bearer"
        return answer
    text = "".join(f"{line}\n" for metric in _metrics() for line in metric.lines())
    return HttpResponse(text, content_type=KIND)


def _metrics() -> Iterator[Metric]:
    now = timezone.now()
    rows = list(Backend.objects.order_by("pk"))
    modes = dict(Mode.objects.open().values_list("realm", "mode"))
    yield Metric("revision", "counter", "The last committed change.", [("", revision_now())])
    yield from _record(now)
    yield Metric(
        "facts_unsealed",
        "gauge",
        "Facts that were written past the console; nothing is decided on them.",
        [("", unsealed.standing().count())],
    )
    yield from _outbox()
    yield from _runs(rows)
    yield _stuck()
    yield Metric(
        "backend_state",
        "gauge",
        "1 for the state that a backend is in.",
        [
            (_labels(row.pk, state=state), float(row.state == state))
            for row in rows
            for state in Backend.State
        ],
    )
    yield Metric(
        "backend_policy",
        "gauge",
        "1 for what a backend does with what differs: repair, or report only.",
        [
            (_labels(row.pk, policy=policy), float(row.does == policy))
            for row in rows
            for policy in Backend.Policy
        ],
    )
    yield Metric(
        "backend_restored",
        "gauge",
        "1 while it only reports because the console's database came back from a copy.",
        [(_labels(row.pk), float(row.restored)) for row in rows],
    )
    yield Metric(
        "backend_mode",
        "gauge",
        "1 for whether the law of its realm is enforced; nothing is changed out there unless it is on.",
        [
            (_labels(row.pk, mode=mode), float(modes.get(row.realm_id) == mode))
            for row in rows
            for mode in Mode.Choice
        ],
    )
    late = alerts.overdue(now)
    yield Metric(
        "revocations_overdue",
        "gauge",
        "Decisions that take access away and are not applied after a minute.",
        [(_labels(row.pk), late.get(row.pk, (0,))[0]) for row in rows],
    )
    yield Metric(
        "backend_found",
        "gauge",
        "What the last look found.",
        [(_labels(row.pk, what=what), int(row.counts.get(what, 0))) for row in rows for what in FOUND],
    )
    yield Metric(
        "backend_looked_seconds",
        "gauge",
        "Seconds since it was last looked at.",
        [(_labels(row.pk), (now - row.looked_at).total_seconds()) for row in rows if row.looked_at],
    )
    yield Metric(
        "backend_compared_seconds",
        "gauge",
        "Seconds since all of it was last compared.",
        [(_labels(row.pk), (now - row.compared_at).total_seconds()) for row in rows if row.compared_at],
    )
    yield Metric(
        "backend_rate",
        "gauge",
        "The most changes a second that it is to get, 0 for no limit.",
        [(_labels(row.pk), row.rate) for row in rows],
    )
    yield Metric(
        "backend_proved_seconds",
        "gauge",
        "Seconds since it was last proved equal.",
        [(_labels(row.pk), (now - row.proved_at).total_seconds()) for row in rows if row.proved_at],
    )


def _record(now: datetime) -> Iterator[Metric]:
    last = verifications.last_finished()
    if last is None or last.finished is None:
        return
    age = [("", (now - last.finished).total_seconds())]
    broken, differing = [("", float(bool(last.broken)))], [("", float(last.differences))]
    yield Metric("record_verified_seconds", "gauge", "Seconds since the record was last read.", age)
    yield Metric("record_broken", "gauge", "1 when it is not whole.", broken)
    yield Metric("record_differences", "gauge", "Rows of the tables that are not as it says.", differing)


def _outbox() -> Iterator[Metric]:
    late = Q(parked=False, due__lte=timezone.now())
    counted = OutboxEntry.objects.values("backend").annotate(
        oldest=Min("due", filter=late),  # first: the next one is called as its column
        due=Count("pk", filter=late),
        parked=Count("pk", filter=Q(parked=True)),
        tries=Max("attempts"),
    )
    rows = list(counted.order_by("backend"))
    due = [(_labels(row["backend"]), row["due"]) for row in rows]
    parked = [(_labels(row["backend"]), row["parked"]) for row in rows]
    yield Metric("outbox_due", "gauge", "Entries that are due.", due)
    now = timezone.now()
    waits = [
        (_labels(row["backend"]), (now - row["oldest"]).total_seconds()) for row in rows if row["oldest"]
    ]
    yield Metric("outbox_oldest_seconds", "gauge", "How long the oldest due entry has waited.", waits)
    yield Metric("outbox_parked", "gauge", "Entries that wait for somebody.", parked)
    tries = [(_labels(row["backend"]), row["tries"]) for row in rows]
    yield Metric("outbox_attempts", "gauge", "The most attempts that an entry has behind it.", tries)


def _stuck() -> Metric:
    """Items that their backend refused for good: each waits for somebody, and says nothing of the rest."""
    stuck: Counter[int] = Counter()
    for rows in (BackendFinding.objects.filter(STUCK), ForeignOrder.objects.filter(STUCK, done__isnull=True)):
        stuck.update(dict(rows.order_by().values_list("backend").annotate(Count("pk"))))
    values = [(_labels(backend), many) for backend, many in sorted(stuck.items())]
    return Metric("sync_stuck", "gauge", "Rights and decisions that a backend refused for good.", values)


def _runs(backends: Iterable[Backend]) -> Iterator[Metric]:
    """Runs and steps of all time: those that are kept and those that were deleted as old."""
    counted = SyncRun.objects.values("backend", "state").annotate(runs=Count("pk"), steps=Sum("applied"))
    kept = {(row["backend"], row["state"]): (row["runs"], row["steps"]) for row in counted}
    runs, steps = [], []
    for row in backends:
        for state in SyncRun.State.values:
            now = kept.get((row.pk, state), (0, 0))
            told = _labels(row.pk, state=state)
            runs.append((told, now[0] + row.forgotten.get(state, 0)))
            steps.append((told, now[1] + row.forgotten.get(f"{state}_steps", 0)))
    yield Metric("sync_runs_total", "counter", "Runs by how they ended.", runs)
    yield Metric("sync_steps_total", "counter", "Steps that were applied.", steps)
    orders = ForeignOrder.objects.filter(done__isnull=True).values("backend").annotate(many=Count("pk"))
    waiting = [(_labels(row["backend"]), row["many"]) for row in orders.order_by("backend")]
    yield Metric("foreign_orders", "gauge", "Decisions about foreign grants to be carried out.", waiting)


def _labels(backend: int, **more: str) -> str:
    pairs = {"backend": str(backend), **{name: str(value) for name, value in more.items()}}
    return "{" + ",".join(f'{name}="{value}"' for name, value in pairs.items()) + "}"
