"""Tokens on a page: made for the viewer or a service account, listed by how they begin, revoked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal, Token
from accounts.models.tokens import SCOPES
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Chip, Note, State
from authzsite.console.kit.forms import ChoicesField, ConsoleForm, SegmentsField
from authzsite.console.kit.http import number_in
from policies.authority import Actor
from policies.errors import NotFound, PolicyError
from policies.services import tokens

DAYS = (
    ("7", gettext_lazy("7 days")),
    ("30", gettext_lazy("30 days")),
    ("90", gettext_lazy("90 days")),
    ("365", gettext_lazy("A year")),
)
LASTS = gettext_lazy("Choose how long it lasts.")
TOLD = {
    "check": gettext_lazy("ask what somebody may do"),
    "report": gettext_lazy("report what was used"),
    "request": gettext_lazy("ask for access"),
    "manage": gettext_lazy("change access, within the rights of the account"),
    "audit": gettext_lazy("read the history, within the rights of the account"),
    "directory": gettext_lazy("keep people and groups for the company's directory"),
}
SHOWN = 100


@dataclass(frozen=True)
class TokenRow:
    """One token: recognised by how it begins."""

    id: int
    prefix: str
    may: str
    made: str
    used: str
    ends: Chip | None
    state: State | None


class TokenForm(ConsoleForm):
    """What is filled in to make a token; `made` holds its text, to be shown this once."""

    scope = ChoicesField(
        label=gettext_lazy("May"),
        strict=True,
        initial=["check"],
        error_messages={"required": gettext_lazy("Choose at least one thing it may do.")},
    )
    days = SegmentsField(
        label=gettext_lazy("Lasts"),
        choices=DAYS,
        initial="30",
        error_messages={"required": LASTS, "invalid_choice": LASTS},
    )

    def __init__(self, data: Any = None, *, made: str = "", **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.made = made
        self.fields["scope"].offer((code, code, str(TOLD[code])) for code in SCOPES)
        if data is None:
            self.look(begin=True)

    def make(self, holder: Principal, *, by: Actor) -> str:
        """The text of a new token; nothing where something is wrong, which is told in the form."""
        if not self.is_valid():
            return ""
        typed = self.cleaned_data
        try:
            return tokens.make(holder, days=int(typed["days"]), scopes=tuple(typed["scope"]), by=by)
        except PolicyError as problem:
            self.add_error("scope", str(problem))
            return ""


def revoke(data: QueryDict, holder: Principal, *, by: Actor) -> str:
    """Take back the token that a form names; answers what to say."""
    number = number_in(data.get("token", ""))
    try:
        ended = number is not None and tokens.revoke(holder, number, by=by)
    except NotFound as problem:
        return str(problem)
    return _("The token is revoked; it opens nothing any more") if ended else _("It was revoked before")


def shown(holder: Principal, form: TokenForm, *, who: str, may: bool = True) -> dict[str, Any]:
    """What `tokens.html` draws; `who` names the principal a token acts as.  One query."""
    rows = Token.objects.filter(principal=holder, run="").order_by("revoked", "-created")
    note = Note("warn", _("Copy the token now."), _("It is shown this once and kept nowhere."))
    return {
        "token_rows": [_line(row) for row in rows[:SHOWN]],
        "token_form": form,
        "token_note": note if form.made else None,
        "token_may": may,
        "token_who": who,
    }


def _line(row: Token) -> TokenRow:
    over = row.expires is not None and row.expires <= timezone.now()
    ended = State("unknown", _("Ended by itself")) if over else None
    state = State("paused", _("Revoked")) if row.revoked else ended
    return TokenRow(
        row.pk,
        row.prefix,
        words.listed(row.scopes) or _("everything the account may do"),
        words.day(row.created),
        words.ago(row.last_used) if row.last_used else _("Never"),
        Chip("ends", words.moment(row.expires), hidden="until") if row.expires and not state else None,
        state,
    )
