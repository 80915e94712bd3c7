"""Several requests decided together: only those that give little, and only after their plan was seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.models import Principal
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Crumbs, Diff, DiffLine, Empty, Note
from authzsite.console.kit.forms import PLAIN, ConsoleForm, NumbersField, ReasonField
from authzsite.console.kit.http import numbers_in
from authzsite.console.kit.page import page
from authzsite.console.kit.replay import Proposal
from authzsite.console.requests import rows as request_rows
from authzsite.console.requests.deciding import risk
from policies.authority import Actor
from policies.errors import PolicyError
from policies.models import AccessRequest
from policies.requests import decision_context, decisions, visibility
from policies.requests.decision_context import PlacedRequest
from policies.services.grants import revision_now

MOST = 25


@dataclass(frozen=True)
class DecisionPlan:
    """The chosen requests that may be decided together, and why others are left out."""

    requests: tuple[AccessRequest, ...]
    left_out: tuple[str, ...]

    @classmethod
    def of(cls, numbers: list[int], viewer: Principal) -> DecisionPlan:
        """In four queries, however many."""
        waiting = visibility.waiting_for(viewer).filter(pk__in=numbers[: MOST * 4])
        rows = list(waiting.select_related("asker", "holder", "realm").prefetch_related("wants", "parts"))
        alone = risk.low(rows)
        fit = [row for row in rows if not alone[row.pk]]
        left = [
            _("Request %(pk)s: %(lower)s%(alone)s")
            % {"pk": row.pk, "lower": alone[row.pk][:1].lower(), "alone": alone[row.pk][1:]}
            for row in rows
            if alone[row.pk]
        ]
        left += [
            _("Request %(pk)s: at most %(most)s at once.") % {"pk": item.pk, "most": MOST}
            for item in fit[MOST:]
        ]
        return cls(tuple(fit[:MOST]), tuple(left))

    def diff(self) -> Diff:
        return Diff(tuple(_line(request) for request in self.requests))

    @cached_property
    def placed(self) -> list[PlacedRequest]:
        """The requests with the places of what they give; read once."""
        return decision_context.placed(self.requests, now=timezone.now())


def _line(access_request: AccessRequest) -> DiffLine:
    wants, law = list(access_request.wants.all()), request_rows.law_of(access_request)
    open_ = [part for part in access_request.parts.all() if part.state == "asked"]
    takes = words.listed([request_rows.part_words(part, law) for part in open_], 3)
    text = _("may %(wants)s %(access_request)s") % {
        "wants": request_rows.wants_words(wants),
        "access_request": request_rows.lasts_words(access_request),
    }
    note = f"{takes}. {words.quoted(request_rows.cut(access_request.reason))}"
    return DiffLine(
        "gain",
        access_request.holder.label,
        text,
        note,
        request_rows.url_of(access_request),
        _("Request %(pk)s") % {"pk": access_request.pk},
    )


class BulkDecisionForm(ConsoleForm):
    """Which requests, and a note for each of them."""

    on = NumbersField(required=False)
    text = ReasonField(
        label=gettext_lazy("Note (optional)"),
        help_text="",
        widget=forms.TextInput(attrs={**PLAIN, "maxlength": 2000}),
    )


class BulkDecideView(ChangeView):
    """The plan; approved, each request is decided by itself, and what could not be is said."""

    form_class = BulkDecisionForm
    template_name = "console/requests/bulk_decide.html"
    object: DecisionPlan

    def get_object(self) -> DecisionPlan:
        return DecisionPlan.of(numbers_in(self.data.getlist("on")), self.asker)

    def refusal(self) -> HttpResponse | None:
        if self.object.requests:
            return None
        return redirect(self.back()) if self.sent_before() else self.show(self.make_form(self.data))

    def plan(self, form: BulkDecisionForm) -> Plan:
        """What stands against approving all of them, of which each may be harmless alone."""
        left = self.object.left_out
        clashes = decision_context.clashes_of(self.object.placed, self.asker, now=timezone.now())
        notes = [Note("bad", _("Separation of duties."), text) for text in clashes]
        notes += [Note("warn", _("Left out."), " ".join(left))] if left else []
        return Plan(diff=self.object.diff(), notes=tuple(notes))

    def proposals(self, form: BulkDecisionForm) -> Iterable[Proposal]:
        return decision_context.proposed_by(self.object.placed)

    def save(self, form: BulkDecisionForm, actor: Actor) -> None:
        """Each in a change of its own: one that somebody decided meanwhile keeps none of the others back."""
        failed, many = [], len(self.object.requests)
        for request in self.object.requests:
            try:
                decisions.approve(request.pk, by=actor, note=form.cleaned_data["text"])
            except PolicyError as problem:
                failed.append(_("Request %(pk)s: %(problem)s") % {"pk": request.pk, "problem": problem})
        if failed:
            strong = _("%(failed)s of %(many)s not decided.") % {
                "failed": words.number(len(failed)),
                "many": words.count(many, "request"),
            }
            self.notes.append(Note("bad", strong, " ".join(failed)))
            raise PolicyError(strong)

    def form_refused(self, form: BulkDecisionForm, problem: Exception) -> HttpResponse:
        """What is left of them, in a form that is sent anew."""
        self.object = DecisionPlan.of([item.pk for item in self.object.requests], self.asker)
        data = self.request.POST.copy()
        data.pop("nonce", None)
        return self.show(self.make_form(data), 409)

    def success_message(self, form: BulkDecisionForm) -> str:
        return _("%(requests)s approved") % {"requests": words.count(len(self.object.requests), "request")}

    def may_undo(self) -> bool:
        return False

    def heading(self, form: BulkDecisionForm) -> str:
        if not self.object.requests:
            return _("Nothing to decide together")
        many = len(self.object.requests)
        text = ngettext("Approve %(requests)s?", "Approve %(requests)s together?", many)
        return text % {"requests": words.count(many, "request")}

    def lead(self) -> str:
        return _("Each request is approved as it is, one by one in the history.")

    def button(self, form: BulkDecisionForm) -> str:
        return _("Approve %(requests)s") % {"requests": words.count(len(self.object.requests), "request")}

    def back(self) -> str:
        return reverse("console:requests")

    def page_context(self, form: BulkDecisionForm) -> dict[str, Any]:
        return {
            "crumbs": Crumbs(((_("Requests"), self.back()),)),
            "chosen": self.object.requests,
            "empty": Empty(
                _("None of these can be decided together"),
                risk.REASON.text,
                actions=(Action(_("Back to the list"), self.back()),),
                level=2,
            ),
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(
            self.request,
            self.template_name,
            context,
            section="requests",
            revision=revision_now(),
            status=status,
        )
