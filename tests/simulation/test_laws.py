"""What is simulated is what happens: the difference of access before and after the same changes are made."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from lakewarden.law import dialects, engine
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

FAST = {"gravitino": (1, 2), "herd": (7, 11), "cdap": (0, 1)}
"""Worlds of each law in which people gain and lose access, uses would be refused, and others allowed."""
MANY = 25


def seeds(law: str) -> list[Any]:
    slow = (seed for seed in range(MANY) if seed not in FAST[law])
    return [
        *((law, seed) for seed in FAST[law]),
        *(pytest.param(law, seed, marks=pytest.mark.slow) for seed in slow),
    ]


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
    seen: Counter[str] = Counter()
    for _ in range(4):
        now = timezone.now()
        changes = [world.propose(chance, world) for _ in range(chance.randint(1, 4))]
        everybody_uses_everything(world, now)
        simulated, replay = simulate(world, changes, now), replayed(world, changes, now)
        before, used = access(world.root, now), decided_uses(world, now)
        if not made(world, changes):
            continue
        happened = differing(before, access(world.root, now))
        assert simulated == happened, [str(item) for item in changes]
        after = decided_uses(world, now)
        refused = {use for use, allowed in used.items() if allowed and not after[use]}
        allowed = {use for use, allowed in after.items() if allowed and not used[use]}
        assert replay == (refused, allowed), [str(item) for item in changes]
        seen.update(gains=sum(bool(gains) for gains, _ in happened.values()), allowed=len(allowed))
        seen.update(losses=sum(bool(losses) for _, losses in happened.values()), refused=len(refused))
    if seed in FAST[law]:
        assert all(seen.values()) and len(seen) == 4, f"this world shows too little: {seen}"


def everybody_uses_everything(world: World, now: datetime) -> None:
    """Everybody did to every object what there is to do, allowed or not, as a job reports it."""
    law = dialects.get(world.root.kind)
    who = Principal.objects.filter(kind__in=("user", "service")).order_by("pk")
    reported = [
        ReportedUse(person, node, action, True, now)
        for person in who
        for node in world.places()
        for action in ("read", "write", "use")
        if action in law.actions_for(node.type) and not node.name.startswith("~")
    ]
    uses.take(world.root.realm_id, people.ensure("service", "nightly"), f"run {now}", reported)


UsedBy = tuple[int, int, str]


def decided_uses(world: World, now: datetime) -> dict[UsedBy, bool]:
    """Every reported use, decided by itself as it would be now."""
    realm = Simulation(world.root, (), at=now).before.realm
    there = {node.id: node for node in world.places()}
    users = Principal.objects.in_bulk(Use.objects.values_list("principal", flat=True).distinct())
    slices = {
        pk: facts.load(realm, world.root.realm, [pk], now=now).slice_of(user) for pk, user in users.items()
    }
    rows = Use.objects.values_list("principal", "securable", "action").distinct()
    return {
        (who, key, action): key in there
        and bool(
            engine.decide(
                slices[who], operation_for(there[key], action), there[key].levels, now=now.timestamp()
            )
        )
        for who, key, action in rows
    }


def replayed(world: World, changes: list[Any], now: datetime) -> tuple[set[UsedBy], set[UsedBy]] | None:
    """The uses that would be refused, and those that would newly be allowed."""
    try:
        replay = Replay(Difference(Simulation(world.root, changes, at=now)))
        refused, allowed = (
            {(use.person.pk, use.node.id, use.action) for use in some}
            for some in (replay.refused, replay.allowed)
        )
    except PolicyError:
        return None
    return refused, allowed


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
