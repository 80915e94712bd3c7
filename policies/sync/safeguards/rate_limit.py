"""How fast a backend is changed: the rate is kept in its row, so it holds whichever worker changes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from django.utils import timezone

from lakewarden.backends.base import Step
from policies.models import Backend

MERGED = 10
"""A backend may carry out so many like steps at once; parts are cut so that even then the rate holds."""
NAP = 1.0
"""Seconds after which somebody who waits looks up again."""


def cut(steps: Iterable[Step], rate: int) -> Iterator[Step]:
    """The same steps, those of many rights in parts small enough for the rate; 0 is any size."""
    most = max(1, rate // MERGED)
    for step in steps:
        if not rate or step.kind not in ("give", "take") or len(step.rights) <= most:
            yield step
            continue
        for at in range(0, len(step.rights), most):
            yield replace(step, rights=step.rights[at : at + most])


def weight(step: Step) -> int:
    """How many rights and memberships a step changes; making and dropping a role is one."""
    return max(1, len(step.rights) + len(step.joins) + len(step.leaves))


class Pace:
    """What one run may still change, in the backend's own rate."""

    def __init__(self, backend: Backend) -> None:
        self._mine = Backend.objects.filter(pk=backend.pk)
        self.rate, self._until = self._mine.values_list("rate", "paced_until").get()

    def spend(self, changes: int) -> None:
        """Note changes that were made; what follows has to wait as long as they take at that rate."""
        if self.rate:
            begin = max(self._until or timezone.now(), timezone.now())
            self._until = begin + timedelta(seconds=changes / self.rate)
            self._mine.update(paced_until=self._until)

    def wait(self, stopped: Callable[[], bool]) -> bool:
        """Wait until the rate lets the next change be made; False when it was `stopped` meanwhile."""
        while (left := self._left(timezone.now())) > 0:
            if stopped():
                return False
            time.sleep(min(left, NAP))
        return True

    def _left(self, now: datetime) -> float:
        return (self._until - now).total_seconds() if self.rate and self._until else 0.0
