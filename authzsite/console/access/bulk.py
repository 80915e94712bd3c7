"""Many objects at once: chosen in a list, granted or revoked as one change after its plan was seen."""

from __future__ import annotations

from typing import Any

from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.access.bulk_revoke import BulkRevokeView
from authzsite.console.access.chosen_objects import ChosenObjectsView
from authzsite.console.access.grant import NOBODY, GrantView
from authzsite.console.access.grant_form import GrantForm
from authzsite.console.access.merged_preview import Together
from authzsite.console.kit import form_resume
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.object_selection import on_context
from authzsite.console.separation import warnings
from policies.authority import Actor
from policies.previews import grants as previews
from policies.services import grants


class BulkGrantView(ChosenObjectsView, GrantView):
    """The form to grant on what is ticked; `many` takes back instead where `do=revoke` says so."""

    not_saved = gettext_lazy("Nothing was saved on any of them.")

    def make_form(self, data: Any) -> GrantForm:
        return GrantForm(data, places=self.chosen.mine)

    def plan(self, form: GrantForm) -> Plan:
        if not form.wishes:
            lacks = NOBODY if not form["who"].chosen else _("Choose what they may do and until when")
            if not form.fields["may"].choices:
                lacks = _("No right can be granted on all of these; choose objects of one kind")
            empty = _("%(lacks)s, and the preview shows who gains and who loses.") % {"lacks": lacks}
            return Plan(empty=empty, notes=tuple(self.chosen.notes()))
        shown = Together(previews.of_grants(form.wishes, self.object.actor))
        return Plan(
            diff=shown.diff(),
            tally=shown.tally(),
            sum=shown.sum(),
            warnings=tuple(warnings.of_wishes(form.wishes, self.object.actor)),
            notes=tuple(self.chosen.notes()),
        )

    def save(self, form: GrantForm, actor: Actor) -> int:
        reason, seen = form.cleaned_data["reason"], form.sent_seen
        return grants.add_all(form.wishes, by=actor, reason=reason, seen=seen)

    def success_message(self, form: GrantForm) -> str:
        names = words.listed([principal.label for principal in form.cleaned_data["who"]], 3)
        if self.revision is None:
            return _("Nothing changed: %(names)s had this already") % {"names": names}
        rights = words.count(self.result, "right") if self.result else _("rights")
        return _("%(names)s: %(rights)s on %(places)s") % {
            "names": names,
            "rights": rights,
            "places": words.count(len(form.places), "object"),
        }

    def heading(self, form: GrantForm) -> str:
        return _("Grant access to %(places)s") % {"places": words.count(len(form.places), "object")}

    def lead(self) -> str:
        return words.listed([place.node.name for place in self.chosen.mine], 4)

    def page_context(self, form: GrantForm) -> dict[str, Any]:
        return {
            **super().page_context(form),
            **on_context(self.chosen, form.places),
            "preview_url": reverse("console:many_preview"),
            "here": reverse("console:many"),
            "layer": False,
        }


def many(request: Request) -> HttpResponseBase:
    """Grant on the ticked objects, or revoke, as the form says, or one that outlived its session."""
    data = request.POST if request.method == "POST" else form_resume.kept_form(request) or request.GET
    view = BulkRevokeView if data.get("do") == "revoke" else BulkGrantView
    response: HttpResponseBase = view.as_view()(request)
    return response
