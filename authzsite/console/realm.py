"""The page of a realm: who owns it, whether its law is enforced, its switches, what it is connected to."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from accounts.models import Principal
from authzsite.console import admins, modes, naming, words
from authzsite.console.conflict import done_before
from authzsite.console.door import signed_in
from authzsite.console.methods import reads, reads_and_writes
from authzsite.console.outside import Behind, to_look_at
from authzsite.console.parts import (
    Action,
    Crumbs,
    Diff,
    DiffLine,
    Empty,
    Face,
    Fact,
    Facts,
    Note,
    Reason,
    State,
    Verdict,
    Who,
)
from authzsite.console.realms import kind_words, members_words
from authzsite.console.requests import Request, asker_of
from authzsite.console.revoke import MANY
from authzsite.console.roles import nonce_in
from authzsite.console.shell import page, say
from catalog.models import Detail, Mode, Realm
from catalog.nodes import Node, nodes
from catalog.queries import node as find_node
from lakewarden import dialects
from lakewarden.facts import Slice
from policies import access_log, decisions, offices, slices
from policies.authority import Actor
from policies.changes import change
from policies.errors import PolicyError
from policies.events import MODE_SET, REALM_SET
from policies.models import Backend, RealmMember
from policies.queries import owner_of
from policies.services import backends, realms
from policies.services.grants import revision_now

CDAP = (
    ("authentication", "Authentication", "Off: CDAP's own calls answer that security is not enabled."),
    ("master_user", "Master user", "As whom programs run without impersonation; has everything in system."),
    ("admin_group", "Admin group", "Whose members may grant and revoke."),
)


@dataclass(frozen=True)
class Line:
    """One connection of the realm."""

    what: Who
    state: State
    does: str


@dataclass(frozen=True)
class Choice:
    """One way to set the authorization of a realm."""

    code: str
    word: str
    text: str
    current: bool
    action: Action | None


@dataclass(frozen=True)
class Ward:
    """A realm as one viewer meets it."""

    asker: Principal
    root: Node

    @cached_property
    def realm(self) -> Realm:
        return Realm.objects.get(pk=self.root.realm_id)

    @cached_property
    def slice(self) -> Slice:
        return slices.current(self.asker, self.root)

    @cached_property
    def mode(self) -> str:
        return Mode.objects.open().get(realm=self.root.realm_id).mode

    @cached_property
    def owner(self) -> Principal | None:
        return owner_of(self.root)

    @cached_property
    def inside(self) -> bool:
        """Whether its pages are open to him."""
        return decisions.may_see(self.slice, self.root, now=timezone.now())

    @cached_property
    def owns(self) -> bool:
        return bool(offices.ask_switch(self.asker, self.root, enforced=False))

    def may_switch(self, mode: str) -> bool:
        return bool(offices.ask_switch(self.asker, self.root, enforced=mode == "on"))

    @property
    def url(self) -> str:
        return reverse("console:realm", args=[self.root.id])

    def owner_words(self) -> str:
        return f"its owner, {naming.spoken(self.owner)}" if self.owner else "nobody: it has no owner"


def realm_at(request: Request, id: int) -> Ward:
    """The realm of that number, for who may see it and for who runs the site; else the same Http404."""
    node = find_node(id)
    if node is None or len(node.levels) > 1:
        raise Http404
    ward = Ward(asker_of(request), node)
    if not ward.inside and not admins.may(request):
        access_log.refused(ward.asker, decisions.operation_for(node, "read"), node, via="console")
        raise Http404
    return ward


@reads
@signed_in
def room(request: Request, id: int) -> HttpResponse:
    """The realm's own page."""
    ward = realm_at(request, id)
    root = ward.root
    detail = Detail.objects.filter(securable=root.id).first()
    lines = list(_lines(ward))
    context = {
        "heading": root.name,
        "kind": kind_words(root),
        "lead": detail.comment if detail else "",
        "crumbs": Crumbs((("Realms", reverse("console:realms")),)),
        "actions": list(_actions(ward)),
        "facts": Facts(tuple(_facts(ward))),
        "choices": list(_choices(ward)),
        "locked": None if ward.owns else _locked(ward),
        "settings": _settings(ward),
        "settings_url": reverse("console:realm_settings", args=[root.id]) if ward.owns else "",
        "connectable": root.type == "metalake",
        "connect": _connect(ward),
        "no_connect": _no_connect(ward),
        "lines": lines,
        "no_lines": Empty("No catalog is connected", "Connect one to keep its rights true.", drawn=False),
    }
    return show(request, "console/realms/realm.html", ward, context)


