"""What the overview of a realm shows: totals of its latest effective access, who is foremost, and growth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from accounts.models import Principal
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from lakewarden.spark.pipelines.reach_counts import data_types
from policies.analytics.pipelines import control
from policies.authority import Actor
from policies.decisions import duties
from policies.errors import Refused
from policies.models import Figure, PipelineRun

NAME = "effective_access"
LOOKING = ("review_access", "view_history")
"""The duties on a realm that let one see its figures."""
GROWTH = 60
"""So many of the latest runs are shown as growth."""


@dataclass(frozen=True)
class TopEntry:
    """One of the foremost: an object or role (`node`) or a person, and its numbers."""

    place: int
    weight: int
    numbers: Mapping[str, Any]
    node: Node | None = None
    principal: Principal | None = None


@dataclass(frozen=True)
class Point:
    """A realm as a whole at one revision: how many objects, people and grants, and pairs that can read."""

    revision: int
    at: datetime
    objects: int
    people: int
    grants: int
    reading: int


@dataclass(frozen=True)
class Overview:
    """The latest figures of a realm.

    `objects` are counted by type, `pairs` of a person and an object by type and action; `reading` are those
    that can read an object with data.  `reach` has, for each class of people, from how many readable objects
    on it begins and how many people are in it.
    """

    run: PipelineRun
    objects: Mapping[str, int]
    pairs: Mapping[str, Mapping[str, int]]
    reading: int
    people: Mapping[str, int]
    reach: Sequence[tuple[int, int]]
    exposed: list[TopEntry]
    broadest: list[TopEntry]
    furthest: list[TopEntry]
    growth: list[Point]


def may_look(by: Actor, root: Node) -> bool:
    """Whether somebody may see a realm's figures: who may run its pipelines, or has a duty on it."""
    who = by.decides_as
    return control.may_run(by, root) or (
        who is not None and any(duties.has(who, item, root) for item in LOOKING)
    )


def overview(root: Node, by: Actor) -> Overview | None:
    """The figures of a realm; None before its first run.  Raises Refused.  Eight queries at the most."""
    if not may_look(by, root):
        raise Refused(
            gettext("You may not see the figures of this realm: only its owner and its reviewers may.")
        )
    run = control.latest(NAME, root.realm_id)
    if run is None:
        return None
    lines = _lines(root)
    result = run.result
    return Overview(
        run,
        result["objects"],
        result["pairs"],
        _reading(root, run),
        result["people"],
        [(start, people) for start, people in result["reach"]],
        exposed=lines[Figure.Kind.OBJECT],
        broadest=lines[Figure.Kind.ROLE],
        furthest=lines[Figure.Kind.PERSON],
        growth=growth(root),
    )


def growth(root: Node) -> list[Point]:
    """One point for each run, oldest first.  One query."""
    rows = PipelineRun.objects.filter(realm=root.realm_id, name=NAME, state="done")
    return [_point(root, row) for row in reversed(rows.order_by("-revision")[:GROWTH])]


def _reading(root: Node, run: PipelineRun) -> int:
    """How many pairs of a person and an object with data can read: what lies above data is only used."""
    pairs = run.result["pairs"]
    return sum(pairs[type].get("read", 0) for type in data_types(dialects.get(root.kind)) if type in pairs)


def _point(root: Node, row: PipelineRun) -> Point:
    result = row.result
    return Point(
        revision=row.revision,
        at=row.ended or row.asked,
        objects=sum(result["objects"].values()),
        people=result["people"]["all"] + result["people"]["services"],
        grants=result["grants"],
        reading=_reading(root, row),
    )


def _lines(root: Node) -> dict[str, list[TopEntry]]:
    """The foremost of each kind, of which what is gone is left out."""
    rows = list(Figure.objects.filter(realm=root.realm_id).select_related("principal").order_by("place"))
    by_id = nodes({row.securable_id for row in rows if row.securable_id})
    entries: dict[str, list[TopEntry]] = {kind: [] for kind in Figure.Kind.values}
    for row in rows:
        about = by_id.get(row.securable_id or 0)
        if about is not None or row.principal is not None:
            entries[row.kind].append(TopEntry(row.place, row.weight, row.numbers, about, row.principal))
    return entries
