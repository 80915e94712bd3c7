"""Tokens on a page: made for the viewer or a service account, listed by how they begin, revoked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict
from django.utils import timezone

from accounts.models import Principal, Token
from accounts.models.tokens import SCOPES
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Chip, Note, State
from authzsite.console.kit.http import number_in
from policies.authority import Actor
from policies.errors import NotFound, PolicyError
from policies.services import tokens

DAYS = (("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "A year"))
TOLD = {
    "check": "ask what somebody may do",
    "report": "report what was used",
    "request": "ask for access",
    "manage": "change access, as {who} may",
    "audit": "read the history, as {who} may",
}
SHOWN = 100


@dataclass(frozen=True)
class Line:
    """One token: recognised by how it begins."""

    id: int
    prefix: str
    may: str
    made: str
    used: str
    ends: Chip | None
    state: State | None


@dataclass
class Form:
    """What was filled in to make a token; `new` holds its text, to be shown this once."""

    days: str = "30"
    scopes: tuple[str, ...] = ("check",)
    problems: dict[str, str] = field(default_factory=dict)
    new: str = ""

    @classmethod
    def read(cls, data: QueryDict) -> Form:
        form = cls(data.get("days", ""), tuple(dict.fromkeys(data.getlist("scope"))))
        if form.days not in dict(DAYS):
            form.problems["days"] = "Choose how long it lasts."
        if not form.scopes:
            form.problems["scope"] = "Choose at least one thing it may do."
        return form

    def make(self, holder: Principal, *, by: Actor) -> Form:
        """The form to show next: an empty one with the token's text, or this one with what is wrong."""
        if self.problems:
            return self
        try:
            return Form(new=tokens.make(holder, days=int(self.days), scopes=self.scopes, by=by))
        except PolicyError as problem:
            self.problems["scope"] = str(problem)
            return self


def revoke(data: QueryDict, holder: Principal, *, by: Actor) -> str:
    """Take back the token that a form names; answers what to say."""
    number = number_in(data.get("token", ""))
    try:
        ended = number is not None and tokens.revoke(holder, number, by=by)
    except NotFound as problem:
        return str(problem)
    return "The token is revoked; it opens nothing any more" if ended else "It was revoked before"


def shown(holder: Principal, form: Form, *, who: str, may: bool = True) -> dict[str, Any]:
    """What `tokens.html` draws; `who` names the principal a token acts as.  One query."""
    rows = Token.objects.filter(principal=holder, run="").order_by("revoked", "-created")
    note = Note("warn", "Copy the token now.", "It is shown this once and kept nowhere.")
    return {
        "token_rows": [_line(row, who) for row in rows[:SHOWN]],
        "token_form": form,
        "token_note": note if form.new else None,
        "token_days": DAYS,
        "token_scopes": [(code, TOLD[code].format(who=who), code in form.scopes) for code in SCOPES],
        "token_may": may,
        "token_who": who,
    }


def _line(row: Token, who: str) -> Line:
    over = row.expires is not None and row.expires <= timezone.now()
    ended = State("unknown", "Ended by itself") if over else None
    state = State("paused", "Revoked") if row.revoked else ended
    return Line(
        row.pk,
        row.prefix,
        words.listed(row.scopes) or f"all that {who} may",
        words.day(row.created),
        words.ago(row.last_used) if row.last_used else "Never",
        Chip("ends", words.moment(row.expires), hidden="until") if row.expires and not state else None,
        state,
    )
