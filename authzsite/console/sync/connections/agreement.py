"""Agreeing to a connection: until the site's operator has, it only reports."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.accounts import site_admins
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.roles.views import nonce_in
from authzsite.console.sync.backend import AWAITS, there
from catalog.nodes import Node, node
from policies.authority import Actor
from policies.errors import PolicyError
from policies.models import Backend
from policies.sync import operations


@reads_and_writes
@signed_in
def room(request: Request, id: int) -> HttpResponse:
    """Ask back, then agree; for site admins alone, who need not be in the realm."""
    if not site_admins.may(request):
        one = there(request, id)
        heading = f"You cannot agree to the connection of {one.place.node.name}"
        return site_admins.refused(request, heading, back=one.url, back_words=f"Back to {one.name}")
    row = Backend.objects.filter(pk=id).first()
    place = node(row.catalog_id) if row else None
    if row is None or place is None or not row.awaits:
        raise Http404
    if request.method != "POST":
        return _show(request, row, place, [])
    actor = Actor(asker_of(request), "console", request_id=nonce_in(request))
    try:
        if done_before(actor) is None:
            reason, digest = request.POST.get("reason", ""), request.POST.get("digest", "")
            operations.agree(row, by=actor, reason=reason, digest=digest)
    except PolicyError as problem:
        row.refresh_from_db()
        return _show(request, row, place, [Note("bad", "Not done.", str(problem))], status=422)
    say(request, f"{row.get_kind_display()} {place.name} may do what it is set to")
    return redirect("console:home")


def _show(
    request: Request, row: Backend, place: Node, notes: list[Note], *, status: int = 200
) -> HttpResponse:
    does = (
        "repairs from then on"
        if row.policy == Backend.Policy.REPAIR
        else "goes on only reporting, until its owner sets it to repair"
    )
    context: dict[str, Any] = {
        "notes": notes,
        "nonce": nonce_in(request),
        "digest": operations.likeness(row),
        "reason": request.POST.get("reason", ""),
        "back": reverse("console:home"),
        "heading": f"Agree that {'/'.join(place.names)} governs {row}?",
        "text": f"{AWAITS[Backend.Awaits(row.awaits)]} Once you agree it {does}.",
        "button": "Agree",
        "look": "primary",
    }
    return page(request, "console/sync/operate.html", context, room="sync", status=status)
