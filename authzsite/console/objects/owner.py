"""Handing an object to another owner: who becomes it, who no longer is, and why."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts.models import Principal
from authzsite.console.access.grant_form import Draft
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.parts import Diff, DiffLine, Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.refusal import refused
from authzsite.console.objects.access import Place, visit
from policies.authority import Actor
from policies.errors import Invalid, Separated
from policies.events import OWNER_SET
from policies.models import Ownership
from policies.services import owners
from policies.services.authorities import authorized
from policies.services.grants import revision_now
from policies.services.owners import SET_OWNER
from policies.services.personal import is_personal


class Handing(Draft):
    """Who is to own an object, and why; it has one owner and no end."""

    @cached_property
    def may(self) -> tuple[str, ...]:
        return ("own",)

    @cached_property
    def until(self) -> str:
        return "never"

    @cached_property
    def chosen(self) -> list[Principal]:
        """The one named last."""
        return super().chosen[-1:]

    @cached_property
    def before(self) -> Principal | None:
        row = Ownership.objects.open().filter(securable=self.node.id).select_related("owner").first()
        return row.owner if row else None

    @property
    def new(self) -> Principal | None:
        return self.chosen[0] if self.chosen else None

    def button(self) -> str:
        return f"Make {terms.spoken(self.new)} the owner" if self.new else "Set the owner"

    def diff(self) -> Diff | None:
        if self.new is None:
            return None
        name = self.node.name
        if self.before == self.new:
            return Diff((DiffLine("same", self.new.label, f"owns {name} already."),))
        gain = DiffLine(
            "gain",
            self.new.label,
            f"becomes the owner of {name}",
            "May do everything with it and all below it, give access to it, and hand it on.",
        )
        if self.before is None:
            return Diff((gain,))
        kept = "Keeps what other rules give, and what ownership of something above it gives."
        lose = DiffLine("lose", self.before.label, f"is no longer the owner of {name}", kept)
        return Diff((lose, gain))


@reads_and_writes
@signed_in
def hand_over(request: Request, id: int) -> HttpResponse:
    """The form, and the change."""
    place = visit(request, id)
    personal = place.node.type == "role" and is_personal(place.node.name)
    if personal:
        raise Http404
    if not place.may("set_owner"):
        return refused(request, place, "set_owner")
    draft = Handing(place, request.POST if request.method == "POST" else request.GET)
    if request.method != "POST" or not draft.saving:
        draft.tell_nobody()
        return _show(request, draft, [])
    if not draft.check() or draft.new is None:
        return _show(request, draft, [])
    return _save(request, place, draft, draft.new)


def _save(request: Request, place: Place, draft: Handing, new: Principal) -> HttpResponse:
    actor = Actor(place.asker, "console", request_id=draft.nonce)
    if done_before(actor) is None:
        try:
            with authorized(OWNER_SET, place.node, SET_OWNER, by=actor, reason=draft.reason) as authority:
                owners.set_owner(place.node, new, by=actor, authority=authority)
        except (Invalid, Separated) as problem:
            return _show(request, draft, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    # who gave it away can seldom take it back: then no Undo is promised
    mine = any(owners.settable([place.node], place.asker))
    say(request, f"{new.label} owns {place.node.name}", undo=done_before(actor) if mine else None)
    return redirect(_page_of(place))


def _page_of(place: Place) -> str:
    name = "role" if place.node.type == "role" else "object"
    return reverse(f"console:{name}", args=[place.node.id])


def _show(request: Request, draft: Handing, notes: list[Note]) -> HttpResponse:
    place = draft.place
    context: dict[str, Any] = {
        "heading": f"Set the owner of {place.node.name}",
        "place": terms.place_words(place.node),
        "notes": notes,
        "here": request.path,
        "back": _page_of(place),
        "nonce": draft.nonce,
        "seen": revision_now(),
        **draft.fields(),
        "reason": draft.reason,
        "problems": draft.problems,
        "button": draft.button(),
        "diff": draft.diff(),
        "preview_empty": "Name a person or a group. A group outlives the people in it.",
    }
    status = 422 if draft.problems and draft.data.get("step") == "save" else 200
    realm, revision = place.node.realm, place.slice.revision
    return page(
        request,
        "console/roles/assign.html",
        context,
        room="catalog",
        realm=realm,
        revision=revision,
        status=status,
    )
