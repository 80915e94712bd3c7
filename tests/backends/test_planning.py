"""Plans: what is done, in which order, and that doing it makes it so."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from lakewarden.backends.base import Desired, Foreign, Observation, Order, Plan, Right, Step
from lakewarden.backends.planning import plan
from lakewarden.backends.planning.ordering import waits_for

A, B, C = (Right("table", ("s", name), "SELECT") for name in "abc")
NOT_C = Right("table", ("s", "c"), "DENY SELECT")
PEOPLE = frozenset({"ana", "bo", "cy"})


def roles(**rights: set[Right]) -> dict[str, frozenset[Right]]:
    return {key: frozenset(held) for key, held in rights.items()}


def members(**people: set[str]) -> dict[str, frozenset[str]]:
    return {key: frozenset(who) for key, who in people.items()}


def seen(rights, people=None, *, complete=True, **more) -> Observation:
    return Observation(
        complete, "1", (), PEOPLE, rights, {key: frozenset() for key in rights} | (people or {}), **more
    )


def told(steps: tuple[Step, ...]) -> list[str]:
    """Steps in short: `ana -old +new`, `give r ab`."""
    lines = []
    for step in steps:
        if step.kind == "switch":
            moves = [f"-{key}" for key in step.leaves] + [f"+{key}" for key in step.joins]
            lines.append(" ".join([step.person, *moves, *(f"={key}" for key in step.keeps)]))
        else:
            lines.append(
                " ".join([step.kind, step.role, "".join(right.path[1] for right in step.rights)]).strip()
            )
    return lines


CASES = {
    "nothing of nothing": (Desired({}, {}), seen({}), [], (0, 0, 0)),
    "all is as it should be": (
        Desired(roles(r={A}), members(r={"ana"})),
        seen(roles(r={A}), members(r={"ana"})),
        [],
        (0, 0, 2),
    ),
    "a new role is made, filled, then joined": (
        Desired(roles(r={B, A}), members(r={"bo", "ana"})),
        seen({}),
        ["make_role r", "give r ab", "ana +r", "bo +r"],
        (4, 0, 0),
    ),
    "who only leaves goes first": (
        Desired(roles(r={A}, n={B}), members(r=set(), n={"bo"})),
        seen(roles(r={A}), members(r={"ana"})),
        ["ana -r", "make_role n", "give n b", "bo +n"],
        (2, 1, 1),
    ),
    "what is taken from people who stay goes before anything is given": (
        Desired(roles(r={A}, n={B}), members(r={"ana"}, n={"bo"})),
        seen(roles(r={A, C}), members(r={"ana"})),
        ["take r c", "make_role n", "give n b", "bo +n"],
        (2, 1, 2),
    ),
    "what is taken from people who move goes last": (
        Desired(roles(r={A}, n={B}), members(r=set(), n={"ana"})),
        seen(roles(r={A, C}), members(r={"ana"})),
        ["make_role n", "give n b", "ana -r +n", "take r c"],
        (2, 2, 1),
    ),
    "what is taken from people who are given it elsewhere goes last": (
        Desired(roles(r={A}, n={B}), members(r={"ana"}, n={"ana"})),
        seen(roles(r={A, B}, n=set()), members(r={"ana"}, n={"ana"})),
        ["give n b", "take r b"],
        (1, 1, 3),
    ),
    "people who leave for what they are given elsewhere wait for it": (
        Desired(roles(r={A}, n={A}), members(r=set(), n={"ana"})),
        seen(roles(r={A}, n=set()), members(r={"ana"}, n={"ana"})),
        ["give n a", "ana -r =n"],
        (1, 1, 2),
    ),
    "who is to be spared a right leaves before the others get it": (
        Desired(roles(r={A, B}, n={A}), members(r={"bo"}, n={"ana"})),
        seen(roles(r={A}), members(r={"ana", "bo"})),
        ["make_role n", "give n a", "ana -r +n", "give r b"],
        (3, 1, 2),
    ),
    "nobody joins a role before it has lost what it loses": (
        Desired(roles(r={A}, n={B}), members(r={"ana"}, n={"bo"})),
        seen(roles(r={A, C}, n={B}), members(r=set(), n={"ana", "bo"})),
        ["take r c", "ana -n +r"],
        (1, 2, 3),
    ),
    "a move is one step": (
        Desired(roles(r={A}, n={B}, k={C}), members(r=set(), n={"ana"}, k={"ana"})),
        seen(roles(r={A}, n={B}, k={C}), members(r={"ana"}, k={"ana"})),
        ["ana -r +n =k"],
        (1, 1, 4),
    ),
    "a role no longer wanted is emptied and dropped": (
        Desired({}, {}),
        seen(roles(r={A, B}), members(r={"ana"})),
        ["ana -r", "take r ab", "drop_role r"],
        (0, 3, 0),
    ),
    "an empty role no longer wanted is dropped": (
        Desired({}, {}),
        seen(roles(r=set())),
        ["drop_role r"],
        (0, 0, 0),
    ),
    "a wanted role without people stays": (Desired(roles(r={A}), {}), seen(roles(r={A})), [], (0, 0, 1)),
    "a role for nobody and nothing is not made": (
        Desired(roles(r=set()), members(r=set())),
        seen({}),
        [],
        (0, 0, 0),
    ),
    "a role with people but no rights is made": (
        Desired({}, members(r={"ana"})),
        seen({}),
        ["make_role r", "ana +r"],
        (1, 0, 0),
    ),
    "people the source does not know count nowhere": (
        Desired(roles(r={A}), members(r={"ana", "stranger"})),
        seen(roles(r={A}), members(r={"ana"})),
        [],
        (0, 0, 2),
    ),
    "strangers in a role are not ours to remove": (
        Desired(roles(r={A}), members(r={"ana"})),
        seen(roles(r={A}), members(r={"ana", "stranger"})),
        [],
        (0, 0, 2),
    ),
    "nothing is removed when not all could be read": (
        Desired(roles(n={B}), members(n={"ana"})),
        seen(roles(r={A}, n=set()), members(r={"ana", "bo"}), complete=False),
        ["give n b", "ana +n =r"],
        (2, 3, 0),
    ),
    "who cannot leave a role keeps it from being given more": (
        Desired(roles(r={A, B}, n={B}), members(r={"bo"}, n={"cy"})),
        seen(roles(r={A}), members(r={"ana", "bo"}), complete=False),
        ["make_role n", "give n b", "cy +n"],
        (3, 1, 2),
    ),
    "who cannot leave a role is denied there what the others are": (
        Desired(roles(r={A, B, NOT_C}), members(r={"bo"})),
        seen(roles(r={A}), members(r={"ana", "bo"}), complete=False),
        ["give r c"],
        (2, 1, 2),
    ),
    "what would push out its opposite waits": (
        Desired(roles(r={B, NOT_C}), {}),
        seen(roles(r={C}), complete=False),
        ["give r b"],
        (2, 1, 0),
    ),
    "nobody joins a role that cannot lose what it should": (
        Desired(roles(r={A}, n={B}), members(r={"ana"}, n={"ana"})),
        seen(roles(r={A, C}, n=set()), complete=False),
        ["give n b", "ana +n"],
        (3, 1, 1),
    ),
    "a right that is amiss is given again": (
        Desired(roles(r={A, B}), {}),
        seen(roles(r={A, B}), amiss_rights=roles(r={A})),
        ["give r a"],
        (1, 0, 1),
    ),
    "a right that is amiss and not wanted is taken": (
        Desired(roles(r={B}), {}),
        seen(roles(r={A, B}), amiss_rights=roles(r={A})),
        ["take r a"],
        (0, 1, 1),
    ),
    "a membership that is amiss is made again": (
        Desired(roles(r={A}), members(r={"ana"})),
        seen(roles(r={A}), members(r={"ana"}), amiss_members=members(r={"ana"})),
        ["ana +r"],
        (1, 0, 1),
    ),
    "a membership that is amiss and not wanted ends": (
        Desired(roles(r={A}), members(r=set())),
        seen(roles(r={A}), members(r={"ana"}), amiss_members=members(r={"ana"})),
        ["ana -r"],
        (0, 1, 1),
    ),
}


@pytest.mark.parametrize(("desired", "observed", "steps", "counts"), CASES.values(), ids=CASES.keys())
def test_plan(desired, observed, steps, counts):
    plan_ = plan(desired, observed)
    assert told(plan_.steps) == steps
    assert (plan_.missing, plan_.extra, plan_.in_sync) == counts


def test_a_new_role_says_what_it_is_for():
    plan_ = plan(Desired(roles(r={A}), {}, {"r": "role reader"}), seen({}))
    assert plan_.steps[0].label == "role reader"


def random_world(rng: random.Random) -> tuple[dict[str, frozenset[Right]], dict[str, frozenset[str]]]:
    keys = rng.sample("klmnop", rng.randint(0, 5))
    held = {key: frozenset(rng.sample([A, B, C], rng.randint(0, 3))) for key in keys}
    people = {key: frozenset(rng.sample([*sorted(PEOPLE), "stranger"], rng.randint(0, 3))) for key in keys}
    return held, people


def amiss_of(rng, groups):
    return {
        key: frozenset(item for item in sorted(items) if rng.random() < 0.2) for key, items in groups.items()
    }


def done(observed: Observation, steps: tuple[Step, ...]) -> Observation:
    """What the steps make of it; each must make sense where it stands."""
    held = {key: set(rights) for key, rights in observed.roles.items()}
    people = {key: set(who) for key, who in observed.members.items()}
    bad_rights = {key: set(rights) for key, rights in observed.amiss_rights.items()}
    bad_members = {key: set(who) for key, who in observed.amiss_members.items()}
    for step in steps:
        if step.kind == "make_role":
            assert step.role not in held
            held[step.role], people[step.role] = set(), set()
        elif step.kind == "give":
            held[step.role] |= set(step.rights)
            bad_rights.get(step.role, set()).difference_update(step.rights)
        elif step.kind == "take":
            assert set(step.rights) <= held[step.role]
            held[step.role] -= set(step.rights)
        elif step.kind == "switch":
            current = {key for key, who in people.items() if step.person in who}
            assert current <= {*step.joins, *step.leaves, *step.keeps}
            for key in step.joins:
                people[key].add(step.person)
                bad_members.get(key, set()).discard(step.person)
            for key in step.leaves:
                people[key].remove(step.person)
        else:
            assert not held.pop(step.role)
            assert not people.pop(step.role) & PEOPLE
    return replace(
        observed,
        roles=roles(**held),
        members=members(**people),
        amiss_rights={key: frozenset(rights & held.get(key, set())) for key, rights in bad_rights.items()},
        amiss_members={key: frozenset(who & people.get(key, set())) for key, who in bad_members.items()},
    )


def effective(observed: Observation) -> dict[str, set[Right]]:
    return {
        person: {
            right for key, who in observed.members.items() if person in who for right in observed.roles[key]
        }
        for person in PEOPLE
    }


WORLDS = 1500


@cache
def worlds() -> tuple[tuple[Desired, Observation], ...]:
    return tuple(map(world, range(WORLDS)))


def world(seed: int) -> tuple[Desired, Observation]:
    rng = random.Random(seed)
    have, want = random_world(rng), random_world(rng)
    amiss = {"amiss_rights": amiss_of(rng, have[0]), "amiss_members": amiss_of(rng, have[1])}
    return Desired(*want), seen(*have, complete=rng.random() < 0.8, **amiss)


def test_done_means_in_sync():
    for desired, observed in worlds():
        plan_ = plan(desired, observed)
        again = plan(desired, done(observed, plan_.steps))
        assert again.steps == ()
        assert again.extra == (0 if observed.complete else plan_.extra)
        if observed.complete:
            assert again.missing == 0
            assert again.in_sync == plan_.in_sync + plan_.missing


def test_no_steps_means_in_sync_and_the_other_way_round():
    for desired, observed in worlds():
        plan_ = plan(desired, observed)
        if observed.complete:
            idle = {step.kind for step in plan_.steps} <= {"make_role", "drop_role"}
            assert idle == (plan_.missing == plan_.extra == 0)


def test_nothing_is_removed_unless_all_was_read():
    for desired, observed in worlds():
        plan_ = plan(desired, observed)
        if not observed.complete:
            assert not any(step.removes or step.kind == "drop_role" for step in plan_.steps)
        else:
            assert sum(step.removes for step in plan_.steps) == plan_.extra


def test_nobody_gets_what_was_never_decided_for_them_though_not_all_was_read():
    for desired, observed in worlds():
        if not observed.complete:
            decided = effective(replace(observed, roles=desired.roles, members=desired.members))
            before, now = effective(observed), effective(done(observed, plan(desired, observed).steps))
            assert all(now[person] <= before[person] | decided[person] for person in PEOPLE)


def test_no_order_is_carried_out_when_not_all_was_read():
    theirs = Foreign(A, "ana", "owner")
    for complete, kinds in ((True, ["take_foreign"]), (False, [])):
        there = seen({}, foreign=(theirs,), complete=complete)
        assert [step.kind for step in plan(Desired({}, {}), there, [Order(theirs)]).steps] == kinds


@pytest.mark.parametrize("unchanged", ["rights", "members"])
def test_nobody_is_without_what_they_keep_at_any_moment(unchanged):
    """While either roles or their people change; when both do, not having too much comes first."""
    for desired, observed in worlds():
        if unchanged == "rights":
            stable = {key: observed.roles.get(key, rights) for key, rights in desired.roles.items()}
            desired, observed = Desired(stable, desired.members), replace(observed, amiss_rights={})
        else:
            there = {key: who for key, who in observed.members.items() if key in desired.roles}
            desired = Desired(desired.roles, there)
        plan_ = plan(desired, observed)
        before, after = effective(observed), effective(done(observed, plan_.steps))
        for at in range(len(plan_.steps)):
            now = effective(done(observed, plan_.steps[:at]))
            assert all(before[person] & after[person] <= now[person] for person in PEOPLE)


def test_nobody_has_more_at_any_moment_than_before_and_after_together():
    for desired, observed in worlds():
        plan_ = plan(desired, observed)
        before, after = effective(observed), effective(done(observed, plan_.steps))
        for at in range(len(plan_.steps)):
            now = effective(done(observed, plan_.steps[:at]))
            assert all(now[person] <= before[person] | after[person] for person in PEOPLE)


def test_that_holds_whatever_fails_on_the_way():
    for desired, observed in worlds():
        plan_ = plan(desired, observed)
        rng = random.Random(str(plan_))
        before, after = effective(observed), effective(done(observed, plan_.steps))
        went, failed = [], []
        for step in plan_.steps:
            (failed if rng.random() < 0.3 or waits_for(step, failed) else went).append(step)
        now = effective(done(observed, tuple(went)))
        assert all(now[person] <= before[person] | after[person] for person in PEOPLE)


def test_order_of_what_was_read_plays_no_part():
    for desired, observed in worlds():
        plan_: Plan = plan(desired, observed)
        turned = replace(
            observed,
            roles=dict(reversed(observed.roles.items())),
            members=dict(reversed(observed.members.items())),
        )
        assert plan(Desired(dict(reversed(desired.roles.items())), desired.members), turned) == plan_
