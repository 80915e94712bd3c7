"""A heat map that the server draws: who used what how often, with a table behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from typing import ClassVar

from django.utils.translation import gettext

from authzsite.console.kit.display import words

HEAT_SIDE, HEAT_NAMES, HEAT_HEADS, HEAT_FIT = 34, 150, 104, 21
"""A square, the room for names at the left and on top, and how many letters of a name fit there."""


@dataclass(frozen=True)
class HeatCell:
    """How much one person used one object: a square, the darker the more; `told` says it."""

    x: int
    y: int
    level: int
    told: str


@dataclass(frozen=True)
class HeatLabel:
    """A name beside a row, or over a column, of a heat map."""

    x: int
    y: int
    text: str


@dataclass(frozen=True)
class HeatRow:
    """The same as a line of the table behind."""

    who: str
    what: str
    many: str
    last: str


@dataclass(frozen=True)
class HeatMap:
    """People by objects; the table behind says the same."""

    template: ClassVar[str] = "parts/heatmap.html"
    title: str
    text: str
    width: int
    height: int
    people: tuple[HeatLabel, ...]
    objects: tuple[HeatLabel, ...]
    cells: tuple[HeatCell, ...]
    rows: tuple[HeatRow, ...]


def heat_map(
    title: str,
    text: str,
    people: Sequence[str],
    objects: Sequence[str],
    uses: Mapping[tuple[int, int], tuple[int, str]],
) -> HeatMap:
    """A square for each pair of a person and an object, by their places; `uses` says how many, when last."""
    most = max((many for many, _ in uses.values()), default=1)
    cells, rows = [], []
    for (at, over), (many, last) in sorted(uses.items()):
        label = gettext("%(who)s, %(what)s: %(many)s") % {
            "who": people[at],
            "what": objects[over],
            "many": words.count(many, "use"),
        }
        place = HEAT_NAMES + over * HEAT_SIDE, HEAT_HEADS + at * HEAT_SIDE
        cells.append(HeatCell(*place, heat(many, most), label))
        rows.append(HeatRow(people[at], objects[over], words.number(many), last))
    middle = HEAT_SIDE // 2
    return HeatMap(
        title,
        text,
        HEAT_NAMES + len(objects) * HEAT_SIDE + HEAT_HEADS // 2,
        HEAT_HEADS + len(people) * HEAT_SIDE,
        tuple(
            HeatLabel(HEAT_NAMES - 8, HEAT_HEADS + at * HEAT_SIDE + middle + 4, shortened(name))
            for at, name in enumerate(people)
        ),
        tuple(
            HeatLabel(HEAT_NAMES + at * HEAT_SIDE + middle + 4, HEAT_HEADS - 8, shortened(name))
            for at, name in enumerate(objects)
        ),
        tuple(cells),
        tuple(rows),
    )


def heat(many: int, most: int) -> int:
    """1 to 4: how dark a square is, on a scale on which few uses can be told from many."""
    return 1 + min(3, int(4 * log1p(many) / log1p(most + 1)))


def shortened(name: str) -> str:
    """A name that fits beside a row; what is left out is its middle, because ends tell names apart."""
    if len(name) <= HEAT_FIT:
        return name
    return f"{name[: HEAT_FIT // 2]}…{name[-HEAT_FIT // 2 + 1 :]}"
