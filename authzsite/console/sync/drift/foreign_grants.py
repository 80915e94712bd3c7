"""Deciding about a foreign grant: adopt it, have it revoked in the backend, accept it until a date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone

from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Diff, DiffLine, Note
from authzsite.console.kit.forms import ConsoleForm, DayField, ReasonField
from authzsite.console.kit.object_change import ObjectChangeView
from authzsite.console.kit.refusal import refused
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from authzsite.console.sync.backend_state import rights_of
from catalog.nodes import node
from policies.authority import Actor
from policies.errors import NotFound
from policies.sync.actions import foreign_rights
from policies.sync.actions.foreign_rights import Foreign

LONGEST = timedelta(days=366)


@dataclass(frozen=True)
class ForeignGrantAction:
    """One thing that can be done about a foreign grant, and how it is told."""

    heading: str
    button: str
    done: str
    look: str
    diff: Callable[[Foreign, Actor], tuple[DiffLine, ...]]


def _what(about: Foreign) -> str:
    return words.listed([terms.lower(word) for word in rights_of(about.rows, about.first.type)])


def _on(about: Foreign) -> str:
    return about.first.place or about.backend.place


def _adopting(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    name, system = about.first.holder, about.backend.get_kind_display()
    rights = [terms.lower(terms.right(code, about.node.type, about.node.kind)) for code in about.privileges]
    lines = []
    if about.holder is None:
        lines.append(DiffLine("gain", name, f"becomes a member of {about.node.realm}"))
    gain = f"keeps {words.listed(rights)} on {about.node.name}; decided here from now on"
    note = f"In {system} a role of Lakewarden replaces the grant by {about.first.grantor or 'somebody'}."
    lines.append(DiffLine("same", name, gain, f"{note} Nobody is cut off in between."))
    for gift in foreign_rights.way(about, by):
        told = terms.lower(terms.right(gift.privilege, gift.node.type, gift.node.kind))
        why = f"Without it {name} could not reach {about.node.name}."
        lines.append(DiffLine("gain", name, f"is also given {told} on {gift.node.name}", why))
    passed_on = any(right.endswith(foreign_rights.OPTION) for right in about.covered)
    if passed_on:
        lines.append(DiffLine("lose", name, "may no longer pass it on to others"))
    if about.left:
        kept = f"{words.listed(about.left)} stays foreign"
        lines.append(DiffLine("stop", name, kept, "No right here means exactly this."))
    return tuple(lines)


def _revoking(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    system = about.backend.get_kind_display()
    given = f"Given by {about.first.grantor} in {system}. " if about.first.grantor else ""
    note = f"{given}Access from roles and other grantors stays."
    return (DiffLine("lose", about.first.holder, f"loses {_what(about)} on {_on(about)}", note),)


def _accepting(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    return (
        DiffLine(
            "same",
            about.first.holder,
            f"keeps {_what(about)} on {_on(about)}",
            "Nothing changes in the backend. After the date it waits for a decision again.",
        ),
    )


def _reopening(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    text = "waits for a decision again"
    return (DiffLine("change", about.first.holder, text, "Nothing changes in the backend."),)


def _retrying(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    goes = (
        "is taken"
        if not any(item.replaced for item in foreign_rights.ordered(about.rows).values())
        else "is replaced"
    )
    text = f"what was decided is tried again: {_what(about)} on {_on(about)} {goes}"
    return (DiffLine("change", about.first.holder, text, "Nothing else changes."),)


def _dropping(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    name, system = about.first.holder, about.backend.get_kind_display()
    giver = about.first.grantor or "others"
    keeps = f"keeps {_what(about)} on {_on(about)}, as {giver} gave it in {system}"
    lines = [DiffLine("same", name, keeps, "It is foreign again and waits for a decision.")]
    for grant in foreign_rights.adopted_with(about):
        place = node(grant.securable_id) if grant.securable_id else None
        if place is not None:
            told = terms.lower(terms.right(grant.privilege, place.type, place.kind))
            text = f"is no longer given {told} on {place.name} here"
            lines.append(DiffLine("lose", name, text, "The adoption gave it."))
    return tuple(lines)


DEEDS = {
    "retry": ForeignGrantAction(
        "Try {what} of {who} on {on} again?", "Try again", "tried again", "primary", _retrying
    ),
    "drop": ForeignGrantAction(
        "Leave {what} of {who} on {on} as it was?",
        "Leave it as it was",
        "left as it was",
        "primary",
        _dropping,
    ),
    "adopt": ForeignGrantAction(
        "Adopt {what} of {who} on {on}?", "Adopt {what} of {who}", "adopted", "primary", _adopting
    ),
    "revoke": ForeignGrantAction(
        "Revoke {what} on {on} from {who}?",
        "Revoke {what} from {who}",
        "revoked",
        "danger primary",
        _revoking,
    ),
    "accept": ForeignGrantAction(
        "Accept that {who} may {what} {on}?",
        "Accept it",
        "accepted",
        "primary",
        _accepting,
    ),
    "reopen": ForeignGrantAction(
        "No longer accept that {who} may {what} {on}?",
        "No longer accept",
        "open again",
        "primary",
        _reopening,
    ),
}


class ForeignGrantForm(ConsoleForm):
    """Why; to accept a right also until the end of which day."""

    reason = ReasonField()

    def __init__(self, data: Any = None, *, code: str, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.latest = timezone.localdate() + LONGEST
        self.wrong_day = f"Give a day from today to {words.day(_end_of(self.latest))}."
        if code == "accept":
            self.fields["until"] = DayField(
                label="Until the end of",
                error_messages={"required": self.wrong_day, "invalid": self.wrong_day},
                initial=(timezone.localdate() + timedelta(days=30)).isoformat(),
                help_text=f"In {words.zone()}; a year from now at most.",
            )
            self.order_fields(("until", "reason"))
            self.fields["reason"].help_text = "Kept in the history for ever."

    def clean_until(self) -> datetime:
        """The last moment of a day in the reader's zone."""
        day = self.cleaned_data["until"]
        if not timezone.localdate() <= day <= self.latest:
            raise ValidationError(self.wrong_day)
        return _end_of(day)


