"""Agreeing to a connection: until the site's operator has, it only reports."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.accounts import site_admins
from authzsite.console.accounts.admin_change import AdminChangeView
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.forms import ConsoleForm, ReasonField, TextField
from authzsite.console.sync.backend import AWAITS, there
from catalog.nodes import Node, node
from lakewarden.backends import kinds
from lakewarden.backends.errors import Misconfigured
from policies.authority import Actor
from policies.models import Backend
from policies.sync.actions import operations
from policies.sync.connections import by_hand


class AgreeForm(ConsoleForm):
    """Why, and what the connection was like when it was looked at."""

    digest = TextField(required=False, widget=forms.HiddenInput)
    reason = ReasonField()


class AgreeView(AdminChangeView):
    """Ask back, then agree; for site admins alone, who need not be in the realm."""

    steps_up = True
    form_class = AgreeForm
    template_name = "console/sync/operate.html"
    section = "sync"
    not_saved = gettext_lazy("Not done.")
    place: Node

    def site_refusal(self) -> HttpResponse | None:
        if site_admins.may(self.request):
            return None
        backend_access = there(self.request, self.kwargs["id"])
        heading = _("You cannot agree to the connection of %(name)s") % {
            "name": backend_access.place.node.name
        }
        return site_admins.refused(
            self.request,
            heading,
            back=backend_access.url,
            back_words=_("Back to %(name)s") % {"name": backend_access.name},
        )

    def get_object(self) -> Backend:
        row = Backend.objects.filter(pk=self.kwargs["id"]).first()
        place = node(row.catalog_id) if row else None
        if row is None or place is None or not row.awaits:
            raise Http404
        self.place = place
        return row

    def save(self, form: AgreeForm, actor: Actor) -> None:
        reason, digest = form.cleaned_data["reason"], form.cleaned_data["digest"]
        operations.agree(self.object, by=actor, reason=reason, digest=digest)

    def note_of(self, form: AgreeForm, problem: Exception) -> Note:
        self.object.refresh_from_db()
        return Note("bad", self.not_saved, str(problem))

    def success_message(self, form: AgreeForm) -> str:
        return _("%(get_kind_display)s %(name)s may do what it is set to") % {
            "get_kind_display": self.object.get_kind_display(),
            "name": self.place.name,
        }

    def heading(self, form: AgreeForm) -> str:
        return _("Agree that %(system)s governs %(name)s?") % {
            "system": "/".join(self.place.names),
            "name": self.object,
        }

    def button(self, form: AgreeForm) -> str:
        return _("Agree")

    def back(self) -> str:
        return reverse("console:home")

    def page_context(self, form: AgreeForm) -> dict[str, Any]:
        does = (
            _("repairs from then on")
            if self.object.policy == Backend.Policy.REPAIR
            else _("only reports, until its owner sets it to repair")
        )
        text = _("%(awaits)s Once you agree it %(does)s.") % {
            "awaits": AWAITS[Backend.Awaits(self.object.awaits)],
            "does": does,
        }
        try:
            registered = by_hand.registered(self.place, kinds.get(self.object.kind), now_connected=True)
        except Misconfigured:
            registered, text = [], operations.not_installed(self.object)
        return {
            "registered": registered[: by_hand.MOST_SHOWN],
            "registered_more": len(registered[by_hand.MOST_SHOWN :]),
            "digest": operations.likeness(self.object),
            "text": text,
            "look": "primary",
            "keep": _("Leave it as it is"),
        }
