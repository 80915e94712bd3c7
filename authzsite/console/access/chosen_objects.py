"""A change of all the objects that are ticked in a list, as far as the viewer may change them."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Empty
from authzsite.console.kit.inputs.object_selection import MOST, Chosen
from authzsite.console.kit.page import page
from authzsite.console.objects.access import ObjectAccess
from authzsite.console.requests.links import ask_for
from policies.services.grants import revision_now


class ChosenObjectsView(ChangeView):
    """A change of all that is ticked; `self.object` is the first of it, for what is said of them all."""

    object: Any

    def get_object(self) -> ObjectAccess | None:
        self.chosen = Chosen(self.asker, self.data)
        return self.chosen.mine[0] if self.chosen.mine else None

    def refusal(self) -> HttpResponseBase | None:
        if self.data.get("do") == "ask" and self.chosen.seen:
            return redirect(ask_for([place.node for place in self.chosen.seen[:MOST]]))
        if self.object is None and self.preview_only:
            context = {"plan": Plan(empty=_("Choose at least one object.")), "button": _("Grant access")}
            return render(self.request, self.preview_template_name, context)
        return None if self.object is not None else self._nothing_chosen()

    def _nothing_chosen(self) -> HttpResponse:
        catalog = Action(_("Browse the catalog"), reverse("console:catalog"))
        text = _("Select objects in a list of the catalog or of a search, then choose what to do with them.")
        heading, steps, seen = _("Nothing is chosen"), [catalog], self.chosen.seen
        if seen:
            heading = _("You cannot grant access to any of these")
            names = words.listed([place.node.name for place in seen], 5)
            text = _("%(names)s: their owners change who has access.") % {"names": names}
            steps.insert(0, Action(_("Request access"), ask_for([place.node for place in seen[:MOST]])))
        context = {
            "heading": _("Several objects at once"),
            "empty": Empty(heading, text, actions=tuple(steps), level=2),
        }
        revision = revision_now()
        return page(
            self.request, "console/access/bulk_none.html", context, section="catalog", revision=revision
        )

    def back(self) -> str:
        above = list(self.object.node.above())
        return terms.page_of(above[-1].id, above[-1].type) if above else reverse("console:catalog")

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        node, revision = self.object.node, self.object.slice.revision
        return page(
            self.request,
            self.template_name,
            context,
            section="catalog",
            realm=node.realm,
            revision=revision,
            status=status,
        )
