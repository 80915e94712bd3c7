"""The record replayed and held against the tables: what is decided on, and what the record says was decided.

`facts` compares every fact, `people` whom they speak of, `objects` what they are about, `kept` what is no
fact and yet decided: duties, accounts, tokens, settings (docs/adr/0027); `editions` whether a sealed row is
an earlier state of itself (docs/adr/0056).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from policies.models import Change, Event
from policies.record import newest_editions
from policies.record.replay import editions as replay_editions
from policies.record.replay import objects as replay_objects
from policies.record.replay.differences import Differences
from policies.record.replay.facts import FactReplay
from policies.record.replay.outside import OutsideReplay
from policies.record.replay.settings import TAKES, KeptReplay


class Replay:
    """Takes every change in order, and then knows what is not as they say.

    The facts of a part of the record can be compared alone, `begin` and `upto` are its edges; what is kept
    needs every event of the `kinds` that say anything of it.
    """

    def __init__(self) -> None:
        self.differences = Differences()
        self._facts, self._kept = FactReplay(self.differences), KeptReplay()
        self._outside, self._editions = OutsideReplay(), newest_editions.Editions()
        self._before = 0

    @property
    def facts(self) -> int:
        """How many were compared."""
        return self._before + self._facts.compared

    @property
    def kinds(self) -> Collection[str]:
        return TAKES.keys() | OutsideReplay.KINDS

    def take(self, change: Change, events: Sequence[Event]) -> None:
        self.take_facts(change, events)
        self.take_kept(events)
        self.take_editions(events)

    def take_facts(self, change: Change, events: Iterable[Event]) -> None:
        self._facts.take(change.revision, events)

    def take_kept(self, events: Iterable[Event]) -> None:
        for event in events:
            self._kept.take(event)
            self._outside.take(event)

    def take_editions(self, events: Iterable[Event]) -> None:
        """What events of whatever kind tell of editions."""
        for event in events:
            if numbers := event.data.get(newest_editions.IN_EVENT):
                self._editions.take(event.kind, numbers)

    def begin(self, first: int) -> None:
        """What follows are the changes after that revision."""
        self._before, self._facts = self.facts, FactReplay(self.differences, first)

    def upto(self, last: int) -> None:
        """No change up to that revision follows."""
        self._facts.upto(last)

    def end(self) -> None:
        """No change follows at all."""
        self._facts.end()
        self._kept.compare(self.differences)
        differences = (
            self._outside.differences(),
            replay_editions.differences(self._editions),
            replay_objects.differences(),
        )
        for difference in chain.from_iterable(differences):
            self.differences.add(difference)
