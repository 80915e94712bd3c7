"""`GET /metrics`: how the sync does, as Prometheus reads it.  Backends appear by number, never by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from django.db.models import Count, Max, Min, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from authzsite.api.monitoring import comes_from_a_monitor, has_a_token
from authzsite.api.v1.call import problem
from catalog.models import Mode
from policies.decisions.seals import unsealed
from policies.models import Backend, ForeignOrder, Heartbeat, OutboxEntry, SyncRun
from policies.models.sync import STUCK
from policies.record import verifications
from policies.services.grants import revision_now
from policies.sync.differences import items
from policies.sync.safeguards import alerts

MAY_NOT = (
    "ask from this machine or a network of monitors, as a service account with a token of scope audit, or as "
    "a site admin"
)
FOUND = ("in_sync", "missing", "extra", "foreign", "unknown", "bypass")

Sample = tuple[dict[str, str], float]
"""Labels and their value."""


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Everything at once; for monitors alone."""
    if not (comes_from_a_monitor(request) or has_a_token(request)):
        answer = problem(401, MAY_NOT)
        answer["WWW-Authenticate"] = "Bearer"
        return answer
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_PLAIN_0_0_4)


class SyncCollector(Collector):
    """Reads the tables each time it is asked, so that every process of the site says the same."""

    def collect(self) -> Iterator[Metric]:
        now = timezone.now()
        backends = list(Backend.objects.order_by("pk"))
        yield _gauge("revision", "The last committed change.", [({}, revision_now())])
        yield _processes(now)
        yield from _record(now)
        unsealed_facts = unsealed.standing().count()
        yield _gauge(
            "facts_unsealed",
            "Facts written outside the console, which no decision uses.",
            [({}, unsealed_facts)],
        )
        yield from _outbox(now)
        yield from _runs(backends)
        yield _stuck()
        yield from _settings(backends)
        yield from _looks(backends, now)


# a registry of its own: the library's counts what this one process did
REGISTRY = CollectorRegistry()
REGISTRY.register(SyncCollector())


def _gauge(name: str, help: str, samples: Iterable[Sample], *, kind: str = "gauge") -> Metric:
    """One family; a counter's name ends in `_total`, which the library adds to the head by itself."""
    family = Metric(f"lakewarden_{name.removesuffix('_total')}", help, kind)
    for labels, value in samples:
        family.add_sample(f"lakewarden_{name}", labels, value)
    return family


def _of(backend: int, **more: str) -> dict[str, str]:
    return {"backend": str(backend), **more}


def _processes(now: datetime) -> Metric:
    """Workers by the queue that they serve, and the beat; what never ran has no sample."""
    heard = Heartbeat.objects.order_by("name").values_list("name", "at")
    samples = [({"process": name}, (now - at).total_seconds()) for name, at in heard]
    return _gauge("heard_seconds", "Seconds since a queue was served, and since the beat asked.", samples)


def _record(now: datetime) -> Iterator[Metric]:
    last = verifications.last_finished()
    if last is None or last.finished is None:
        return
    age = (now - last.finished).total_seconds()
    yield _gauge("record_verified_seconds", "Seconds since the audit log was last verified.", [({}, age)])
    yield _gauge("record_broken", "1 when the audit log is not intact.", [({}, bool(last.broken))])
    differences = "Rows of the tables that differ from the audit log."
    yield _gauge("record_differences", differences, [({}, last.differences)])


def _outbox(now: datetime) -> Iterator[Metric]:
    late = Q(parked=False, due__lte=now)
    counted = OutboxEntry.objects.values("backend").annotate(
        oldest=Min("due", filter=late),  # first: the next one is called as its column
        due=Count("pk", filter=late),
        parked=Count("pk", filter=Q(parked=True)),
        tries=Max("attempts"),
    )
    rows = [(_of(row["backend"]), row) for row in counted.order_by("backend")]
    yield _gauge("outbox_due", "Entries that are due.", [(of, row["due"]) for of, row in rows])
    yield _gauge(
        "outbox_oldest_seconds",
        "How long the oldest due entry has waited.",
        [(of, (now - row["oldest"]).total_seconds()) for of, row in rows if row["oldest"]],
    )
    yield _gauge("outbox_parked", "Entries that need attention.", [(of, row["parked"]) for of, row in rows])
    yield _gauge(
        "outbox_attempts",
        "The most attempts that an entry has behind it.",
        [(of, row["tries"]) for of, row in rows],
    )


