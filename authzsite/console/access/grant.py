"""Giving access: who, what, until when and why, with what it changes before it is saved."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from authzsite.console.access.effects import Shown, out_there
from authzsite.console.access.grant_form import Draft
from authzsite.console.cdap.links import page_of_name
from authzsite.console.kit import form_resume
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import changed_meanwhile, done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads, reads_and_writes, writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.refusal import refused
from authzsite.console.objects.access import Place, visit
from authzsite.console.separation import warnings as parted
from authzsite.console.sync.backend_state import behind
from catalog.nodes import Node
from lakewarden.law.dialects import Privilege
from policies.authority import Actor
from policies.errors import Conflict, Invalid, Separated
from policies.previews import grants as previews
from policies.services import grants
from policies.services.grants import revision_now

KEPT = Note("warn", "Your form is kept, and nothing was saved.", "Look at it again, then save.")


@reads_and_writes
@signed_in
def grant(request: Request, id: int) -> HttpResponse:
    """The form: filled from the address, from a kept form, or from itself."""
    place = visit(request, id)
    if named := page_of_name(place.node, "cdap_grant"):
        return redirect(named)
    if place.node.type == "namespace":  # it is given there, entry by entry
        return redirect("console:namespace", id=id)
    if not place.may_grant:
        return refused(request, place, "grant")
    if request.method == "POST":
        return _posted(request, place)
    again = form_resume.take(request)
    draft = Draft(place, again if again is not None else request.GET)
    return _show(request, draft, [KEPT] if again is not None else [])


def _posted(request: Request, place: Place) -> HttpResponse:
    draft = Draft(place, request.POST)
    if request.POST.get("step") != "save" or "add" in request.POST or "drop" in request.POST:
        if draft.find and not draft.matches:
            draft.problems["who"] = draft.nobody()
        return _show(request, draft, [])
    if not draft.check():
        return _show(request, draft, [])
    return _save(request, draft)


def _save(request: Request, draft: Draft) -> HttpResponse:
    wish, place = draft.wish, draft.place
    if wish is None:
        return _show(request, draft, [])
    actor = Actor(place.asker, "console", request_id=draft.nonce)
    before = done_before(actor)
    if before is not None:
        return _done(request, draft, before)
    try:
        new = grants.add(wish, by=actor, reason=draft.reason, seen=seen_by(draft))
    except Separated as problem:
        return _show(request, draft, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    except Conflict:
        before = done_before(actor)
        if before is not None:
            return _done(request, draft, before)
        return _show(request, draft, [changed_meanwhile(place.node, seen_by(draft) or 0)], fresh=True)
    except Invalid as problem:
        return _show(request, draft, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    return _done(request, draft, done_before(actor) if new else None)


def seen_by(draft: Draft) -> int | None:
    return number_in(draft.data.get("seen", ""))


def _done(request: Request, draft: Draft, revision: int | None) -> HttpResponse:
    names = words.listed([one.label for one in draft.chosen], 3)
    rights = words.listed(
        [terms.lower(terms.right(code, draft.node.type, draft.node.kind)) for code in draft.may], 3
    )
    if revision is None:
        say(request, f"Nothing changed: {names} had this already")
    else:
        say(request, f"{names}: {rights} on {draft.node.name}{draft.when.said()}", undo=revision)
    address = reverse("console:object", args=[draft.node.id])
    if request.htmx:
        response = HttpResponse(status=204)
        response["HX-Redirect"] = address
        return response
    return redirect(address)


def _show(request: Request, draft: Draft, notes: list[Note], *, fresh: bool = False) -> HttpResponse:
    context = {**form_context(draft, notes, fresh=fresh), **_preview(draft)}
    status = 422 if draft.problems and draft.data.get("step") == "save" else 200
    if request.htmx:
        return render(
            request,
            "console/access/grant_form.html",
            {"here": request.get_full_path(), "layer": True, **context},
            status=status,
        )
    context["here"] = request.path
    node = draft.node
    return page(
        request,
        "console/access/grant.html",
        context,
        room="catalog",
        realm=node.realm,
        revision=draft.place.slice.revision,
        status=status,
    )


def form_context(draft: Draft, notes: list[Note], *, fresh: bool) -> dict[str, Any]:
    node = draft.node
    typed = "" if (draft.typed_one and len(draft.matches) == 1) or "add" in draft.data else draft.find
    return {
        "object_name": node.name,
        "object_place": terms.place_words(node),
        "back": reverse("console:object", args=[node.id]),
        "notes": notes,
        "nonce": draft.nonce,
        "seen": seen_by(draft) if seen_by(draft) is not None and not fresh else revision_now(),
        "chosen": [{"code": str(one), "name": one.label, "note": kind_words(one)} for one in draft.chosen],
        "find": typed,
        **options(draft, typed),
        "picker_url": reverse("console:grant_people", args=[node.id]),
        "preview_url": reverse("console:grant_preview", args=[node.id]),
        "actions_known": _rights(draft),
        **draft.when.fields(),
        "reason": draft.reason,
        "problems": {**draft.when.problems, **draft.problems},
    }


def kind_words(principal: Any) -> str:
    return "" if principal.kind == "user" else principal.get_kind_display()


def _rights(draft: Draft) -> list[dict[str, Any]]:
    return [
        {
            "code": one.code,
            "label": terms.right(one.code, draft.node.type, draft.node.kind),
            "text": _right_text(draft.node, one),
            "checked": one.code in draft.may,
        }
        for one in draft.rights
    ]


def _right_text(node: Node, one: Privilege) -> str:
    """What the right lets one do, on this very object or on everything of a kind in it."""
    leaf = next((type_ for type_ in one.binds if type_ not in terms.CONTAINERS), "")
    if node.type in terms.CONTAINERS and one.category in ("read", "write") and leaf:
        return (
            f"{one.description.replace(f'the {leaf}', f'every {leaf}')} in {node.name}, those made later too"
        )
    return one.description.replace(f"the {node.type}", node.name)


def options(draft: Draft, typed: str) -> dict[str, Any]:
    if not typed:
        return {}
    shown = [
        {
            "code": str(one),
            "name": one.label,
            "note": f"{one.get_kind_display()} {one.name}",
            "face": terms.face_of(one),
        }
        for one in draft.matches
    ]
    return {"options": shown, "nobody": "" if shown else draft.nobody()}


def _preview(draft: Draft) -> dict[str, Any]:
    wish = draft.wish
    if wish is None:
        what = "Name a person or a group" if not draft.chosen else "Choose what they may do and until when"
        return {
            "preview_empty": f"{what}, and this side tells who gains and who loses.",
            "button": draft.button(),
        }
    shown = Shown(previews.of_grant(wish, draft.place.actor), draft.node)
    return {
        "parted": parted.of_wishes([wish], draft.place.actor),
        "tally": shown.tally(),
        "diff": shown.diff(),
        "sum": shown.sum(),
        "begins_words": draft.when.fields()["begins_words"],
        "backend_text": out_there(behind(draft.node)),
        "button": draft.button(),
    }


@reads
@signed_in
def people(request: Request, id: int) -> HttpResponse:
    """People and groups that match what is being typed, for a script."""
    place = visit(request, id)
    if not place.may_grant:
        return refused(request, place, "grant")
    draft = Draft(place, request.GET)
    return render(request, "console/access/grant_options.html", options(draft, draft.find))


@writes
@signed_in
def preview(request: Request, id: int) -> HttpResponse:
    """What the form would change as it stands, for a script."""
    place = visit(request, id)
    if not place.may_grant:
        return refused(request, place, "grant")
    return render(request, "console/access/grant_live.html", _preview(Draft(place, request.POST)))
