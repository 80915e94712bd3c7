"""Many objects at once: chosen in a list, granted or revoked as one change after its plan was seen."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from authzsite.console.access import bulk_revoke
from authzsite.console.access.grant import NOBODY, GrantView
from authzsite.console.access.grant_form import GrantForm
from authzsite.console.access.merged_preview import Together
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Empty
from authzsite.console.kit.inputs.object_selection import MOST, Chosen, back_of, on_context, show_page
from authzsite.console.kit.page import page
from authzsite.console.objects.access import ObjectAccess
from authzsite.console.requests.links import ask_for
from authzsite.console.separation import warnings
from policies.authority import Actor
from policies.previews import grants as previews
from policies.services import grants
from policies.services.grants import revision_now


class BulkGrantView(GrantView):
    """The form for what is ticked: to grant, or with `do=revoke` to take back."""

    not_saved = "Not saved, on none of them."

    def get_object(self) -> ObjectAccess | None:
        self.chosen = Chosen(self.asker, self.data)
        return self.chosen.mine[0] if self.chosen.mine else None

    def refusal(self) -> HttpResponseBase | None:
        if self.data.get("do") == "ask" and self.chosen.seen:
            return redirect(ask_for([place.node for place in self.chosen.seen[:MOST]]))
        if self.object is None and self.preview_only:
            context = {"plan": Plan(empty="Choose at least one object."), "button": "Grant access"}
            return render(self.request, self.preview_template_name, context)
        if self.object is None:
            return self._nothing_chosen()
        if self.data.get("do") == "revoke" and not self.preview_only:
            return bulk_revoke.answer(self.request, self.chosen)
        return None

    def _nothing_chosen(self) -> HttpResponse:
        catalog = Action("Browse the catalog", reverse("console:catalog"))
        text = "Tick objects in a list of the catalog or of a search, then choose what to do with them."
        heading, steps, seen = "Nothing is chosen", [catalog], self.chosen.seen
        if seen:
            heading = "You cannot give access to any of these"
            names = words.listed([place.node.name for place in seen], 5)
            text = f"{names}: their owners change who has access."
            steps.insert(0, Action("Ask for them", ask_for([place.node for place in seen[:MOST]])))
        context = {"heading": "Many at once", "empty": Empty(heading, text, actions=tuple(steps), level=2)}
        revision = revision_now()
        return page(
            self.request, "console/access/bulk_none.html", context, section="catalog", revision=revision
        )

    def make_form(self, data: Any) -> GrantForm:
        return GrantForm(data, places=self.chosen.mine)

    def plan(self, form: GrantForm) -> Plan:
        if not form.wishes:
            lacks = NOBODY if not form["who"].chosen else "Choose what they may do and until when"
            if not form.fields["may"].choices:
                lacks = "Nothing can be given on all of these; choose objects of one kind"
            empty = f"{lacks}, and the preview shows who gains and who loses."
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
            return f"Nothing changed: {names} had this already"
        rights = words.count(self.result, "right") if self.result else "rights"
        return f"{names}: {rights} on {words.count(len(form.places), 'object')}"

    def heading(self, form: GrantForm) -> str:
        return f"Grant access to {words.count(len(form.places), 'object')}"

    def lead(self) -> str:
        return words.listed([place.node.name for place in self.chosen.mine], 4)

    def back(self) -> str:
        return back_of(self.object.node)

    def page_context(self, form: GrantForm) -> dict[str, Any]:
        return {
            **super().page_context(form),
            **on_context(self.chosen, form.places),
            "preview_url": reverse("console:many_preview"),
            "here": reverse("console:many"),
            "layer": False,
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return show_page(self.request, self.template_name, self.object, context, status=status)
