"""Opening an object in an emergency, the viewer's openings, and those that wait for their review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from django import forms
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.models import Principal
from authzsite.console.home.waiting import Waits, waits
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Item
from authzsite.console.kit.display.parts import Action, Empty, Note, Reason, State, Who
from authzsite.console.kit.forms import ConsoleForm, ReasonField, SegmentsField, TextField
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.downloads import csv_file
from catalog.nodes import Node, nodes
from catalog.queries import find_all
from lakewarden.law import dialects
from lakewarden.law.facts import Slice
from lakewarden.law.objects import BadName, ObjectRef, split_name
from policies.authority import Actor
from policies.decisions import ask, duties, slices
from policies.decisions.facts import is_service_admin
from policies.emergency import access as emergency_access
from policies.emergency.access import READ, WRITE, EmergencyRequest
from policies.errors import NotFound
from policies.models import Emergency

SHOWN, ON_HOME, LOOKED_AT = 20, 3, 200
ACTIONS = ((READ, gettext_lazy("Read")), (WRITE, gettext_lazy("Read and write")))
STATES = {
    "open": State("behind", pgettext_lazy("state", "Open")),
    "ended": State("failed", gettext_lazy("Waits for its review")),
    "closed": State("ok", gettext_lazy("Reviewed")),
}


@dataclass(frozen=True)
class EmergencyRow:
    who: Who
    what: str
    url: str
    reason: str
    when: str
    state: State


@dataclass(frozen=True)
class EmergencyContext:
    """One person before the glass."""

    asker: Principal

    @cached_property
    def barred(self) -> str:
        """Why nothing may be opened now, all of it waiting for a review; empty where something may."""
        now = timezone.now()
        whys = []
        for node in nodes(self.held).values() if self.held else ():
            whys.append(emergency_access.barred(self.asker, node, now, inside=False))
            if not whys[-1]:
                return ""
        return whys[0] if whys else ""

    @cached_property
    def held(self) -> frozenset[int]:
        """The numbers of the objects on which they have the duty."""
        return duties.held(self.asker, emergency_access.DUTY)

    def named(self, text: str) -> Node | None:
        """The object of that name among those they may open; nothing says whether there are others."""
        tops = nodes(self.held).values()
        for realm, kind in sorted({(node.realm, node.kind) for node in tops}):
            prefix, slash, rest = text.partition("/")
            name = rest if slash and prefix == realm else text
            try:
                path = split_name(name) if name != realm else ()
            except BadName:
                continue
            types = [item for item in dialects.get(kind).paths if item != "role"]
            for node in find_all([ObjectRef(type_, realm, path) for type_ in types]):
                if node is not None and not self.held.isdisjoint(node.lineage):
                    return node
        return None


class ObjectNameField(TextField):
    """A full name; with NUL in it, it is looked for without."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\0", "").strip()


class EmergencyForm(ConsoleForm):
    """What somebody opens for themselves, for how many hours, and what happened."""

    what = ObjectNameField(label=gettext_lazy("Object, by its full name"), max_length=1000, required=False)
    action = SegmentsField(
        label=gettext_lazy("To"),
        choices=ACTIONS,
        initial=READ,
        required=False,
        error_messages={"invalid_choice": gettext_lazy("Choose one of these.")},
    )
    hours = forms.TypedChoiceField(
        label=gettext_lazy("For"), coerce=int, initial=1, widget=forms.Select(attrs={"class": "input fit"})
    )
    reason = ReasonField(
        label=gettext_lazy("What happened"),
        help_text=format_lazy(
            gettext_lazy(
                "At least {number} characters. The owners read it at once; it is kept in the history "
                "permanently."
            ),
            number=emergency_access.SHORTEST_REASON,
        ),
    )

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields["what"].widget.attrs["data-combo"] = f"{reverse('console:names')}?of=objects"
        longest, hours = emergency_access.longest(), self.fields["hours"]
        hours.choices = [(hour, words.count(hour, "hour")) for hour in range(1, longest + 1)]
        wrong = _("An emergency lasts 1 to %(longest)s hours.") % {"longest": longest}
        hours.error_messages |= {"required": wrong, "invalid_choice": wrong}


