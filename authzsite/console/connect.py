"""Connecting a catalog to the system behind it: filled in, tried with what was found in words, then kept.

A password is never shown again: between a try and the connection it travels sealed.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console import words
from authzsite.console.conflict import done_before
from authzsite.console.door import signed_in
from authzsite.console.methods import reads_and_writes
from authzsite.console.parts import Action, Note, Verdict
from authzsite.console.realm import Ward, realm_at, show
from authzsite.console.requests import Request
from authzsite.console.roles import nonce_in
from authzsite.console.shell import say
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.backends import kinds
from lakewarden.backends.base import Finding
from lakewarden.backends.errors import BackendError, Misconfigured
from lakewarden.backends.kinds import Kind
from lakewarden.objects import ObjectRef
from policies import access_log
from policies.authority import Actor
from policies.changes import change
from policies.errors import PolicyError
from policies.events import BACKEND_CONNECTED
from policies.models import Backend
from policies.services import backends
from policies.services.grants import revision_now
from policies.sync.seal import seal, unseal
from policies.sync.trying import reached, tried

TLS = (
    ("prefer", "If the server can"),
    ("require", "Always encrypted"),
    ("verify-full", "Encrypted, and the server proves its name"),
)
POLICIES = (
    ("report", "Only report", "What differs is shown. Nothing is changed out there."),
    ("repair", "Repair", "What is decided here is made true there; what others granted is left alone."),
)
FIELDS = ("catalog", "host", "port", "database", "user")


@dataclass
class Wanted:
    """What a form says of a connection; `problems` name, by field, why it cannot be tried."""

    ward: Ward
    data: QueryDict | dict[str, str]
    problems: dict[str, str] = field(default_factory=dict)

    def said(self, name: str) -> str:
        return str(self.data.get(name, "")).strip()[:255].replace("\0", "")

    @cached_property
    def kind(self) -> str:
        known = kinds_built()
        return self.said("kind") if self.said("kind") in known else next(iter(known))

    @cached_property
    def tls(self) -> str:
        asked = self.said("tls")
        return asked if asked in dict(TLS) else "prefer"

    @cached_property
    def policy(self) -> str:
        asked = self.said("policy")
        return asked if asked in Backend.Policy.values else Backend.Policy.REPORT

    @cached_property
    def before(self) -> Backend | None:
        """The connection that the catalog has now."""
        node = self.catalog
        return Backend.objects.filter(catalog=node.id).first() if node else None

    @cached_property
    def catalog(self) -> Node | None:
        name = self.said("catalog")
        return find(ObjectRef("catalog", self.ward.root.name, (name,))) if name else None

    @cached_property
    def password(self) -> str:
        """What was typed now, or in the try before, or what is kept already."""
        typed = str(self.data.get("password", ""))
        if typed:
            return typed
        kept = _opened(self.said_sealed, self.ward)
        if kept is not None:
            return kept
        same = self.before and _host_of(self.before) == (self.said("host"), self.said("user"))
        return _kept(self.before).get("password", "") if self.before and same else ""

    @property
    def said_sealed(self) -> str:
        return str(self.data.get("sealed", ""))[:4000]

    @property
    def url(self) -> str:
        values = {name: self.said(name) for name in ("host", "port", "database", "user")}
        return kinds.get(self.kind).address({**values, "password": self.password, "tls": self.tls})

    def check(self) -> bool:
        for name, told in (
            ("catalog", "Name the catalog, such as shop."),
            ("host", "Name the server."),
            ("database", "Name the database."),
            ("user", "Name the account it signs in with."),
        ):
            asked = {one.name for one in kinds.get(self.kind).fields if one.required}
            optional = name == "database" and name not in asked
            if not self.said(name) and not optional:
                self.problems[name] = told
        if "/" in self.said("catalog") or "." in self.said("catalog"):
            self.problems["catalog"] = "A catalog's name has no slash and no dot."
        if self.said("port") and not (self.said("port").isdecimal() and 0 < int(self.said("port")) < 65536):
            self.problems["port"] = "A port is a number up to 65535."
        return not self.problems


def kinds_built() -> dict[str, Kind]:
    """The kinds of backend that can be connected to a catalog."""
    return {code: kind for code, kind in kinds.built().items() if not kind.whole_realm}


def _kept(row: Backend) -> dict[str, str]:
    try:
        return dict(kinds.get(row.kind).parts(unseal(row.sealed_url)))
    except BackendError:
        return {}


def _host_of(row: Backend) -> tuple[str, str]:
    parts = _kept(row)
    return parts.get("host", ""), parts.get("user", "")


def _sealed(wanted: Wanted) -> str:
    return seal(f"{wanted.ward.asker.pk} {wanted.password}") if wanted.password else ""


def _opened(sealed: str, ward: Ward) -> str | None:
    """A password that this very person typed before."""
    if not sealed:
        return None
    try:
        whose, _, password = unseal(sealed).partition(" ")
    except BackendError:
        return None
    return password if whose == str(ward.asker.pk) else None


@reads_and_writes
@signed_in
def connect(request: Request, id: int) -> HttpResponse:
    """The form; a try; the connection."""
    ward = realm_at(request, id)
    if ward.root.type != "metalake":
        raise Http404
    actor = Actor(ward.asker, "console", request_id=nonce_in(request))
    if not backends.may_connect(actor, ward.root):
        return _refused(request, ward)
    if request.method != "POST":
        return _show(request, Wanted(ward, _prefilled(request, ward)), [])
    wanted = Wanted(ward, request.POST)
    if not wanted.check():
        return _show(request, wanted, [], status=422)
    return _tried(request, wanted, actor)


def _prefilled(request: Request, ward: Ward) -> dict[str, str]:
    """What is kept of a connection that is to be renewed, but for its secret."""
    name = request.GET.get("catalog", "")[:255]
    wanted = Wanted(ward, {"catalog": name})
    if not name or wanted.before is None:
        return {"catalog": name}
    parts = _kept(wanted.before)
    return {
        "catalog": name,
        "kind": wanted.before.kind,
        "host": parts.get("host", ""),
        "port": parts.get("port", ""),
        "database": parts.get("dbname", ""),
        "user": parts.get("user", ""),
        "tls": parts.get("sslmode", ""),
        "policy": wanted.before.policy,
    }


def _tried(request: Request, wanted: Wanted, actor: Actor) -> HttpResponse:
    try:
        found = tried(wanted.kind, wanted.url, realm=wanted.ward.root.name)
    except Misconfigured as problem:
        text = f"{str(problem)[:1].upper()}{str(problem)[1:]}."
        return _show(request, wanted, [Note("bad", "It cannot be tried.", text)], status=422)
    if not reached(found):
        text = f"{'; '.join(one.text for one in found)}. Nothing is kept."
        return _show(request, wanted, [Note("bad", "It does not answer.", text)], status=422)
    if request.POST.get("step") != "connect":
        return _show(request, wanted, [], found=found)
    return _connect(request, wanted, actor)


def _connect(request: Request, wanted: Wanted, actor: Actor) -> HttpResponse:
    root, name = wanted.ward.root, wanted.said("catalog")
    if done_before(actor) is None:
        try:
            with change(BACKEND_CONNECTED, realm=wanted.ward.realm, by=actor):
                authority = backends.authority_to_connect(actor, root)
                backends.connect(
                    root, name, wanted.kind, wanted.url, policy=wanted.policy, by=actor, authority=authority
                )
        except (PolicyError, BackendError) as problem:
            return _show(request, wanted, [Note("bad", "Not connected.", str(problem))], status=422)
    say(request, f"{name} is connected; read what it holds next")
    row = Wanted(wanted.ward, {"catalog": name}).before
    if row is None:
        return redirect(wanted.ward.url)
    return redirect("console:discover", id=row.pk)


def _refused(request: Request, ward: Ward) -> HttpResponse:
    access_log.refused(ward.asker, backends.DUTY, ward.root, via="console")
    text = f"It takes the duty to connect backends, or {ward.owner_words()}."
    verdict = Verdict("no", f"You cannot connect catalogs of {ward.root.name}", text, level=1)
    actions = (Action(f"Back to {ward.root.name}", ward.url),)
    context = {"verdict": verdict, "actions": actions}
    return show(request, "errors/refused.html", ward, context, status=403)


def _show(
    request: Request,
    wanted: Wanted,
    notes: list[Note],
    *,
    found: list[Finding] | None = None,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "heading": f"Connect a catalog of {wanted.ward.root.name}",
        "notes": notes,
        "kinds": [(code, kind.label) for code, kind in kinds_built().items()],
        "kind": wanted.kind,
        **{name: wanted.said(name) for name in FIELDS},
        "again": wanted.before is not None,
        "tls": wanted.tls,
        "tls_known": TLS,
        "policy": wanted.policy,
        "policies": POLICIES,
        "sealed": _sealed(wanted) if request.method == "POST" else "",
        "has_password": bool(wanted.password),
        "findings": found or (),
        "found_words": _found_words(found or ()),
        "tried": found is not None,
        "problems": wanted.problems,
        "nonce": secrets.token_hex(12),
        "seen": revision_now(),
        "back": wanted.ward.url,
        "here": f"{reverse('console:connect', args=[wanted.ward.root.id])}",
    }
    return show(request, "console/realms/connect.html", wanted.ward, context, status=status)


def _found_words(found: Any) -> str:
    look = sum(not one.ok for one in found)
    return f"It answers; {words.count(look, 'thing')} to look at" if look else "It answers; all is well"


def address(root: Node, catalog: str = "") -> str:
    """Where a catalog is connected, or its connection renewed."""
    asked = f"?{urlencode({'catalog': catalog})}" if catalog else ""
    return reverse("console:connect", args=[root.id]) + asked