def _runs(backends: Sequence[Backend]) -> Iterator[Metric]:
    """Runs and steps of all time: those that are kept and those that were deleted as old."""
    counted = SyncRun.objects.values("backend", "state").annotate(runs=Count("pk"), steps=Sum("applied"))
    kept = {(row["backend"], row["state"]): (row["runs"], row["steps"]) for row in counted}
    runs, steps = [], []
    for row in backends:
        for state in SyncRun.State.values:
            of, (kept_runs, kept_steps) = _of(row.pk, state=state), kept.get((row.pk, state), (0, 0))
            runs.append((of, kept_runs + row.forgotten.get(state, 0)))
            steps.append((of, kept_steps + row.forgotten.get(f"{state}_steps", 0)))
    yield _gauge("sync_runs_total", "Runs by how they ended.", runs, kind="counter")
    yield _gauge("sync_steps_total", "Steps that were applied.", steps, kind="counter")
    orders = ForeignOrder.objects.filter(done__isnull=True).values("backend").annotate(many=Count("pk"))
    waiting = [(_of(row["backend"]), row["many"]) for row in orders.order_by("backend")]
    yield _gauge("foreign_orders", "Decisions about foreign grants to be carried out.", waiting)


def _stuck() -> Metric:
    """Items that their backend refused for good: each waits for somebody, and says nothing of the rest."""
    stuck: Counter[int] = Counter()
    for rows in (items.stuck(), ForeignOrder.objects.filter(STUCK, done__isnull=True)):
        stuck.update(dict(rows.order_by().values_list("backend").annotate(Count("pk"))))
    samples = [(_of(backend), many) for backend, many in sorted(stuck.items())]
    return _gauge("sync_stuck", "Rights and decisions that a backend refused for good.", samples)


def _settings(backends: Sequence[Backend]) -> Iterator[Metric]:
    """What each backend is told to do."""
    modes = dict(Mode.objects.open().values_list("realm", "mode"))
    yield _gauge(
        "backend_state",
        "1 for the state that a backend is in.",
        [
            (_of(row.pk, state=state), row.state == state)
            for row in backends
            for state in Backend.State.values
        ],
    )
    yield _gauge(
        "backend_policy",
        "1 for what a backend does with what differs: repair, or report only.",
        [
            (_of(row.pk, policy=policy), row.does == policy)
            for row in backends
            for policy in Backend.Policy.values
        ],
    )
    yield _gauge(
        "backend_restored",
        "1 while it only reports because the console's database was restored from a backup.",
        [(_of(row.pk), row.restored) for row in backends],
    )
    yield _gauge(
        "backend_mode",
        "1 for whether the law of its realm is enforced; nothing is changed in the backend unless it is on.",
        [
            (_of(row.pk, mode=mode), modes.get(row.realm_id) == mode)
            for row in backends
            for mode in Mode.Choice.values
        ],
    )
    yield _gauge(
        "backend_rate",
        "The most changes a second that it is to get, 0 for no limit.",
        [(_of(row.pk), row.rate) for row in backends],
    )


def _looks(backends: Sequence[Backend], now: datetime) -> Iterator[Metric]:
    """What was last seen of each backend, and how long ago."""
    late = alerts.overdue(now)
    yield _gauge(
        "revocations_overdue",
        "Decisions that take access away and are not applied after a minute.",
        [(_of(row.pk), late.get(row.pk, (0,))[0]) for row in backends],
    )
    yield _gauge(
        "backend_found",
        "What the last look found.",
        [(_of(row.pk, what=what), int(row.counts.get(what, 0))) for row in backends for what in FOUND],
    )
    for name, help, field in (
        ("backend_looked_seconds", "Seconds since it was last looked at.", "looked_at"),
        ("backend_compared_seconds", "Seconds since all of it was last compared.", "compared_at"),
        ("backend_proved_seconds", "Seconds since it was last proved equal.", "proved_at"),
    ):
        times = [(row.pk, getattr(row, field)) for row in backends]
        yield _gauge(name, help, [(_of(pk), (now - at).total_seconds()) for pk, at in times if at])
