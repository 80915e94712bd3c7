"""What was worked out, as JSON of numbers, and read again as what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from accounts.models import Principal
from catalog.nodes import as_placed_last
from policies.models import Calculation
from policies.simulation import stored_replays
from policies.simulation.difference import AccessChange, Difference, Totals
from policies.simulation.replay import Replay, ReplayOutcome

LISTED = 1000
"""So many of who gains and loses what are listed; the totals count all."""


@dataclass(frozen=True)
class Effect:
    """What a calculation found: exact totals, the first of who gains and loses what, and the replay."""

    totals: Totals
    changes: tuple[AccessChange, ...]
    more: bool
    replay: ReplayOutcome | None


def stored(difference: Difference, replay: Replay | None) -> dict[str, Any]:
    """A result as JSON; objects and people by their numbers."""
    lines = difference.page(limit=LISTED + 1)
    return {
        "totals": asdict(difference.totals),
        "changes": [
            [_stored_person(line.person), line.node.id, sorted(line.gains), sorted(line.loses)]
            for line in lines[:LISTED]
        ],
        "more": len(lines) > LISTED,
        "replay": stored_replays.to_json(replay.outcome) if replay is not None else None,
    }


def _stored_person(person: Principal) -> int | list[str]:
    """Their number; of somebody who has none yet, kind and name."""
    return person.pk if person.pk > 0 else [person.kind, person.name]


def effect_of(row: Calculation) -> Effect:
    """The result of a calculation that is done.  A fixed number of queries."""
    result = row.result or {}
    replay = result["replay"]
    numbers = {line[0] for line in result["changes"] if isinstance(line[0], int)}
    keys = {line[1] for line in result["changes"]}
    if replay:
        numbers |= stored_replays.people_in(replay)
        keys |= stored_replays.objects_in(replay)
    people, places = Principal.objects.in_bulk(numbers), as_placed_last(keys)
    changes = tuple(
        AccessChange(_person(who, people), places[key], frozenset(gains), frozenset(loses))
        for who, key, gains, loses in result["changes"]
    )
    outcome = stored_replays.from_json(replay, people, places) if replay else None
    return Effect(Totals(**result["totals"]), changes, result["more"], outcome)


def _person(stored: int | list[str], people: Mapping[int, Principal]) -> Principal:
    return people[stored] if isinstance(stored, int) else Principal(kind=stored[0], name=stored[1])
