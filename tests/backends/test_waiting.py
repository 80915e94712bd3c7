"""Who waits when a role could not be filled: people with nothing to lose, and nobody else."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice

import pytest

from lakewarden.backends.base import Desired, Observation, Right, Step
from lakewarden.backends.errors import BackendError, Gone, Rejected, worst
from lakewarden.backends.planning import plan
from lakewarden.backends.planning.ordering import alone
from lakewarden.backends.steps import in_turn
from tests.backends.test_planning import PEOPLE, A, B, C, done, effective, members, roles, seen, told, worlds

DENIAL = replace(B, right=f"DENY {B.right}")
BEFORE = seen(roles(r={A, B}), members(r={"ana"}))


def carried_out(desired: Desired, observed: Observation, fails) -> tuple[Observation, list[str]]:
    """What is there after a run in which steps fail, and which steps were done."""

    def do(step: Step) -> None:
        if error := fails(step):
            raise error

    outcomes = list(in_turn(plan(desired, observed).steps, do))
    went = tuple(outcome.step for outcome in outcomes if outcome.error is None)
    return done(observed, went), told(went)


def filling(error: BackendError):
    """What can be given is given, but the step fails."""
    return lambda step: error if step.kind == "give" else None


@pytest.mark.parametrize(
    ("wanted", "error", "went"),
    [
        ({A, B, C}, Rejected("no"), ["make_role n"]),
        ({A, C}, Rejected("no"), ["make_role n", "ana -r +n", "take r ab", "drop_role r"]),
        ({A, B, C}, Gone("c"), ["make_role n", "ana -r +n", "take r ab", "drop_role r"]),
        ({A, C, DENIAL}, Rejected("no"), ["make_role n", "take r ab"]),
    ],
    ids=[
        "who has nothing to lose stays until all is there",
        "who has to lose something goes at once",
        "for what is gone nobody waits",
        "nobody joins without its denials, and what is denied goes unchanged",
    ],
)
def test_a_move_into_what_could_not_be_filled(
    wanted: set[Right], error: BackendError, went: list[str]
) -> None:
    desired = Desired(roles(n=wanted), members(n={"ana"}))
    assert carried_out(desired, BEFORE, filling(error))[1] == went


def test_who_had_nothing_joins_what_could_be_filled() -> None:
    desired = Desired(roles(n={A, B}), members(n={"ana"}))
    assert carried_out(desired, seen({}), filling(Rejected("no")))[1] == ["make_role n", "ana +n"]


def test_what_is_taken_from_those_who_stay_is_taken_though_somebody_else_waits() -> None:
    """Ana's next role could not be filled; what bo has to lose is not left for ana's sake."""
    there = seen(roles(r={A, B}), members(r={"ana", "bo"}))
    desired = Desired(roles(r={A}, n={A, B, C}), members(r={"bo"}, n={"ana"}))
    assert carried_out(desired, there, filling(Rejected("no")))[1] == ["make_role n", "take r b"]


def test_who_could_not_be_moved_out_loses_it_where_they_are() -> None:
    there = seen(roles(r={A, B}), members(r={"ana", "bo"}))
    desired = Desired(roles(n={A, B, C}), members(n={"ana"}))

    def fails(step: Step) -> BackendError | None:
        return Rejected("no") if step.kind == "give" or step.person == "bo" else None

    assert carried_out(desired, there, fails)[1] == ["make_role n", "take r ab"]


def test_whatever_cannot_be_filled_nobody_loses_what_they_keep_or_gets_what_was_not_decided() -> None:
    rng = random.Random(9)
    for desired, observed in islice(worlds(), 1000):
        if not observed.complete:
            continue
        stable = {key: observed.roles.get(key, rights) for key, rights in desired.roles.items()}
        # strangers have to lose at once what somebody slipped them
        there = {key: who & PEOPLE for key, who in observed.members.items()}
        desired = Desired(stable, desired.members)
        observed = replace(observed, amiss_rights={}, amiss_members={}, members=there)
        now = effective(
            carried_out(
                desired,
                observed,
                lambda step: Rejected("no") if step.kind == "give" and rng.random() < 0.5 else None,
            )[0]
        )
        before = effective(observed)
        after = effective(replace(observed, roles=desired.roles, members=desired.members))
        for person in PEOPLE:
            assert now[person] <= before[person] | after[person]
            if before[person] <= after[person]:
                assert before[person] <= now[person]


def test_a_step_that_is_asked_for_alone_comes_with_what_it_waits_for() -> None:
    there = seen(roles(r={A, C}, n={B}), members(r=set(), n={"ana", "bo"}))
    steps = plan(Desired(roles(r={A}, n={B}, m={C}), members(r={"ana"}, n={"bo"}, m={"cy"})), there).steps
    assert told(alone(steps, lambda step: step.person == "ana")) == ["take r c", "ana -n +r"]
    assert told(alone(steps, lambda step: step.person == "cy")) == ["make_role m", "cy +m"]


def test_the_worst_of_several_errors_is_told_with_how_many_more_there_are() -> None:
    assert str(worst([Gone("x is gone"), Rejected("y is full")])) == "y is full (and 1 more)"
    assert isinstance(worst([Gone("x"), Rejected("y")]), Rejected)
    assert str(worst([Gone("x is gone")])) == "x is gone"
