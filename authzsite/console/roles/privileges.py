"""What a role allows and denies on an object, chosen for all privileges at once, with what that changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.access.grant_form import privileges_for
from authzsite.console.access.reasons import GivingForm
from authzsite.console.cdap.links import page_of_name
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.conflicts import changed_meanwhile, done_before
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.parts import Crumbs, Face, Note, Who
from authzsite.console.kit.forms import REASON_HELP, ReasonField, SegmentsField
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.visible_principals import circle_of, giveable
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from authzsite.console.people.person_groups import MembershipRow, nothing_to_give
from authzsite.console.roles.effects import Foretold
from authzsite.console.roles.holders import RoleChangeView
from authzsite.console.roles.role import VisibleRole, visit_role
from catalog.nodes import Node
from policies.authority import Actor
from policies.errors import Conflict
from policies.events import GRANT_ADDED
from policies.models import Grant
from policies.previews.roles import RoleChange, of_role_change
from policies.requests.rules import Rules, rules_of_grants
from policies.separation import Separated
from policies.services import roles
from policies.services.authorities import authorized
from policies.services.grants import GRANT
from policies.services.roles import Privilege
from policies.simulation.changes import AddToRole, RemoveFromRole, Target

NOTHING_CHOSEN = gettext_lazy("Choose rights; the preview shows who gains and who loses.")
STATES = (("", gettext_lazy("Nothing")), ("allow", gettext_lazy("Allow")), ("deny", gettext_lazy("Deny")))


@reads
@login_required
def choose(request: Request, id: int) -> HttpResponse:
    """On which object: those one governs, or those a search finds."""
    seen = visit_role(request, id)
    if named := page_of_name(seen.root, "cdap_grant"):
        return redirect(f"{named}?{urlencode({'role': seen.node.name})}")
    text = request.GET.get("q", "").strip()[:255]
    nodes = sorted(giveable(circle_of(request), text), key=lambda node: (len(node.names), node.names))
    role = reverse("console:role", args=[seen.node.id])
    context = {
        "heading": _("What %(name)s gives") % {"name": seen.node.name},
        "kind": "",
        "lead": _("On which object? Choose one on which you may grant access."),
        "crumbs": Crumbs(((_("Roles"), reverse("console:roles")), (seen.node.name, role))),
        "asked": text,
        "rows": [_choice(seen, item) for item in nodes if item.realm_id == seen.node.realm_id][:30],
        "empty": nothing_to_give(text),
    }
    return role_page(request, "console/people/person_grant.html", seen, context)


def _choice(seen: VisibleRole, node: Node) -> MembershipRow:
    url = reverse("console:role_give_on", args=[seen.node.id, node.id])
    return MembershipRow(
        Who(node.name, Face("thing", terms.icon_of(node.type)), terms.place_words(node), url), "", None
    )


def role_page(request: Request, template: str, seen: VisibleRole, context: dict[str, Any]) -> HttpResponse:
    """A page about what a role gives."""
    realm, revision = seen.node.realm, seen.place.slice.revision
    return page(request, template, context, section="roles", realm=realm, revision=revision)


class StatesForm(GivingForm):
    """For each privilege that fits the object, whether the role allows it, denies it or says nothing."""

    takes_too = True

    def __init__(self, data: Any = None, *, role: Node, node: Node, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        rows = Grant.objects.open().filter(role=role.id, securable=node.id)
        self.node, self.now = node, dict(rows.values_list("privilege", "effect"))
        for privilege in privileges_for(node):
            label = terms.right(privilege.code, node.type, node.kind)
            self.fields[privilege.code] = StateField(
                label, _(privilege.description), self.now.get(privilege.code, "")
            )
        self.fields["reason"] = ReasonField(help_text=REASON_HELP)
        self.ask_for_reason()

    def rules_of_gift(self) -> Rules:
        return rules_of_grants([self.node])

    @property
    def gives(self) -> bool:
        return "allow" in self._differing().values()

    def states(self) -> list[forms.BoundField]:
        """The privileges, without the reason."""
        return [field for field in self.visible_fields() if field.name != "reason"]

    def _differing(self) -> dict[str, str]:
        wanted = {code: state for code, state in self.cleaned_data.items() if code != "reason"}
        return {code: state for code, state in wanted.items() if state != self.now.get(code, "")}

    @property
    def adds(self) -> list[Privilege]:
        return [Privilege(code, state) for code, state in self._differing().items() if state]

    @property
    def removes(self) -> list[Privilege]:
        return [Privilege(code, self.now[code]) for code in self._differing() if code in self.now]

    @property
    def change(self) -> RoleChange | None:
        """What is different from now; None for nothing."""
        if not self._differing():
            return None
        adds, removes = (tuple((self.node, item) for item in some) for some in (self.adds, self.removes))
        return RoleChange(adds=adds, removes=removes)


class StateField(SegmentsField):
    """Allow, deny or nothing; where a form says nothing, what is true now."""

    def __init__(self, label: str, help_text: str, now: str) -> None:
        super().__init__(label=label, help_text=help_text, choices=STATES, initial=now, required=False)

    def to_python(self, value: Any) -> str:
        typed = self.initial if value is None else str(value)
        return typed if typed in dict(STATES) else ""


class RolePrivilegesView(RoleChangeView):
    """The form of one object; looking is a step of its own."""

    template_name = "console/roles/role_privileges.html"
    looks_first = True
    place: ObjectAccess

    def get_object(self) -> ObjectAccess:
        self.role = visit_role(self.request, self.kwargs["id"])
        self.place = get_object_or_404(self.request, self.kwargs["on"])
        return self.role.place

    def refusal(self) -> HttpResponse | None:
        return None if self.place.may_grant else refused(self.request, self.place, "grant")

    def make_form(self, data: Any) -> StatesForm:
        return StatesForm(data, role=self.role.node, node=self.place.node)

    def plan(self, form: StatesForm) -> Plan:
        if form.change is None:
            return Plan(empty=NOTHING_CHOSEN)
        foretold = Foretold.of_role(of_role_change(self.role.node, form.change))
        tally = foretold.tally() if foretold.parts else None
        return Plan(diff=foretold.diff(), tally=tally, sum=foretold.sum())

    def proposals(self, form: StatesForm) -> Iterable[Proposal]:
        role, change = self.role.node, form.change
        if change is not None:
            removed = [RemoveFromRole(role, Target(on), (it.code,), it.effect) for on, it in change.removes]
            added = [AddToRole(role, Target(on), (it.code,), it.effect) for on, it in change.adds]
            yield self.role.root, [*removed, *added]

    def form_valid(self, form: StatesForm) -> HttpResponse:
        if form.change is None and done_before(self.actor) is None:
            self.notes.append(Note("", _("Nothing has changed yet.")))
            return self.show(form, 422)
        return super().form_valid(form)

    def save(self, form: StatesForm, actor: Actor) -> None:
        role, node, reason = self.role.node, self.place.node, form.cleaned_data["reason"]
        with authorized(GRANT_ADDED, node, GRANT, by=actor, reason=reason) as authority:
            since = form.sent_seen or 0
            rows = Grant.objects.filter(role=self.role.node.id, securable=self.place.node.id)
            if since and rows.filter(Q(opened__gt=since) | Q(closed__gt=since)).exists():
                raise Conflict(_("Someone changed this role since you opened this page."))
            roles.remove_privileges(role, node, form.removes, by=actor, authority=authority)
            roles.add_privileges(role, node, form.adds, by=actor, authority=authority)

    def note_of(self, form: StatesForm, problem: Exception) -> Note:
        form.look_again = True
        if isinstance(problem, Separated) or not isinstance(problem, Conflict):
            return super().note_of(form, problem)
        return changed_meanwhile(self.place.node, form.sent_seen or 0)

    def success_message(self, form: StatesForm) -> str:
        return _("Role %(name)s is changed on %(name2)s") % {
            "name": self.role.node.name,
            "name2": self.place.node.name,
        }

    def heading(self, form: StatesForm) -> str:
        return _("What %(name)s gives on %(name2)s") % {
            "name": self.role.node.name,
            "name2": self.place.node.name,
        }

    def lead(self) -> str:
        return terms.place_words(self.place.node)

    def button(self, form: StatesForm) -> str:
        return _("Change what %(name)s gives") % {"name": self.role.node.name}
