"""Reading what a connected source holds, with how far it is and what it brought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from authzsite.console import naming, words
from authzsite.console.connect import renewal
from authzsite.console.door import signed_in
from authzsite.console.methods import reads, reads_and_writes
from authzsite.console.parts import Action, Crumbs, Note, Reason
from authzsite.console.requests import Request
from authzsite.console.shell import page
from authzsite.console.sync_backend import There, there
from policies import access_log, discoveries
from policies.errors import Refused
from policies.models import Discovery
from policies.services import backends


@dataclass(frozen=True)
class Reading:
    """The last reading of a source: a note about it, and its progress while it runs."""

    note: Note
    going: bool = False
    done: int = 0
    total: int = 1
    text: str = ""


def _reading(row: Discovery | None) -> Reading | None:
    if row is None:
        return None
    if row.finished is None:
        if not row.total:
            text = "Waiting for a worker" if row.started is None else "Looking at what is there"
            return Reading(Note("plain", text), going=True, text=text)
        text = f"{words.number(row.done)} of {words.count(row.total, 'object')}"
        return Reading(Note("plain", "Reading", text), True, row.done, max(row.total, 1), text)
    when = naming.lower(words.moment(row.finished))
    if row.error:
        return Reading(Note("bad", "It could not be read.", f"{row.error} Nothing was lost; {when}."))
    new = words.count(row.added, "object")
    told = [f"{new} new", f"{words.number(row.renamed)} renamed", f"{words.number(row.described)} described"]
    gone = (
        f" {words.count(row.vanished, 'object')} vanished there and stay here until somebody closes them."
        if row.vanished
        else ""
    )
    return Reading(Note("plain", f"Read {when}: {words.listed(told)}.", gone.strip()))


@reads_and_writes
@signed_in
def room(request: Request, id: int) -> HttpResponse:
    """What the last reading brought; a POST asks for another."""
    one = there(request, id)
    if request.method == "POST":
        try:
            discoveries.ask(one.row, by=one.place.actor)
        except Refused:
            access_log.refused(one.place.asker, backends.DUTY, one.place.node, via="console")
            return _show(request, one, status=403)
        return redirect("console:discover", id=id)
    return _show(request, one)


def _show(request: Request, one: There, *, status: int = 200) -> HttpResponse:
    node, may = one.place.node, backends.may_connect(one.place.actor, one.place.node)
    root = next(iter(node.above()), node)
    context: dict[str, Any] = {
        "heading": f"What {node.name} holds",
        "lead": f"Schemas, tables and views, read from {one.row.get_kind_display()} whenever you ask.",
        "crumbs": Crumbs(((one.name, reverse("console:sync_backend", args=[one.row.pk])),)),
        "actions": [
            Action("Browse", naming.page_of(node.id, node.type)),
            Action("What is gone", reverse("console:sync_vanished", args=[one.row.pk]), "plain"),
            *([Action("Change the connection", renewal(one.row, root, node))] if may else []),
        ],
        "may": may,
        "locked": None
        if may
        else Reason("why-not-read", f"It is read for who owns {node.name} or has the duty to connect."),
        "reading": _reading(discoveries.latest(one.row)),
        "progress_url": reverse("console:discover_progress", args=[one.row.pk]),
    }
    slice_ = one.place.slice
    return page(
        request,
        "console/realms/discover.html",
        context,
        room="sync",
        realm=node.realm,
        revision=slice_.revision,
        status=status,
    )


@reads
@signed_in
def progress(request: Request, id: int) -> HttpResponse:
    """How far the last reading is."""
    one = there(request, id)
    context = {
        "reading": _reading(discoveries.latest(one.row)),
        "progress_url": request.get_full_path(),
    }
    return render(request, "console/realms/reading.html", context)
