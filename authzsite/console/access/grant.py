"""Giving access: who, what, until when and why, with what it changes before it is saved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.access.effects import Shown, out_there
from authzsite.console.access.grant_form import GrantForm, RecipientForm
from authzsite.console.cdap.links import page_of_name
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.conflicts import changed_meanwhile
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.kit.object_change import PlannedObjectView
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal, root_of
from authzsite.console.objects.access import get_object_or_404
from authzsite.console.separation import warnings
from authzsite.console.sync.backend_state import behind
from policies.authority import Actor
from policies.errors import Conflict
from policies.previews import grants as previews
from policies.separation import Separated
from policies.services import grants
from policies.simulation.changes import ALWAYS, GrantAccess, Target

NOBODY = gettext_lazy("Enter a person or a group")


class GrantView(PlannedObjectView):
    """The form: filled from the address, from a kept form, or from itself."""

    template_name = "console/access/grant.html"
    htmx_template_name = "console/access/grant_form.html"

    def refusal(self) -> HttpResponseBase | None:
        node = self.object.node
        if named := page_of_name(node, "cdap_grant"):
            return redirect(named)
        if node.type == "namespace":  # it is given there, entry by entry
            return redirect("console:namespace", id=node.id)
        return None if self.object.may_grant else refused(self.request, self.object, "grant")

    def make_form(self, data: Any) -> GrantForm:
        return GrantForm(data, places=[self.object])

    def plan(self, form: GrantForm) -> Plan:
        if not form.wishes:
            lacks = _("Choose what they may do and until when") if form["who"].chosen else NOBODY
            return Plan(
                empty=_("%(lacks)s, and the preview shows who gains and who loses.") % {"lacks": lacks}
            )
        shown = Shown(previews.of_grant(form.wishes[0], self.object.actor), self.object.node)
        begin = form["window"].data.begin
        return Plan(
            diff=shown.diff(),
            tally=shown.tally(),
            sum=shown.sum(),
            warnings=tuple(warnings.of_wishes(form.wishes, self.object.actor)),
            begins=words.moment(begin) if begin else "",
            backend=out_there(behind(self.object.node)),
        )

    def proposals(self, form: GrantForm) -> Iterable[Proposal]:
        wishes = form.wishes
        given = grants.gifts_of(wishes, self.object.actor, now=timezone.now()) if wishes else []
        window = (wishes[0].valid_from, wishes[0].valid_until) if wishes else ALWAYS
        yield (
            root_of(self.object.node),
            [GrantAccess(Target(gift.node), gift.holder, (gift.privilege,), window) for gift in given],
        )

    def save(self, form: GrantForm, actor: Actor) -> int:
        reason, seen = form.cleaned_data["reason"], form.sent_seen
        return grants.add(form.wishes[0], by=actor, reason=reason, seen=seen)

    def note_of(self, form: GrantForm, problem: Exception) -> Note:
        if isinstance(problem, Separated) or not isinstance(problem, Conflict):
            return super().note_of(form, problem)
        form.look_again = True
        return changed_meanwhile(form.node, form.sent_seen or 0)

    def success_message(self, form: GrantForm) -> str:
        names = words.listed([principal.label for principal in form.cleaned_data["who"]], 3)
        if self.revision is None:
            return _("Nothing changed: %(names)s had this already") % {"names": names}
        values = {"names": names, "rights": words.listed(form.rights(), 3), "name": form.node.name}
        if window := form.cleaned_data["window"].said():
            return _("%(names)s: %(rights)s on %(name)s %(window)s") % {**values, "window": window}
        return _("%(names)s: %(rights)s on %(name)s") % values

    def heading(self, form: GrantForm) -> str:
        return _("Grant access to %(name)s") % {"name": form.node.name}

    def button(self, form: GrantForm) -> str:
        return form.button()

    def back(self) -> str:
        return reverse("console:object", args=[self.object.node.id])

    def page_context(self, form: GrantForm) -> dict[str, Any]:
        return {
            "picker_url": reverse("console:grant_people", args=[self.object.node.id]),
            "preview_url": reverse("console:grant_preview", args=[self.object.node.id]),
            "layer": bool(self.request.htmx),
        }


@reads
@login_required
def people(request: Request, id: int) -> HttpResponse:
    """People and groups that match what is being typed, for a script."""
    place = get_object_or_404(request, id)
    if not place.may_grant:
        return refused(request, place, "grant")
    who = RecipientForm(request.GET, node=place.node)["who"]
    return render(request, "console/kit/options.html", {"options": who.options, "nobody": who.nobody})
