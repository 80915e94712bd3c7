"""Repairing a lock-out: another owner for a realm whose owner cannot sign in, loudly recorded."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.accounts.admin_change import AdminChangeView, PrincipalForm
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display.parts import Diff, DiffLine
from authzsite.console.objects.owner import owner_button
from catalog.nodes import Node
from policies.authority import Actor
from policies.decisions.site import locked_out_realms
from policies.services import realm_repair

LOUD = gettext_lazy("The history shows it as a repair, with your name and your reason.")


class RepairRealmView(AdminChangeView):
    """Who is to own it, and why; only for a realm whose owner cannot come in."""

    template_name = "console/kit/planned.html"
    looks_first = True
    before: Principal

    def get_object(self) -> Node:
        for root, owner in locked_out_realms():
            if root.id == self.kwargs["id"]:
                self.before = owner
                return root
        raise Http404

    def make_form(self, data: Any) -> PrincipalForm:
        return PrincipalForm(data, kinds=("user", "group"), nobody=_("No person has that name."))

    def plan(self, form: PrincipalForm) -> Plan:
        if not form["who"].chosen:
            return Plan(empty=_("Enter someone who can sign in. A reason is required and kept permanently."))
        new, name = form["who"].chosen[0].label, self.object.name
        lost = _("is no longer the owner of %(name)s") % {"name": name}
        gained = _("becomes the owner of %(name)s, and a member of it") % {"name": name}
        return Plan(
            diff=Diff(
                (
                    DiffLine("lose", self.before.label, lost, _("Nobody can sign in as them.")),
                    DiffLine("gain", new, gained, str(LOUD)),
                )
            )
        )

    def save(self, form: PrincipalForm, actor: Actor) -> None:
        (new,), reason = form.cleaned_data["who"], form.cleaned_data["reason"]
        realm_repair.set_owner_of_realm(self.object, new, by=actor, reason=reason)

    def success_message(self, form: PrincipalForm) -> str:
        new = form.cleaned_data["who"][0].label
        return _("%(new)s owns %(name)s; the history says that you repaired it") % {
            "new": new,
            "name": self.object.name,
        }

    def heading(self, form: PrincipalForm) -> str:
        return _("Set another owner of %(name)s") % {"name": self.object.name}

    def lead(self) -> str:
        return _("%(label)s owns it and cannot sign in. You get no access to it.") % {
            "label": self.before.label
        }

    def button(self, form: PrincipalForm) -> str:
        return owner_button(form["who"].chosen)

    def back(self) -> str:
        return reverse("console:accounts")
