"""How long a realm keeps its history live."""

from __future__ import annotations

import secrets

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import say
from authzsite.console.roles.views import nonce_in
from authzsite.console.settings.realm import Ward, realm_at, show
from authzsite.console.settings.realm_settings import not_yours
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.decisions.lookups import live_history
from policies.errors import PolicyError
from policies.events import RETENTION_SET
from policies.record.archive import retention
from policies.record.change import change

WRONG = f"Write a number of days from {retention.LEAST} to {retention.MOST}."


@reads_and_writes
@signed_in
def room(request: Request, id: int) -> HttpResponse:
    """For ever, or for so many days; what is older moves to the archive with the next nightly run."""
    ward = realm_at(request, id)
    if not ward.owns:
        return not_yours(request, ward, f"You cannot set the retention of {ward.root.name}")
    return _set(request, ward) if request.method == "POST" else _form(request, ward)


def _set(request: Request, ward: Ward) -> HttpResponse:
    text = request.POST.get("days", "").strip()
    for_ever = request.POST.get("keep") == "for-ever"
    if not for_ever and not (text.isascii() and text.isdigit() and len(text) < 7):
        return _form(request, ward, WRONG)
    actor = Actor(ward.asker, "console", request_id=nonce_in(request))
    if done_before(actor) is not None:
        return redirect(ward.url)
    try:
        with change(RETENTION_SET, realm=ward.realm, by=actor):
            authority = site_permissions.of_switch(actor, ward.root, enforced=False)
            wanted = None if for_ever else int(text)
            retention.set_days(ward.realm, wanted, by=actor, authority=authority)
    except PolicyError as problem:
        return _form(request, ward, str(problem))
    say(request, f"The history of {ward.root.name} stays live {said(ward)}")
    return redirect(ward.url)


def _form(request: Request, ward: Ward, problem: str = "") -> HttpResponse:
    kept, begins = retention.days(ward.realm), live_history.floor(ward.realm.pk)
    context = {
        "name": ward.root.name,
        "keep": request.POST.get("keep", "" if kept else "for-ever"),
        "days": request.POST.get("days", str(kept or ""))[:10],
        "problem": problem,
        "least": retention.LEAST,
        "most": retention.MOST,
        "note": Note("plain", f"Live since revision {words.number(begins)}.", "What was before is archived.")
        if begins
        else None,
        "nonce": secrets.token_hex(12),
        "back": reverse("console:realm", args=[ward.root.id]),
    }
    return show(request, "console/settings/retention.html", ward, context, status=422 if problem else 200)


def said(ward: Ward) -> str:
    """How long, in words."""
    ward.realm.refresh_from_db()
    kept = retention.days(ward.realm)
    return f"for {words.count(kept, 'day')}" if kept else "for ever"
