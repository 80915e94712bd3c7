"""What was worked out, as JSON of numbers, and read again as what it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from accounts.models import Principal
from catalog.nodes import Node, as_placed_last
from policies.models import Calculation
from policies.simulation.difference import AccessChange, Difference, Totals
from policies.simulation.replay import Replay, ReplayedUse, ReplayOutcome, Uses

LISTED = 1000
"""So many of who gains and loses what are listed; the totals count all."""
PARTS = ("refused", "allowed", "gone")


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
        "replay": _stored_replay(replay.outcome) if replay is not None else None,
    }


def _stored_person(person: Principal) -> int | list[str]:
    """Their number; of somebody who has none yet, kind and name."""
    return person.pk if person.pk > 0 else [person.kind, person.name]


def _stored_replay(outcome: ReplayOutcome) -> dict[str, Any]:
    parts = {name: getattr(outcome, name) for name in PARTS}
    return {
        "days": outcome.days,
        "since": outcome.since.isoformat(),
        "reported": outcome.reported,
        "objects": outcome.objects,
        **{name: [uses.count, [_stored_use(use) for use in uses.latest]] for name, uses in parts.items()},
    }


def _stored_use(use: ReplayedUse) -> list[Any]:
    jobs = [job.pk for job in use.jobs]
    return [use.person.pk, use.node.id, use.action, jobs, use.times, use.last.isoformat()]


def effect_of(row: Calculation) -> Effect:
    """The result of a calculation that is done.  A fixed number of queries."""
    result = row.result or {}
    replay = result["replay"]
    used = [use for name in PARTS for use in replay[name][1]] if replay else []
    numbers = {line[0] for line in result["changes"] if isinstance(line[0], int)}
    people = Principal.objects.in_bulk(numbers | {who for use in used for who in (use[0], *use[3])})
    places = as_placed_last({line[1] for line in (*result["changes"], *used)})
    changes = tuple(
        AccessChange(_person(who, people), places[key], frozenset(gains), frozenset(loses))
        for who, key, gains, loses in result["changes"]
    )
    outcome = _replay_of(replay, people, places) if replay else None
    return Effect(Totals(**result["totals"]), changes, result["more"], outcome)


def _person(stored: int | list[str], people: Mapping[int, Principal]) -> Principal:
    return people[stored] if isinstance(stored, int) else Principal(kind=stored[0], name=stored[1])


def _replay_of(
    stored: Mapping[str, Any], people: Mapping[int, Principal], places: Mapping[int, Node]
) -> ReplayOutcome:
    def uses(some: Any) -> Iterator[ReplayedUse]:
        for who, key, action, jobs, times, last in some:
            reporters = tuple(people[job] for job in jobs)
            moment = datetime.fromisoformat(last)
            yield ReplayedUse(people[who], places[key], action, reporters, times, moment)

    parts = (Uses(stored[name][0], tuple(uses(stored[name][1]))) for name in PARTS)
    since = datetime.fromisoformat(stored["since"])
    return ReplayOutcome(stored["days"], since, stored["reported"], stored["objects"], *parts)
