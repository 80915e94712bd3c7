"""The smallest world in which two systems still differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from tests.real.differential.compare import Call, Difference, Side

_numbers = count(1)
TRIES = 60
"""A world is made again with each; what is not yet the smallest then is small enough to read."""


def smallest(ours: Side, theirs: Side, found: Difference) -> Difference:
    """Leave out calls, many at once and then one by one, as long as the last is answered in two ways."""
    differs = _asked_again(ours, theirs, found.call)
    calls, size = list(found.before), max(1, len(found.before) // 2)
    best, tries = found, iter(range(TRIES))
    while size:
        start = 0
        while start < len(calls) and next(tries, None) is not None:
            fewer = calls[:start] + calls[start + size :]
            again = differs(fewer)
            if again:
                calls, best = fewer, again
            else:
                start += size
        size //= 2
    return best


def _asked_again(ours: Side, theirs: Side, last: Call) -> Callable[[Sequence[Call]], Difference | None]:
    def differs(calls: Sequence[Call]) -> Difference | None:
        lake = f"small{next(_numbers)}"
        for call in calls:
            ours.answer(call, lake)
            theirs.answer(call, lake)
        pair = ours.answer(last, lake), theirs.answer(last, lake)
        return Difference(tuple(calls), last, *pair) if pair[0] != pair[1] else None

    return differs
