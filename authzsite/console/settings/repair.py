"""Repairing a lock-out: another owner for a realm whose owner cannot sign in, loudly recorded."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.accounts.views import admin_only, choosing
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.parts import Diff, DiffLine, Note
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.principal_picker import Among
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from catalog.nodes import Node
from policies.authority import Actor
from policies.decisions.site import locked_out_realms, named
from policies.errors import PolicyError
from policies.services import realm_repair
from policies.services.grants import revision_now


@reads_and_writes
@signed_in
@admin_only
def realm(request: Request, id: int) -> HttpResponse:
    """Who is to own it, and why; only for a realm whose owner cannot come in."""
    out = {root.id: (root, owner) for root, owner in locked_out_realms()}
    if id not in out:
        raise Http404
    root, before = out[id]
    asked = choosing(request, lambda text: named(("user", "group"), text), "Nobody of that name is known.")
    if request.method != "POST" or not asked.saving:
        asked.tell_nobody()
        return _show(request, root, before.label, asked, [])
    if not asked.check_who():
        return _show(request, root, before.label, asked, [])
    actor = Actor(asker_of(request), "console", request_id=asked.nonce)
    try:
        if done_before(actor) is None:
            realm_repair.set_owner_of_realm(root, asked.chosen[0], by=actor, reason=asked.reason)
    except PolicyError as problem:
        notes = [Note("bad", "Not saved.", f"{problem} Your form is kept.")]
        return _show(request, root, before.label, asked, notes)
    say(request, f"{asked.chosen[0].label} owns {root.name}; the record says that you repaired it")
    return redirect("console:accounts")


def _show(request: Request, root: Node, before: str, asked: Among, notes: list[Note]) -> HttpResponse:
    lines = []
    for one in asked.chosen:
        lines = [
            DiffLine("lose", before, f"is no longer the owner of {root.name}", "Nobody can sign in as them."),
            DiffLine("gain", one.label, f"becomes the owner of {root.name}, and a member of it", LOUD),
        ]
    context = {
        "heading": f"Set another owner of {root.name}",
        "place": f"{before} owns it and cannot sign in. You get no access to it by this.",
        "notes": notes,
        "here": request.path,
        "back": reverse("console:accounts"),
        "nonce": asked.nonce,
        "seen": revision_now(),
        **asked.fields(),
        "reason": asked.reason,
        "problems": asked.problems,
        "button": f"Make {terms.spoken(asked.chosen[0])} the owner" if asked.chosen else "Set the owner",
        "diff": Diff(tuple(lines)) if lines else None,
        "preview_empty": "Name somebody who can sign in. A reason is asked for, and kept for ever.",
    }
    status = 422 if notes or (asked.problems and asked.data.get("step") == "save") else 200
    return page(request, "console/roles/assign.html", context, room="accounts", status=status)


LOUD = "The record calls it a repair, with your name and your reason, for everybody who reads its history."
