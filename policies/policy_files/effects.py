"""What a plan would do to people: the difference of access, and the uses that it would refuse."""

from __future__ import annotations

from functools import cached_property

from django.utils import timezone

from policies.policy_files.plan import Plan
from policies.simulation.difference import Difference
from policies.simulation.replay import DAYS, Replay
from policies.simulation.simulation import Simulation

MOST = 5_000
"""Plans of more changes are carried out as any other, but what they do to people is not worked out."""


class Effects:
    """The same as a simulation has it, for a plan that is not too long.  Raises Invalid."""

    def __init__(self, plan: Plan, *, days: int = DAYS) -> None:
        changes = plan.proposed()
        self.left_out = len(changes) > MOST
        self.simulation = Simulation(plan.root, [] if self.left_out else changes, at=timezone.now())
        self.days = days

    @cached_property
    def difference(self) -> Difference:
        return Difference(self.simulation)

    @cached_property
    def replay(self) -> Replay:
        return Replay(self.difference, days=self.days)
