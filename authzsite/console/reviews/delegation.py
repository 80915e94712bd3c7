"""Reassigning rows: a reviewer's own to a colleague; for the review's leader, what another owes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Diff, DiffLine
from authzsite.console.kit.forms import REASON_HELP, ConsoleForm, PrincipalField, ReasonField
from authzsite.console.kit.inputs.visible_principals import somebody
from authzsite.console.kit.page import page
from authzsite.console.reviews.access import ReviewAccess, get_review_or_404
from policies.authority import Actor
from policies.decisions.lookups.visible_objects import admitted
from policies.models import ReviewRow
from policies.reviews import worklist
from policies.reviews.delegation import pass_on
from policies.reviews.worklist import OPEN


class DelegationForm(ConsoleForm):
    """To whom the rows go, and why."""

    who = PrincipalField(label=gettext_lazy("To whom"), at_most=1)
    reason = ReasonField(help_text=REASON_HELP)


class DelegationView(ChangeView):
    """To whom, how many rows, why; then the rows are theirs."""

    template_name = "console/kit/planned.html"
    looks_first = True
    not_saved = gettext_lazy("Not reassigned.")

    def get_object(self) -> ReviewAccess:
        visit = get_review_or_404(self.request, self.kwargs["id"])
        if not visit.is_open or not (visit.standing.asked or visit.standing.leads):
            raise Http404
        return visit

    @cached_property
    def of(self) -> Principal | None:
        """Whose rows; None for those that nobody can be asked about."""
        code = self.request.GET.get("of", "")[:300]
        if code and self.object.standing.leads:
            named = somebody(code)
            if named is None or not worklist.rows_of(self.object.review, named).exists():
                raise Http404
            return named
        return self.object.asker if self.object.standing.asked else None

    @cached_property
    def rows(self) -> QuerySet[ReviewRow]:
        if self.of is not None:
            return worklist.rows_of(self.object.review, self.of).filter(OPEN)
        return worklist.rows_of(self.object.review).filter(OPEN, desk__isnull=True)

    @cached_property
    def many(self) -> str:
        return words.count(self.rows.count(), "row")

    def make_form(self, data: Any) -> DelegationForm:
        form = DelegationForm(data)
        form.fields["who"].search = self._people
        form.fields["who"].nobody = _("No person in %(name)s has that name.") % {
            "name": self.object.root.name
        }
        return form

    def _people(self, text: str) -> QuerySet[Principal]:
        candidates = admitted(self.object.root, text).filter(kind="user")
        return candidates.exclude(pk=self.of.pk) if self.of else candidates

    def plan(self, form: DelegationForm) -> Plan:
        if not form["who"].chosen:
            text = _("Enter someone who can sign in. Rows about their own access go to someone else.")
            return Plan(empty=text)
        return Plan(diff=Diff(tuple(self._effects(form["who"].chosen[0]))))

    def _effects(self, to: Principal) -> Iterable[DiffLine]:
        if self.of is not None:
            yield DiffLine(
                "lose", self.of.label, _("is no longer asked about %(many)s") % {"many": self.many}
            )
        yield DiffLine(
            "gain",
            to.label,
            _("is asked about %(many)s") % {"many": self.many},
            _("Except their own access."),
        )

    def save(self, form: DelegationForm, actor: Actor) -> int:
        rows, (to,) = list(self.rows.values_list("pk", flat=True)), form.cleaned_data["who"]
        return pass_on(self.object.review, to, by=actor, rows=rows, reason=form.cleaned_data["reason"])

    def success_message(self, form: DelegationForm) -> str:
        if self.result is None:
            return ""
        return _("%(result)s reassigned to %(label)s") % {
            "result": words.count(self.result, "row"),
            "label": form.cleaned_data["who"][0].label,
        }

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        leads = self.object.standing.reads
        return self.object.url("review_lead") if leads else reverse("console:reviews")

    def heading(self, form: DelegationForm) -> str:
        if self.of is None:
            return _("Reassign the %(many)s") % {"many": self.many}
        if self.of.pk == self.asker.pk:
            return _("Reassign your %(many)s") % {"many": self.many}
        return _("Reassign %(label)s's %(many)s") % {"label": self.of.label, "many": self.many}

    def lead(self) -> str:
        return _("%(title)s. Decided rows stay as they are.") % {"title": self.object.review.title}

    def button(self, form: DelegationForm) -> str:
        chosen = form["who"].chosen
        return _("Reassign them to %(label)s") % {"label": chosen[0].label} if chosen else _("Reassign them")

    def back(self) -> str:
        return str(self.object.url())

    def page_context(self, form: DelegationForm) -> dict[str, Any]:
        return {"here": self.request.get_full_path()}

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(self.request, self.template_name, context, section="reviews", status=status)
