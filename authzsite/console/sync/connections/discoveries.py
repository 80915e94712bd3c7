"""Reading what a connected source holds: how far it is, what it brought, whose things are there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Crumbs, Diff, DiffLine, Note, Reason
from authzsite.console.kit.forms import ConfirmForm
from authzsite.console.kit.http import Request, nonce_in
from authzsite.console.kit.methods import reads, reads_and_writes
from authzsite.console.kit.page import page
from authzsite.console.sync.backend import BackendAccess, there
from authzsite.console.sync.connections.views import renewal
from catalog.nodes import Node
from lakewarden.backends import kinds
from lakewarden.backends.errors import Misconfigured
from policies.authority import Actor
from policies.errors import Refused
from policies.models import BackendLogins, Discovery, RealmMember
from policies.record import access_log
from policies.sync.connections import registration
from policies.sync.discovery import discoveries, owners
from policies.sync.discovery.owners import Suggestion

OWNERS, NAMED = 50, 8


@dataclass(frozen=True)
class Reading:
    """The last reading of a source: a note about it, and its progress while it runs."""

    note: Note
    going: bool = False
    done: int = 0
    total: int = 1
    text: str = ""


def _reading(row: Discovery | None) -> Reading | None:
    if row is None:
        return None
    if row.finished is None:
        if not row.total:
            text = "Waiting for a worker" if row.started is None else "Looking at what is there"
            return Reading(Note("plain", text), going=True, text=text)
        text = f"{words.number(row.done)} of {words.count(row.total, 'object')}"
        return Reading(Note("plain", "Reading", text), True, row.done, max(row.total, 1), text)
    when = words.when_in_words(words.moment(row.finished))
    if row.error:
        return Reading(Note("bad", "It could not be read.", f"{row.error} Nothing was lost; {when}."))
    new = words.count(row.added, "object")
    told = [f"{new} new", f"{words.number(row.renamed)} renamed", f"{words.number(row.described)} described"]
    gone = (
        f" {words.count(row.vanished, 'object')} vanished there and stay here until somebody closes them."
        if row.vanished
        else ""
    )
    return Reading(Note("plain", f"Read {when}: {words.listed(told)}.", f"{gone}{_left_out(row)}".strip()))


def _left_out(row: Discovery) -> str:
    if not row.left_out_count:
        return ""
    some = "; ".join(row.left_out[:NAMED])
    return f" {words.count(row.left_out_count, 'object')} left out: {some}."


@dataclass(frozen=True)
class DiscoveredOwner:
    """An owner there, and what they own here."""

    name: str
    objects: str
    here: str
    act: Action | None = None


@reads_and_writes
@login_required
def discovery_detail(request: Request, id: int) -> HttpResponse:
    """What the last reading brought; a POST asks for another, or says whether each night brings one."""
    one = there(request, id)
    if request.method == "POST":
        actor = Actor(one.place.asker, "console", request_id=nonce_in(request.POST))
        try:
            if request.POST.get("nightly") in ("yes", "no"):
                if done_before(actor) is None:
                    discoveries.set_nightly(one.row, by=actor, on=request.POST["nightly"] == "yes")
            else:
                discoveries.ask(one.row, by=actor)
        except Refused:
            access_log.refused(one.place.asker, registration.DUTY, one.place.node, via="console")
            return _show(request, one, status=403)
        return redirect("console:discover", id=id)
    return _show(request, one)


def _show(request: Request, backend_access: BackendAccess, *, status: int = 200) -> HttpResponse:
    node, may = (
        backend_access.place.node,
        registration.may_connect(backend_access.place.actor, backend_access.place.node),
    )
    root = next(iter(node.above()), node)
    context: dict[str, Any] = {
        "heading": f"What {node.name} holds",
        "lead": _lead(backend_access),
        "crumbs": Crumbs((("Sync", reverse("console:sync")), (backend_access.name, backend_access.url))),
        "actions": [
            Action("What is gone", reverse("console:sync_vanished", args=[backend_access.row.pk]), "plain"),
            Action("Browse", terms.page_of(node.id, node.type)),
            *([Action("Change the connection", renewal(backend_access.row, root, node))] if may else []),
        ],
        "may": may,
        "locked": None
        if may
        else Reason(
            "why-not-read", f"Only the owner of {node.name} or a holder of the connect duty can read it."
        ),
        "reading": _reading(discoveries.latest(backend_access.row)),
        "progress_url": reverse("console:discover_progress", args=[backend_access.row.pk]),
        "read": backend_access.row.read_at is not None,
        "nightly": backend_access.row.read_nightly,
        "nonce": nonce_in(request.POST),
        "logins": _logins(backend_access) if backend_access.may_look else "",
        "owners": _owners(backend_access) if backend_access.may_look else [],
    }
    slice_ = backend_access.place.slice
    return page(
        request,
        "console/sync/discover.html",
        context,
        section="sync",
        realm=node.realm,
        revision=slice_.revision,
        status=status,
    )


def _lead(backend_access: BackendAccess) -> str:
    """Schemas, tables and views, read from PostgreSQL: in the words of that kind of system."""
    system = backend_access.row.get_kind_display()
    try:
        kind = kinds.get(backend_access.row.kind)
    except Misconfigured:
        return f"{system} cannot be read: no backend of that kind is installed."
    types = dict.fromkeys(
        type_ for type_ in kind.discovers.values() if type_ != backend_access.place.node.type
    )
    told = words.listed([_several(terms.kind_of(type_)) for type_ in types])
    return f"{told[:1].upper()}{told[1:]}, read from {system} whenever you ask."


def _several(kind: str) -> str:
    """Table: tables; Dataset type: dataset types; Entity: entities."""
    one = terms.lower(kind)
    return f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"


def _logins(backend_access: BackendAccess) -> str:
    """Logins there that are members here, as a number: the pages of people have the rest."""
    row = BackendLogins.objects.filter(backend=backend_access.row).first()
    if row is None:
        return ""
    members = RealmMember.objects.open().filter(
        realm=backend_access.row.realm_id, principal__name__in=row.names
    )
    known = set(members.values_list("principal__name", flat=True))
    strangers = [name for name in row.names if name not in known]
    told = f"{words.count(len(known), 'login')} there {'is a member' if len(known) == 1 else 'are members'}"
    if not strangers:
        return f"{told} of {backend_access.place.node.realm} too."
    named = words.listed(strangers, NAMED)
    verb = "is not a member" if len(strangers) == 1 else "are not members"
    realm = backend_access.place.node.realm
    return f"{told} of {realm} too; {named} {verb}. Adopting a grant makes its holder a member."


def _owners(backend_access: BackendAccess) -> list[DiscoveredOwner]:
    return [_line(backend_access, found) for found in owners.suggestions(backend_access.row, OWNERS)]


def _line(backend_access: BackendAccess, found: Suggestion) -> DiscoveredOwner:
    objects = words.count(found.objects, "object")
    if found.who is None:
        return DiscoveredOwner(found.name, objects, "Nobody of that name is a member here")
    if not found.left:
        return DiscoveredOwner(found.name, objects, f"{found.who.label} owns the same here")
    url = (
        reverse("console:discover_owner", args=[backend_access.row.pk])
        + f"?{urlencode({'name': found.name})}"
    )
    here = f"{words.count(found.left, 'object')} not owned by {found.who.label} here"
    act = Action("Take over", url, "mini", more=f"that {found.name} owns {words.count(found.left, 'object')}")
    return DiscoveredOwner(found.name, objects, here, act)


class TakeOverView(ChangeView):
    """Make the owner of things in the source their owner here: what it would do; then it is decided."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = "Nothing was changed."
    owner: Principal

    def get_object(self) -> BackendAccess:
        one = there(self.request, self.kwargs["id"])
        owner = owners.member(one.row, self.name) if one.may_look and "\0" not in self.name else None
        if owner is None:
            raise Http404
        self.owner = owner
        return one

    @property
    def name(self) -> str:
        """What the owner is called in the source."""
        return self.request.GET.get("name", "")[:300]

    @cached_property
    def places(self) -> list[Node]:
        return list(owners.left(self.object.row, self.name))

    def plan(self, form: ConfirmForm) -> Plan:
        places, who = self.places, self.owner.label
        lines = [DiffLine("change", place.ref.full_name, f"belongs to {who}") for place in places[:NAMED]]
        if len(places) > NAMED:
            rest = words.count(len(places) - NAMED, "object")
            lines.append(DiffLine("change", f"and {rest} more", f"belong to {who}"))
        return Plan(diff=Diff(tuple(lines)), nothing=not places)

    def save(self, form: ConfirmForm, actor: Actor) -> int:
        return owners.adopt(self.object.row, self.name, by=actor, reason=form.cleaned_data["reason"])

    def note_of(self, form: ConfirmForm, problem: Exception) -> Note:
        return Note("bad", self.not_saved, str(problem))

    def success_message(self, form: ConfirmForm) -> str:
        many = words.count(self.result, "object") if self.result is not None else ""
        return f"{self.owner.label} owns {many} here too" if many else ""

    def may_undo(self) -> bool:
        return False

    def heading(self, form: ConfirmForm) -> str:
        return f"Make {self.owner.label} the owner here as well?"

    def lead(self) -> str:
        many = words.count(len(self.places), "object")
        return (
            f"{self.name} owns {many} in {self.object.name} and not here. "
            "Everything inside goes with them. Owners may do everything with what they own, and grant it."
        )

    def button(self, form: ConfirmForm) -> str:
        return f"Make {self.owner.label} the owner"

    def back(self) -> str:
        return reverse("console:discover", args=[self.object.row.pk])

    def page_context(self, form: ConfirmForm) -> dict[str, Any]:
        return {"look": "primary", "keep": "Leave it as it is", "leave": "Back to Sync"}

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        place = self.object.place
        return page(
            self.request,
            self.template_name,
            context,
            section="sync",
            realm=place.node.realm,
            revision=place.slice.revision,
            status=status,
        )


@reads
@login_required
def progress(request: Request, id: int) -> HttpResponse:
    """How far the last reading is."""
    one = there(request, id)
    context = {
        "reading": _reading(discoveries.latest(one.row)),
        "progress_url": request.get_full_path(),
    }
    return render(request, "console/sync/reading.html", context)
