"""Finding objects by a part of their name, among a hundred thousand as among ten: the likeliest first."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from django.db.models import BooleanField, Q, QuerySet, Value
from django.utils import timezone

from catalog.models import Placement
from catalog.nodes import Node
from catalog.queries import begins, holds, named
from lakewarden.law.facts import Slice
from policies.decisions.lookups.visible_objects import SEARCHED, visible_below


@dataclass(frozen=True)
class After:
    """Where a page of a search ended: among the names that begin so or that hold it, and at which."""

    begins: bool
    folded: str
    key: int


@dataclass(frozen=True)
class Hit:
    place: Placement
    after: After


@dataclass(frozen=True)
class Finder:
    """One text sought in one realm for one viewer; what they may see is worked out once.

    `sales.ord` finds what is called so in what is called `sales`, and what has the dot in its own name.
    """

    slice: Slice
    root: Node
    text: str
    now: datetime = field(default_factory=timezone.now)

    @property
    def last(self) -> str:
        return self.text.rpartition(".")[2]

    @cached_property
    def seen(self) -> Q:
        above = [item for item in self.text.split(".")[:-1] if item]
        return visible_below(self.slice, self.root, now=self.now, types=SEARCHED, under=above)

    @cached_property
    def wanted(self) -> Q:
        inside = holds(self.last) & self.seen
        if "." not in self.text:
            return inside
        return inside | holds(self.text) & visible_below(self.slice, self.root, now=self.now, types=SEARCHED)

    def rows(self, types: Collection[str]) -> QuerySet[Placement]:
        """All of them, in no order."""
        return named(Placement.objects.open().filter(type__in=list(types))).filter(self.wanted)

    def find(
        self, limit: int, *, types: Collection[str] = SEARCHED, after: After | None = None, but: str = ""
    ) -> list[Hit]:
        """Names that begin with the text, then those that hold it; `but` keeps some names out.  One query."""
        every = named(Placement.objects.open().filter(type__in=list(types)))
        every = every.exclude(begins(but)) if but else every
        likely = begins(self.last) & self.seen
        first = every.filter(likely).annotate(begins=Value(True, BooleanField()))
        rest = every.filter(self.wanted).exclude(likely).annotate(begins=Value(False, BooleanField()))
        if after is None:
            behind = [first, rest]
        else:
            later = Q(folded__gt=after.folded) | Q(folded=after.folded, pk__gt=after.key)
            behind = [first.filter(later), rest] if after.begins else [rest.filter(later)]
        several = [item.order_by("folded", "pk")[:limit] for item in behind]
        rows = several[0].union(*several[1:], all=True)[:limit] if several[1:] else several[0]
        return [Hit(row, After(row.begins, row.folded, row.pk)) for row in rows]
