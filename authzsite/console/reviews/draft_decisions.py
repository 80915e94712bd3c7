"""Decisions that are ready and not submitted: kept with the session, so that pages can be turned."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils.dateparse import parse_datetime

from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.dates import Skipped, local_moment
from policies.models import ReviewRow
from policies.reviews.decisions import LONGEST_REASON, Verdict

KEY = "reviews"
MOST = 500
"""More ready decisions than this are not kept."""
LOOKED = "reviews_looked"


@dataclass(frozen=True)
class Ready:
    """What somebody chose for one row and has not submitted."""

    row: int
    version: int
    choice: str
    takes: tuple[str, ...] = ()
    until: datetime | None = None
    reason: str = ""

    def verdict(self, reason: str = "") -> Verdict:
        return Verdict(self.row, self.version, self.choice, self.takes, self.until, self.reason or reason)

    def kept(self) -> list[Any]:
        until = self.until.isoformat() if self.until else ""
        return [self.version, self.choice, list(self.takes), until, self.reason]

    @classmethod
    def of(cls, row: int, kept: list[Any]) -> Ready:
        version, choice, takes, until, reason = kept
        return cls(row, version, choice, tuple(takes), parse_datetime(until) if until else None, reason)


@dataclass
class DraftDecisions:
    """The ready decisions of one person in one review."""

    request: Request
    review: int
    problems: dict[int, str] = field(default_factory=dict)

    def all(self) -> dict[int, Ready]:
        kept: Mapping[str, Any] = self._whole.get(str(self.review), {})
        return {int(row): Ready.of(int(row), one) for row, one in kept.items()}

    @property
    def _whole(self) -> dict[str, Any]:
        found: dict[str, Any] = self.request.session.get(KEY, {})
        return found

    def keep(self, ready: Iterable[Ready]) -> None:
        """Keep these and no others."""
        some = list(ready)[:MOST]
        whole = self._whole | {str(self.review): {str(item.row): item.kept() for item in some}}
        self.request.session[KEY] = {review: kept for review, kept in whole.items() if kept}

    def read(self, data: QueryDict) -> dict[int, Ready]:
        """What a form says of its rows, with what is kept of others."""
        drawn = {int(name[2:]) for name in data if name.startswith("v-") and name[2:].isdecimal()}
        found = {row: one for row, one in self.all().items() if row not in drawn}
        for row in sorted(drawn)[:MOST]:
            one = _typed(data, row, self.problems)
            if one is not None:
                found[row] = one
        return found

    # How long somebody looked

    def looks(self) -> None:
        """The rows are shown now; the clock goes on if they were shown before."""
        seen = self.request.session.get(LOOKED, {})
        if str(self.review) not in seen:
            self.request.session[LOOKED] = {**dict(list(seen.items())[-20:]), str(self.review): time.time()}

    def seconds(self) -> float | None:
        """How long since the rows were shown, or since the last step; None when nobody knows."""
        seen = self.request.session.get(LOOKED, {}).get(str(self.review))
        return max(0.0, time.time() - seen) if seen else None

    def stepped(self) -> None:
        seen = self.request.session.get(LOOKED, {})
        self.request.session[LOOKED] = {**seen, str(self.review): time.time()}


def _typed(data: QueryDict, row: int, problems: dict[int, str]) -> Ready | None:
    choice, version = data.get(f"d-{row}", ""), data.get(f"v-{row}", "")
    if choice not in ReviewRow.Choice.values or not version.isdecimal() or len(version) > 9:
        return None
    until = None
    if choice == ReviewRow.Choice.END:
        try:
            until = local_moment(data.get(f"until-{row}", ""))
        except Skipped as problem:
            problems[row] = str(problem)
    takes = tuple(data.getlist(f"takes-{row}")) if choice == ReviewRow.Choice.REDUCE else ()
    reason = data.get(f"reason-{row}", "").strip()[:LONGEST_REASON].replace("\0", "")
    return Ready(row, int(version), choice, takes, until, reason)
