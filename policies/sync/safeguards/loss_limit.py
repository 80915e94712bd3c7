"""What a plan takes from people, and when it takes so much that somebody must look at it first."""

from __future__ import annotations

import hashlib

from lakewarden.backends.base import Desired, Observation, Plan, Step
from lakewarden.backends.planning.losses import effective, roles_by_person

FEW = 25
"""A plan that takes something from no more people than this is never held."""


def losing(desired: Desired, observed: Observation) -> tuple[int, int]:
    """How many people would lose a right that a role of ours gives them now, and how many have any."""
    now, then = roles_by_person(observed.members), roles_by_person(desired.members)
    lost: dict[tuple[frozenset[str], frozenset[str]], bool] = {}
    losers = holders = 0
    for person, before in now.items():
        after = then.get(person, frozenset())
        if (before, after) not in lost:
            had = effective(before, observed.roles)
            lost[before, after] = not had <= effective(after, desired.roles)
        losers += lost[before, after]
        holders += 1
    return losers, holders


def too_much(losers: int, holders: int, share: int) -> bool:
    """Whether so many lose something that it looks like a mistake; `share` in per cent."""
    return losers > FEW and losers * 100 > share * holders


def digest(plan: Plan, *, removals_only: bool = True) -> str:
    """The same for plans that take the same, whatever they give; "" for a plan of nothing."""
    lines = sorted(_line(step) for step in plan.steps if step.removes or not removals_only)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else ""


def _line(step: Step) -> str:
    rights = ",".join(f"{right.kind}:{'.'.join(right.path)}:{right.right}" for right in step.rights)
    parts = (step.kind, step.role, step.person, rights, *step.joins, "<", *step.leaves, "<", step.grantor)
    return "|".join(parts)
