"""Asking for access: what, for whom, how long and why, with everything that it takes and who decides it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.page import page
from authzsite.console.requests import preview as requests_preview
from authzsite.console.requests.form import RequestForm
from policies.authority import Actor
from policies.decisions.lookups.visible_objects import realms_of
from policies.errors import Invalid
from policies.models import AccessRequest
from policies.requests import submission
from policies.requests.submission import Foresight
from policies.services.grants import revision_now

NOT_SENT = gettext_lazy("Nothing was sent. Your form is kept.")


class AskView(ChangeView):
    """The form, filled from an address or from itself; sent, it becomes a request."""

    template_name = "console/requests/ask.html"
    preview_template_name = "console/requests/preview.html"
    looks_first = True
    saving_steps = frozenset({"send"})
    naming_buttons = frozenset({"drop"})
    not_saved = gettext_lazy("Not sent.")

    def make_form(self, data: Any) -> RequestForm:
        kinds = {item.name: item.kind for item in realms_of(self.asker)}
        self.form = RequestForm(data, asker=self.asker, holders=submission.holders(self.asker), kinds=kinds)
        return self.form

    def only_looks(self, form: RequestForm) -> bool:
        return super().only_looks(form) or form.objects.named is not None

    def plan(self, form: RequestForm) -> Plan:
        """Work out what it would come to, or why it cannot be asked for."""
        self.foreseen: Foresight | None = None
        self.hindrance = ""
        if form.complete:
            try:
                self.foreseen = submission.foresee(form.asking, form.asker)
            except Invalid as problem:
                self.hindrance = str(problem)
        return Plan()

    def save(self, form: RequestForm, actor: Actor) -> AccessRequest:
        return submission.ask(form.asking, by=actor)

    def form_refused(self, form: RequestForm, problem: Exception) -> HttpResponse:
        """Put it beside the field that it is about, where all else could be asked for."""
        self.plan(form)
        if isinstance(problem, Invalid) and problem.field and self.foreseen is not None:
            form.add_error(problem.field, str(problem))
            return self.show(form, 422)
        return super().form_refused(form, problem)

    def note_of(self, form: RequestForm, problem: Exception) -> Note:
        if isinstance(problem, Invalid):
            return super().note_of(form, problem)
        return Note("bad", str(problem), NOT_SENT)

    def success_message(self, form: RequestForm) -> str:
        made = self._made()
        return (
            _("Request %(pk)s is sent; you will be notified of each decision") % {"pk": made.pk}
            if made
            else ""
        )

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        made = self._made()
        return reverse("console:request", args=[made.pk]) if made else self.back()

    def _made(self) -> AccessRequest | None:
        """The request that this form became."""
        made: AccessRequest | None = self.result
        return made or AccessRequest.objects.filter(asker=self.asker, key=self.form.key).first()

    def heading(self, form: RequestForm) -> str:
        if len(form.things) == 1:
            return _("Request access to %(short)s") % {"short": form.things[0].short}
        if form.things:
            return _("Request access to %(things)s") % {"things": words.count(len(form.things), "object")}
        return _("Request access")

    def lead(self) -> str:
        return _("Every approver is asked at once, and you see each answer.")

    def button(self, form: RequestForm) -> str:
        return _("Send the request")

    def back(self) -> str:
        return reverse("console:requests")

    def page_context(self, form: RequestForm) -> dict[str, Any]:
        shown = requests_preview.shown(form, self.foreseen, self.hindrance)
        if self.preview_only:
            return shown
        rules = self.foreseen.rules if self.foreseen else None
        least = max(rules.min_reason if rules else 10, 3)
        form.fields["reason"].help_text = _(
            "What is it for? At least %(least)s characters. Kept in the history permanently."
        ) % {"least": least}
        form.fields["ticket"].widget.attrs["placeholder"] = rules.ticket if rules else ""
        with_tables = [name for name, kind in form.kinds.items() if kind == "gravitino"]
        return {
            "adding": self.request.method == "POST" and self.only_looks(form),
            "here": reverse("console:request_new"),
            "preview_url": reverse("console:request_foresee"),
            "example": f"{min(with_tables, default='demo')}/shop.sales.orders",
            "asks_ticket": bool(
                (rules and rules.ticket) or form.data.get("ticket") or form.errors.get("ticket")
            ),
            **form.drawn(),
            **shown,
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        form: RequestForm = context["form"]
        realm = form.things[0].name.partition("/")[0] if form.things else ""
        return page(
            self.request,
            self.template_name,
            context,
            section="requests",
            realm=realm if realm in form.kinds else "",
            revision=revision_now(),
            status=status,
        )
