"""Deciding about a foreign grant: adopt it, have it revoked in the backend, accept it until a date."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Diff, DiffLine, Note, StrOrPromise
from authzsite.console.kit.forms import (
    ConsoleForm,
    ReasonField,
)
from authzsite.console.kit.moment_fields import (
    DayField,
)
from authzsite.console.kit.object_change import ObjectChangeView
from authzsite.console.kit.refusal import refused
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from authzsite.console.sync.backend_state import rights_of
from catalog.nodes import node
from policies.authority import Actor
from policies.errors import NotFound
from policies.services.grants import Grantable
from policies.sync.actions import foreign_orders, foreign_rights
from policies.sync.actions.foreign_rights import Foreign
from policies.sync.differences.findings import OPTION

LONGEST = timedelta(days=366)


@dataclass(frozen=True)
class ForeignGrantAction:
    """One thing that can be done about a foreign grant, and how it is told."""

    heading: StrOrPromise
    button: StrOrPromise
    done: StrOrPromise
    cannot: StrOrPromise
    look: str
    diff: Callable[[Foreign, Actor], tuple[DiffLine, ...]]


def rights_words(about: Foreign) -> str:
    return words.listed([terms.lower(word) for word in rights_of(about.rows, about.first.type)])


def place_of(about: Foreign) -> str:
    return about.first.place or about.backend.place


def _adopting(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    return (*adopted(about), *(given_besides(gift, [about]) for gift in foreign_rights.way(about, by)))


def given_besides(gift: Grantable, needed_for: Sequence[Foreign]) -> DiffLine:
    """What adopting these gives their holder beside them."""
    name = needed_for[0].first.holder
    right = terms.lower(terms.right(gift.privilege, gift.node.type, gift.node.kind))
    text = _("is also granted %(told)s on %(name)s") % {"told": right, "name": gift.node.name}
    objects = words.listed(list(dict.fromkeys(about.node.name for about in needed_for)), 3)
    why = _("Without it %(name)s could not reach %(name2)s.") % {"name": name, "name2": objects}
    return DiffLine("gain", name, text, why)


def adopted(about: Foreign) -> tuple[DiffLine, ...]:
    """What becomes of one foreign grant that is adopted, but for what is given beside it."""
    name, system = about.first.holder, about.backend.get_kind_display()
    rights = [terms.lower(terms.right(code, about.node.type, about.node.kind)) for code in about.privileges]
    lines = []
    if about.holder is None:
        lines.append(DiffLine("gain", name, _("becomes a member of %(realm)s") % {"realm": about.node.realm}))
    gain = _("keeps %(rights)s on %(name)s; decided here from now on") % {
        "rights": words.listed(rights),
        "name": about.node.name,
    }
    note = _("In %(system)s a role of Lakewarden replaces the grant by %(part)s.") % {
        "system": system,
        "part": about.first.grantor or _("someone"),
    }
    lines.append(DiffLine("same", name, gain, _("%(note)s Nobody is cut off in between.") % {"note": note}))
    passed_on = any(right.endswith(OPTION) for right in about.covered)
    if passed_on:
        values = {"rights": words.listed(rights), "name": about.node.name}
        text = _("may no longer pass it on to others: %(rights)s on %(name)s") % values
        lines.append(DiffLine("lose", name, text))
    if about.left:
        kept = _("%(left)s on %(name)s stays granted outside Lakewarden") % {
            "left": words.listed(about.left),
            "name": about.node.name,
        }
        lines.append(DiffLine("stop", name, kept, _("No right here means exactly this.")))
    return tuple(lines)


def _revoking(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    system = about.backend.get_kind_display()
    text = (
        _("Granted by %(grantor)s in %(system)s. Access from roles and other grantors stays.")
        if about.first.grantor
        else _("Access from roles and other grantors stays.")
    )
    note = text % {"grantor": about.first.grantor, "system": system}
    return (
        DiffLine(
            "lose",
            about.first.holder,
            _("loses %(about)s on %(about2)s") % {"about": rights_words(about), "about2": place_of(about)},
            note,
        ),
    )


def _accepting(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    return (
        DiffLine(
            "same",
            about.first.holder,
            _("keeps %(about)s on %(about2)s") % {"about": rights_words(about), "about2": place_of(about)},
            _("Nothing changes in the backend. After the date it waits for a decision again."),
        ),
        *_ended_with(about),
    )


def _reopening(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    text = _("waits for a decision again")
    return (DiffLine("change", about.first.holder, text, _("Nothing changes in the backend.")),)


def _retrying(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    goes = (
        _("is revoked")
        if not any(item.replaced for item in foreign_orders.ordered(about.rows).values())
        else _("is replaced")
    )
    text = _("what was decided is tried again: %(about)s on %(about2)s %(goes)s") % {
        "about": rights_words(about),
        "about2": place_of(about),
        "goes": goes,
    }
    return (DiffLine("change", about.first.holder, text, _("Nothing else changes.")),)


def _dropping(about: Foreign, by: Actor) -> tuple[DiffLine, ...]:
    name, system = about.first.holder, about.backend.get_kind_display()
    giver = about.first.grantor or _("others")
    keeps = _("keeps %(about)s on %(about2)s, as granted by %(giver)s in %(system)s") % {
        "about": rights_words(about),
        "about2": place_of(about),
        "giver": giver,
        "system": system,
    }
    line = DiffLine(
        "same", name, keeps, _("It counts as granted outside Lakewarden again and waits for a decision.")
    )
    return (line, *_ended_with(about))


def _ended_with(about: Foreign) -> Iterator[DiffLine]:
    """What its adoption gave here, which ends when that is given up."""
    name = about.first.holder
    for grant in foreign_rights.adopted_with(about):
        place = node(grant.securable_id) if grant.securable_id else None
        if place is not None:
            right = terms.lower(terms.right(grant.privilege, place.type, place.kind))
            text = _("is no longer granted %(told)s on %(name)s here") % {"told": right, "name": place.name}
            yield DiffLine("lose", name, text, _("It came with the adoption."))


DEEDS = {
    "retry": ForeignGrantAction(
        gettext_lazy("Try {what} of {who} on {on} again?"),
        gettext_lazy("Try again"),
        gettext_lazy("{what} of {who} on {on}: tried again"),
        gettext_lazy("This cannot be tried again."),
        "primary",
        _retrying,
    ),
    "drop": ForeignGrantAction(
        gettext_lazy("Leave {what} of {who} on {on} as it was?"),
        gettext_lazy("Leave it as it was"),
        gettext_lazy("{what} of {who} on {on}: left as it was"),
        gettext_lazy("This cannot be left as it was."),
        "primary",
        _dropping,
    ),
    "adopt": ForeignGrantAction(
        gettext_lazy("Adopt {what} of {who} on {on}?"),
        gettext_lazy("Adopt {what} of {who}"),
        gettext_lazy("{what} of {who} on {on}: adopted"),
        gettext_lazy("This cannot be adopted."),
        "primary",
        _adopting,
    ),
    "revoke": ForeignGrantAction(
        gettext_lazy("Revoke {what} on {on} from {who}?"),
        gettext_lazy("Revoke {what} from {who}"),
        gettext_lazy("{what} of {who} on {on}: revoked"),
        gettext_lazy("This cannot be revoked."),
        "danger primary",
        _revoking,
    ),
    "accept": ForeignGrantAction(
        gettext_lazy("Accept that {who} may {what} {on}?"),
        gettext_lazy("Accept it"),
        gettext_lazy("{what} of {who} on {on}: accepted"),
        gettext_lazy("This cannot be accepted."),
        "primary",
        _accepting,
    ),
    "reopen": ForeignGrantAction(
        gettext_lazy("No longer accept that {who} may {what} {on}?"),
        gettext_lazy("No longer accept"),
        gettext_lazy("{what} of {who} on {on}: open again"),
        gettext_lazy("This cannot be open again."),
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
        self.wrong_day = _("Enter a day from today to %(latest)s.") % {
            "latest": words.day(_end_of(self.latest))
        }
        if code == "accept":
            self.fields["until"] = DayField(
                label=_("Until the end of"),
                error_messages={"required": self.wrong_day, "invalid": self.wrong_day},
                initial=(timezone.localdate() + timedelta(days=30)).isoformat(),
                help_text=_("In %(zone)s; a year from now at most.") % {"zone": words.zone()},
            )
            self.order_fields(("until", "reason"))
            self.fields["reason"].help_text = _("Kept in the history permanently.")

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
    not_saved = gettext_lazy("Not decided.")
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
        note = Note("warn", str(DEEDS[self.code].cannot), problem)
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
        text = self._named(DEEDS[self.code].done)
        return f"{text[:1].upper()}{text[1:]}"

    def may_undo(self) -> bool:
        return False

    def _named(self, text: StrOrPromise) -> str:
        about = self.foreign
        return str(text).format(what=rights_words(about), who=about.first.holder, on=place_of(about))

    def heading(self, form: ForeignGrantForm) -> str:
        return self._named(DEEDS[self.code].heading)

    def lead(self) -> str:
        seen = words.day(self.foreign.first.first_seen, within=True)
        return _("Found in %(backend)s, first seen %(seen)s") % {
            "backend": self.foreign.backend,
            "seen": seen,
        }

    def button(self, form: ForeignGrantForm) -> str:
        return self._named(DEEDS[self.code].button)

    def back(self) -> str:
        return reverse("console:sync")

    def page_context(self, form: ForeignGrantForm) -> dict[str, Any]:
        return {"look": DEEDS[self.code].look, "keep": _("Leave it as it is"), "leave": _("Back to Sync")}
