"""Connecting a catalog, or a whole realm, to the system behind it: chosen, filled in, tried, then kept.

A password is never shown again: between a try and the connection it travels sealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Crumbs, Empty, Note, Verdict
from authzsite.console.kit.http import Request
from authzsite.console.settings.realm import RealmAccess, kinds_for, realm_at, show
from authzsite.console.sync.connections.form import (
    POLICIES,
    REGISTERED,
    ConnectionForm,
    TypedConnection,
    prefilled,
)
from catalog.nodes import Node
from lakewarden.backends.base import Finding, Source
from lakewarden.backends.errors import BackendError, Misconfigured
from lakewarden.backends.kinds import Kind
from policies.authority import Actor
from policies.errors import Invalid
from policies.events import BACKEND_CONNECTED
from policies.models import Backend
from policies.record import access_log
from policies.record.change import change
from policies.sync.connections import by_hand, registration
from policies.sync.connections.finding_words import in_readers_language
from policies.sync.connections.trial import tried


@dataclass(frozen=True)
class Choice:
    """A kind of system to connect to."""

    label: str
    url: str
    example: str
    what: str
    experimental: str


class ConnectView(ChangeView):
    """Which kind of system; the form; a try; the connection."""

    template_name = "console/sync/connect.html"
    steps_up = True
    not_saved = gettext_lazy("Not connected.")
    object: RealmAccess
    kind: Kind
    found: Sequence[Finding] | None = None
    """What a try found; None while it was not tried."""
    failed = False
    """Whether it was tried and did not answer."""

    def get_object(self) -> RealmAccess:
        ward = realm_at(self.request, self.kwargs["id"])
        if not kinds_for(ward):
            raise Http404
        return ward

    def refusal(self) -> HttpResponse | None:
        ward = self.object
        if not registration.may_connect(Actor(self.asker, "console"), ward.root):
            access_log.refused(ward.asker, registration.DUTY, ward.root, via="console")
            text = _("Only %(owner_words)s or a holder of the connect duty can do this.") % {
                "owner_words": ward.owner_words()
            }
            verdict = Verdict(
                "no", _("You cannot connect catalogs of %(name)s") % {"name": ward.root.name}, text, level=1
            )
            actions = (Action(_("Back to %(name)s") % {"name": ward.root.name}, ward.url),)
            context = {"verdict": verdict, "actions": actions}
            return show(self.request, "errors/refused.html", ward, context, status=403)
        if self.request.method != "POST" and self.resumed is None:
            self.data = QueryDict(urlencode(prefilled(self.request.GET, ward)))
        kind = TypedConnection(ward, self.data).kind
        if kind is None:
            return _choose(self.request, ward, status=422 if self.request.method == "POST" else 200)
        self.kind = kind
        return None

    def make_form(self, data: Any) -> ConnectionForm:
        return ConnectionForm(data, ward=self.object)

    def form_valid(self, form: ConnectionForm) -> HttpResponse:
        """Try it first, also to connect; what does not answer is not kept."""
        if done_before(self.actor) is not None:
            return super().form_valid(form)
        try:
            trial = tried(self.kind.code, form.typed.url(self.kind), realm=self.object.root.name)
        except Misconfigured as problem:
            self.notes.append(Note("bad", _("It cannot be tested."), _sentence(str(problem))))
            return self.show(form, 422)
        if trial.source is None or not trial.reached:
            answers = [_sentence(item.cause or in_readers_language(item.text)) for item in trial.findings]
            text = _("%(said)s Nothing is saved.") % {"said": " ".join(answers)}
            self.notes.append(Note("bad", _("The connection failed."), text))
            self.failed = True
            return self.show(form, 422)
        if self.request.POST.get("step") != "connect":
            self.found = trial.findings
            return self.show(form)
        self.source: Source = trial.source
        return super().form_valid(form)

    @property
    def catalog(self) -> str:
        """The name of the catalog; nothing for a whole realm."""
        return "" if self.kind.whole_realm else TypedConnection(self.object, self.data).said("catalog")

    def save(self, form: ConnectionForm, actor: Actor) -> None:
        root, url = self.object.root, form.typed.url(self.kind)
        try:
            with change(BACKEND_CONNECTED, realm=self.object.realm, by=actor):
                registration.connect(
                    root,
                    self.catalog,
                    self.kind.code,
                    url,
                    policy=form.cleaned_data["policy"],
                    by=actor,
                    authority=registration.authority_to_connect(actor, root),
                    source=self.source,
                    registered=by_hand.Decision(
                        form.cleaned_data["registered"], form.cleaned_data["registered_seen"]
                    ),
                )
        except BackendError as problem:
            raise Invalid(str(problem)) from problem

    def note_of(self, form: ConnectionForm, problem: Exception) -> Note:
        return Note("bad", self.not_saved, str(problem))

    def _connected(self) -> Backend | None:
        """The connection as it is kept."""
        return TypedConnection(self.object, {"catalog": self.catalog, "kind": self.kind.code}).before

    def success_message(self, form: ConnectionForm) -> str:
        row = self._connected()
        text = (
            _("%(part)s is connected; read what it holds next. It only reports until a site admin agrees")
            if row is not None and row.awaits
            else _("%(part)s is connected; read what it holds next")
        )
        return text % {"part": self.catalog or self.object.root.name}

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        row = self._connected()
        return self.back() if row is None else reverse("console:discover", args=[row.pk])

    def heading(self, form: ConnectionForm) -> str:
        root = self.object.root
        what = root.name if self.kind.whole_realm else _("a catalog of %(name)s") % {"name": root.name}
        return _("Connect %(what)s to %(label)s") % {"what": what, "label": _(self.kind.label)}

    def lead(self) -> str:
        return _("It is tested first. The password is kept encrypted and never shown again.")

    def button(self, form: ConnectionForm) -> str:
        return _("Connect")

    def back(self) -> str:
        return self.object.url

    def plan(self, form: ConnectionForm) -> Plan | None:
        return None

    def page_context(self, form: ConnectionForm) -> dict[str, Any]:
        typed, kinds = form.typed, self.found or ()
        look = sum(not item.ok for item in kinds)
        found_words = (
            _("It answers; %(look)s to check") % {"look": words.count(look, "thing")}
            if look
            else _("It answers; all is well")
        )
        return {
            "kind": self.kind,
            "others": address(self.object.root),
            "again": typed.name if typed.before is not None else "",
            "policies": POLICIES,
            "registered": typed.registered[: by_hand.MOST_SHOWN],
            "registered_more": len(typed.registered[by_hand.MOST_SHOWN :]),
            "registered_seen": by_hand.likeness(typed.registered),
            "choices": REGISTERED,
            "sealed": typed.sealed if self.request.method == "POST" else "",
            "findings": [replace(finding, text=in_readers_language(finding.text)) for finding in kinds],
            "found_words": found_words,
            "tried": self.found is not None,
            "failed": self.failed,
            "here": address(self.object.root),
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return show(self.request, self.template_name, self.object, context, status=status)


def _choose(request: Request, ward: RealmAccess, *, status: int) -> HttpResponse:
    catalog = request.GET.get("catalog", "")[:255]
    kinds = sorted(kinds_for(ward).values(), key=lambda kind: (bool(kind.experimental), kind.whole_realm))
    context = {
        "crumbs": Crumbs(((_("Realms"), reverse("console:realms")), (ward.root.name, ward.url))),
        "heading": _("Connect %(name)s") % {"name": ward.root.name},
        "lead": _("Which system is behind it? Decisions are applied there and read back."),
        "choices": [_choice(ward, item, catalog) for item in kinds],
        "none": Empty(
            _("Nothing can be connected"), _("No kind of system is installed that this realm can use.")
        ),
    }
    return show(request, "console/sync/connect_kinds.html", ward, context, status=status)


def _choice(ward: RealmAccess, kind: Kind, catalog: str) -> Choice:
    what = _("All of %(name)s") % {"name": ward.root.name} if kind.whole_realm else _("One catalog")
    warning = _(kind.experimental) if kind.experimental else ""
    return Choice(_(kind.label), address(ward.root, catalog, kind.code), kind.example, what, warning)


def _sentence(text: str) -> str:
    """What a system says, with a beginning and an end; a name that stands first stays as it is."""
    begins = text[:1].upper() if text.partition(" ")[0].isalpha() else text[:1]
    return f"{begins}{text[1:]}{'' if text[-1:] in ('.', '?', '!') else '.'}"


def address(root: Node, catalog: str = "", kind: str = "") -> str:
    """Where a catalog is connected, or its connection renewed; without a kind it is chosen first."""
    query = {name: value for name, value in (("catalog", catalog), ("kind", kind)) if value}
    return reverse("console:connect", args=[root.id]) + (f"?{urlencode(query)}" if query else "")


def renewal(row: Backend, root: Node, place: Node) -> str:
    """Where the connection of a backend is renewed."""
    return address(root, "" if place.id == root.id else place.name, row.kind)
