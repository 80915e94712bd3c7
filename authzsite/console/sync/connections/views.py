"""Connecting a catalog, or a whole realm, to the system behind it: chosen, filled in, tried, then kept.

A password is never shown again: between a try and the connection it travels sealed.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Crumbs, Empty, Note, Verdict
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import say
from authzsite.console.roles.views import nonce_in
from authzsite.console.settings.realm import RealmAccess, kinds_for, realm_at, show
from authzsite.console.sync.connections.form import POLICIES, SERVER, ConnectionForm, prefilled
from catalog.nodes import Node
from lakewarden.backends.base import Finding, Source
from lakewarden.backends.errors import BackendError, Misconfigured
from lakewarden.backends.kinds import Kind
from policies.authority import Actor
from policies.errors import PolicyError
from policies.events import BACKEND_CONNECTED
from policies.models import Backend
from policies.record import access_log
from policies.record.change import change
from policies.services.grants import revision_now
from policies.sync.connections import registration
from policies.sync.connections.trial import tried


@dataclass(frozen=True)
class Choice:
    """A kind of system to connect to."""

    label: str
    url: str
    example: str
    what: str
    experimental: str


@reads_and_writes
@login_required
def connect(request: Request, id: int) -> HttpResponse:
    """Which kind of system; the form; a try; the connection."""
    ward = realm_at(request, id)
    if not kinds_for(ward):
        raise Http404
    actor = Actor(ward.asker, "console", request_id=nonce_in(request))
    if not registration.may_connect(actor, ward.root):
        return _refused(request, ward)
    if request.method != "POST":
        wanted = ConnectionForm(ward, prefilled(request.GET.dict(), ward))
        return _show(request, wanted, wanted.kind, []) if wanted.kind else _choose(request, ward)
    wanted = ConnectionForm(ward, request.POST)
    if wanted.kind is None:
        return _choose(request, ward, status=422)
    if not wanted.check():
        return _show(request, wanted, wanted.kind, [], status=422)
    return _tried(request, wanted, wanted.kind, actor)


def _choose(request: Request, ward: RealmAccess, *, status: int = 200) -> HttpResponse:
    catalog = request.GET.get("catalog", "")[:255]
    known = sorted(kinds_for(ward).values(), key=lambda one: (bool(one.experimental), one.whole_realm))
    context = {
        "crumbs": Crumbs((("Realms", reverse("console:realms")), (ward.root.name, ward.url))),
        "heading": f"Connect {ward.root.name}",
        "lead": "Which system is behind it? Decisions are applied there and read back.",
        "choices": [_choice(ward, item, catalog) for item in known],
        "none": Empty("Nothing can be connected", "No kind of system is installed that this realm can use."),
    }
    return show(request, "console/sync/connect_kinds.html", ward, context, status=status)


def _choice(ward: RealmAccess, kind: Kind, catalog: str) -> Choice:
    what = f"All of {ward.root.name}" if kind.whole_realm else "One catalog"
    return Choice(kind.label, address(ward.root, catalog, kind.code), kind.example, what, kind.experimental)


def _tried(request: Request, wanted: ConnectionForm, kind: Kind, actor: Actor) -> HttpResponse:
    try:
        found = tried(kind.code, wanted.url(kind), realm=wanted.ward.root.name)
    except Misconfigured as problem:
        note = Note("bad", "It cannot be tried.", _sentence(str(problem)))
        return _show(request, wanted, kind, [note], status=422)
    if found.source is None or not found.reached:
        said = [
            _sentence(finding.text.removeprefix("cannot connect or read: ")) for finding in found.findings
        ]
        note = Note("bad", "It does not answer.", f"{' '.join(said)} Nothing is kept.")
        return _show(request, wanted, kind, [note], failed=True, status=422)
    if request.POST.get("step") != "connect":
        return _show(request, wanted, kind, [], found=found.findings)
    return _connect(request, wanted, kind, actor, found.source)


def _sentence(text: str) -> str:
    """What a system says, with a beginning and an end; a name that stands first stays as it is."""
    begins = text[:1].upper() if text.partition(" ")[0].isalpha() else text[:1]
    return f"{begins}{text[1:]}{'' if text[-1:] in ('.', '?', '!') else '.'}"


def _connect(
    request: Request, wanted: ConnectionForm, kind: Kind, actor: Actor, source: Source
) -> HttpResponse:
    root, name = wanted.ward.root, "" if kind.whole_realm else wanted.said("catalog")
    if done_before(actor) is None:
        try:
            with change(BACKEND_CONNECTED, realm=wanted.ward.realm, by=actor):
                authority, url = registration.authority_to_connect(actor, root), wanted.url(kind)
                registration.connect(
                    root,
                    name,
                    kind.code,
                    url,
                    policy=wanted.policy,
                    by=actor,
                    authority=authority,
                    source=source,
                )
        except (PolicyError, BackendError) as problem:
            return _show(request, wanted, kind, [Note("bad", "Not connected.", str(problem))], status=422)
    row = ConnectionForm(wanted.ward, {"catalog": name, "kind": kind.code}).before
    waits = ". It only reports until a site admin agrees" if row is not None and row.awaits else ""
    say(request, f"{name or root.name} is connected; read what it holds next{waits}")
    if row is None:
        return redirect(wanted.ward.url)
    return redirect("console:discover", id=row.pk)


def _refused(request: Request, ward: RealmAccess) -> HttpResponse:
    access_log.refused(ward.asker, registration.DUTY, ward.root, via="console")
    text = f"It takes the duty to connect backends, or {ward.owner_words()}."
    verdict = Verdict("no", f"You cannot connect catalogs of {ward.root.name}", text, level=1)
    actions = (Action(f"Back to {ward.root.name}", ward.url),)
    context = {"verdict": verdict, "actions": actions}
    return show(request, "errors/refused.html", ward, context, status=403)


def _show(
    request: Request,
    wanted: ConnectionForm,
    kind: Kind,
    notes: list[Note],
    *,
    found: list[Finding] | None = None,
    failed: bool = False,
    status: int = 200,
) -> HttpResponse:
    root = wanted.ward.root
    what = root.name if kind.whole_realm else f"a catalog of {root.name}"
    context: dict[str, Any] = {
        "heading": f"Connect {what} to {kind.label}",
        "notes": notes,
        "kind": kind,
        "others": address(root),
        "catalog": wanted.said("catalog"),
        **{name: wanted.said(name) for name in SERVER},
        "fields": list(wanted.fields()),
        "asks_server": wanted.asks_server,
        "asks_account": wanted.asks_account,
        "again": wanted.name if wanted.before is not None else "",
        "policy": wanted.policy,
        "policies": POLICIES,
        "sealed": wanted.sealed if request.method == "POST" else "",
        "has_password": bool(wanted.password),
        "findings": found or (),
        "found_words": _found_words(found or ()),
        "tried": found is not None,
        "failed": failed,
        "problems": wanted.problems,
        "nonce": secrets.token_hex(12),
        "seen": revision_now(),
        "back": wanted.ward.url,
        "here": address(root),
    }
    return show(request, "console/sync/connect.html", wanted.ward, context, status=status)


def _found_words(found: Any) -> str:
    look = sum(not item.ok for item in found)
    return f"It answers; {words.count(look, 'thing')} to look at" if look else "It answers; all is well"


def address(root: Node, catalog: str = "", kind: str = "") -> str:
    """Where a catalog is connected, or its connection renewed; without a kind it is chosen first."""
    asked = {name: value for name, value in (("catalog", catalog), ("kind", kind)) if value}
    return reverse("console:connect", args=[root.id]) + (f"?{urlencode(asked)}" if asked else "")


def renewal(row: Backend, root: Node, place: Node) -> str:
    """Where the connection of a backend is renewed."""
    return address(root, "" if place.id == root.id else place.name, row.kind)