class EmergenciesView(ChangeView):
    """What was opened by the viewer and by others, and the form for holders of the duty."""

    form_class = EmergencyForm
    steps_up = True
    template_name = "console/emergency/list.html"
    not_saved = gettext_lazy("Not opened.")

    def get_object(self) -> EmergencyContext:
        return EmergencyContext(self.asker)

    def refusal(self) -> HttpResponse | None:
        if self.request.method != "POST" or self.object.held:
            return None
        form = self.make_form(self.data)
        form.look()
        return self.show(form, 403)  # says that they have no duty

    def save(self, form: EmergencyForm, actor: Actor) -> Emergency:
        typed = form.cleaned_data
        node = self.object.named(typed["what"])
        if node is None:
            raise NotFound(_("You cannot open an object called %(typed)s.") % {"typed": typed["what"]})
        wanted = EmergencyRequest(
            node, typed["action"] or READ, typed["hours"], typed["reason"], actor.request_id
        )
        return emergency_access.open_for_oneself(wanted, by=actor)

    def note_of(self, form: EmergencyForm, problem: Exception) -> Note:
        return Note("bad", self.not_saved, str(problem))

    @cached_property
    def opened(self) -> Emergency | None:
        """What this form opened, now or when it came before."""
        mine = emergency_access.of_person(self.asker).filter(request_id=self.actor.request_id)
        return self.result or mine.first()

    def success_message(self, form: EmergencyForm) -> str:
        if self.opened is None:
            return ""
        node = nodes([self.opened.securable_id]).get(self.opened.securable_id)
        until = words.moment(self.opened.until, within=True)
        return _("%(name)s is open to you until %(until)s") % {
            "name": node.name if node else _("What was dropped"),
            "until": until,
        }

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        return reverse("console:emergency", args=[self.opened.pk]) if self.opened else self.back()

    def heading(self, form: EmergencyForm) -> str:
        return _("Emergency access")

    def lead(self) -> str:
        return _("For urgent access when no approver is available.")

    def button(self, form: EmergencyForm) -> str:
        return _("Open it for me now")

    def back(self) -> str:
        return reverse("console:emergencies")

    def page_context(self, form: EmergencyForm) -> dict[str, Any]:
        mine = list(emergency_access.of_person(self.asker)[:SHOWN])
        theirs = to_review(self.asker)
        places = nodes(row.securable_id for row in (*mine, *theirs))
        return {
            "may": bool(self.object.held),
            "barred": Reason("why-not-open", self.object.barred) if self.object.barred else None,
            "no_duty": Note(
                "plain",
                _("You have no duty for emergencies."),
                _("The owner of a realm assigns this duty in advance, on an object and everything inside."),
            ),
            "theirs": list(lines(theirs, places)),
            "mine": list(lines(mine, places)),
            "csv": reverse("console:emergencies_csv"),
            "empty": Empty(_("You have not used emergency access"), drawn=False),
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(self.request, self.template_name, context, section="emergency", status=status)


def lines(rows: Iterable[Emergency], places: dict[int, Node]) -> Iterable[EmergencyRow]:
    for row in rows:
        node = places.get(row.securable_id)
        yield EmergencyRow(
            terms.who(row.person),
            terms.short_name(node) if node else _("what was dropped"),
            reverse("console:emergency", args=[row.pk]),
            row.reason,
            words.moment(row.opened),
            state_of(row),
        )


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """What waits for one's review, then all that one opened."""
    asker = asker_of(request)
    head = ["who", "shown as", "object", "type", "rights", "why", "opened", "until", "state"]
    own = emergency_access.of_person(asker).iterator(csv_file.CHUNK)
    return csv_file.answer("emergencies", head, _csv_rows(chain(to_review(asker), own)))


def _csv_rows(rows: Iterable[Emergency]) -> Iterator[list[object]]:
    for some in csv_file.chunks(rows):
        places = nodes(row.securable_id for row in some)
        for row in some:
            node, times = (
                places.get(row.securable_id),
                (csv_file.moment(row.opened), csv_file.moment(row.until)),
            )
            what = (node.ref.id, node.type) if node else ("", "")
            rights = "; ".join(row.privileges)
            yield [row.person, row.person.label, *what, rights, row.reason, *times, state_of(row).word]


def state_code(row: Emergency) -> str:
    """open, ended or closed: it ends by itself, before anybody has written so."""
    over = row.state == "open" and row.until <= timezone.now()
    return "ended" if over else row.state


def state_of(row: Emergency) -> State:
    return STATES[state_code(row)]


# Home


def to_review(asker: Principal) -> list[Emergency]:
    """Those on objects where the asker decides who has access, apart from the asker's own.

    One query where none waits, else two and one for each realm.
    """
    rows = list(emergency_access.waiting(timezone.now()).exclude(person=asker)[:LOOKED_AT])
    if not rows:
        return []
    places, slices_by_realm = nodes(row.securable_id for row in rows), dict[int, Slice]()
    return [row for row in rows if _governs(asker, places.get(row.securable_id), slices_by_realm)]


def _governs(asker: Principal, node: Node | None, slices_by_realm: dict[int, Slice]) -> bool:
    if node is None:
        return False
    if is_service_admin(asker):
        return True
    if node.realm_id not in slices_by_realm:
        slices_by_realm[node.realm_id] = slices.current(asker, node)
    return bool(ask.answer(slices_by_realm[node.realm_id], "grant", node, now=timezone.now()))


@waits(30, "emergency", "emergencies")
def waiting(asker: Principal) -> Waits:
    """Emergencies of others whose review waits for them, the oldest first."""
    rows = to_review(asker)
    places = nodes(row.securable_id for row in rows[:ON_HOME]) if rows else {}
    step = Action(_("Review emergencies"), reverse("console:emergencies"), "primary") if rows else None
    return Waits(tuple(_items(rows[:ON_HOME], places)), len(rows), step)


def _items(rows: Sequence[Emergency], places: dict[int, Node]) -> Iterable[Item]:
    for row in rows:
        node = places.get(row.securable_id)
        url = reverse("console:emergency", args=[row.pk])
        look = Action(_("Review"), url, "mini", more=_("what %(label)s did") % {"label": row.person.label})
        note = _("%(opened)s · “%(reason)s” · waits for your statement") % {
            "opened": words.moment(row.opened),
            "reason": row.reason[:120],
        }
        name = terms.short_name(node) if node else ""
        yield Item(
            terms.avatar_of(row.person), row.person.label, _("opened in an emergency"), note, look, name, url
        )
