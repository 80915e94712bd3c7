"""Making a role: its name, what it is for, what it gives and who holds it, in one form and as one change."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from authzsite.console.access.effects import Shown
from authzsite.console.access.grant_form import privileges_for, usual_privileges
from authzsite.console.access.reasons import GivingForm
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.forms import ChoicesField, PrincipalField, ReasonField, TextField
from authzsite.console.kit.http import number_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, giveable
from authzsite.console.kit.object_change import ObjectChangeView
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from catalog.nodes import Node
from policies.authority import Actor
from policies.errors import Invalid
from policies.events import GRANT_ADDED, ROLE_ASSIGNED, ROLE_CREATED
from policies.previews import grants as previews
from policies.requests.rules import Rules, rules_of_grants
from policies.services import roles
from policies.services.authorities import authorized
from policies.services.grants import GRANT, GrantRequest
from policies.services.object_names import legal
from policies.services.roles import Privilege
from policies.simulation.changes import AddToRole, AssignRole, Target, new_role

DESCRIPTION = "description"
"""The property of a role that says what it is for."""


class NewRoleForm(GivingForm):
    """A name and why; in a metalake also what it is for, what it gives on one object, and who holds it."""

    name = TextField(
        help_text=gettext_lazy(
            "By its purpose, such as sales_read. You own it; it gives nothing until you add rights."
        ),
        error_messages={"required": gettext_lazy("Enter a name.")},
    )
    description = TextField(
        label=gettext_lazy("What it is for"), required=False, help_text=gettext_lazy("Optional; a sentence.")
    )
    on = TextField(
        label=gettext_lazy("Grants access on"),
        required=False,
        help_text=gettext_lazy("Optional: an object that you can grant. More can be added later."),
    )
    rights = ChoicesField(label=gettext_lazy("May"), required=False)
    who = PrincipalField(
        label=gettext_lazy("Held by"),
        required=False,
        help_text=gettext_lazy("Optional. Type a name and press Enter."),
    )
    reason = ReasonField()

    def __init__(self, data: Any = None, *, root: Node, circle: VisiblePrincipals, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.root, self.circle = root, circle
        if root.type != "metalake":
            for name in ("description", "on", "rights", "who"):
                del self.fields[name]
            return
        names = f"{reverse('console:names')}?of=objects"
        self.fields["on"].widget.attrs |= {"data-combo": names, "data-looks": "", "spellcheck": "false"}
        first = "on" if self.asked_on and not self.rights_seen else "" if self.data.get("name") else "name"
        if first:
            self.fields[first].widget.attrs["autofocus"] = ""
        if self.node is None:
            del self.fields["rights"]
            return
        self.ask_for_reason()
        fitting = privileges_for(self.node)
        self.fields["rights"].offer(
            (right.code, terms.right(right.code, self.node.type, self.node.kind), gettext(right.description))
            for right in fitting
        )
        if not self.rights_seen:
            self.data = self.data.copy()
            self.data.setlist("rights", usual_privileges(self.node, fitting))

    def rules_of_gift(self) -> Rules:
        return rules_of_grants([self.node] if self.node else [])

    @property
    def asked_on(self) -> str:
        return str(self.data.get("on", "")).strip()[:500]

    @cached_property
    def node(self) -> Node | None:
        """The object of that name, if it is in this realm and theirs to give."""
        text, last = self.asked_on.casefold(), self.asked_on.rpartition("/")[2].rpartition(".")[2]
        offered = giveable(self.circle, last) if last else ()
        matches = [node for node in offered if node.realm_id == self.root.realm_id]
        exact = [
            node
            for node in matches
            if text in (node.ref.id.casefold(), node.ref.full_name.casefold(), node.name.casefold())
        ]
        meant = exact or (matches if last == self.asked_on else [])
        return meant[0] if len(meant) == 1 else None

    @property
    def rights_seen(self) -> bool:
        """Whether the rights that were sent were those shown of this very object."""
        return self.node is not None and self.data.get("rights_of") == str(self.node.id)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if self.root.type == "metalake":
            try:
                legal(name)
            except Invalid as problem:
                raise ValidationError(str(problem)) from None
        return name

    def clean_on(self) -> str:
        if self.asked_on and self.node is None:
            raise ValidationError(
                gettext("No object that you can grant on has this name. Enter its full name: shop.sales.")
            )
        return self.asked_on

    def clean_rights(self) -> list[str]:
        chosen: list[str] = self.cleaned_data["rights"]
        if not self.rights_seen:
            raise ValidationError(gettext("Choose what it gives there, then create the role."))
        if not chosen:
            raise ValidationError(gettext("Choose at least one right."))
        return chosen


class NewRoleView(ObjectChangeView):
    """The form beside what the role would do; the maker of a role owns it."""

    template_name = "console/roles/new_role.html"
    section = "roles"
    not_saved = gettext_lazy("Not created.")
    looks_first = True

    def get_object(self) -> ObjectAccess:
        number = number_in(self.request.GET.get("in", ""))
        if number is None:
            raise Http404
        place = get_object_or_404(self.request, number)
        if place.node.type not in ("metalake", "instance"):
            raise Http404
        return place

    def refusal(self) -> HttpResponse | None:
        allowed = self.object.may(roles.operation(self.object.node, "create"))
        return None if allowed else refused(self.request, self.object, "create_role")

    def only_looks(self, form: NewRoleForm) -> bool:
        """A form that is sent by Enter or by a program is a form to save."""
        sent = self.request.POST
        return sent.get("step") == "look" or bool(self.naming_buttons & set(sent))

    def make_form(self, data: Any) -> NewRoleForm:
        form = NewRoleForm(data, root=self.object.node, circle=VisiblePrincipals(self.asker))
        if "who" in form.fields:
            self.offer_members(form.fields["who"])
        return form

    def wish(self, form: NewRoleForm) -> GrantRequest | None:
        """What the role would give to whom, once all that is filled in."""
        codes, node = form.cleaned_data.get("rights", ()), form.node
        codes = codes or (form.data.getlist("rights") if node is not None else ())
        chosen = form["who"].chosen if "who" in form.fields else ()
        if not (node and codes and chosen):
            return None
        return GrantRequest(node, tuple(chosen), tuple(codes), way=False)  # a role gives what is chosen

    def plan(self, form: NewRoleForm) -> Plan:
        wish = self.wish(form)
        if wish is None:
            return Plan(
                empty=gettext("Name an object and who holds the role, and the preview shows who gains what.")
            )
        shown = Shown(previews.of_grant(wish, self.object.actor), wish.node)
        return Plan(diff=shown.diff(), tally=shown.tally(), sum=shown.sum())

    def proposals(self, form: NewRoleForm) -> Iterable[Proposal]:
        root, wish = self.object.node, self.wish(form)
        if wish is not None:
            role = new_role(root, str(form.data.get("name", "")))
            gives = AddToRole(role, Target(wish.node), wish.privileges)
            yield root, [gives, *(AssignRole(role, holder) for holder in wish.holders)]

    def save(self, form: NewRoleForm, actor: Actor) -> Node:
        node, typed = self.object.node, form.cleaned_data
        operation = roles.operation(node, "create")
        with authorized(ROLE_CREATED, node, operation, by=actor, reason=typed["reason"]) as authority:
            # in a CDAP nobody owns a role: its administrators give it away and delete it
            owner = self.asker if node.type == "metalake" else None
            description = typed.get("description", "")
            made = roles.create(
                node,
                typed["name"],
                by=actor,
                authority=authority,
                owner=owner,
                properties={DESCRIPTION: description} if description else None,
            )
            self._give(made, form, actor)
            self._assign(made, typed.get("who", ()), actor)
        return made

    def _give(self, role: Node, form: NewRoleForm, actor: Actor) -> None:
        if form.node is None or not (codes := form.cleaned_data.get("rights")):
            return
        with authorized(GRANT_ADDED, form.node, GRANT, by=actor) as authority:
            privileges = [Privilege(code, "allow") for code in codes]
            roles.add_privileges(role, form.node, privileges, by=actor, authority=authority)

    def _assign(self, role: Node, holders: list[Principal], actor: Actor) -> None:
        if not holders:
            return
        with authorized(ROLE_ASSIGNED, role, roles.operation(role, "assign"), by=actor) as authority:
            for holder in holders:
                roles.assign(role, holder, by=actor, authority=authority)

    def success_message(self, form: NewRoleForm) -> str:
        name, holders = form.cleaned_data["name"], form.cleaned_data.get("who", ())
        if not form.cleaned_data.get("rights") and not holders:
            return gettext("Role %(cleaned_data)s is created; it gives nothing and nobody holds it yet") % {
                "cleaned_data": name
            }
        who = words.listed([holder.label for holder in holders], 3) or gettext("nobody yet")
        return gettext("Role %(name)s is created; held by %(who)s") % {"name": name, "who": who}

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        return reverse("console:role", args=[self.result.id]) if self.result else self.back()

    def page_context(self, form: NewRoleForm) -> dict[str, Any]:
        """The address names the realm, also when the form is looked at and when names are asked for."""
        asked = {"in": self.object.node.id, "choices": "who"}
        picker = f"{self.request.path}?{urlencode(asked)}"
        here = self.request.get_full_path()
        return {**super().page_context(form), "here": here, "picker_url": picker, "quiet": True}

    def heading(self, form: NewRoleForm) -> str:
        return gettext("Create a role in %(name)s") % {"name": self.object.node.name}

    def lead(self) -> str:
        return ""

    def button(self, form: NewRoleForm) -> str:
        return gettext("Create the role")

    def back(self) -> str:
        return reverse("console:roles")
