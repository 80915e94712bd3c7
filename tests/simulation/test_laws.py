"""What is simulated is what happens: the difference of access before and after the same changes are made."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from lakewarden.law import engine
from policies.analytics import uses
from policies.analytics.uses import ReportedUse
from policies.authority import OPERATOR
from policies.decisions import facts
from policies.decisions.ask import operation_for
from policies.errors import PolicyError
from policies.models import Use
from policies.record.change import change
from policies.services import realm_of
from policies.simulation.carrying_out import carry_out
from policies.simulation.difference import Difference
from policies.simulation.replay import Replay
from policies.simulation.simulation import Simulation

from .worlds import WORLDS, World, access, differing

FEW, MANY = 2, 25


def seeds(law: str) -> list[Any]:
    few = [(law, seed) for seed in range(FEW)]
    return [*few, *(pytest.param(law, seed, marks=pytest.mark.slow) for seed in range(FEW, MANY))]


def made(world: World, changes: list[Any]) -> bool:
    """Whether the changes could be made; then they are."""
    try:
        with change("grant.added", realm=realm_of(world.root), by=OPERATOR):
            carry_out(changes, world.root, by=OPERATOR)
    except PolicyError:
        return False
    return True


@pytest.mark.parametrize(("law", "seed"), [case for law in WORLDS for case in seeds(law)])
def test_what_is_simulated_is_what_happens(db: None, law: str, seed: int) -> None:
    chance = random.Random(f"{law} {seed}")
    world = WORLDS[law](chance)
    really = 0
    for _ in range(4):
        now = timezone.now()
        changes = [world.propose(chance, world) for _ in range(chance.randint(1, 4))]
        use_at_random(chance, world, now)
        simulated, refused = simulate(world, changes, now), replayed(world, changes, now)
        before, used = access(world.root, now), decided_uses(world, now)
        if not made(world, changes):
            continue
        happened = differing(before, access(world.root, now))
        assert simulated == happened, [str(item) for item in changes]
        after = decided_uses(world, now)
        assert refused == {use for use, allowed in used.items() if allowed and not after.get(use)}
        really += bool(happened)
    assert really or seed, "no change of these worlds did anything"


def use_at_random(chance: random.Random, world: World, now: datetime) -> None:
    """Some person did something to some object, as a job reports it."""
    node, who = chance.choice(world.places()), chance.choice(everybody())
    use = ReportedUse(who, node, chance.choice(("read", "write", "use")), True, now)
    uses.take(node.realm_id, people.ensure("service", "nightly"), f"run {now}", [use])


def everybody() -> list[Principal]:
    return list(Principal.objects.filter(kind__in=("user", "service")).order_by("pk"))


UsedBy = tuple[int, int, str]


def decided_uses(world: World, now: datetime) -> dict[UsedBy, bool]:
    """Every reported use, decided by itself as it would be now."""
    realm = Simulation(world.root, (), at=now).before.realm
    found, there = {}, {node.id: node for node in world.places()}
    for use in Use.objects.select_related("principal"):
        node = there.get(use.securable_id)
        slice_ = facts.load(realm, world.root.realm, [use.principal_id], now=now).slice_of(use.principal)
        allowed = node is not None and bool(
            engine.decide(slice_, operation_for(node, use.action), node.levels, now=now.timestamp())
        )
        found[use.principal_id, use.securable_id, use.action] = allowed
    return found


def replayed(world: World, changes: list[Any], now: datetime) -> set[UsedBy] | None:
    try:
        replay = Replay(Difference(Simulation(world.root, changes, at=now)))
        return {(use.person.pk, use.node.id, use.action) for use in replay.refused}
    except PolicyError:
        return None


def simulate(world: World, changes: list[Any], now: Any) -> Any:
    try:
        difference = Difference(Simulation(world.root, changes, at=now))
        lines = difference.page(limit=100_000)
    except PolicyError:
        return None
    totals = difference.totals
    assert totals.pairs_gaining == sum(bool(line.gains) for line in lines)
    assert totals.pairs_losing == sum(bool(line.loses) for line in lines)
    assert totals.people_losing == len({line.person.pk for line in lines if line.loses})
    pages, after = [], (0, 0)
    while page := difference.page(after=after, limit=3):
        pages += page
        after = (page[-1].node.id, page[-1].person.pk)
    assert pages == lines
    return {
        (str(line.person), f"{line.node.type} {line.node.id}"): (line.gains, line.loses) for line in lines
    }
