"""Giving a role to people and groups, taking it back, and deleting it, each with what it changes first."""

from __future__ import annotations

import secrets
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts.models import Principal
from authzsite.console.access.grant_form import Draft
from authzsite.console.access.revoke import MANY
from authzsite.console.history.views import somebody
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.refusal import refused
from authzsite.console.roles.effects import Foretold
from authzsite.console.roles.role import Seen, visit_role
from authzsite.console.roles.views import nonce_in
from authzsite.console.separation import warnings as parted
from policies.authority import Actor
from policies.errors import Invalid, Separated
from policies.events import ROLE_ASSIGNED, ROLE_DELETED, ROLE_UNASSIGNED
from policies.models import Assignment
from policies.previews.roles import RoleChange, of_role_change
from policies.services import roles
from policies.services.authorities import authorized
from policies.services.grants import revision_now


def _changeable(request: Request, id: int) -> Seen:
    seen = visit_role(request, id)
    if seen.personal:
        raise Http404
    return seen


class Assigning(Draft):
    """Who is to hold a role, until when and why; what it lets them do is the role's own."""

    @cached_property
    def may(self) -> tuple[str, ...]:
        return ("hold",)

    def button(self) -> str:
        return f"Give {self.node.name} {self.when.words()}".strip()

    @property
    def change(self) -> RoleChange | None:
        if not self.chosen or not self.when.whole:
            return None
        return RoleChange(joins=tuple(self.chosen), valid_from=self.when.begin, valid_until=self.when.end)


@reads_and_writes
@signed_in
def assign(request: Request, id: int) -> HttpResponse:
    """Who, until when, why; what it changes; then it is done."""
    seen = _changeable(request, id)
    if not seen.may_assign:
        return refused(request, seen.place, "grant")
    draft = Assigning(seen.place, request.POST if request.method == "POST" else request.GET)
    if request.method != "POST" or not draft.saving:
        draft.tell_nobody()
        return _show(request, seen, draft, [])
    if not draft.check():
        return _show(request, seen, draft, [])
    return _save(request, seen, draft)


