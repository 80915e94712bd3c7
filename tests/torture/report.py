"""docs/reliability.md, written by the run that it tells of."""

# ruff: noqa: E501 -- a row of a table in Markdown is one line

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

TEXT = """\
# Reliability

`make torture` writes this page. It starts a site of its own with two of everything (web servers of two processes each, workers, workers for what is urgent, beats), its PostgreSQL and Redis, and a PostgreSQL that it governs. Round by round two programs change rights through two web servers, 3 changes each, while one or two faults hit the site; the seed chooses. Meanwhile a prober asks both web servers about every person and table, and reads the governed database's own catalog. [ADR 0054](adr/0054-a-site-is-tortured.md) tells what is held against what.

## The last run

| | |
|---|---|
| Day | {day} |
| Seed | {seed} |
| Rounds | {rounds} in {minutes:.0f} minutes, on {cores} cores shared with other work |
| Changes acknowledged | {acknowledged} |
| Changes without an answer, or answered with an error | {unanswered} |
| Acknowledged changes lost | {lost} |
| Rounds after which pages, answers and the database did not come to say the same | {differing} |
| Readings of the whole record, and of all facts against it | {verified}, {broken} broken |
| Answers of the prober's: decisions, rights in the catalog | {decisions:,}, {catalog:,} |
| Answers against what had been acknowledged | {wrong} |
| Seconds of a round, with its recovery: half of them, nearly all (95%), longest | {median:.1f}, {nearly:.1f}, {longest:.1f} |

## Runs so far

Each `make torture` adds its row.

| Day | Seed | Rounds | Acknowledged | Without an answer | Lost | Differing | Record broken | Answers against what had been acknowledged |
|---|---|---|---|---|---|---|---|---|
{runs}

{total:,} rounds in all; wrong in any of them: {total_wrong}.

## What was done to it

| Fault | Rounds |
|---|---|
{faults}

{disk}Clocks are not moved: the processes of a site share the machine's, and a library that bends time for one process is not part of this repository.

## Again

```
make torture ROUNDS=25 SEED=1
```

It ends after 30 minutes, however many rounds were asked for; `MINUTES=120` gives it longer. Whatever must not be ends it with status 1 and one line each.
"""


RUN = re.compile(r"^\| (\d{4}-\d\d-\d\d \|.*) \|$", re.MULTILINE)


def runs_in(text: str) -> list[list[str]]:
    """The rows of the runs that a page tells of, cell by cell."""
    return [[cell.strip() for cell in row.split("|")] for row in RUN.findall(text)]


def write(place: Path, torture: Any, seconds: float, seed: int) -> None:
    """The page, from what a run saw."""
    figures, prober = torture.figures, torture.prober
    settled = sorted(figures.settled)
    day = datetime.now(UTC).date().isoformat()
    counted = (figures.rounds, figures.acknowledged, figures.unanswered)
    wrong = tuple(map(len, (figures.lost, figures.differing, figures.broken, prober.wrong)))
    earlier = runs_in(place.read_text()) if place.exists() else []
    runs = [*earlier, [day, str(seed), *map(str, (*counted, *wrong))]]
    place.write_text(
        TEXT.format(
            day=day,
            runs="\n".join(f"| {' | '.join(cells)} |" for cells in runs),
            total=sum(int(cells[2]) for cells in runs),
            total_wrong=sum(int(cell) for cells in runs for cell in cells[5:]),
            seed=seed,
            rounds=figures.rounds,
            minutes=seconds / 60,
            cores=os.cpu_count(),
            acknowledged=figures.acknowledged,
            unanswered=figures.unanswered,
            lost=len(figures.lost),
            differing=len(figures.differing),
            verified=figures.verified,
            broken=len(figures.broken),
            decisions=prober.asked["decisions"],
            catalog=prober.asked["catalog"],
            wrong=len(prober.wrong),
            median=median(settled),
            nearly=settled[int(len(settled) * 0.95)],
            longest=settled[-1],
            faults="\n".join(f"| {name} | {many} |" for name, many in sorted(figures.faults.items())),
            disk="" if torture.site.has_disk else "No disk was filled: only root can make one of its own. ",
        )
    )
