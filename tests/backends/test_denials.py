"""Denials: written before anything is given, taken back last, so that nobody slips through on the way."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from lakewarden.backends.base import Desired, Observation, Right, Step
from lakewarden.backends.planning import plan
from lakewarden.backends.planning.losses import effective
from lakewarden.backends.planning.ordering import waits_for
from tests.backends.test_planning import PEOPLE, A, B, C, done, members, roles, seen, told

NOT_A, NOT_B, NOT_C = (replace(right, right=f"DENY {right.right}") for right in (A, B, C))
WORLDS = 600


@pytest.mark.parametrize(
    ("desired", "observed", "steps"),
    [
        (
            Desired(roles(r={A, NOT_C}, d={NOT_B}), members(r={"ana"}, d={"ana"})),
            seen(roles(d={A}), members(d={"ana"})),
            ["make_role r", "give d b", "give r c", "give r a", "take d a", "ana +r =d"],
        ),
        (
            Desired(roles(r={B}), members(r={"ana"})),
            seen(roles(r={A}, d={NOT_A}), members(r={"ana"}, d={"ana"})),
            ["take r a", "ana -d =r", "give r b", "take d a", "drop_role d"],
        ),
        (
            Desired(roles(r={A}, d={NOT_A}), members(r={"ana", "bo"}, d={"ana"})),
            seen(roles(r=set(), d={NOT_A}), members(r={"ana", "bo"})),
            ["ana +d =r", "give r a"],
        ),
        (
            Desired(roles(a={A}, d={NOT_A}), members(a={"ana"}, d={"ana"})),
            seen(roles(b={B}, c={NOT_B}, a={A}, d={NOT_A}), members(b={"ana"}, c={"ana"})),
            ["ana -b -c +d +a", "take b b", "drop_role b", "take c b", "drop_role c"],
        ),
    ],
    ids=[
        "denied first, then given",
        "a denial is needed until what it denies is taken",
        "people to be denied it are so before the role that they stay in has it",
        "into a role that denies first, out of one last",
    ],
)
def test_the_order_of_denials(desired: Desired, observed: Observation, steps: list[str]) -> None:
    assert told(plan(desired, observed).steps) == steps


def random_world(rng: random.Random) -> tuple[dict[str, frozenset[Right]], dict[str, frozenset[str]]]:
    every = [A, B, C, NOT_A, NOT_B, NOT_C]
    keys = rng.sample("klmnop", rng.randint(0, 5))
    held = {key: frozenset(rng.sample(every, rng.randint(0, 4))) for key in keys}
    return held, {key: frozenset(rng.sample(sorted(PEOPLE), rng.randint(0, 3))) for key in keys}


def worlds() -> Iterator[tuple[random.Random, Desired, Observation]]:
    for seed in range(WORLDS):
        rng = random.Random(seed)
        have, want = random_world(rng), random_world(rng)
        yield rng, Desired(*want), seen(*have)


def have(observed: Observation, steps: Iterable[Step] = ()) -> dict[str, frozenset[Right]]:
    """What everybody has after these steps."""
    there = done(observed, tuple(steps))
    return {
        person: effective([key for key, who in there.members.items() if person in who], there.roles)
        for person in PEOPLE
    }


def test_nobody_has_more_at_any_moment_than_before_and_after_together() -> None:
    for _, desired, observed in worlds():
        steps = plan(desired, observed).steps
        before, after = have(observed), have(observed, steps)
        for at in range(len(steps)):
            now = have(observed, steps[:at])
            assert all(now[person] <= before[person] | after[person] for person in PEOPLE)


def test_that_holds_whatever_fails_on_the_way() -> None:
    for rng, desired, observed in worlds():
        steps = plan(desired, observed).steps
        before, after = have(observed), have(observed, steps)
        went, failed = list[Step](), list[Step]()
        for step in steps:
            (failed if rng.random() < 0.3 or waits_for(step, failed) else went).append(step)
        now = have(observed, went)
        assert all(now[person] <= before[person] | after[person] for person in PEOPLE)