def _save(request: Request, seen: Seen, draft: Assigning) -> HttpResponse:
    actor = Actor(seen.place.asker, "console", request_id=draft.nonce)
    names = words.listed([one.label for one in draft.chosen], 3)
    deed = roles.operation(seen.node, "assign")
    if done_before(actor) is None:
        try:
            with authorized(ROLE_ASSIGNED, seen.node, deed, by=actor, reason=draft.reason) as authority:
                window = (draft.when.begin, draft.when.end)
                for one in draft.chosen:
                    roles.hold(seen.node, one, *window, by=actor, authority=authority)
        except (Invalid, Separated) as problem:
            return _show(request, seen, draft, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    done = done_before(actor)
    told = f"{names}: role {seen.node.name}{draft.when.said()}"
    say(request, told if done else f"{told}; they had it already", undo=done)
    return redirect("console:role", id=seen.node.id)


def _show(request: Request, seen: Seen, draft: Assigning, notes: list[Note]) -> HttpResponse:
    wanted = draft.change
    foretold = Foretold.of_role(of_role_change(seen.node, wanted)) if wanted else None
    context: dict[str, Any] = {
        "heading": f"Give role {seen.node.name}",
        "place": terms.place_words(seen.node),
        "notes": notes,
        "here": request.path,
        "back": reverse("console:role", args=[seen.node.id]),
        "nonce": draft.nonce,
        "seen": revision_now(),
        **draft.fields(),
        **draft.when.fields(),
        "reason": draft.reason,
        "problems": {**draft.when.problems, **draft.problems},
        "button": draft.button(),
        "parted": parted.of_role(seen.node, draft.chosen, draft.when, seen.place.asker) if wanted else [],
        "tally": foretold.tally() if foretold and foretold.parts else None,
        "diff": foretold.diff() if foretold else None,
        "preview_empty": "Name a person or a group, and this side tells who gains and who loses.",
        "sum": foretold.sum() if foretold else "",
    }
    status = 422 if notes or (draft.problems and draft.data.get("step") == "save") else 200
    return page(
        request,
        "console/roles/assign.html",
        context,
        room="roles",
        realm=seen.node.realm,
        revision=seen.place.slice.revision,
        status=status,
    )


# Taking back, deleting


@reads_and_writes
@signed_in
def unassign(request: Request, id: int) -> HttpResponse:
    """Who loses what when the role is taken from one holder; then it is done."""
    seen = _changeable(request, id)
    if not seen.may_assign:
        return refused(request, seen.place, "grant")
    asked = request.GET.get("who", "")
    holder = somebody(asked) if ":" in asked else None
    if holder is None:
        raise Http404
    foretold = Foretold.of_role(of_role_change(seen.node, RoleChange(leaves=(holder,))), removal=True)
    name, role = terms.spoken(holder), seen.node.name
    held = Assignment.objects.open().filter(role=seen.node.id, holder=holder).exists()
    if request.method == "POST":
        return _taken(request, seen, holder)
    notes = [] if held else [Note("", f"{holder.label} does not hold {role}.", "It may have ended.")]
    return _confirm(
        request,
        seen,
        foretold,
        {
            "heading": f"Take role {role} from {name}?",
            "nothing": not held,
            "notes": notes,
            "button": f"Take {role} from {name}",
        },
    )


def _taken(request: Request, seen: Seen, holder: Principal) -> HttpResponse:
    actor = Actor(seen.place.asker, "console", request_id=nonce_in(request))
    ended, deed = False, roles.operation(seen.node, "assign")
    if done_before(actor) is None:
        with authorized(ROLE_UNASSIGNED, seen.node, deed, by=actor, reason=_reason(request)) as authority:
            ended = roles.unassign(seen.node, holder, by=actor, authority=authority)
    told = f"Role {seen.node.name} is taken from {holder.label}"
    nothing = f"Nothing changed: {holder.label} does not hold {seen.node.name}"
    say(request, told if ended else nothing, undo=done_before(actor) if ended else None)
    return redirect("console:role", id=seen.node.id)


@reads_and_writes
@signed_in
def delete(request: Request, id: int) -> HttpResponse:
    """Who loses what when the role ends; its name is asked for when that is many."""
    seen = _changeable(request, id)
    if not seen.may_delete:
        return refused(request, seen.place, "drop")
    foretold = Foretold.of_role(of_role_change(seen.node, RoleChange(deleted=True)), removal=True)
    name, losing = seen.node.name, foretold.count("lose")
    problems = {}
    if request.method == "POST":
        if losing <= MANY or request.POST.get("name", "") == name:
            return _deleted(request, seen)
        problems["name"] = f"Type {name} as it is written above."
    from_ = f" and take it from {words.count(losing, 'person', 'people')}" if losing else ""
    context = {
        "heading": f"Delete role {name}?",
        "button": f"Delete {name}{from_}",
        "type_name": name if losing > MANY else "",
        "problems": problems,
    }
    return _confirm(request, seen, foretold, context)


def _deleted(request: Request, seen: Seen) -> HttpResponse:
    actor = Actor(seen.place.asker, "console", request_id=nonce_in(request))
    deed = roles.operation(seen.node, "delete")
    if done_before(actor) is None:
        with authorized(ROLE_DELETED, seen.node, deed, by=actor, reason=_reason(request)) as authority:
            roles.delete(seen.node, by=actor, authority=authority)
    say(request, f"Role {seen.node.name} is deleted with all it gave")
    return redirect("console:roles")


def _reason(request: Request) -> str:
    return request.POST.get("reason", "").strip()[:2000].replace("\0", "")


def _confirm(request: Request, seen: Seen, foretold: Foretold, context: dict[str, Any]) -> HttpResponse:
    frame = {
        "notes": [],
        "nothing": False,
        "place": terms.place_words(seen.node),
        "tally": foretold.tally(),
        "diff": foretold.diff(),
        "seen": revision_now(),
        "nonce": secrets.token_hex(12),
        "reason": _reason(request),
        "problems": {},
        "back": reverse("console:role", args=[seen.node.id]),
    }
    return page(
        request,
        "console/access/revoke.html",
        {**frame, **context},
        room="roles",
        realm=seen.node.realm,
        revision=seen.place.slice.revision,
    )