def _end_of(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time(23, 59, 59)))


class ForeignGrantView(ObjectChangeView):
    """What it would do; then it is decided, and the sync carries it out."""

    template_name = "console/kit/confirm.html"
    section = "sync"
    not_saved = "Not decided."
    foreign: Foreign

    @property
    def code(self) -> str:
        return str(self.kwargs["code"])

    def get_object(self) -> ObjectAccess:
        if self.code not in DEEDS:
            raise Http404
        try:
            self.foreign = foreign_rights.foreign(self.kwargs["id"])
        except NotFound as gone:
            raise Http404 from gone
        return get_object_or_404(self.request, self.foreign.node.id)

    def refusal(self) -> HttpResponse | None:
        return None if self.object.may_grant else refused(self.request, self.object, "grant")

    def make_form(self, data: Any) -> ForeignGrantForm:
        return ForeignGrantForm(data, code=self.code)

    def plan(self, form: ForeignGrantForm) -> Plan:
        actor = Actor(self.asker, "console")
        diff = Diff(DEEDS[self.code].diff(self.foreign, actor))
        problem = foreign_rights.hindrance(self.foreign, self.code, actor)
        if not problem:
            return Plan(diff=diff)
        note = Note("warn", f"This cannot be {DEEDS[self.code].done}.", problem)
        return Plan(diff=diff, nothing=True, notes=(note,))

    def save(self, form: ForeignGrantForm, actor: Actor) -> None:
        pk, reason = self.foreign.first.pk, form.cleaned_data["reason"]
        if self.code == "adopt":
            foreign_rights.adopt(pk, by=actor, reason=reason)
        elif self.code == "revoke":
            foreign_rights.revoke(pk, by=actor, reason=reason)
        elif self.code == "retry":
            foreign_rights.try_again(pk, by=actor)
        elif self.code == "drop":
            foreign_rights.give_up(pk, by=actor, reason=reason)
        elif self.code == "accept":
            foreign_rights.accept(pk, form.cleaned_data["until"], by=actor, reason=reason)
        else:
            foreign_rights.reopen(pk, by=actor, reason=reason)

    def note_of(self, form: ForeignGrantForm, problem: Exception) -> Note:
        return Note("bad", self.not_saved, str(problem))

    def success_message(self, form: ForeignGrantForm) -> str:
        what, first = _what(self.foreign), self.foreign.first
        return (
            f"{what[:1].upper()}{what[1:]} of {first.holder} on {_on(self.foreign)}: {DEEDS[self.code].done}"
        )

    def may_undo(self) -> bool:
        return False

    def _named(self, text: str) -> str:
        about = self.foreign
        return text.format(what=_what(about), who=about.first.holder, on=_on(about))

    def heading(self, form: ForeignGrantForm) -> str:
        return self._named(DEEDS[self.code].heading)

    def lead(self) -> str:
        seen = words.when_in_words(words.day(self.foreign.first.first_seen))
        return f"Found in {self.foreign.backend}, first seen {seen}"

    def button(self, form: ForeignGrantForm) -> str:
        return self._named(DEEDS[self.code].button)

    def back(self) -> str:
        return reverse("console:sync")

    def page_context(self, form: ForeignGrantForm) -> dict[str, Any]:
        return {"look": DEEDS[self.code].look, "keep": "Leave it as it is", "leave": "Back to Sync"}
