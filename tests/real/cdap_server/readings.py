"""Where Lakewarden answers otherwise than a CDAP 4.3 on purpose; docs/cdap.md gives the causes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.real.differential.compare import Difference


class Reading(NamedTuple):
    """A difference that is meant: in which operations, and when."""

    name: str
    operations: tuple[str, ...]
    holds: Callable[[Difference], bool]


def refused_here(*statuses: int) -> Callable[[Difference], bool]:
    """Ours is a refusal, theirs one of these, which does as little."""
    return lambda difference: not difference.ours.allowed and difference.theirs.status in statuses


READINGS = (
    Reading(
        "to people without rights CDAP says that something is not there; here they are refused",
        ("stream.drop", "application.add"),
        refused_here(404),
    ),
    Reading(
        "CDAP says without asking that a namespace or a stream is there already",
        ("namespace.create", "stream.create"),
        refused_here(200),
    ),
    Reading(
        "of a hidden artifact CDAP lists no versions; here it is refused",
        ("artifact.versions.list",),
        lambda difference: refused_here(200)(difference) and not difference.theirs.shown,
    ),
    Reading(
        "CDAP asks for nothing when a program's logs or where it runs are read",
        ("program.logs", "program.live_info"),
        refused_here(200),
    ),
)


def reading(difference: Difference) -> str:
    """The name of the reading that explains a difference; "" when none does."""
    fitting = (each for each in READINGS if difference.call.operation in each.operations)
    return next((each.name for each in fitting if each.holds(difference)), "")
