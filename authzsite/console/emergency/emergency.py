"""One emergency: who opened what and why, what was done with it, its end and its review."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy

from authzsite.console.emergency.views import state_code, state_of
from authzsite.console.kit.change_view import ChangeView
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Crumbs, Empty, Fact, Facts, Note
from authzsite.console.kit.forms import ConsoleForm, ReasonField
from authzsite.console.kit.page import page
from catalog.nodes import Node, nodes
from policies.authority import Actor
from policies.emergency import access as emergency_access
from policies.emergency import traces
from policies.errors import NotFound
from policies.models import Emergency


@dataclass(frozen=True)
class UseRow:
    """One use while it was open."""

    what: str
    did: str
    run: str
    when: str


class ReviewForm(ConsoleForm):
    """What was found; the button says whether the emergency is ended or its review closed."""

    verdict = ReasonField(
        label=gettext_lazy("What you found"),
        help_text=format_lazy(
            gettext_lazy(
                "At least {number} characters. The review stays open until then; the statement is kept "
                "permanently."
            ),
            number=emergency_access.SHORTEST_VERDICT,
        ),
    )

    @property
    def closes(self) -> bool:
        return self.data.get("do") == "close"


class EmergencyView(ChangeView):
    """The page; a POST ends it, or closes its review with words."""

    form_class = ReviewForm
    template_name = "console/emergency/emergency.html"
    not_saved = gettext_lazy("Nothing was changed.")

    def get_object(self) -> tuple[Emergency, Node]:
        try:
            return emergency_access.seen(self.kwargs["id"], Actor(self.asker, "console"))
        except NotFound:
            raise Http404 from None

    def save(self, form: ReviewForm, actor: Actor) -> Emergency:
        row, _ = self.object
        if form.closes:
            return emergency_access.close(row.pk, form.cleaned_data["verdict"], by=actor)
        return emergency_access.end(row.pk, by=actor)

    def form_refused(self, form: ReviewForm, problem: Exception) -> HttpResponse:
        self.object[0].refresh_from_db()  # its time may be over since, or another closed it
        return super().form_refused(form, problem)

    def note_of(self, form: ReviewForm, problem: Exception) -> Note:
        return Note("bad", self.not_saved, str(problem))

    def success_message(self, form: ReviewForm) -> str:
        if form.closes:
            return gettext("The review is closed with your statement")
        return gettext("%(name)s is no longer open") % {"name": self.object[1].name}

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        return reverse("console:emergency", args=[self.object[0].pk])

    def heading(self, form: ReviewForm) -> str:
        row, node = self.object
        return gettext("%(label)s opened %(part)s") % {
            "label": row.person.label,
            "part": node.ref.full_name or node.name,
        }

    def lead(self) -> str:
        return words.quoted(self.object[0].reason)

    def button(self, form: ReviewForm) -> str:
        return gettext("Close the review")

    def back(self) -> str:
        return reverse("console:emergencies")

    def page_context(self, form: ReviewForm) -> dict[str, Any]:
        row, node = self.object
        is_open = state_code(row) == "open"
        own, governs = self.asker.pk == row.person_id, emergency_access.may_review(self.asker, row, node)
        return {
            "crumbs": Crumbs(((gettext("Emergency access"), self.back()),)),
            "facts": Facts(tuple(_facts(row, node))),
            "used": list(_used(row)),
            "no_use": Empty(
                gettext("No job reported usage"),
                gettext("Jobs report their usage once per run."),
                drawn=False,
            ),
            "changes": _changes_words(traces.changes_of(row)),
            "history": f"{reverse('console:history')}?{urlencode({'person': str(row.person)})}",
            "may_end": is_open and (own or governs),
            "end_words": gettext("End it now for %(label)s") % {"label": row.person.label}
            if not own
            else gettext("End it now"),
            "may_close": not is_open and governs,
            "waits": _waits_words(row, own=own, governs=governs, open_=is_open),
            "closed": row.state == "closed",
            "words": row.verdict,
            "closed_by": f"{row.reviewer.label}, {words.moment(row.reviewed, within=True)}"
            if row.reviewer and row.reviewed
            else "",
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(self.request, self.template_name, context, section="emergency", status=status)


def _facts(row: Emergency, node: Node) -> Iterable[Fact]:
    yield Fact(gettext("Object"), terms.short_name(node), terms.page_of(node.id, node.type))
    rights = [terms.right(code, node.type, node.kind) for code in row.privileges]
    yield Fact(gettext("Could"), terms.sentence_list(list(dict.fromkeys(rights))))
    yield Fact(gettext("From"), words.moment(row.opened))
    yield Fact(gettext("Until"), words.moment(row.ended or row.until))
    yield Fact(gettext("State"), state=state_of(row))


def _used(row: Emergency) -> Iterable[UseRow]:
    uses = traces.uses_of(row)
    places = nodes(use.securable_id for use in uses) if uses else {}
    for use in uses:
        node = places.get(use.securable_id)
        did = use.action if use.executed else gettext("prepared to %(action)s") % {"action": use.action}
        yield UseRow(terms.short_name(node) if node else "", did, use.run, words.moment(use.at))


def _changes_words(many: int) -> str:
    if not many:
        return gettext("Nothing was changed on this site meanwhile.")
    return gettext("%(many)s on this site meanwhile.") % {"many": words.count(many, "change")}


def _waits_words(row: Emergency, *, own: bool, governs: bool, open_: bool) -> str:
    if row.state == "closed" or governs:
        return ""
    if own and not open_:
        return gettext("Another approver of the object reviews what you did and closes it with a statement.")
    return "" if open_ else gettext("It waits until an approver of the object closes it.")
