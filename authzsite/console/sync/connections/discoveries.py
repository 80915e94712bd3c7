"""Reading what a connected source holds: how far it is, what it brought, whose things are there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

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
from authzsite.console.kit.replay import Proposal, ReplaySection, root_of, section_of
from authzsite.console.sync.backend import BackendAccess, there
from authzsite.console.sync.connections.views import renewal
from catalog.nodes import Node
from lakewarden.backends import kinds
from lakewarden.backends.errors import Misconfigured
from policies.authority import Actor
from policies.data_views.visibility import governed
from policies.errors import Refused
from policies.models import BackendLogins, Discovery, RealmMember
from policies.record import access_log
from policies.simulation import stored_replays
from policies.simulation.changes import SetOwner
from policies.sync.connections import registration
from policies.sync.differences import findings
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
    replay: ReplaySection | None = None
    """Which uses are refused or allowed since objects moved there."""


def _reading(backend_access: BackendAccess, *, may_ask: bool) -> Reading | None:
    """What the last one came to, for who gives access there or may ask for another.

    It counts and names what is hidden from those who merely use the catalog.
    """
    row = discoveries.latest(backend_access.row)
    if row is None or not (may_ask or backend_access.may_look):
        return None
    if row.finished is None:
        if not row.total:
            text = _("Waiting for a worker") if row.started is None else _("Reading what exists there")
            return Reading(Note("plain", text), going=True, text=text)
        text = _("%(done)s of %(total)s") % {
            "done": words.number(row.done),
            "total": words.count(row.total, "object"),
        }
        return Reading(Note("plain", _("Reading"), text), True, row.done, max(row.total, 1), text)
    when = words.moment(row.finished, within=True)
    if row.error:
        return Reading(
            Note(
                "bad",
                _("It could not be read."),
                _("%(error)s Nothing was lost; %(when)s.") % {"error": row.error, "when": when},
            )
        )
    new = words.count(row.added, "object")
    changes = [
        _("%(new)s new") % {"new": new},
        _("%(renamed)s renamed") % {"renamed": words.number(row.renamed)},
        _("%(described)s described") % {"described": words.number(row.described)},
    ]
    vanished_count = (
        ngettext(
            "%(number)s object vanished there and stays here until someone closes it.",
            "%(number)s objects vanished there and stay here until someone closes them.",
            row.vanished,
        )
        % {"number": words.number(row.vanished)}
        if row.vanished
        else ""
    )
    return Reading(
        Note(
            "plain",
            _("Read %(when)s: %(told)s.") % {"when": when, "told": words.listed(changes)},
            " ".join(filter(None, (_moved(row), vanished_count, _left_out(row)))),
        ),
        replay=_replay(backend_access, row),
    )


def _moved(row: Discovery) -> str:
    text = ngettext(
        "%(number)s object was moved there to another place, so the rights of that place count for it.",
        "%(number)s objects were moved there to other places, so the rights of those places count for them.",
        row.moved,
    )
    return text % {"number": words.number(row.moved)} if row.moved else ""


def _replay(backend_access: BackendAccess, row: Discovery) -> ReplaySection | None:
    """What the moves of a reading do to uses, for viewers who may see everybody's access to the catalog."""
    if not row.replays:
        return None
    node = backend_access.place.node
    seen = governed(backend_access.place.asker, root_of(node)) or frozenset()
    if seen.isdisjoint(node.lineage):
        return None
    return section_of(stored_replays.all_from_json(row.replays))


