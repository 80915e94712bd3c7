"""Processor time, of this process and of the database's process that works for it: others count less."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

Work = Callable[[], Any]


def spent() -> float:
    """Milliseconds of the processor so far, here and in the database behind Django's connection."""
    from django.db import connection

    connection.ensure_connection()
    pid = connection.connection.info.backend_pid
    behind = Path(f"/proc/{pid}/schedstat").read_text().split()[0]
    return time.process_time() * 1000 + int(behind) / 1e6


def by_turns(works: Mapping[str, Work], rounds: int) -> dict[str, float]:
    """The median cost of each, one after the other in each round, without what looking at the clock costs."""
    times: dict[str, list[float]] = {name: [] for name in ("", *works)}
    for number in range(rounds + 1):
        for name, each in times.items():
            work = works.get(name, int)
            gc.collect()
            started = spent()
            work()
            if number:
                each.append(spent() - started)
    cost = {name: median(each) for name, each in times.items()}
    nothing = cost.pop("")
    return {name: max(took - nothing, 1e-6) for name, took in cost.items()}


class Row(NamedTuple):
    """A line of the table: ours, beside what, and the least or most that the ratio or time should be."""

    name: str
    ours: str
    beside: str
    ratio: float | None
    aim: float | None
    least: bool = True

    @property
    def reached(self) -> str:
        if self.ratio is None or self.aim is None:
            return ""
        return "yes" if (self.ratio >= self.aim if self.least else self.ratio <= self.aim) else "NO"

    @property
    def text(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        aim = "" if self.aim is None else f"{'≥' if self.least else '≤'} {self.aim:g}"
        return f"| {self.name} | {self.ours} | {self.beside} | {ratio} | {aim} | {self.reached} |"
