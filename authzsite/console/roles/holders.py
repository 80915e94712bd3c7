"""Giving a role to people and groups, taking it back, and deleting it, each with what it changes first."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from authzsite.console.access.reasons import GivingForm
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.forms import (
    MANY,
    REASON_HELP,
    ConfirmForm,
    PrincipalField,
    ReasonField,
)
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, somebody
from authzsite.console.kit.moment_fields import (
    WindowField,
)
from authzsite.console.kit.object_change import ObjectChangeView
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal
from authzsite.console.roles.effects import Foretold
from authzsite.console.roles.role import VisibleRole, visit_role
from authzsite.console.separation import warnings as separation_notes
from catalog.nodes import Node
from policies.authority import Actor
from policies.events import ROLE_ASSIGNED, ROLE_DELETED, ROLE_UNASSIGNED
from policies.models import Assignment
from policies.previews.roles import RoleChange, of_role_change
from policies.requests.rules import Rules, rules_of_roles
from policies.services import roles
from policies.services.authorities import authorized
from policies.simulation.changes import AssignRole, DeleteRole, UnassignRole


class RoleChangeView(ObjectChangeView):
    """A change of a role that has a name; personal ones are not changed by hand."""

    section = "roles"
    operation = "assign"

    def get_object(self) -> Any:
        self.role: VisibleRole = visit_role(self.request, self.kwargs["id"])
        if self.role.personal:
            raise Http404
        return self.role.place

    def refusal(self) -> HttpResponse | None:
        return None if self.role.may_assign else refused(self.request, self.object, "grant")

    def authorized(self, kind: str, form: Any, actor: Actor) -> Any:
        operation = roles.operation(self.role.node, self.operation)
        return authorized(kind, self.role.node, operation, by=actor, reason=form.cleaned_data["reason"])

    def back(self) -> str:
        return reverse("console:role", args=[self.role.node.id])


class AssignForm(GivingForm):
    """Who is to hold a role, until when and why; what it lets them do is the role's own."""

    who = PrincipalField()
    window = WindowField()
    reason = ReasonField(help_text=REASON_HELP)

    def __init__(self, data: Any = None, *, role: Node, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.role = role
        self.ask_for_reason()

    def rules_of_gift(self) -> Rules:
        return rules_of_roles([self.role])


class AssignView(RoleChangeView):
    """Who, until when, why; what it changes; then it is done."""

    template_name = "console/kit/planned.html"
    looks_first = True

    def make_form(self, data: Any) -> AssignForm:
        form = AssignForm(data, role=self.role.node)
        self.offer_members(form.fields["who"])
        return form

    def plan(self, form: AssignForm) -> Plan:
        chosen, window = form["who"].chosen, form["window"].data
        if not chosen or not window.whole:
            return Plan(empty=_("Enter a person or a group, and the preview shows who gains and who loses."))
        wanted = RoleChange(joins=tuple(chosen), valid_from=window.begin, valid_until=window.end)
        foretold = Foretold.of_role(of_role_change(self.role.node, wanted))
        return Plan(
            diff=foretold.diff(),
            tally=foretold.tally() if foretold.parts else None,
            sum=foretold.sum(),
            warnings=tuple(separation_notes.of_role(self.role.node, chosen, window, self.asker)),
            begins=words.moment(window.begin) if window.begin else "",
        )

    def proposals(self, form: AssignForm) -> Iterable[Proposal]:
        role, window = self.role.node, form["window"].data
        given = [AssignRole(role, holder, (window.begin, window.end)) for holder in form["who"].chosen]
        yield self.role.root, given

    def save(self, form: AssignForm, actor: Actor) -> None:
        window = form.cleaned_data["window"]
        with self.authorized(ROLE_ASSIGNED, form, actor) as authority:
            for holder in form.cleaned_data["who"]:
                roles.hold(self.role.node, holder, window.begin, window.end, by=actor, authority=authority)

    def success_message(self, form: AssignForm) -> str:
        names = words.listed([holder.label for holder in form.cleaned_data["who"]], 3)
        window = form.cleaned_data["window"].said()
        text = _("%(names)s: role %(name)s %(window)s") if window else _("%(names)s: role %(name)s")
        what = text % {"names": names, "name": self.role.node.name, "window": window}
        return what if self.revision else _("%(what)s; they had it already") % {"what": what}

    def heading(self, form: AssignForm) -> str:
        return _("Assign role %(name)s") % {"name": self.role.node.name}

    def button(self, form: AssignForm) -> str:
        return _("Assign %(role)s %(window)s") % {
            "role": self.role.node.name,
            "window": form["window"].data.words(),
        }


# Taking back, deleting


class UnassignView(RoleChangeView):
    """Who loses what when the role is taken from one holder; then it is done."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"

    def refusal(self) -> HttpResponse | None:
        if refusal := super().refusal():
            return refusal
        who = self.request.GET.get("who", "")
        holder = somebody(who) if ":" in who else None
        if holder is None:
            raise Http404
        self.holder = holder
        return None

    def plan(self, form: ConfirmForm) -> Plan:
        node, leaves = self.role.node, RoleChange(leaves=(self.holder,))
        if not Assignment.objects.open().filter(role=node.id, holder=self.holder).exists():
            if not VisiblePrincipals(self.asker).people().filter(pk=self.holder.pk).exists():
                raise Http404
            ended = Note(
                "",
                _("%(label)s does not hold %(name)s.") % {"label": self.holder.label, "name": node.name},
                _("It may have ended."),
            )
            return Plan(nothing=True, notes=(ended,))
        foretold = Foretold.of_role(of_role_change(node, leaves), removal=True)
        return Plan(diff=foretold.diff(), tally=foretold.tally())

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        yield self.role.root, [UnassignRole(self.role.node, self.holder)]

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        with self.authorized(ROLE_UNASSIGNED, form, actor) as authority:
            roles.unassign(self.role.node, self.holder, by=actor, authority=authority)

    def success_message(self, form: ConfirmForm) -> str:
        if self.revision is None:
            return _("Nothing changed: %(label)s does not hold %(name)s") % {
                "label": self.holder.label,
                "name": self.role.node.name,
            }
        return _("Role %(name)s is revoked from %(label)s") % {
            "name": self.role.node.name,
            "label": self.holder.label,
        }

    def heading(self, form: ConfirmForm) -> str:
        return _("Revoke role %(role)s from %(holder)s?") % {
            "role": self.role.node.name,
            "holder": terms.principal_name(self.holder),
        }

    def button(self, form: ConfirmForm) -> str:
        return _("Revoke %(name)s from %(holder)s") % {
            "name": self.role.node.name,
            "holder": terms.principal_name(self.holder),
        }


class DeleteRoleView(RoleChangeView):
    """Who loses what when the role ends; its name is asked for when that is many."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    operation = "delete"

    def refusal(self) -> HttpResponse | None:
        return None if self.role.may_delete else refused(self.request, self.object, "drop")

    @cached_property
    def foretold(self) -> Foretold:
        return Foretold.of_role(of_role_change(self.role.node, RoleChange(deleted=True)), removal=True)

    def get_form_arguments(self) -> dict[str, Any]:
        return {"typed": self.role.node.name if self.foretold.count("lose") > MANY else ""}

    def plan(self, form: ConfirmForm) -> Plan:
        return Plan(diff=self.foretold.diff(), tally=self.foretold.tally())

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        yield self.role.root, [DeleteRole(self.role.node)]

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        with self.authorized(ROLE_DELETED, form, actor) as authority:
            roles.delete(self.role.node, by=actor, authority=authority)

    def success_message(self, form: ConfirmForm) -> str:
        return _("Role %(name)s is deleted with all it gave") % {"name": self.role.node.name}

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        return reverse("console:roles")

    def heading(self, form: ConfirmForm) -> str:
        return _("Delete role %(role)s?") % {"role": self.role.node.name}

    def button(self, form: ConfirmForm) -> str:
        losing = self.foretold.count("lose")
        text = _("Delete %(name)s and revoke it from %(losing)s") if losing else _("Delete %(name)s")
        return text % {"name": self.role.node.name, "losing": words.count(losing, "person", "people")}
