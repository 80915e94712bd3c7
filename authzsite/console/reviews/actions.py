"""What who leads a review does to it: more time, an early end, a reminder, a series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, StrOrPromise, Verdict
from authzsite.console.kit.forms import ConsoleForm, ReasonField, WholeNumberField
from authzsite.console.kit.http import Request
from authzsite.console.kit.page import page, say
from authzsite.console.kit.replay import Proposal
from authzsite.console.reviews.access import ReviewAccess, get_review_or_404
from policies.authority import Actor
from policies.record import access_log
from policies.reviews import management, proposals, reminders, worklist
from policies.services.grants import revision_now


@dataclass(frozen=True)
class ReviewAction:
    """One thing that can be done to a review: its question, its button, what is said when it is done."""

    heading: StrOrPromise
    button: StrOrPromise
    done: StrOrPromise
    states: tuple[str, ...]
    danger: bool = False
    field: tuple[str, StrOrPromise, str] = ("", "", "")
    """Name, label and usual number of what is asked for."""


ACTIONS: Mapping[str, ReviewAction] = {
    "extend": ReviewAction(
        gettext_lazy("Give {title} more time?"),
        gettext_lazy("Give more time"),
        gettext_lazy("{title} has more time"),
        ("open", "building"),
        field=("days", gettext_lazy("Days more"), "7"),
    ),
    "end": ReviewAction(
        gettext_lazy("End {title} now?"),
        gettext_lazy("End it now"),
        gettext_lazy("{title} is over; it is carried out"),
        ("open",),
        danger=True,
    ),
    "cancel": ReviewAction(
        gettext_lazy("Cancel {title}?"),
        gettext_lazy("Cancel the review"),
        gettext_lazy("{title} is cancelled; nothing is removed"),
        ("open", "building"),
        danger=True,
    ),
    "remind": ReviewAction(
        gettext_lazy("Remind reviewers with open rows?"),
        gettext_lazy("Remind them"),
        gettext_lazy("Reminded"),
        ("open",),
    ),
    "repeat": ReviewAction(
        gettext_lazy("How often should {title} repeat?"),
        gettext_lazy("Save"),
        gettext_lazy("The series is changed"),
        ("open", "closing", "proving", "closed"),
        field=("every", gettext_lazy("Repeat after how many months; 0 to stop"), "3"),
    ),
}


class ReviewActionForm(ConsoleForm):
    """A number where the action asks for one, and why."""

    reason = ReasonField()

    def __init__(self, data: Any = None, *, action: ReviewAction, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        name, label, usual = action.field
        if name:
            self.fields[name] = WholeNumberField(
                label=label, max_length=4, wrong=_("Enter a whole number."), initial=usual
            )
            self.order_fields([name])


class ReviewActionView(ChangeView):
    """What it means; then it is done."""

    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Not done.")
    object: ReviewAccess

    def get_object(self) -> ReviewAccess:
        visit = get_review_or_404(self.request, self.kwargs["id"])
        if self.code not in ACTIONS or not visit.standing.reads:
            raise Http404
        return visit

    @property
    def code(self) -> str:
        return str(self.kwargs["deed"])

    @property
    def action(self) -> ReviewAction:
        return ACTIONS[self.code]

    def refusal(self) -> HttpResponse | None:
        if not self.object.standing.leads:
            return _refused(self.request, self.object)
        if self.object.review.state in self.action.states:
            return None
        say(self.request, _("This review is %(state_words)s") % {"state_words": self.object.state_words})
        return redirect(self.back())

    def make_form(self, data: Any) -> ReviewActionForm:
        return ReviewActionForm(data, action=self.action)

    def plan(self, form: ReviewActionForm) -> Plan:
        return Plan(diff=Diff(tuple(_lines(self.object, self.code))))

    def proposals(self, form: ReviewActionForm) -> Iterable[Proposal]:
        if self.code == "end":
            yield proposals.of_end(self.object.review)

    def save(self, form: ReviewActionForm, actor: Actor) -> str:
        review, typed = self.object.review, form.cleaned_data
        if self.code == "remind":
            many = reminders.remind(review, by=actor)
            none = _("Every reviewer with open rows was reminded today")
            return _("%(many)s reminded") % {"many": words.count(many, "reviewer")} if many else none
        if self.code == "extend":
            review = management.extend(review, typed["days"], by=actor, reason=typed["reason"])
            return _("%(title)s goes on until %(due)s") % {
                "title": review.title,
                "due": words.day(review.due),
            }
        if self.code == "repeat":
            management.repeat(review, typed["every"] or None, by=actor, reason=typed["reason"])
        elif self.code == "end":
            management.end(review, by=actor, reason=typed["reason"])
        else:
            management.cancel(review, by=actor, reason=typed["reason"])
        return ""

    def success_message(self, form: ReviewActionForm) -> str:
        return self.result or str(self.action.done).format(title=self.object.review.title)

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        over = self.code in ("end", "cancel")
        return self.object.url("review_result") if over else self.back()

    def heading(self, form: ReviewActionForm) -> str:
        return str(self.action.heading).format(title=self.object.review.title)

    def button(self, form: ReviewActionForm) -> str:
        return str(self.action.button)

    def back(self) -> str:
        return self.object.url("review_lead")

    def page_context(self, form: ReviewActionForm) -> dict[str, Any]:
        return {
            "crumbs": self.object.crumbs(inner=True),
            "keep": _("Leave it as it is"),
            "look": "danger primary" if self.action.danger else "primary",
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(
            self.request,
            self.template_name,
            context,
            section="reviews",
            realm=self.object.root.name,
            revision=revision_now(),
            status=status,
        )


def _refused(request: Request, visit: ReviewAccess) -> HttpResponse:
    access_log.refused(visit.asker, "review", visit.root, via="console")
    text = _("%(label)s started it; only people who may grant on all of it can lead it.") % {
        "label": visit.review.starter.label
    }
    context = {
        "verdict": Verdict(
            "no", _("You do not lead %(title)s") % {"title": visit.review.title}, text, level=1
        ),
        "actions": (Action(_("Back to the review"), visit.url("review_lead")),),
    }
    return page(request, "errors/refused.html", context, section="reviews", status=403)


def _lines(visit: ReviewAccess, code: str) -> list[DiffLine]:
    review, counts = visit.review, worklist.counts(visit.review)
    taking = counts["choice_remove"] + counts["choice_reduce"] + counts["choice_end"]
    owed = counts["open"]
    if code == "end":
        lines = [DiffLine("lose", words.count(taking, "row"), _("to be removed, reduced or given an end"))]
        if owed:
            silent = {"keep": ("same", _("left as they are")), "remove": ("lose", _("to be removed too"))}
            kind, text = silent.get(review.silence, ("same", _("left for you to decide")))
            lines.append(DiffLine(kind, words.count(owed, "row"), text, _("Nobody decided them.")))
        lines.append(DiffLine("same", words.count(counts["choice_keep"], "row"), _("kept")))
        return lines
    if code == "cancel":
        return [DiffLine("same", _("Nobody"), _("loses anything"), _("Decisions stay in the history."))]
    if code == "remind":
        some = [item.reviewer.label for item in worklist.progress(review) if item.open]
        text = ngettext(
            "gets a notice today, by inbox and mail", "get a notice today, by inbox and mail", len(some) or 1
        )
        return [DiffLine("change", words.listed(some, 8) or _("Nobody"), text)]
    if code == "extend":
        return [
            DiffLine(
                "change",
                _("The end"),
                _("moves; later rounds move with it"),
                _("Now %(due_words)s.") % {"due_words": visit.due_words},
            )
        ]
    return [
        DiffLine(
            "change", _("The series"), _("goes on with the same plan"), _("Each is a review of its own.")
        )
    ]
