"""Handing an object to another owner: who becomes it, who no longer is, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.access.reasons import GivingForm
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.parts import Diff, DiffLine
from authzsite.console.kit.forms import REASON_HELP, PrincipalField, ReasonField
from authzsite.console.kit.object_change import PlannedObjectView
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal, root_of
from catalog.nodes import Node
from policies.authority import Actor
from policies.decisions.personal_role_names import is_personal
from policies.events import OWNER_SET
from policies.models import Ownership
from policies.requests.rules import Rules, rules_of_grants, rules_of_roles
from policies.services import owners
from policies.services.authorities import authorized
from policies.services.owners import SET_OWNER
from policies.simulation.changes import SetOwner


class OwnerForm(GivingForm):
    """Who is to own it, and why."""

    who = PrincipalField(at_most=1)
    reason = ReasonField(help_text=REASON_HELP)

    def __init__(self, data: Any = None, *, node: Node, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.node = node
        self.ask_for_reason()

    def rules_of_gift(self) -> Rules:
        return rules_of_roles([self.node]) if self.node.type == "role" else rules_of_grants([self.node])


def owner_button(chosen: Sequence[Principal]) -> str:
    """What the button says that makes somebody the owner, with their name once they are chosen."""
    if not chosen:
        return _("Set the owner")
    return _("Make %(chosen)s the owner") % {"chosen": terms.principal_name(chosen[0])}


class OwnerView(PlannedObjectView):
    """An object, or a role, has one owner and no end of it."""

    form_class = OwnerForm

    def refusal(self) -> HttpResponse | None:
        if self.object.node.type == "role" and is_personal(self.object.node.name):
            raise Http404
        return None if self.object.may("set_owner") else refused(self.request, self.object, "set_owner")

    def make_form(self, data: Any) -> OwnerForm:
        form = OwnerForm(data, node=self.object.node)
        self.offer_members(form.fields["who"])
        return form

    @cached_property
    def before(self) -> Principal | None:
        row = Ownership.objects.open().filter(securable=self.object.node.id).select_related("owner").first()
        return row.owner if row else None

    def plan(self, form: OwnerForm) -> Plan:
        chosen = form["who"].chosen
        if not chosen:
            return Plan(empty=_("Enter a person or a group. A group stays when people leave."))
        return Plan(diff=Diff(tuple(self._effects(chosen[0]))))

    def _effects(self, new: Principal) -> list[DiffLine]:
        name, before = self.object.node.name, self.before
        if before == new:
            return [DiffLine("same", new.label, _("owns %(name)s already.") % {"name": name})]
        gain = DiffLine(
            "gain",
            new.label,
            _("becomes the owner of %(name)s") % {"name": name},
            _("May do everything with it and everything inside, grant access to it, and hand it over."),
        )
        if before is None:
            return [gain]
        keeps = _("Keeps access from other rules and from owning a parent object.")
        return [
            DiffLine("lose", before.label, _("is no longer the owner of %(name)s") % {"name": name}, keeps),
            gain,
        ]

    def proposals(self, form: OwnerForm) -> Iterable[Proposal]:
        node = self.object.node
        yield root_of(node), [SetOwner(node, owner) for owner in form["who"].chosen[:1]]

    def save(self, form: OwnerForm, actor: Actor) -> None:
        node, (new,), reason = self.object.node, form.cleaned_data["who"], form.cleaned_data["reason"]
        with authorized(OWNER_SET, node, SET_OWNER, by=actor, reason=reason) as authority:
            owners.set_owner(node, new, by=actor, authority=authority)

    def success_message(self, form: OwnerForm) -> str:
        return _("%(label)s owns %(name)s") % {
            "label": form.cleaned_data["who"][0].label,
            "name": self.object.node.name,
        }

    def may_undo(self) -> bool:
        # who gave it away can seldom take it back: then no Undo is promised
        return any(owners.settable([self.object.node], self.asker))

    def heading(self, form: OwnerForm) -> str:
        return _("Set the owner of %(name)s") % {"name": self.object.node.name}

    def button(self, form: OwnerForm) -> str:
        return owner_button(form["who"].chosen)

    def back(self) -> str:
        name = "role" if self.object.node.type == "role" else "object"
        return reverse(f"console:{name}", args=[self.object.node.id])
