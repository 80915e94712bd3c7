"""A run while it goes on: its steps, how many are done, what went wrong in the backend's own words."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from django.utils import timezone

from catalog.models import Placement
from lakewarden.backends.base import Outcome, Plan, Step
from lakewarden.backends.errors import kind_of
from policies.models import Backend, SyncItem, SyncRun
from policies.sync.safeguards import loss_limit
from policies.sync.safeguards.rate_limit import Pace, weight

KEPT = 5000
"""So many steps of a run are kept one by one; of the rest only those that fail."""
KEPT_RIGHTS = 20
"""So many rights of a step are kept by name; of the rest only how many there are."""
EVERY = 1.0
"""Seconds between two notes of how far a run is."""


class Run:
    """The rows of one run."""

    def __init__(self, backend: Backend, started: datetime) -> None:
        self.row = SyncRun(backend=backend, started=started)
        self._labels: Mapping[str, str] = {}
        self._noted = time.monotonic()

    def plan(self, plan: Plan, labels: Mapping[str, str], losing: int) -> None:
        """Write down what is about to be done, after what was done before."""
        first, self._labels = self.row.total, {**labels, **_left_over(plan, labels)}
        self.row.total += len(plan.steps)
        self.row.removals += sum(step.removes for step in plan.steps)
        self.row.digest, self.row.losing = self.row.digest or loss_limit.digest(plan), losing
        self.row.save()
        steps = plan.steps[: max(0, KEPT - first)]
        numbered = enumerate(steps, first)
        items = [SyncItem(run=self.row, number=at, **_values(step, self._labels)) for at, step in numbered]
        SyncItem.objects.bulk_create(items, batch_size=1000)

    def follow(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """Pass outcomes on and note them as they come, at the backend's rate, until somebody pauses it."""
        pace = Pace(self.row.backend)
        goes_on = pace.wait(self._stopped)
        for outcome in outcomes if goes_on else ():
            if outcome.error is None:
                self.row.applied += 1
                self.row.removed += outcome.step.removes
            else:
                self._keep(outcome)
            self.row.done += 1
            yield outcome
            pace.spend(weight(outcome.step))
            if not pace.wait(self._stopped) or self._stopped():
                break
        self._note()

    def _stopped(self) -> bool:
        """Whether somebody has paused the backend; looked up, and progress noted, now and then."""
        if time.monotonic() - self._noted <= EVERY:
            return False
        self._note()
        return Backend.objects.filter(pk=self.row.backend_id, state=Backend.State.PAUSED).exists()

    def fail(self, error: Exception) -> None:
        """The backend cannot be worked on any further."""
        if self.row.pk:
            self.row.errors = [str(error)]
            self.end(SyncRun.State.FAILED)

    def end(self, state: SyncRun.State) -> None:
        """The run is over; nothing of it changes any more."""
        self.row.state, self.row.ended = state, timezone.now()
        self.row.save()

    def _keep(self, outcome: Outcome) -> None:
        error = outcome.error
        SyncItem.objects.update_or_create(
            run=self.row,
            number=self.row.done,
            defaults={
                **_values(outcome.step, self._labels),
                "state": SyncItem.State.FAILED,
                "error": str(error)[:2000],
                "error_kind": kind_of(error) if error else "",
                "at": timezone.now(),
            },
        )

    def _note(self) -> None:
        self._noted = time.monotonic()
        self.row.save()
        SyncItem.objects.filter(run=self.row, number__lt=self.row.done, state=SyncItem.State.PLANNED).update(
            state=SyncItem.State.DONE, at=timezone.now()
        )


def _values(step: Step, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "step": step.kind,
        "role": step.role,
        "label": labels.get(step.role, step.label),
        "person": step.person,
        "removes": step.removes,
        "places": sorted({".".join(right.path) for right in step.rights}),
        "what": {
            "rights": [
                [right.kind, ".".join(right.path), right.right] for right in islice(step.rights, KEPT_RIGHTS)
            ],
            "many": len(step.rights),
            "joins": [labels.get(key, key) for key in step.joins],
            "leaves": [labels.get(key, key) for key in step.leaves],
            "grantor": step.grantor,
        },
    }


def _left_over(plan: Plan, labels: Mapping[str, str]) -> dict[str, str]:
    """What to call roles that nothing wants any more, by their keys."""
    keys = {key for step in plan.steps for key in (step.role, *step.leaves, *step.joins)} - {"", *labels}
    numbers = {key: int(key[5:]) for key in keys if key.startswith("role:") and key[5:].isdecimal()}
    names = dict(Placement.objects.filter(securable__in=numbers.values()).values_list("securable", "name"))
    left_labels = {
        key: f"role {names[pk]}" for key, pk in numbers.items() if not names.get(pk, "~").startswith("~")
    }
    people = {key: key[7:] for key in keys if key.startswith("person:")}
    return {**dict.fromkeys(keys, "a role no longer needed"), **people, **left_labels}
