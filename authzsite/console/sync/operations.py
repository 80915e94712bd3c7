"""Running a backend's sync: pause, resume, repair or report, let a held plan go on, check now, try again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Crumbs, Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads, reads_and_writes, writes
from authzsite.console.kit.page import page, say
from authzsite.console.roles.views import nonce_in
from authzsite.console.sync.backend import There, there
from authzsite.console.sync.runs import found, run_page, steps_of
from policies.authority import Actor
from policies.errors import Invalid, PolicyError
from policies.models import SyncItem, SyncRun
from policies.record import access_log
from policies.sync import operations
from policies.sync.safeguards import loss_limit

ASKED = ("pause", "repair", "confirm", "rate", "share")
AT_ONCE = ("resume", "report", "retry", "look")
DONE = {
    "pause": "is paused",
    "resume": "is resumed",
    "repair": "repairs from now on",
    "report": "only reports from now on",
    "confirm": "goes on with its plan",
    "retry": "is tried again",
    "look": "is checked now",
    "rate": "keeps to its rate",
    "share": "holds what takes from more people than that",
}


@reads_and_writes
@signed_in
def operate(request: Request, id: int, deed: str) -> HttpResponse:
    """Ask back where it matters, then do it."""
    if deed not in (*ASKED, *AT_ONCE):
        raise Http404
    one = there(request, id)
    if not one.may_operate:
        return refused(request, one)
    if request.method == "POST":
        return _posted(request, one, deed)
    return _show(request, one, deed, []) if deed in ASKED else redirect("console:sync_backend", id=id)


def _posted(request: Request, one: There, deed: str) -> HttpResponse:
    actor = Actor(one.place.asker, "console", request_id=nonce_in(request))
    if done_before(actor) is None:
        try:
            _do(request, one, deed, actor)
        except PolicyError as problem:
            note = Note("bad", "Not done.", str(problem))
            if deed in ASKED:
                return _show(request, one, deed, [note], status=422)
            say(request, f"Not done. {problem}")
            return redirect("console:sync_backend", id=one.row.pk)
    say(request, f"{one.name} {DONE[deed]}")
    return redirect("console:sync_backend", id=one.row.pk)


def _do(request: Request, one: There, deed: str, actor: Actor) -> None:
    form, row = request.POST, one.row
    reason = form.get("reason", "").strip()[:2000].replace("\0", "")
    if deed == "pause":
        operations.pause(row, by=actor, reason=reason, until=_until(form.get("until", "")))
    elif deed == "resume":
        operations.resume(row, by=actor)
    elif deed in ("repair", "report"):
        operations.set_policy(row, deed, by=actor, reason=reason)
    elif deed == "rate":
        operations.set_rate(row, _rate(form.get("rate", "")), by=actor, reason=reason)
    elif deed == "share":
        operations.set_share(row, _share(form.get("share", "")), by=actor, reason=reason)
    elif deed == "confirm":
        operations.confirm(row, form.get("digest", ""), by=actor, reason=reason)
    else:
        operations.retry(row, by=actor)


def _until(text: str) -> datetime | None:
    if not text:
        return None
    try:
        typed = parse_datetime(text)
    except ValueError:
        typed = None
    if typed is None or not 1 < typed.year < 9999:
        raise Invalid("Give a date and a time, or none.")
    return typed if timezone.is_aware(typed) else timezone.make_aware(typed)


def _rate(text: str) -> int:
    typed = text.strip() or "0"
    if not typed.isascii() or not typed.isdecimal() or len(typed) > 9:
        raise Invalid("Give a whole number of changes a second, or none.")
    return int(typed)


def _share(text: str) -> int:
    typed = text.strip().removesuffix("%").strip()
    if not typed.isascii() or not typed.isdecimal() or len(typed) > 3:
        raise Invalid("Give a share of people from 0 to 100 per cent.")
    return int(typed)


def refused(request: Request, one: There) -> HttpResponse:
    """Somebody who does not run the sync wanted to."""
    access_log.refused(one.place.asker, operations.DUTY, one.place.node, via="console")
    context = {
        "heading": f"You cannot run the sync of {one.place.node.name}",
        "text": f"The owner of {one.place.node.name} does, and who has the duty for it.",
        "status": 403,
    }
    return page(request, "errors/page.html", context, room="sync", realm=one.place.node.realm, status=403)


def _show(request: Request, one: There, deed: str, notes: list[Note], *, status: int = 200) -> HttpResponse:
    run = one.latest
    context: dict[str, Any] = {
        "notes": notes,
        "nonce": nonce_in(request),
        "reason": request.POST.get("reason", ""),
        "until": request.POST.get("until", ""),
        "zone": words.zone(),
        "back": reverse("console:sync_backend", args=[one.row.pk]),
        "steps": steps_of(run, one.row) if run and deed in ("repair", "confirm") else [],
        "digest": run.digest if run else "",
        "asks_until": deed == "pause",
        "asks_rate": deed == "rate",
        "rate": request.POST.get("rate", one.row.rate or ""),
        "asks_share": deed == "share",
        "share": request.POST.get("share", one.row.share),
        "few": loss_limit.FEW,
        **_words(one, deed, run),
    }
    realm = one.place.node.realm
    return page(request, "console/sync/operate.html", context, room="sync", realm=realm, status=status)


def _words(one: There, deed: str, run: SyncRun | None) -> dict[str, str]:
    if deed == "pause":
        text = "Nothing is changed or looked at there until it is resumed: revocations wait too."
        return {"heading": f"Pause {one.name}?", "text": text, "button": "Pause it", "look": "danger primary"}
    if deed == "rate":
        text = "A server that others use too is changed no faster than this, by all workers together."
        heading = f"How fast may {one.name} be changed?"
        return {"heading": heading, "text": text, "button": "Keep to this rate", "look": "primary"}
    if deed == "share":
        text = "A mistake here would be applied there at once; a plan that takes much waits for a look."
        heading = f"When is a plan for {one.name} held?"
        return {"heading": heading, "text": text, "button": "Hold it above this share", "look": "primary"}
    losing = words.count(run.losing if run else 0, "person", "people")
    takes = words.count(run.removals if run else 0, "right or membership", "rights and memberships")
    look = "danger primary" if run and run.removals else "primary"
    if deed == "repair":
        text = f"The plan of the last look: it takes {takes}, from {losing}."
        return {
            "heading": f"Repair {one.name} from now on?",
            "text": text,
            "button": "Repair it",
            "look": look,
        }
    text = f"It takes {takes}. What it takes first stands first."
    button = f"Take them from {losing}"
    return {"heading": f"Let the plan for {one.name} go on?", "text": text, "button": button, "look": look}


@reads
@signed_in
def run(request: Request, id: int) -> HttpResponse:
    """One run with its steps."""
    row = found(id)
    one = there(request, row.backend_id)
    if not one.may_look:
        raise Http404
    context = run_page(row, row.backend, may_retry=one.may_operate) | {
        "crumbs": Crumbs((("Sync", reverse("console:sync")), (one.name, one.url))),
    }
    realm = one.place.node.realm
    return page(request, "console/sync/run.html", context, room="sync", realm=realm, revision=row.revision)


@writes
@signed_in
def retry(request: Request, id: int, item: int) -> HttpResponse:
    """Try one failed step again, alone."""
    one = there(request, found(id).backend_id)
    if not one.may_operate:
        return refused(request, one)
    step = SyncItem.objects.filter(pk=item, run=id).first()
    if step is None:
        raise Http404
    operations.retry(one.row, by=one.place.actor, item=step)
    say(request, "That step is tried again")
    return redirect("console:sync_backend", id=one.row.pk)
