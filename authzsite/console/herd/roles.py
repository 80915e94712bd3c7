"""The roles every Herd has, who holds them, and the administrator's assigning and taking of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts import people
from accounts.models import Principal
from accounts.people import BadName
from authzsite.console.access.reasons import GivingForm
from authzsite.console.catalog.views import child_of
from authzsite.console.herd.context import ASSIGN, HerdContext, data_owners
from authzsite.console.herd.herd_change import HerdChangeView
from authzsite.console.herd.views import COUNTED, crumbs
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, Reason, Who
from authzsite.console.kit.forms import ConfirmForm, ReasonField, TextField
from authzsite.console.kit.http import number_in
from authzsite.console.kit.inputs.visible_principals import somebody
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal
from catalog.nodes import Node
from catalog.queries import below
from lakewarden.law.dialects.herd.permissions import DATA_OWNER, OPS, PERMISSIONS
from policies.authority import Actor
from policies.decisions.lookups.entries import bearers
from policies.events import ROLE_ASSIGNED, ROLE_UNASSIGNED
from policies.models import Assignment
from policies.requests.rules import Rules, rules_of_grants
from policies.services import roles
from policies.services.authorities import authorized
from policies.simulation.changes import UnassignRole

TEXTS = {
    DATA_OWNER: gettext_lazy(
        "May decide what others may do, in the namespaces where they also have Grant and Read."
    ),
    OPS: gettext_lazy("May keep storage policies that belong to no namespace."),
}


@dataclass(frozen=True)
class Holder:
    who: Who
    after: str
    action: Action | None


@dataclass(frozen=True)
class Role:
    """One role on the page; `typed` and `why` are the fields of a form that is filled in for it."""

    name: str
    label: str
    text: str
    rows: Sequence[Holder]
    typed: Any = None
    why: Any = None
    main: bool = False


class AssignForm(GivingForm):
    """Who is to hold a role, and why; `next` is the namespace whose steps led here."""

    who = TextField(error_messages={"required": gettext_lazy("Enter a user id.")})
    reason = ReasonField()
    next = TextField(required=False)

    def __init__(self, data: Any = None, *, herd: Node, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.herd = herd
        self.ask_for_reason()

    def rules_of_gift(self) -> Rules:
        return rules_of_grants([self.herd])


class RolesView(HerdChangeView):
    """Who holds which role, and for the administrator a form to assign each."""

    form_class = AssignForm
    template_name = "console/herd/roles.html"
    fields_of_errors = {BadName: "who"}

    def refusal(self) -> HttpResponse | None:
        if self.request.method != "POST":
            return None
        if not self.desk.administers:
            return refused(self.request, self.desk.place, ASSIGN)
        if self.asked_role not in self.desk.roles:
            raise Http404
        return None

    def get_form_arguments(self) -> dict[str, Any]:
        return {"herd": self.desk.herd}

    @property
    def asked_role(self) -> str:
        """The role that is to be assigned."""
        return str(self.data.get("role", DATA_OWNER if self.request.method == "GET" else ""))

    def save(self, form: AssignForm, actor: Actor) -> str:
        reason = form.cleaned_data["reason"]
        with authorized(ROLE_ASSIGNED, self.desk.herd, ASSIGN, by=actor, reason=reason) as authority:
            holder = _holder(form.cleaned_data["who"])
            new = roles.assign(self.desk.roles[self.asked_role], holder, by=actor, authority=authority)
        text = _("%(label)s holds %(role)s") if new else _("%(label)s holds %(role)s already")
        return text % {"label": holder.label, "role": self.asked_role}

    def success_message(self, form: AssignForm) -> str:
        return self.result or ""

    def get_success_url(self) -> str:
        """Back to the namespace whose steps led here, else to the roles."""
        number = number_in(self.data.get("next", "")) or 0
        if below(self.desk.herd, "namespace").filter(securable=number).exists():
            return reverse("console:namespace", args=[number])
        return self.back()

    def heading(self, form: AssignForm) -> str:
        return _("Data owners and operations")

    def lead(self) -> str:
        return _("Roles of %(name)s. Its administrator assigns them.") % {"name": self.desk.herd.name}

    def button(self, form: AssignForm) -> str:
        return _("Assign %(asked_role)s") % {"asked_role": self.asked_role}

    def back(self) -> str:
        return reverse("console:herd_roles", args=[self.desk.herd.id])

    def page_context(self, form: AssignForm) -> dict[str, Any]:
        return {
            "crumbs": crumbs(self.desk, here=False),
            "roles": [self._role(form, name) for name in (DATA_OWNER, OPS)],
            "may_assign": self.desk.administers,
            "reason_help": form["reason"].help_text,
            "next": self.data.get("next", "")[:18],
            "csv": reverse("console:herd_roles_csv", args=[self.desk.herd.id]),
            "locked": _locked(self.desk),
        }

    def _role(self, form: AssignForm, name: str) -> Role:
        rows = list(_holders(self.desk, name)) if name in self.desk.roles else []
        typed, why = (form["who"], form["reason"]) if name == self.asked_role else (None, None)
        label, text = _(PERMISSIONS[name].label), str(TEXTS[name])
        return Role(name, label, text, rows, typed, why, name == DATA_OWNER)


def _holder(typed: str) -> Principal:
    """The user, service account or group meant; a user of that name, made when absent."""
    kind, colon, name = typed.partition(":")
    if colon and kind == Principal.Kind.USER:
        typed = name  # whether or not somebody is called so
    named = somebody(typed) if ":" in typed else None
    if named is not None and named.kind != Principal.Kind.PATTERN:
        return named
    if typed.startswith("*"):
        raise BadName(_("a role is held by a user, not by a wildcard"))
    if "/" in typed or "\\" in typed:
        raise BadName(_("a user id cannot contain slashes"))
    bearers_ = bearers(typed, ("user", "service")) if "\0" not in typed else []
    exact = sorted(bearers_, key=lambda holder: (holder.name != typed, holder.kind != "user"))
    return exact[0] if exact else people.ensure("user", typed)


def _locked(desk: HerdContext) -> Reason | None:
    if desk.administers:
        return None
    who = desk.administrator
    name = (
        _("the administrator, %(label)s") % {"label": who.label}
        if who
        else _("nobody: the Herd has no administrator")
    )
    return Reason("why-not-assign", _("These roles are assigned by %(name)s.") % {"name": name})


def _namespaces(desk: HerdContext) -> list[Node]:
    rows = below(desk.herd, "namespace").order_by("name", "pk")[:COUNTED]
    return [child_of(desk.herd, row) for row in rows]


def _holders(desk: HerdContext, name: str) -> Iterable[Holder]:
    role = desk.roles[name]
    after = looks_after(desk, role) if name == DATA_OWNER else {}
    for item in held_by(role):
        note = item.name if item.label != item.name else terms.lower(item.get_kind_display())
        url = f"{reverse('console:herd_roles_take', args=[desk.herd.id])}?"
        url += urlencode({"role": name, "who": str(item)})
        take = (
            Action(
                _("Revoke"),
                url,
                "mini",
                more=_("%(name)s from %(label)s") % {"name": name, "label": item.label},
            )
            if desk.administers
            else None
        )
        holders = words.listed(after.get(item.pk, []), 4)
        yield Holder(terms.who(item, note), holders or (_("Nothing yet") if name == DATA_OWNER else ""), take)


def held_by(role: Node) -> list[Principal]:
    """The people, services and groups that hold a role, by name.  One query."""
    rows = Assignment.objects.open().filter(role=role.id).select_related("holder")
    return [row.holder for row in rows.order_by("holder__display_name", "holder__name")]


def looks_after(desk: HerdContext, role: Node) -> dict[int, list[str]]:
    """The namespaces that each data owner looks after, by name."""
    places = _namespaces(desk)
    realms: dict[int, list[str]] = {}
    owned = data_owners(desk.herd, role, places, desk.place.now)
    for node in places:
        for item in owned[node.id]:
            realms.setdefault(item.pk, []).append(node.name)
    return realms


# Taking back


class TakeRoleView(HerdChangeView):
    """What the holder can no longer do, and what is left without a data owner; then it is taken."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Not revoked.")

    def refusal(self) -> HttpResponse | None:
        if not self.desk.administers:
            return refused(self.request, self.desk.place, ASSIGN)
        query = self.request.GET
        role, holder = self.desk.roles.get(query.get("role", "")), somebody(query.get("who", ""))
        if role is None or holder is None:
            raise Http404
        if not Assignment.objects.open().filter(role=role.id, holder=holder).exists():
            raise Http404
        self.role, self.holder = role, holder
        return None

    def plan(self, form: ConfirmForm) -> Plan:
        return Plan(diff=Diff(tuple(_losses(self.desk, self.role, self.holder))))

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        yield self.desk.herd, [UnassignRole(self.role, self.holder)]

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        herd, reason = self.desk.herd, form.cleaned_data["reason"]
        with authorized(ROLE_UNASSIGNED, herd, ASSIGN, by=actor, reason=reason) as authority:
            roles.unassign(self.role, self.holder, by=actor, authority=authority)

    def success_message(self, form: ConfirmForm) -> str:
        return _("%(name)s revoked from %(label)s") % {"name": self.role.name, "label": self.holder.label}

    def heading(self, form: ConfirmForm) -> str:
        return _("Revoke %(role)s from %(holder)s?") % {
            "role": self.role.name,
            "holder": terms.principal_name(self.holder),
        }

    def lead(self) -> str:
        return _("Entries on namespaces stay; without the role, Grant cannot be used.")

    def button(self, form: ConfirmForm) -> str:
        return _("Revoke %(name)s from %(label)s") % {"name": self.role.name, "label": self.holder.label}

    def back(self) -> str:
        return reverse("console:herd_roles", args=[self.desk.herd.id])


def _losses(desk: HerdContext, role: Node, holder: Principal) -> Iterable[DiffLine]:
    if role.name != DATA_OWNER:
        yield DiffLine("lose", holder.label, _("may no longer keep storage policies without a namespace"))
        return
    places = _namespaces(desk)
    owned = data_owners(desk.herd, role, places, desk.place.now)
    mine = [place.name for place in places if any(who.pk == holder.pk for who in owned[place.id])]
    losses = (
        _("can no longer decide access in %(mine)s") % {"mine": words.listed(mine, 12)}
        if mine
        else _("is not a data owner")
    )
    yield DiffLine("lose", holder.label, losses)
    alone = [place.name for place in places if [who.pk for who in owned[place.id]] == [holder.pk]]
    if alone:
        left = ngettext("is left without a data owner", "are left without a data owner", len(alone))
        yield DiffLine("lack", words.listed(alone, 12), left)
