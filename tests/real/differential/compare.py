"""Sending calls to two systems, and saying where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

LAKE = "{lake}"
"""Stands in calls for the name of the metalake, which is another in each world."""


@dataclass(frozen=True)
class Call:
    """One request as somebody."""

    who: str
    method: str
    path: str
    body: Any = None
    operation: str = ""

    def __str__(self) -> str:
        body = "" if self.body is None else f" {self.body}"
        return f"{self.who}: {self.method} {self.path}{body}"


@dataclass(frozen=True)
class Answer:
    """What is compared: let in or refused, and what a reader was shown."""

    allowed: bool
    shown: Any = None
    status: int = field(default=0, compare=False)
    text: str = field(default="", compare=False)


class Side(Protocol):
    """A system that answers calls."""

    def answer(self, call: Call, lake: str) -> Answer: ...


@dataclass(frozen=True)
class Difference:
    """A call that was answered in two ways, and the calls before it."""

    before: tuple[Call, ...]
    call: Call
    ours: Answer
    theirs: Answer

    def __str__(self) -> str:
        lines = [f"  {call}" for call in self.before]
        text = "\n".join(
            f"  {name} {'allowed' if each.allowed else 'refused'} ({each.status}) {each.shown} {each.text}"
            for name, each in (("ours:  ", self.ours), ("theirs:", self.theirs))
        )
        return "\n".join([*lines, f"  asked {self.call.operation}, {self.call}", text])


@dataclass
class Comparison:
    """All that was asked of two systems so far."""

    ours: Side
    theirs: Side
    alike: Callable[[Difference], object] = lambda _: False
    """Differences after which both worlds are the same still: nothing was made by either."""
    asked: Counter[str] = field(default_factory=Counter)
    allowed: int = 0
    differences: list[Difference] = field(default_factory=list)

    def world(self, made: Sequence[Call], questions: Sequence[Call], lake: str) -> None:
        """Make a world and ask about it.

        A change that only one of them made ends it, for the rest would follow of that.
        """
        before: list[Call] = []
        for number, call in enumerate((*made, *questions)):
            pair = self.ours.answer(call, lake), self.theirs.answer(call, lake)
            if number >= len(made):
                self.asked[call.operation] += 1
                self.allowed += pair[1].allowed
            if pair[0] != pair[1]:
                difference = Difference(tuple(before), call, *pair)
                self.differences.append(difference)
                if call.method != "GET" and pair[0].allowed != pair[1].allowed and not self.alike(difference):
                    return
            before.append(call)
