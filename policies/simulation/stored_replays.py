"""What a replay found, as JSON of numbers, and read again as what it is about."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from accounts.models import Principal
from catalog.nodes import Node, as_placed_last
from policies.simulation.replay import ReplayedUse, ReplayOutcome, Uses

PARTS = ("refused", "allowed", "gone")


def to_json(outcome: ReplayOutcome) -> dict[str, Any]:
    """An outcome by the numbers of its objects and people."""
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


def people_in(stored: Mapping[str, Any]) -> set[int]:
    """The numbers of the people and jobs that it names."""
    return {who for use in _uses_in(stored) for who in (use[0], *use[3])}


def objects_in(stored: Mapping[str, Any]) -> set[int]:
    """The numbers of the objects that it names."""
    return {use[1] for use in _uses_in(stored)}


def _uses_in(stored: Mapping[str, Any]) -> Iterator[list[Any]]:
    return (use for name in PARTS for use in stored[name][1])


def from_json(
    stored: Mapping[str, Any], people: Mapping[int, Principal], places: Mapping[int, Node]
) -> ReplayOutcome:
    """The outcome again, with people and objects under the names that they have now."""

    def uses(some: Any) -> Iterator[ReplayedUse]:
        for who, key, action, jobs, times, last in some:
            reporters = tuple(people[job] for job in jobs)
            moment = datetime.fromisoformat(last)
            yield ReplayedUse(people[who], places[key], action, reporters, times, moment)

    parts = (Uses(stored[name][0], tuple(uses(stored[name][1]))) for name in PARTS)
    since = datetime.fromisoformat(stored["since"])
    return ReplayOutcome(stored["days"], since, stored["reported"], stored["objects"], *parts)


def all_from_json(stored: Collection[Mapping[str, Any]]) -> list[ReplayOutcome]:
    """Several outcomes again.  A fixed number of queries."""
    people = Principal.objects.in_bulk({who for each in stored for who in people_in(each)})
    places = as_placed_last({key for each in stored for key in objects_in(each)})
    return [from_json(each, people, places) for each in stored]
