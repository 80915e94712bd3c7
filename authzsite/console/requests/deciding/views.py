"""Deciding a request: what speaks for and against it; yes, yes to less, no, or a question."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display.parts import Action, Crumbs, Note, Verdict
from authzsite.console.kit.http import Request
from authzsite.console.kit.page import page
from authzsite.console.kit.replay import section
from authzsite.console.requests import rows as requests_rows
from authzsite.console.requests.deciding import considerations
from authzsite.console.requests.deciding.form import DecisionForm
from authzsite.console.requests.plan_section import section_of
from authzsite.console.requests.request import decisions, facts, seen_by, shown
from policies.authority import Actor
from policies.errors import Conflict, NotFound, Refused
from policies.requests import decision_context, parties, visibility
from policies.requests import decisions as requests_decisions
from policies.requests.visibility import VisibleRequest
from policies.services.grants import revision_now

DONE = {
    "approve": gettext_lazy("approved"),
    "refuse": gettext_lazy("refused"),
    "ask": gettext_lazy("asked a question"),
}


class DecideView(ChangeView):
    """The form with all that a decider wants to know; decided, it leads back to the request."""

    template_name = "console/requests/decide.html"
    looks_first = True
    saving_steps = frozenset(DONE)
    not_saved = gettext_lazy("Not decided.")
    object: VisibleRequest

    def get_object(self) -> VisibleRequest:
        return seen_by(self.request, self.kwargs["id"])

    def refusal(self) -> HttpResponse | None:
        if self.object.mandates:
            return None
        if self.sent_before():
            return redirect(self.get_success_url())
        return _not_yours(self.request, self.object)

    def make_form(self, data: Any) -> DecisionForm:
        return DecisionForm(data, about=self.object)

    def plan(self, form: DecisionForm) -> Plan:
        self.considered = decision_context.consider(self.object)
        self.weighed = considerations.weighed(self.considered, self.object)
        return Plan(notes=tuple(self.weighed.notes))

    def save(self, form: DecisionForm, actor: Actor) -> None:
        number, parts, text = self.object.request.pk, form.parts, form.cleaned_data["text"]
        if form.step == "refuse":
            requests_decisions.refuse(number, text, by=actor, parts=parts)
        elif form.step == "ask":
            requests_decisions.ask_back(number, text, by=actor, parts=parts)
        else:
            requests_decisions.approve(
                number,
                by=actor,
                parts=parts,
                give=form.give_by_part,
                lasts=form.length,
                until=form.until,
                role=form.asked_role,
                note=text,
            )

    def form_refused(self, form: DecisionForm, problem: Exception) -> HttpResponse:
        if isinstance(problem, (NotFound, Refused)):
            raise Http404 from None
        return (
            self._too_late(problem) if isinstance(problem, Conflict) else super().form_refused(form, problem)
        )

    def _too_late(self, problem: Conflict) -> HttpResponse:
        """Somebody else was first: how it stands now, with what was typed kept where it can still be used."""
        self.object = visibility.get(self.object.request.pk, self.object.viewer)
        self.notes.append(Note("bad", self.not_saved, str(problem)))
        if not self.object.mandates:
            return shown(self.request, self.object, self.notes, status=409)
        form = self.make_form(self.request.POST)
        form.look()
        return self.show(form, 409)

    def success_message(self, form: DecisionForm) -> str:
        return _("Request %(pk)s: %(said)s %(done)s") % {
            "pk": self.object.request.pk,
            "said": form.said(),
            "done": DONE[form.step],
        }

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        return reverse("console:request", args=[self.object.request.pk])

    def heading(self, form: DecisionForm) -> str:
        row, wants = self.object.request, requests_rows.wants_words(self.object.wants)
        if self.object.planned is not None:
            return _("%(label)s asks to %(wants)s") % {"label": row.asker.label, "wants": wants}
        holder = requests_rows.other_holder(row)
        text = (
            _("%(label)s asks to %(wants)s for %(holder)s %(lasts)s")
            if holder
            else _("%(label)s asks to %(wants)s %(lasts)s")
        )
        return text % {
            "label": row.asker.label,
            "wants": wants,
            "holder": holder,
            "lasts": requests_rows.lasts_words(row),
        }

    def button(self, form: DecisionForm) -> str:
        return form.button()

    def back(self) -> str:
        return reverse("console:requests")

    def page_context(self, form: DecisionForm) -> dict[str, Any]:
        row = self.object.request
        number = (_("Request %(pk)s") % {"pk": row.pk}, requests_rows.url_of(row))
        return {
            "crumbs": Crumbs(((_("Requests"), reverse("console:requests")), number)),
            "kind": "",
            "reason": row.reason,
            "facts": facts(self.object),
            "weighed": self.weighed,
            "replay": section(self.asker, self.considered.proposed),
            "planned": section_of(self.object),
            "others": [decision for decision in decisions(self.object) if not decision.mine],
            **form.drawn(self.weighed.roles),
            **_next(self.object),
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(
            self.request,
            self.template_name,
            context,
            section="requests",
            realm=self.object.request.realm_name,
            revision=revision_now(),
            status=status,
        )


def _not_yours(request: Request, seen: VisibleRequest) -> HttpResponse:
    row = seen.request
    own = seen.viewer.pk in parties.of(row)
    text = parties.OWN if own else _("Others decide it, or it was decided already.")
    context = {
        "verdict": Verdict("no", _("You cannot decide request %(pk)s") % {"pk": row.pk}, text, level=1),
        "actions": (Action(_("See the request"), requests_rows.url_of(row)),),
    }
    return page(
        request, "errors/refused.html", context, section="requests", revision=revision_now(), status=403
    )


def _next(seen: VisibleRequest) -> dict[str, str]:
    """The requests before and after this one among those that wait, for j and k."""
    waiting = visibility.waiting_for(seen.viewer)
    after = waiting.filter(pk__gt=seen.request.pk).order_by("pk").values_list("pk", flat=True).first()
    before = waiting.filter(pk__lt=seen.request.pk).order_by("-pk").values_list("pk", flat=True).first()
    return {
        "next": reverse("console:request_decide", args=[after]) if after else "",
        "previous": reverse("console:request_decide", args=[before]) if before else "",
    }
