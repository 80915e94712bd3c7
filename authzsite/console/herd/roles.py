"""The roles every Herd has, who holds them, and the administrator's assigning and taking of them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts import people
from accounts.models import Principal
from accounts.people import BadName
from authzsite.console.catalog.views import child_of
from authzsite.console.herd.context import ASSIGN, HerdContext, data_owners, herd_at
from authzsite.console.herd.herd_change import HerdChangeView
from authzsite.console.herd.views import COUNTED, crumbs, show
from authzsite.console.history.views import somebody
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, Note, Reason, Who
from authzsite.console.kit.forms import ConfirmForm
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import say
from authzsite.console.kit.refusal import refused
from authzsite.console.roles.views import nonce_in
from catalog.nodes import Node
from catalog.queries import below
from lakewarden.law.dialects.herd.permissions import DATA_OWNER, OPS, PERMISSIONS
from policies.authority import Actor
from policies.decisions.lookups.entries import bearers
from policies.errors import PolicyError
from policies.events import ROLE_ASSIGNED, ROLE_UNASSIGNED
from policies.models import Assignment
from policies.services import roles
from policies.services.authorities import authorized

TEXTS = {
    DATA_OWNER: "May decide what others may do, in the namespaces where they also have Grant and Read.",
    OPS: "May keep storage policies that belong to no namespace.",
}


@dataclass(frozen=True)
class Holder:
    who: Who
    after: str
    action: Action | None


@dataclass(frozen=True)
class Role:
    """One role on the page; `typed` and `problem` come from a form that could not be saved."""

    name: str
    label: str
    text: str
    rows: Sequence[Holder]
    typed: str = ""
    problem: str = ""
    main: bool = False


@reads_and_writes
@login_required
def role_list(request: Request, id: int) -> HttpResponse:
    """Who holds which role, and for the administrator the forms to assign them."""
    desk = herd_at(request, id)
    if request.method == "POST":
        if not desk.administers:
            return refused(request, desk.place, ASSIGN)
        return _assign(request, desk)
    return _show(request, desk, {}, [])


def _assign(request: Request, desk: HerdContext) -> HttpResponse:
    name, typed = request.POST.get("role", ""), request.POST.get("who", "").strip()
    if name not in desk.roles:
        raise Http404
    if not typed:
        return _show(request, desk, {name: "Name a user id."}, [])
    actor = Actor(desk.place.asker, "console", request_id=nonce_in(request))
    reason = request.POST.get("reason", "").strip()[:2000].replace("\0", "")
    if done_before(actor) is None:
        try:
            with authorized(ROLE_ASSIGNED, desk.herd, ASSIGN, by=actor, reason=reason) as authority:
                holder = _holder(typed)
                new = roles.assign(desk.roles[name], holder, by=actor, authority=authority)
        except BadName as problem:
            return _show(request, desk, {name: f"{str(problem)[:1].upper()}{str(problem)[1:]}."}, [])
        except PolicyError as problem:
            return _show(request, desk, {}, [Note("bad", "Not saved.", str(problem))])
        say(request, f"{holder.label} holds {name}{'' if new else ' already'}")
    return redirect(_next(request, desk))


def _holder(typed: str) -> Principal:
    """The user, service account or group meant; a user of that name, made when absent."""
    named = somebody(typed) if ":" in typed else None
    if named is not None and named.kind != Principal.Kind.PATTERN:
        return named
    if typed.startswith("*"):
        raise BadName("a role is held by a user, not by a wildcard")
    if "/" in typed or "\\" in typed:
        raise BadName("a user id has no slashes")
    known = bearers(typed, ("user", "service")) if "\0" not in typed else []
    exact = sorted(known, key=lambda one: (one.name != typed, one.kind != "user"))
    return exact[0] if exact else people.ensure("user", typed)


def _next(request: Request, desk: HerdContext) -> str:
    """Back to the namespace whose steps led here, else to the roles."""
    number = number_in(request.POST.get("next", "")) or 0
    if below(desk.herd, "namespace").filter(securable=number).exists():
        return reverse("console:namespace", args=[number])
    return reverse("console:herd_roles", args=[desk.herd.id])


def _show(request: Request, desk: HerdContext, problems: dict[str, str], notes: list[Note]) -> HttpResponse:
    asked = request.POST if request.method == "POST" else request.GET
    context: dict[str, Any] = {
        "heading": "Data owners and operations",
        "lead": f"Roles of {desk.herd.name}. Its administrator assigns them.",
        "crumbs": crumbs(desk, here=False),
        "notes": notes,
        "roles": [_role(desk, name, asked, problems.get(name, "")) for name in (DATA_OWNER, OPS)],
        "may_assign": desk.administers,
        "here": reverse("console:herd_roles", args=[desk.herd.id]),
        "nonce": secrets.token_hex(12),
        "next": asked.get("next", "")[:18],
        "csv": reverse("console:herd_roles_csv", args=[desk.herd.id]),
        "locked": _locked(desk),
    }
    return show(request, "console/herd/roles.html", desk, context, status=422 if problems or notes else 200)


def _locked(desk: HerdContext) -> Reason | None:
    if desk.administers:
        return None
    who = desk.administrator
    name = f"the administrator, {who.label}" if who else "nobody: the Herd has no administrator"
    return Reason("why-not-assign", f"These roles are assigned by {name}.")


def _role(desk: HerdContext, name: str, asked: Any, problem: str) -> Role:
    typed = asked.get("who", "")[:255].replace("\0", "") if asked.get("role", DATA_OWNER) == name else ""
    rows = list(_holders(desk, name)) if name in desk.roles else []
    return Role(name, PERMISSIONS[name].label, TEXTS[name], rows, typed, problem, name == DATA_OWNER)


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
            Action("Take back", url, "mini", more=f"{name} from {item.label}") if desk.administers else None
        )
        told = words.listed(after.get(item.pk, []), 4)
        yield Holder(terms.who(item, note), told or ("Nothing yet" if name == DATA_OWNER else ""), take)


def held_by(role: Node) -> list[Principal]:
    """The people, services and groups that hold a role, by name.  One query."""
    rows = Assignment.objects.open().filter(role=role.id).select_related("holder")
    return [row.holder for row in rows.order_by("holder__display_name", "holder__name")]


def looks_after(desk: HerdContext, role: Node) -> dict[int, list[str]]:
    """The namespaces that each data owner looks after, by name."""
    places = _namespaces(desk)
    found: dict[int, list[str]] = {}
    known = data_owners(desk.herd, role, places, desk.place.now)
    for node in places:
        for item in known[node.id]:
            found.setdefault(item.pk, []).append(node.name)
    return found


# Taking back


class TakeRoleView(HerdChangeView):
    """What the holder can no longer do, and what is left without a data owner; then it is taken."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = "Not taken back."

    def refusal(self) -> HttpResponse | None:
        if not self.desk.administers:
            return refused(self.request, self.desk.place, ASSIGN)
        asked = self.request.GET
        role, holder = self.desk.roles.get(asked.get("role", "")), somebody(asked.get("who", ""))
        if role is None or holder is None:
            raise Http404
        if not Assignment.objects.open().filter(role=role.id, holder=holder).exists():
            raise Http404
        self.role, self.holder = role, holder
        return None

    def plan(self, form: ConfirmForm) -> Plan:
        return Plan(diff=Diff(tuple(_losses(self.desk, self.role, self.holder))))

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        herd, reason = self.desk.herd, form.cleaned_data["reason"]
        with authorized(ROLE_UNASSIGNED, herd, ASSIGN, by=actor, reason=reason) as authority:
            roles.unassign(self.role, self.holder, by=actor, authority=authority)

    def success_message(self, form: ConfirmForm) -> str:
        return f"{self.role.name} taken back from {self.holder.label}"

    def heading(self, form: ConfirmForm) -> str:
        return f"Take {self.role.name} back from {terms.principal_name(self.holder)}?"

    def lead(self) -> str:
        return "Entries on namespaces stay; without the role, Grant cannot be used."

    def button(self, form: ConfirmForm) -> str:
        return f"Take {self.role.name} back from {self.holder.label}"

    def back(self) -> str:
        return reverse("console:herd_roles", args=[self.desk.herd.id])


def _losses(desk: HerdContext, role: Node, holder: Principal) -> Iterable[DiffLine]:
    if role.name != DATA_OWNER:
        yield DiffLine("lose", holder.label, "may no longer keep storage policies without a namespace")
        return
    places = _namespaces(desk)
    known = data_owners(desk.herd, role, places, desk.place.now)
    mine = [place.name for place in places if any(who.pk == holder.pk for who in known[place.id])]
    told = f"can no longer decide access in {words.listed(mine, 12)}" if mine else "is no data owner"
    yield DiffLine("lose", holder.label, told)
    alone = [place.name for place in places if [who.pk for who in known[place.id]] == [holder.pk]]
    if alone:
        verb = "is" if len(alone) == 1 else "are"
        yield DiffLine("lack", words.listed(alone, 12), f"{verb} left without a data owner")