def show(
    request: Request, template: str, ward: Ward, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """A page about a realm, with the loud banner where its law is not enforced."""
    return page(
        request,
        template,
        context,
        room="realms",
        realm=ward.root.name,
        kind=ward.root.type,
        revision=revision_now(),
        banner=modes.banner(ward.root.name, ward.mode),
        status=status,
    )


def _actions(ward: Ward) -> Iterable[Action]:
    if not ward.inside:
        return
    root = ward.root
    yield Action("Duties", reverse("console:object_duties", args=[root.id]), "plain")
    if ward.owns:
        yield Action("Set owner", reverse("console:object_owner", args=[root.id]))
    yield Action(f"Open {root.name}", naming.page_of(root.id, root.type), "primary")


def _facts(ward: Ward) -> Iterable[Fact]:
    inside = RealmMember.objects.open().filter(realm=ward.root.realm_id).count()
    yield Fact("Owner", ward.owner.label if ward.owner else "No owner")
    yield Fact("Authorization", state=modes.state(ward.mode))
    yield Fact("Members", members_words(ward.root, inside))
    if ward.realm.kind == Realm.Kind.CDAP:
        yield Fact("Rules", f"of CDAP {ward.realm.settings.get('policy', '')}")


def _choices(ward: Ward) -> Iterable[Choice]:
    for code, word in modes.WORDS.items():
        current = code == ward.mode
        yield Choice(code, word, modes.MEANS[code], current, None if current else _switch(ward, code))


def _switch(ward: Ward, code: str) -> Action:
    url = f"{reverse('console:realm_mode', args=[ward.root.id])}?to={code}"
    reason = "" if ward.may_switch(code) else "why-not-switch"
    return Action(f"Set to {naming.lower(modes.WORDS[code])}", url, reason=reason)


def _locked(ward: Ward) -> Reason:
    who = ward.owner_words()
    return Reason(
        "why-not-switch", f"What is set here is set by {who}. Service admins can set it back to on."
    )


def _settings(ward: Ward) -> list[tuple[str, str, str]]:
    if ward.realm.kind != Realm.Kind.CDAP:
        return []
    kept = ward.realm.settings
    shown = {code: kept.get(code) or "Nobody" for code, _, _ in CDAP}
    shown["authentication"] = "Off" if kept.get("authentication") == "off" else "On"
    return [(label, str(shown[code]), text) for code, label, text in CDAP]


def _connect(ward: Ward) -> Action | None:
    if ward.root.type != "metalake":
        return None
    may = backends.may_connect(Actor(ward.asker, "console"), ward.root)
    url, reason = reverse("console:connect", args=[ward.root.id]), "" if may else "why-not-connect"
    return Action("Connect a catalog", url, reason=reason)


def _no_connect(ward: Ward) -> Reason | None:
    connect = _connect(ward)
    if connect is None or not connect.reason:
        return None
    text = f"Catalogs are connected by {ward.owner_words()}, and by who has the duty for it."
    return Reason("why-not-connect", text)


def _lines(ward: Ward) -> Iterable[Line]:
    """The connections of catalogs that he may see.  Two queries."""
    rows = Backend.objects.filter(realm=ward.root.realm_id).order_by("pk")
    found = list(rows.annotate(waiting=Count("entries", filter=to_look_at("entries__"))))
    places = nodes(row.catalog_id for row in found)
    for row in found:
        node = places.get(row.catalog_id)
        if node is not None and decisions.may_see(ward.slice, node, now=timezone.now()):
            url = reverse("console:sync_backend", args=[row.pk])
            what = Who(node.name, Face("thing", "catalog"), row.get_kind_display(), url)
            does = "Repairs" if row.policy == Backend.Policy.REPAIR else "Only reports"
            yield Line(what, Behind(row, row.waiting).state(), does)


# Switching


@reads_and_writes
@signed_in
def mode(request: Request, id: int) -> HttpResponse:
    """What the change means, then it is made."""
    ward = realm_at(request, id)
    code = request.GET.get("to", "")
    if code not in modes.WORDS:
        raise Http404
    if not ward.may_switch(code):
        return _not_yours(request, ward)
    if code == ward.mode:
        return redirect(ward.url)
    if request.method == "POST":
        return _set(request, ward, code)
    return _ask(request, ward, code, {})


def _members(ward: Ward) -> int:
    return RealmMember.objects.open().filter(realm=ward.root.realm_id).count()


def _must_type(ward: Ward, code: str) -> bool:
    """Whether so many gain everything that the realm's name is asked for."""
    open_ = dialects.get(ward.root.kind).open_to_all
    return code != "on" and ward.mode == "on" and (open_ or _members(ward) > MANY)


def _set(request: Request, ward: Ward, code: str) -> HttpResponse:
    if _must_type(ward, code) and request.POST.get("name", "") != ward.root.name:
        return _ask(request, ward, code, {"name": f"Type {ward.root.name} as it is written above."})
    actor = Actor(ward.asker, "console", request_id=nonce_in(request))
    reason = request.POST.get("reason", "").strip()[:2000].replace("\0", "")
    try:
        with change(MODE_SET, realm=ward.realm, by=actor, reason=reason):
            authority = offices.of_switch(actor, ward.root, enforced=code == "on")
            realms.set_mode(ward.realm, code, by=actor, authority=authority, reason=reason)
    except PolicyError as problem:
        return _ask(request, ward, code, {}, [Note("bad", "Not set.", str(problem))])
    say(request, f"Authorization of {ward.root.name} is {naming.lower(modes.WORDS[code])}")
    return redirect(ward.url)


def _ask(
    request: Request, ward: Ward, code: str, problems: dict[str, str], notes: Iterable[Note] = ()
) -> HttpResponse:
    name, word = ward.root.name, naming.lower(modes.WORDS[code])
    context = {
        "heading": f"Set authorization of {name} to {word}?",
        "place": modes.MEANS[code],
        "notes": notes,
        "nothing": False,
        "diff": Diff(tuple(_effects(ward, code))),
        "seen": revision_now(),
        "nonce": secrets.token_hex(12),
        "reason": request.POST.get("reason", "")[:2000],
        "button": f"Set {name} to {word}",
        "type_name": name if _must_type(ward, code) else "",
        "problems": problems,
        "back": ward.url,
    }
    return show(request, "console/revoke.html", ward, context, status=422 if problems else 200)


def _effects(ward: Ward, code: str) -> Iterable[DiffLine]:
    open_ = dialects.get(ward.root.kind).open_to_all
    many = words.count(_members(ward), "member")
    who = "Everybody who signs in" if open_ else many
    if code == "on":
        yield DiffLine("lose", who, "may do only what the rules give", "As it was before it was switched.")
        return
    more = "" if code == "off" else ", and change the rules"
    if ward.mode == "on":
        yield DiffLine("lose", ward.root.name, "is no longer protected by its rules", "Pages say so loudly.")
    yield DiffLine("gain", who, f"may do everything with its data{more}")


def _not_yours(request: Request, ward: Ward) -> HttpResponse:
    access_log.refused(ward.asker, offices.SWITCH, ward.root, via="console")
    heading = f"You cannot set the authorization of {ward.root.name}"
    context = {
        "verdict": Verdict("no", heading, f"That is done by {ward.owner_words()}.", level=1),
        "actions": (Action(f"Back to {ward.root.name}", ward.url),),
    }
    return show(request, "errors/refused.html", ward, context, status=403)


# What a CDAP instance is set to


@reads_and_writes
@signed_in
def settings(request: Request, id: int) -> HttpResponse:
    """Authentication, master user and admin group of a CDAP instance; its generation stays."""
    ward = realm_at(request, id)
    if ward.realm.kind != Realm.Kind.CDAP:
        raise Http404
    if not ward.owns:
        return _not_yours(request, ward)
    if request.method == "POST":
        return _configure(request, ward)
    return _settings_form(request, ward, [])


def _configure(request: Request, ward: Ward) -> HttpResponse:
    typed = {code: request.POST.get(code, "").strip()[:255] for code, _, _ in CDAP}
    actor = Actor(ward.asker, "console", request_id=nonce_in(request))
    if done_before(actor) is not None:
        return redirect(ward.url)
    try:
        with change(REALM_SET, realm=ward.realm, by=actor):
            authority = offices.of_switch(actor, ward.root, enforced=False)
            realms.configure(ward.realm, typed, by=actor, authority=authority)
    except PolicyError as problem:
        return _settings_form(request, ward, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    say(request, f"{ward.root.name} is set")
    return redirect(ward.url)


def _settings_form(request: Request, ward: Ward, notes: list[Note]) -> HttpResponse:
    kept = {"authentication": "on", **ward.realm.settings}
    typed: Any = request.POST if request.method == "POST" else kept
    context = {
        "notes": notes,
        "name": ward.root.name,
        "policy": kept.get("policy", ""),
        "authentication": typed.get("authentication", "on"),
        "master_user": str(typed.get("master_user", ""))[:255],
        "admin_group": str(typed.get("admin_group", ""))[:255],
        "nonce": secrets.token_hex(12),
        "back": ward.url,
    }
    return show(request, "console/realms/settings.html", ward, context, status=422 if notes else 200)
