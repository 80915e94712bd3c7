"""The record replayed and held against the tables: what is decided on, and what the record says was decided.

`facts` compares every fact, `people` whom they speak of, `kept` what is no fact and yet decided: duties,
accounts, tokens, settings (docs/adr/0027).
"""

from __future__ import annotations

from collections.abc import Sequence

from policies.models import Change, Event
from policies.replay.differences import Differences
from policies.replay.facts import FactReplay
from policies.replay.kept import KeptReplay


class Replay:
    """Takes every change in order, and then knows what is not as they say."""

    def __init__(self) -> None:
        self.differences = Differences()
        self._facts, self._kept = FactReplay(self.differences), KeptReplay()

    @property
    def facts(self) -> int:
        """How many were compared."""
        return self._facts.compared

    def take(self, change: Change, events: Sequence[Event]) -> None:
        self._facts.take(change.revision, events)
        for event in events:
            self._kept.take(event)

    def end(self) -> None:
        """No change follows."""
        self._facts.end()
        self._kept.compare(self.differences)
