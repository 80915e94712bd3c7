"""Setting a realm: whether its law is enforced, and the switches of a CDAP instance."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect

from authzsite.console.access.revoke import MANY
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, Note, Verdict
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import say
from authzsite.console.roles.views import nonce_in
from authzsite.console.settings import modes
from authzsite.console.settings.realm import CDAP, Ward, realm_at, show
from catalog.models import Realm
from lakewarden.law import dialects
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.errors import PolicyError
from policies.events import MODE_SET, REALM_SET
from policies.record import access_log
from policies.record.change import change
from policies.services import realms
from policies.services.grants import revision_now


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


def _must_type(ward: Ward, code: str) -> bool:
    """Whether so many gain everything that the realm's name is asked for."""
    open_ = dialects.get(ward.root.kind).open_to_all
    return code != "on" and ward.mode == "on" and (open_ or ward.members > MANY)


def _set(request: Request, ward: Ward, code: str) -> HttpResponse:
    if _must_type(ward, code) and request.POST.get("name", "") != ward.root.name:
        return _ask(request, ward, code, {"name": f"Type {ward.root.name} as it is written above."})
    actor = Actor(ward.asker, "console", request_id=nonce_in(request))
    reason = request.POST.get("reason", "").strip()[:2000].replace("\0", "")
    try:
        with change(MODE_SET, realm=ward.realm, by=actor, reason=reason):
            authority = site_permissions.of_switch(actor, ward.root, enforced=code == "on")
            realms.set_mode(ward.realm, code, by=actor, authority=authority, reason=reason)
    except PolicyError as problem:
        return _ask(request, ward, code, {}, [Note("bad", "Not set.", str(problem))])
    say(request, f"Authorization of {ward.root.name} is {terms.lower(modes.WORDS[code])}")
    return redirect(ward.url)


def _ask(
    request: Request, ward: Ward, code: str, problems: dict[str, str], notes: Iterable[Note] = ()
) -> HttpResponse:
    name, word = ward.root.name, terms.lower(modes.WORDS[code])
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
    return show(request, "console/access/revoke.html", ward, context, status=422 if problems else 200)


def _effects(ward: Ward, code: str) -> Iterable[DiffLine]:
    open_ = dialects.get(ward.root.kind).open_to_all
    many = words.count(ward.members, "member")
    who = "Everybody who signs in" if open_ else many
    if code == "on":
        yield DiffLine("lose", who, "may do only what the rules give", "As it was before it was switched.")
        return
    more = "" if code == "off" else ", and change the rules"
    if ward.mode == "on":
        yield DiffLine("lose", ward.root.name, "is no longer protected by its rules", "Pages say so loudly.")
    yield DiffLine("gain", who, f"may do everything with its data{more}")


def _not_yours(request: Request, ward: Ward) -> HttpResponse:
    return not_yours(request, ward, f"You cannot set the authorization of {ward.root.name}")


def not_yours(request: Request, ward: Ward, heading: str) -> HttpResponse:
    """A page for whoever may see the realm and not set it; the refusal is recorded."""
    access_log.refused(ward.asker, site_permissions.SWITCH, ward.root, via="console")
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
            authority = site_permissions.of_switch(actor, ward.root, enforced=False)
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
    return show(request, "console/settings/settings.html", ward, context, status=422 if notes else 200)
