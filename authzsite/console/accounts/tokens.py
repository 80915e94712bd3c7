"""Tokens on a page: made for the viewer or a service account, listed by how they begin, revoked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal, Token
from accounts.models.tokens import SCOPES
from accounts.tokens import MOST_ADDRESSES, WrongAddress, checked_addresses
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Chip, Note, State
from authzsite.console.kit.forms import ChoicesField, ConsoleForm, SegmentsField, TextField
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
OVERLAPS = (
    ("0", gettext_lazy("Not at all")),
    ("1", gettext_lazy("An hour")),
    ("24", gettext_lazy("A day")),
    ("168", gettext_lazy("A week")),
)
"""Codes are hours."""
TOLD = {
    "check": gettext_lazy("check what someone may do"),
    "report": gettext_lazy("report what was used"),
    "request": gettext_lazy("request access"),
    "manage": gettext_lazy("change access, within the rights of the account"),
    "audit": gettext_lazy("read the history, within the rights of the account"),
    "directory": gettext_lazy("manage people and groups from the company's directory"),
}
SHOWN = 100


@dataclass(frozen=True)
class TokenRow:
    """One token: recognised by how it begins."""

    id: int
    prefix: str
    may: str
    addresses: str
    made: str
    used: str
    ends: Chip | None
    state: State | None
    next: str
    """How its successor begins."""

    @property
    def rotates(self) -> bool:
        return not self.state and not self.next


class AddressesField(TextField):
    """Addresses and networks, with commas or spaces between them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=50 * MOST_ADDRESSES, required=False, **kwargs)

    def clean(self, value: Any) -> list[str]:
        parts = (super().clean(value) or "").replace(",", " ").split()
        try:
            return checked_addresses(parts)
        except WrongAddress as problem:
            raise ValidationError(
                f"{str(problem)[:1].upper()}{str(problem)[1:]}.", code="invalid"
            ) from problem


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
    addresses = AddressesField(
        label=gettext_lazy("From addresses"),
        help_text=gettext_lazy("Addresses and networks such as 10.1.0.0/16. Empty: from everywhere."),
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
            return tokens.make(
                holder,
                days=int(typed["days"]),
                scopes=tuple(typed["scope"]),
                addresses=typed["addresses"],
                by=by,
            )
        except PolicyError as problem:
            self.add_error("scope", str(problem))
            return ""


class RotateForm(ConsoleForm):
    """Which token is replaced, how long the new one lasts, and for how long the old one is still good."""

    token = forms.IntegerField(widget=forms.HiddenInput)
    lasts = SegmentsField(label=gettext_lazy("The new token lasts"), choices=DAYS, initial="90")
    overlap = SegmentsField(label=gettext_lazy("The old token works for"), choices=OVERLAPS, initial="24")

    def __init__(self, data: Any = None, *, token: int | None, **kwargs: Any) -> None:
        super().__init__(data, initial={"token": token}, **kwargs)
        if data is None:
            self.look(begin=True)

    @classmethod
    def asked(cls, data: QueryDict) -> RotateForm | None:
        """The form for the token that a page was asked to replace."""
        number = number_in(data.get("replace", ""))
        return None if number is None else cls(token=number)

    @classmethod
    def sent(cls, data: QueryDict) -> RotateForm:
        return cls(data, token=number_in(data.get("token", "")))

    def rotate(self, holder: Principal, *, by: Actor) -> tuple[str, str]:
        """The text of the new token, or nothing and what was wrong."""
        if not self.is_valid():
            return "", _("Choose a token, how long the new one lasts, and when the old one ends.")
        typed = self.cleaned_data
        try:
            made = tokens.rotate(
                holder, typed["token"], days=int(typed["lasts"]), overlap=int(typed["overlap"]), by=by
            )
        except PolicyError as problem:
            return "", str(problem)
        return made, ""


def revoke(data: QueryDict, holder: Principal, *, by: Actor) -> str:
    """Take back the token that a form names; answers what to say."""
    number = number_in(data.get("token", ""))
    try:
        ended = number is not None and tokens.revoke(holder, number, by=by)
    except NotFound as problem:
        return str(problem)
    return _("The token is revoked and no longer works") if ended else _("It was already revoked")


def shown(
    holder: Principal, form: TokenForm, *, who: str, may: bool = True, rotation: RotateForm | None = None
) -> dict[str, Any]:
    """What `tokens.html` draws; `who` names the principal a token acts as.  One query."""
    rows = Token.objects.filter(principal=holder, run="").select_related("successor")
    lines = [_line(row) for row in rows.order_by("revoked", "-created")[:SHOWN]]
    note = Note("warn", _("Copy the token now."), _("It is shown only now and stored nowhere."))
    number = rotation.initial["token"] if rotation else None
    return {
        "token_rows": lines,
        "token_form": form,
        "token_note": note if form.made else None,
        "token_rotation": rotation,
        "token_rotated": next((row for row in lines if row.id == number and row.rotates), None),
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
        words.listed(row.addresses, 3) if row.addresses else _("Everywhere"),
        words.day(row.created),
        words.ago(row.last_used) if row.last_used else _("Never"),
        Chip("ends", words.moment(row.expires), hidden="until") if row.expires and not state else None,
        state,
        row.successor.prefix if row.successor else "",
    )
