"""What a plan would do to people: the difference of access, and the uses that it would refuse."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from django.utils import timezone

from accounts.models import Principal
from policies.calculations import asking
from policies.calculations.asking import LargeEffect
from policies.models import Calculation
from policies.policy_files.plan import Plan
from policies.simulation.changes import Change
from policies.simulation.difference import Difference, Progress, TooLarge
from policies.simulation.replay import DAYS, Replay
from policies.simulation.simulation import Simulation

MOST = 5_000
"""What plans of more changes do is worked out by a worker, as nobody waits so long for an answer."""


class Effects:
    """The same as a simulation has it.  Raises Invalid, TooLarge for a plan that takes too long.

    With `progress` somebody waits however long it takes.
    """

    def __init__(self, plan: Plan, *, days: int = DAYS, progress: Progress | None = None) -> None:
        self.plan, self.days, self.progress = plan, days, progress
        self.at: datetime = timezone.now()

    @cached_property
    def changes(self) -> list[Change]:
        return self.plan.proposed()

    @property
    def is_long(self) -> bool:
        return len(self.changes) > MOST

    @cached_property
    def difference(self) -> Difference:
        if self.is_long and self.progress is None:
            raise TooLarge
        simulation = Simulation(self.plan.root, self.changes, at=self.at)
        return Difference(simulation, progress=self.progress)

    def ask(self, *, by: Principal) -> Calculation:
        """Have a worker work it out.  Raises Invalid."""
        plan = self.plan
        effect = LargeEffect(plan.root, self.changes, self.at, self.days, plan.digest, plan.revision)
        return asking.ask(effect, by=by)

    @cached_property
    def replay(self) -> Replay:
        return Replay(self.difference, days=self.days)
