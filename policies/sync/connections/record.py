"""What is ours in a system without marks: what we wrote down before we wrote it in the backend.

A right that is there is ours when it stands in this record, and somebody else's when it does not.  The record
is written before each call that gives and after each that takes, so stopping anywhere leaves a right of ours
ours.  A right that was there before we came to give it is shared: it counts as given, and stays when what was
decided here ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from lakewarden.backends.base import Right
from lakewarden.backends.console import Fact
from policies.models import Written
from policies.models.applied_rights import WRITTEN

LATE = timedelta(minutes=10)
"""A call that gave up waiting may still be carried out over there; after this long it no longer is."""


class WrittenRecord:
    """`lakewarden.backends.console.Record` of one connection, by its mark."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    @property
    def _rows(self) -> QuerySet[Written]:
        return Written.objects.filter(mark=self.mark)

    def seen(self, present: Collection[Fact], *, complete: bool = True) -> dict[Fact, bool]:
        """What of all that is there is ours, and whether others gave it too.

        What is no longer there is struck out, so that it is not taken for ours when somebody else gives it.
        An incomplete look strikes out nothing.
        """
        ours: dict[Fact, bool] = {}
        proved, gone = [], []
        late = timezone.now() - LATE
        for row in self._rows:
            fact = _fact(row)
            if fact in present:
                ours[fact] = row.state == "shared"
                proved += [row.pk] if WRITTEN.can(row.state, "prove") else []
            elif row.state != "giving" or row.at < late:
                gone.append(row.pk)
        if proved:
            self._rows.filter(pk__in=proved, state__in=WRITTEN.get("prove").sources).update(state="there")
        if gone and complete:
            self._rows.filter(pk__in=gone).delete()
        return ours

    def holders(self) -> set[str]:
        """Everybody who was given something."""
        return set(self._rows.values_list("holder", flat=True))

    def give(self, facts: Iterable[Fact], present: Collection[Fact]) -> None:
        """Write down what is about to be given; `present` is what is there already."""
        known = self._known(facts := list(facts))
        now = timezone.now()
        again = [row.pk for row in known.values() if WRITTEN.can(row.state, "repeat")]
        self._rows.filter(pk__in=again).update(state="giving", at=now)
        Written.objects.bulk_create(
            Written(
                mark=self.mark,
                holder=fact.holder,
                type=fact.right.kind,
                path=list(fact.right.path),
                right=fact.right.right,
                state="shared" if fact in present else "giving",
                at=now,
            )
            for fact in facts
            if fact not in known
        )

    def given(self, facts: Iterable[Fact]) -> None:
        """It is there."""
        self._move(facts, "prove")

    def take(self, facts: Iterable[Fact]) -> list[Fact]:
        """Write down what is about to be taken; those that are ours to take in the backend.

        What is shared is only no longer wanted here, and what is not in the record is not ours.
        """
        known = self._known(facts)
        shared = [row.pk for row in known.values() if row.state == "shared"]
        self._rows.filter(pk__in=shared).delete()
        ours = [fact for fact, row in known.items() if row.state != "shared"]
        self._move(ours, "take")
        return ours

    def taken(self, facts: Iterable[Fact]) -> None:
        """It is gone."""
        pks = [row.pk for row in self._known(facts).values()]
        self._rows.filter(pk__in=pks).delete()

    def own(self, facts: Iterable[Fact]) -> list[Fact]:
        """What others gave is adopted or revoked; those that are not ours besides are to go there."""
        known = self._known(facts := list(facts))
        self._move(facts, "own")
        return [fact for fact in facts if fact not in known]

    def _move(self, facts: Iterable[Fact], name: str) -> None:
        pks = [row.pk for row in self._known(facts).values()]
        step = WRITTEN.get(name)
        self._rows.filter(pk__in=pks, state__in=step.sources).update(state=step.target, at=timezone.now())

    def _known(self, facts: Iterable[Fact]) -> dict[Fact, Written]:
        wanted = set(facts)
        rows = self._rows.filter(Q(holder__in={fact.holder for fact in wanted}))
        return {fact: row for row in rows if (fact := _fact(row)) in wanted}


def _fact(row: Written) -> Fact:
    return Fact(row.holder, Right(row.type, tuple(row.path), row.right))
