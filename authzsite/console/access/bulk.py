"""Many objects at once: chosen in a list, granted or revoked as one change after its plan was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from authzsite.console.access import bulk_revoke
from authzsite.console.access.grant import form_context, seen_by
from authzsite.console.access.grant_form import Draft
from authzsite.console.access.merged_preview import Together
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import changed_meanwhile, done_before
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Empty, Note
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.object_selection import MOST, Chosen, back_of, leave, on_context, show_page
from authzsite.console.kit.methods import reads_and_writes, writes
from authzsite.console.kit.page import page, say
from authzsite.console.objects.access import Place
from authzsite.console.requests.links import ask_for
from authzsite.console.separation import warnings as parted
from lakewarden.law.dialects import Privilege
from policies.authority import Actor
from policies.errors import Conflict, PolicyError, Separated
from policies.previews import grants as previews
from policies.services import grants
from policies.services.grants import GrantRequest, revision_now


class ManyDraft(Draft):
    """The form for one object, for several of one realm."""

    def __init__(self, places: Sequence[Place], data: QueryDict):
        super().__init__(places[0], data)
        self.places = places

    @cached_property
    def rights(self) -> list[Privilege]:
        """What can be given on every one of them."""
        each = [Draft(place, QueryDict()).rights for place in _one_of_each_type(self.places)]
        return [one for one in each[0] if all(one in others for others in each[1:])]

    @property
    def wishes(self) -> list[GrantRequest]:
        wish = self.wish
        if wish is None:
            return []
        return [replace(wish, node=one.node) for one in self.places]

    def button(self) -> str:
        on = words.count(len(self.places), "object")
        return f"{super().button()}, on {on}"


def _one_of_each_type(places: Sequence[Place]) -> list[Place]:
    return list({(one.node.type, one.node.names[1:2]): one for one in places}.values())


@reads_and_writes
@signed_in
def room(request: Request) -> HttpResponse:
    """The form for what is ticked: to grant, or with `do=revoke` to take back."""
    data = request.POST if request.method == "POST" else request.GET
    chosen = Chosen(asker_of(request), data)
    if data.get("do") == "ask" and chosen.seen:
        return redirect(ask_for([one.node for one in chosen.seen[:MOST]]))
    if not chosen.mine:
        return _none(request, chosen)
    if data.get("do") == "revoke":
        return bulk_revoke.answer(request, chosen)
    draft = ManyDraft(chosen.mine, data)
    if request.method == "POST" and data.get("step") == "save" and not {"add", "drop"} & set(data):
        return _save(request, chosen, draft) if draft.check() else _show(request, chosen, draft, [])
    return _show(request, chosen, draft, [])


def _none(request: Request, chosen: Chosen) -> HttpResponse:
    catalog = Action("Browse the catalog", reverse("console:catalog"))
    text = "Tick objects in a list of the catalog or of a search, then choose what to do with them."
    heading = "Nothing is chosen"
    if chosen.seen:
        heading = "None of these is yours to give"
        text = (
            f"{words.listed([one.node.name for one in chosen.seen], 5)}: their owners change who has access."
        )
    steps = [catalog]
    if chosen.seen:
        steps.insert(0, Action("Ask for them", ask_for([one.node for one in chosen.seen[:MOST]])))
    context = {"heading": "Many at once", "empty": Empty(heading, text, actions=tuple(steps), level=2)}
    return page(request, "console/access/bulk_none.html", context, room="catalog", revision=revision_now())


# Granting


def _context(chosen: Chosen, draft: ManyDraft, notes: list[Note], *, fresh: bool = False) -> dict[str, Any]:
    many = words.count(len(draft.places), "object")
    form = form_context(draft, [*notes, *chosen.notes()], fresh=fresh)
    name = draft.node.name
    each = [{**one, "text": one["text"].replace(name, "each of them")} for one in form["actions_known"]]
    return {
        **form,
        "actions_known": each,
        **on_context(chosen, draft.places),
        **_plan(draft),
        "object_name": many,
        "object_place": words.listed([one.node.name for one in draft.places], 4),
        "back": back_of(draft.node),
        "preview_url": reverse("console:many_preview"),
        "here": reverse("console:many"),
    }


def _plan(draft: ManyDraft) -> dict[str, Any]:
    if not draft.wishes:
        what = "Name a person or a group" if not draft.chosen else "Choose what they may do and until when"
        if not draft.rights:
            what = "Nothing can be given on all of these; choose objects of one kind"
        empty = f"{what}, and this side tells who gains and who loses."
        return {"preview_empty": empty, "button": draft.button()}
    shown = Together(previews.of_grants(draft.wishes, draft.place.actor))
    stops = parted.of_wishes(draft.wishes, draft.place.actor)
    told = {"tally": shown.tally(), "diff": shown.diff(), "sum": shown.sum()}
    return {"parted": stops, **told, "button": draft.button()}


def _show(
    request: Request, chosen: Chosen, draft: ManyDraft, notes: list[Note], *, fresh: bool = False
) -> HttpResponse:
    context = _context(chosen, draft, notes, fresh=fresh)
    status = 422 if draft.problems and draft.data.get("step") == "save" else 200
    if request.htmx:
        return render(request, "console/access/grant_form.html", context, status=status)
    return show_page(request, "console/access/bulk.html", draft.place, context, status=status)


def _save(request: Request, chosen: Chosen, draft: ManyDraft) -> HttpResponse:
    actor = Actor(chosen.asker, "console", request_id=draft.nonce)
    new = 0
    if done_before(actor) is None:
        try:
            new = grants.add_all(draft.wishes, by=actor, reason=draft.reason, seen=seen_by(draft))
        except Separated as problem:
            note = Note("bad", "Not saved, on none of them.", f"{problem} Your form is kept.")
            return _show(request, chosen, draft, [note])
        except Conflict:
            note = changed_meanwhile(draft.node, seen_by(draft) or 0)
            return _show(request, chosen, draft, [note], fresh=True)
        except PolicyError as problem:
            note = Note("bad", "Not saved, on none of them.", f"{problem} Your form is kept.")
            return _show(request, chosen, draft, [note])
    names = words.listed([one.label for one in draft.chosen], 3)
    revision = done_before(actor)
    if revision is None:
        say(request, f"Nothing changed: {names} had this already")
    else:
        rights = words.count(new, "right") if new else "rights"
        say(request, f"{names}: {rights} on {words.count(len(draft.places), 'object')}", undo=revision)
    return leave(request, draft.node)


@writes
@signed_in
def preview(request: Request) -> HttpResponse:
    """The plan of the form as it stands, for a script."""
    chosen = Chosen(asker_of(request), request.POST)
    if not chosen.mine:
        empty = {"preview_empty": "Choose at least one object.", "button": "Grant access"}
        return render(request, "console/access/grant_live.html", empty)
    return render(request, "console/access/grant_live.html", _plan(ManyDraft(chosen.mine, request.POST)))