def _left_out(row: Discovery) -> str:
    if not row.left_out_count:
        return ""
    some = "; ".join(map(findings.ungovernable_in_words, row.left_out[:NAMED]))
    return _("%(left_out_count)s left out: %(some)s.") % {
        "left_out_count": words.count(row.left_out_count, "object"),
        "some": some,
    }


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
    backend_access = there(request, id)
    if request.method == "POST":
        actor = Actor(backend_access.place.asker, "console", request_id=nonce_in(request.POST))
        try:
            if request.POST.get("nightly") in ("yes", "no"):
                if done_before(actor) is None:
                    discoveries.set_nightly(backend_access.row, by=actor, on=request.POST["nightly"] == "yes")
            else:
                discoveries.ask(backend_access.row, by=actor)
        except Refused:
            access_log.refused(
                backend_access.place.asker, registration.DUTY, backend_access.place.node, via="console"
            )
            return _show(request, backend_access, status=403)
        return redirect("console:discover", id=id)
    return _show(request, backend_access)


def _show(request: Request, backend_access: BackendAccess, *, status: int = 200) -> HttpResponse:
    node, may = (
        backend_access.place.node,
        registration.may_connect(backend_access.place.actor, backend_access.place.node),
    )
    root = next(iter(node.above()), node)
    vanished = Action(
        _("Vanished objects"), reverse("console:sync_vanished", args=[backend_access.row.pk]), "plain"
    )
    context: dict[str, Any] = {
        "heading": _("What %(name)s holds") % {"name": node.name},
        "lead": _lead(backend_access),
        "crumbs": Crumbs(((_("Sync"), reverse("console:sync")), (backend_access.name, backend_access.url))),
        "actions": [
            *([vanished] if may or backend_access.may_look else []),
            Action(_("Browse"), terms.page_of(node.id, node.type)),
            *([Action(_("Change the connection"), renewal(backend_access.row, root, node))] if may else []),
        ],
        "may": may,
        "locked": None
        if may
        else Reason(
            "why-not-read",
            _("Only the owner of %(name)s or a holder of the connect duty can read it.")
            % {"name": node.name},
        ),
        "reading": _reading(backend_access, may_ask=may),
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
        return _("%(system)s cannot be read: no backend of that kind is installed.") % {"system": system}
    types = dict.fromkeys(
        type_ for type_ in kind.discovers.values() if type_ != backend_access.place.node.type
    )
    names_ = words.listed([terms.several(type_) for type_ in types])
    return _("%(upper)s%(told)s, read from %(system)s whenever you ask.") % {
        "upper": names_[:1].upper(),
        "told": names_[1:],
        "system": system,
    }


def _logins(backend_access: BackendAccess) -> str:
    """Logins there that are members here, as a number: the pages of people have the rest."""
    row = BackendLogins.objects.filter(backend=backend_access.row).first()
    if row is None:
        return ""
    members = RealmMember.objects.open().filter(
        realm=backend_access.row.realm_id, principal__name__in=row.names
    )
    names = set(members.values_list("principal__name", flat=True))
    strangers = [name for name in row.names if name not in names]
    sentence = ngettext(
        "%(number)s login there is a member of %(realm)s too",
        "%(number)s logins there are members of %(realm)s too",
        len(names),
    ) % {"number": words.number(len(names)), "realm": backend_access.place.node.realm}
    if not strangers:
        return f"{sentence}."
    return ngettext(
        "%(told)s; %(named)s is not a member. Adopting a grant makes its holder a member.",
        "%(told)s; %(named)s are not members. Adopting a grant makes its holder a member.",
        len(strangers),
    ) % {"told": sentence, "named": words.listed(strangers, NAMED)}


def _owners(backend_access: BackendAccess) -> list[DiscoveredOwner]:
    return [
        _line(backend_access, suggestion) for suggestion in owners.suggestions(backend_access.row, OWNERS)
    ]


def _line(backend_access: BackendAccess, suggestion: Suggestion) -> DiscoveredOwner:
    objects = words.count(suggestion.objects, "object")
    if suggestion.who is None:
        return DiscoveredOwner(suggestion.name, objects, _("No member here has that name"))
    if not suggestion.left:
        return DiscoveredOwner(
            suggestion.name, objects, _("%(label)s owns the same here") % {"label": suggestion.who.label}
        )
    url = (
        reverse("console:discover_owner", args=[backend_access.row.pk])
        + f"?{urlencode({'name': suggestion.name})}"
    )
    not_owned = _("%(left)s not owned by %(label)s here") % {
        "left": words.count(suggestion.left, "object"),
        "label": suggestion.who.label,
    }
    act = Action(
        _("Take over"),
        url,
        "mini",
        more=_("that %(name)s owns %(left)s")
        % {"name": suggestion.name, "left": words.count(suggestion.left, "object")},
    )
    return DiscoveredOwner(suggestion.name, objects, not_owned, act)


class TakeOverView(ChangeView):
    """Make the owner of things in the source their owner here: what it would do; then it is decided."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Nothing was changed.")
    owner: Principal

    def get_object(self) -> BackendAccess:
        backend_access = there(self.request, self.kwargs["id"])
        owner = (
            owners.member(backend_access.row, self.name)
            if backend_access.may_look and "\0" not in self.name
            else None
        )
        if owner is None:
            raise Http404
        self.owner = owner
        return backend_access

    @property
    def name(self) -> str:
        """What the owner is called in the source."""
        return self.request.GET.get("name", "")[:300]

    @cached_property
    def places(self) -> list[Node]:
        return list(owners.left(self.object.row, self.name))

    def plan(self, form: ConfirmForm) -> Plan:
        places, who = self.places, self.owner.label
        lines = [
            DiffLine("change", place.ref.full_name, _("belongs to %(who)s") % {"who": who})
            for place in places[:NAMED]
        ]
        if len(places) > NAMED:
            rest = words.count(len(places) - NAMED, "object")
            lines.append(
                DiffLine(
                    "change", _("and %(rest)s more") % {"rest": rest}, _("belong to %(who)s") % {"who": who}
                )
            )
        return Plan(diff=Diff(tuple(lines)), nothing=not places, notes=() if places else (self._done(),))

    def _done(self) -> Note:
        owned = _("%(label)s owns here what %(name)s owns in %(backend)s.") % {
            "label": self.owner.label,
            "name": self.name,
            "backend": self.object.name,
        }
        return Note("plain", owned, _("Nothing is left to take over."))

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        yield (
            root_of(self.object.place.node),
            [SetOwner(place, self.owner) for place in self.places[: owners.MOST]],
        )

    def save(self, form: ConfirmForm, actor: Actor) -> int:
        return owners.adopt(self.object.row, self.name, by=actor, reason=form.cleaned_data["reason"])

    def note_of(self, form: ConfirmForm, problem: Exception) -> Note:
        return Note("bad", self.not_saved, str(problem))

    def success_message(self, form: ConfirmForm) -> str:
        many = words.count(self.result, "object") if self.result is not None else ""
        return (
            _("%(label)s owns %(many)s here too") % {"label": self.owner.label, "many": many} if many else ""
        )

    def may_undo(self) -> bool:
        return False

    def heading(self, form: ConfirmForm) -> str:
        return _("Make %(name)s the owner here?") % {"name": self.owner.label}

    def lead(self) -> str:
        many = words.count(len(self.places), "object")
        return _(
            "%(name)s owns %(many)s in %(name2)s and not here. Everything inside goes with them. "
            "Owners may do everything with what they own, and grant it."
        ) % {"name": self.name, "many": many, "name2": self.object.name}

    def button(self, form: ConfirmForm) -> str:
        return _("Make %(label)s the owner") % {"label": self.owner.label}

    def back(self) -> str:
        return reverse("console:discover", args=[self.object.row.pk])

    def page_context(self, form: ConfirmForm) -> dict[str, Any]:
        return {"look": "primary", "keep": _("Leave it as it is"), "leave": _("Back to Sync")}

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
    backend_access = there(request, id)
    may = registration.may_connect(backend_access.place.actor, backend_access.place.node)
    context = {
        "reading": _reading(backend_access, may_ask=may),
        "progress_url": request.get_full_path(),
    }
    return render(request, "console/sync/reading.html", context)
