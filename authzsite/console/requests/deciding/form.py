"""What a decider says of a request: which parts, how much of each, for how long, by which role."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.forms import (
    ChoicesField,
    ConsoleForm,
    SegmentsField,
    TextField,
)
from authzsite.console.kit.http import number_in
from authzsite.console.kit.moment_fields import (
    ExpirationField,
)
from authzsite.console.requests import rows as requests_rows
from policies.models import RequestPart
from policies.requests import durations
from policies.requests.role_proposals import Proposal
from policies.requests.visibility import VisibleRequest

SHORTER = ("P7D", "P30D", "P90D")
ASKED = "asked"
LONGEST = 4000


class DecisionForm(ConsoleForm):
    """Yes, yes to less, no, or a question; `step` says which."""

    part = ChoicesField(required=False)
    give = forms.Field(required=False, widget=forms.SelectMultiple)
    lasts = SegmentsField(otherwise=ASKED, required=False)
    date = ExpirationField(required=False)
    role = TextField(required=False)
    text = TextField(
        label=gettext_lazy("Note, reason or question"),
        required=False,
        max_length=LONGEST,
        help_text=gettext_lazy(
            "Required to refuse or to ask a question; optional to approve. Kept permanently."
        ),
        widget=forms.Textarea(attrs={"class": "input", "rows": 3, "maxlength": LONGEST}),
    )

    def __init__(self, data: Any = None, *, about: VisibleRequest, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.about = about
        self.fields["part"].choices = [(str(part.number), "") for part in self.mine]
        as_asked = requests_rows.lasts_words(self.about.request)
        choices = [(ASKED, gettext("As requested, %(asked)s") % {"asked": as_asked})]
        choices += [(item, requests_rows.lasting_words(item)) for item in self.offered]
        self.fields["lasts"].choices = [*choices, ("date", gettext("A date"))]

    @property
    def sent(self) -> bool:
        return "form" in self.data

    @property
    def step(self) -> str:
        return str(self.data.get("step", ""))

    @cached_property
    def mine(self) -> list[RequestPart]:
        return sorted((mandate.part for mandate in self.about.mandates), key=lambda part: part.number)

    @cached_property
    def parts(self) -> list[int]:
        """The parts decided now; all that the viewer may decide, until the form says otherwise."""
        numbers = self.fields["part"].to_python(self.data.getlist("part"))
        return [part.number for part in self.mine if not self.sent or str(part.number) in numbers]

    @cached_property
    def give_by_part(self) -> dict[int, Collection[str]]:
        """Of each part the privileges that are given."""
        if not self.sent:
            return {}
        given: dict[int, list[str]] = {number: [] for number in self.parts}
        for text in self.data.getlist("give"):
            number, _, code = text.partition(" ")
            part_number = number_in(number)
            if part_number in given:
                given[part_number].append(code[:32])
        with_privileges = {part.number for part in self.mine if part.privileges}
        return {number: codes for number, codes in given.items() if number in with_privileges}

    @property
    def lasting(self) -> str:
        return str(self["lasts"].value())

    @property
    def length(self) -> str:
        """How long it lasts, where a length is chosen and no date."""
        return self.lasting if self.lasting.startswith("P") else ""

    @property
    def until(self) -> datetime | None:
        return self.cleaned_data["date"] if self.lasting == "date" else None

    @cached_property
    def offered(self) -> list[str]:
        """The lengths that are shorter than what was asked for."""
        row, now = self.about.request, timezone.now()
        asked_end = durations.ends(now, row.lasts, row.until, row.zone)
        choices = []
        for item in SHORTER:
            end = durations.ends(now, item, None, row.zone)
            if end is not None and (asked_end is None or end < asked_end):
                choices.append(item)
        return choices

    @property
    def asked_role(self) -> int | None:
        return number_in(self.data.get("role", ""))

    def clean(self) -> dict[str, Any]:
        """Whether it can be sent as far as the form knows."""
        if self.lasting != "date" or self.step != "approve":
            self.errors.pop("date", None)
        elif self.cleaned_data.get("date", 0) is None:
            self.add_error("date", ExpirationField.wrong)
        if not self.parts:
            self.add_error("part", gettext("Choose at least one of the decisions that are yours."))
        elif self.step == "approve" and any(not codes for codes in self.give_by_part.values()):
            self.add_error("part", gettext("Grant at least one right of each part, or refuse it."))
        if self.step != "approve" and len(self.cleaned_data.get("text", "")) < 3:
            why = (
                gettext("Give a reason for the refusal.")
                if self.step == "refuse"
                else gettext("Enter your question.")
            )
            self.add_error("text", why)
        return self.cleaned_data

    def said(self) -> str:
        """What the toast names: Read on orders and 1 more."""
        law = requests_rows.law_of(self.about.request)
        chosen = [part for part in self.mine if part.number in self.parts]
        return words.listed([requests_rows.part_words(part, law) for part in chosen], 2)

    # What the page draws

    def drawn(self, roles: Sequence[Proposal]) -> dict[str, Any]:
        """What the template needs beside the fields."""
        role_asked = self.asked_role
        return {
            "parts": [self._part(part) for part in self.mine],
            "zone": words.zone(),
            "roles": [self._role(role) for role in roles],
            "role": role_asked if role_asked in {role.role.id for role in roles} else None,
        }

    def _part(self, part: RequestPart) -> dict[str, Any]:
        law, given = requests_rows.law_of(self.about.request), self.give_by_part.get(part.number)
        return {
            "number": part.number,
            "what": requests_rows.part_words(part, law),
            "where": part.name,
            "checked": part.number in self.parts,
            "rights": [
                {
                    "code": f"{part.number} {code}",
                    "label": terms.right(code, part.type, law),
                    "checked": given is None or code in given,
                }
                for code in part.privileges
            ],
            "question": part.state == "asked_back",
        }

    def _role(self, proposal: Proposal) -> dict[str, Any]:
        held = (
            gettext("held by %(holders)s") % {"holders": words.count(proposal.holders, "other")}
            if proposal.holders
            else gettext("held by nobody yet")
        )
        return {"id": proposal.role.id, "name": proposal.role.name, "note": held}

    def button(self) -> str:
        return (
            gettext("Approve")
            if len(self.mine) == 1
            else gettext("Approve %(mine)s") % {"mine": words.count(len(self.mine), "decision")}
        )
