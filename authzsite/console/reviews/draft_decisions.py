"""Decisions that are ready and not submitted: kept with the session, so that pages can be turned."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.dateparse import parse_datetime

from authzsite.console.kit.forms import (
    ConsoleForm,
    ReasonField,
    WholeNumberField,
)
from authzsite.console.kit.http import Request
from authzsite.console.kit.moment_fields import (
    MomentField,
)
from policies.models import ReviewRow
from policies.reviews.decisions import Verdict

KEY = "reviews"
MOST = 500
"""More ready decisions than this are not kept."""
LOOKED = "reviews_looked"
SHORT = {"choice": "d", "version": "v"}
"""How fields of a row are called in a form."""


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
        return {int(row): Ready.of(int(row), value) for row, value in kept.items()}

    @property
    def _whole(self) -> dict[str, Any]:
        drafts: dict[str, Any] = self.request.session.get(KEY, {})
        return drafts

    def keep(self, ready: Iterable[Ready]) -> None:
        """Keep these and no others."""
        some = list(ready)[:MOST]
        whole = self._whole | {str(self.review): {str(item.row): item.kept() for item in some}}
        self.request.session[KEY] = {review: kept for review, kept in whole.items() if kept}

    def read(self, data: QueryDict) -> dict[int, Ready]:
        """What a form says of its rows, with what is kept of others."""
        drawn = {int(name[2:]) for name in data if name.startswith("v-") and name[2:].isdecimal()}
        ready = {row: decision for row, decision in self.all().items() if row not in drawn}
        for row in sorted(drawn)[:MOST]:
            form = RowForm(data, row=row)
            form.full_clean()
            if form.problem:
                self.problems[row] = form.problem
            if (draft := form.ready()) is not None:
                ready[row] = draft
        return ready

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


class RowForm(ConsoleForm):
    """What is decided about one row; its names end in the number of the row."""

    choice = forms.ChoiceField(choices=ReviewRow.Choice.choices)
    version = WholeNumberField(max_length=9)
    until = MomentField(required=False)
    takes = forms.Field(required=False, widget=forms.SelectMultiple)
    reason = ReasonField()

    def __init__(self, data: Any = None, *, row: int, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.row = row

    def add_prefix(self, field_name: str) -> str:
        return f"{SHORT.get(field_name, field_name)}-{self.row}"

    def ready(self) -> Ready | None:
        """What was chosen; nothing where no choice was made."""
        if not {"choice", "version"} <= self.cleaned_data.keys():
            return None
        typed, choice = self.cleaned_data, self.cleaned_data["choice"]
        until = typed.get("until") if choice == ReviewRow.Choice.END else None
        takes = tuple(typed["takes"]) if choice == ReviewRow.Choice.REDUCE else ()
        return Ready(self.row, typed["version"], choice, takes, until, typed["reason"])

    @property
    def problem(self) -> str:
        """Why an end that was typed cannot be meant; one that is missing is told when it is submitted."""
        errors = self.errors.as_data().get("until", []) if self.data.get(f"d-{self.row}") == "end" else []
        return next((str(error.message) for error in errors if error.code == "skipped"), "")
