"""What a decider says of a request: which parts, how much of each, for how long, by which role."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from django.http import QueryDict
from django.utils import timezone

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.http import number_in
from authzsite.console.kit.inputs.dates import When
from authzsite.console.requests import rows as requests_rows
from policies.models import RequestPart
from policies.requests import durations
from policies.requests.role_proposals import Proposal
from policies.requests.visibility import VisibleRequest

SHORTER = ("P7D", "P30D", "P90D")
ASKED = "asked"
LONGEST = 4000


@dataclass
class Choice:
    """The form of a decision; `problems` name, by field, why it cannot be sent."""

    seen: VisibleRequest
    data: QueryDict
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def sent(self) -> bool:
        return "form" in self.data

    @property
    def step(self) -> str:
        return self.data.get("step", "")

    @cached_property
    def mine(self) -> list[RequestPart]:
        return sorted((mandate.part for mandate in self.seen.mandates), key=lambda part: part.number)

    @cached_property
    def parts(self) -> list[int]:
        """The parts decided now; all that the viewer may decide, until the form says otherwise."""
        numbers = [part.number for part in self.mine]
        asked = {number_in(text) for text in self.data.getlist("part")}
        return [number for number in numbers if not self.sent or number in asked]

    @cached_property
    def give(self) -> dict[int, Collection[str]]:
        """Of each part the privileges that are given."""
        if not self.sent:
            return {}
        given: dict[int, list[str]] = {number: [] for number in self.parts}
        for text in self.data.getlist("give"):
            number, _, code = text.partition(" ")
            known = number_in(number)
            if known in given:
                given[known].append(code[:32])
        with_privileges = {part.number for part in self.mine if part.privileges}
        return {number: codes for number, codes in given.items() if number in with_privileges}

    @cached_property
    def lasting(self) -> str:
        asked = self.data.get("lasts", "")
        return asked if asked in (ASKED, *self.offered, "date") else ASKED

    @property
    def lasts(self) -> str:
        return self.lasting if self.lasting.startswith("P") else ""

    @cached_property
    def when(self) -> When:
        data = self.data.copy()
        data["until"] = "date" if self.lasting == "date" else "never"
        data["from"] = "now"
        return When(data)

    @property
    def until(self) -> datetime | None:
        return self.when.end

    @cached_property
    def offered(self) -> list[str]:
        """The lengths that are shorter than what was asked for."""
        row, now = self.seen.request, timezone.now()
        asked = durations.ends(now, row.lasts, row.until, row.zone)
        found = []
        for item in SHORTER:
            end = durations.ends(now, item, None, row.zone)
            if end is not None and (asked is None or end < asked):
                found.append(item)
        return found

    @cached_property
    def role(self) -> int | None:
        return number_in(self.data.get("role", ""))

    @cached_property
    def text(self) -> str:
        return self.data.get("text", "").strip()[:LONGEST].replace("\0", "")

    def check(self) -> bool:
        """Whether it can be sent as far as the form knows; else the problems are named."""
        if not self.parts:
            self.problems["part"] = "Choose at least one of the decisions that are yours."
        if self.step == "approve":
            if any(not codes for codes in self.give.values()):
                self.problems["part"] = "Give at least one right of each part, or refuse it."
            self.problems |= self.when.check()
        elif len(self.text) < 3:
            self.problems["text"] = (
                "Say why it is refused." if self.step == "refuse" else "Write what you want to know."
            )
        return not self.problems

    def said(self) -> str:
        """What the toast names: Read on orders and 1 more."""
        law = requests_rows.law_of(self.seen.request)
        chosen = [part for part in self.mine if part.number in self.parts]
        return words.listed([requests_rows.part_words(part, law) for part in chosen], 2)

    # What the page draws

    def fields(self, roles: Sequence[Proposal]) -> dict[str, Any]:
        return {
            "parts": [self._part(part) for part in self.mine],
            "lasts_known": self._lasts_known(),
            "lasts": self.lasting,
            "date": self.data.get("date", "")[:40],
            "zone": words.zone(),
            "roles": [self._role(role) for role in roles],
            "role": self.role if self.role in {role.role.id for role in roles} else None,
            "text": self.text,
            "button": self._button(),
            "problems": {**self.when.problems, **self.problems},
        }

    def _part(self, part: RequestPart) -> dict[str, Any]:
        law, given = requests_rows.law_of(self.seen.request), self.give.get(part.number)
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

    def _lasts_known(self) -> list[tuple[str, str]]:
        asked = requests_rows.lasts_words(self.seen.request)
        known = [(ASKED, f"As asked, {asked}")]
        known += [(item, requests_rows.lasting_words(item)) for item in self.offered]
        return [*known, ("date", "A date")]

    def _role(self, proposal: Proposal) -> dict[str, Any]:
        held = (
            f"held by {words.count(proposal.holders, 'other')}" if proposal.holders else "held by nobody yet"
        )
        return {"id": proposal.role.id, "name": proposal.role.name, "note": held}

    def _button(self) -> str:
        return "Approve" if len(self.mine) == 1 else f"Approve {words.count(len(self.mine), 'decision')}"
