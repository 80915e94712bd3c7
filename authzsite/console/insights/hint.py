"""One hint: mended after a look at what that does, dismissed with a reason, brought back."""

from __future__ import annotations

import secrets
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.access.effects import Shown, out_there
from authzsite.console.insights.hint_rows import about_words, found_words, mend_url, what
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, Note, Tally, Verdict
from authzsite.console.kit.form_resume import is_own
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads_and_writes, writes
from authzsite.console.kit.page import page, say
from authzsite.console.roles.effects import Foretold
from authzsite.console.roles.views import nonce_in
from authzsite.console.sync.backend_state import behind
from policies.analytics import hints
from policies.analytics.hint_kinds import REMOVE
from policies.analytics.hints import HintView
from policies.authority import Actor
from policies.decisions import ask
from policies.decisions.personal_role_names import is_personal
from policies.errors import Conflict, Invalid, NotFound, PolicyError
from policies.models import Grant
from policies.previews import grants as previews
from policies.previews.roles import RoleChange, of_role_change
from policies.record import access_log
from policies.services.grants import GRANT, revision_now
from policies.services.roles import Privilege


def _hint(request: Request, number: int) -> tuple[HintView, Actor]:
    by = Actor(asker_of(request), "console", request_id=nonce_in(request))
    try:
        return hints.hint(number, by), by
    except NotFound as absent:
        raise Http404 from absent


def _origin(request: Request) -> str:
    """The page that one comes from and goes back to: an object, a role, a person, or the list of hints."""
    page = request.GET.get("back", "")
    return page if page and is_own(request, page) else reverse("console:hints")


def _locked(request: Request, told: HintView, deed: str) -> HttpResponse | None:
    """The refusal of who may see a hint and not act on it."""
    asker, node = asker_of(request), told.node
    if ask.ask(asker, GRANT, node):
        return None
    access_log.refused(asker, ask.operation_for(node, GRANT), node, via="console")
    text = "Only people who may give access to its object can do that."
    verdict = Verdict("no", f"You cannot {deed} hints about {node.name}", text, level=1)
    context = {"verdict": verdict, "actions": (Action("Back", _origin(request)),)}
    return page(request, "errors/refused.html", context, section="hints", realm=node.realm, status=403)


@reads_and_writes
@login_required
def mend(request: Request, id: int) -> HttpResponse:
    """What it takes from whom; then the one grant is ended, and can be given back by Undo."""
    by = Actor(asker_of(request), "console", request_id=nonce_in(request))
    if request.method == "POST" and (before := done_before(by)) is not None:
        say(request, "It is taken back", undo=before)
        return redirect(_origin(request))
    told, by = _hint(request, id)
    if told.kind.deed != REMOVE:
        return redirect(mend_url(told))
    if (answer := _locked(request, told, "mend")) is not None:
        return answer
    if request.method != "POST":
        return _ask(request, told, [])
    reason = request.POST.get("reason", "").strip()[:2000].replace("\0", "")
    try:
        hints.mend(id, by=by, reason=reason)
    except Conflict as late:
        say(request, f"Nothing changed. {late}")
    except (Invalid, PolicyError) as problem:
        return _ask(request, told, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    else:
        say(request, _done(told), undo=done_before(by))
    return redirect(_origin(request))


def _done(told: HintView) -> str:
    return f"{about_words(told)} on {what(told).name} is taken back"


def _ask(request: Request, told: HintView, notes: list[Note]) -> HttpResponse:
    node = told.node
    open_ = Grant.objects.open().filter(pk=told.row.grant or 0).exists()
    tally, diff = _foretold(told) if open_ else (None, None)
    if not open_:
        notes = [Note("", "It has ended meanwhile.", "The next run removes the hint.")]
    context: dict[str, Any] = {
        "notes": notes,
        "heading": f"{told.mends.partition(';')[0]} on {what(told).name}?",
        "place": f"{about_words(told)}. {told.ground} {found_words(told)}.",
        "nothing": not open_,
        "tally": tally,
        "diff": diff,
        "backend_text": out_there(behind(node), removal=True),
        "nonce": secrets.token_hex(12),
        "seen": revision_now(),
        "reason": request.POST.get("reason", "") or f"{told.label}: {told.ground}",
        "problems": {},
        "button": "Take it back",
        "back": _origin(request),
    }
    status = 422 if notes and open_ else 200
    return page(
        request,
        "console/access/revoke.html",
        context,
        section="hints",
        realm=node.realm,
        revision=revision_now(),
        status=status,
    )


def _foretold(told: HintView) -> tuple[Tally | None, Diff]:
    row, node = told.row, told.node
    if row.pattern:
        text = "is revoked on this name; access through another name stays"
        return None, Diff((DiffLine("change", about_words(told), text),))
    if row.holder is not None and (told.role is None or is_personal(told.role.name)):
        shown = Shown(previews.of_removal(node, (row.holder,), (row.privilege,)), node, removal=True)
        return shown.tally(), shown.diff()
    if told.role is None:
        return None, Diff((DiffLine("change", about_words(told), "ends"),))
    effect = Grant.objects.values_list("effect", flat=True).get(pk=row.grant or 0)
    change = RoleChange(removes=((node, Privilege(row.privilege, effect)),))
    foretold = Foretold.of_role(of_role_change(told.role, change), removal=True)
    return (foretold.tally() if foretold.parts else None), foretold.diff()


@reads_and_writes
@login_required
def dismiss(request: Request, id: int) -> HttpResponse:
    """Why it stays as it is; then it does not come back."""
    told, by = _hint(request, id)
    if (answer := _locked(request, told, "dismiss")) is not None:
        return answer
    if request.method != "POST":
        return _why(request, told, "")
    reason = request.POST.get("reason", "").strip()[:2000].replace("\0", "")
    try:
        hints.dismiss(id, by=by, reason=reason)
    except Invalid as problem:
        return _why(request, told, str(problem))
    except Conflict as late:
        say(request, str(late))
    else:
        say(request, f"Dismissed: {terms.lower(told.label)}, {what(told).name}")
    return redirect(_origin(request))


def _why(request: Request, told: HintView, problem: str) -> HttpResponse:
    context = {
        "heading": f"Leave {what(told).name} as it is?",
        "place": f"{told.label}. {about_words(told)}",
        "ground": told.ground,
        "found": found_words(told),
        "reason": request.POST.get("reason", ""),
        "problem": problem,
        "back": _origin(request),
    }
    status = 422 if problem else 200
    return page(
        request,
        "console/insights/dismiss.html",
        context,
        section="hints",
        realm=told.node.realm,
        revision=revision_now(),
        status=status,
    )


@writes
@login_required
def back(request: Request, id: int) -> HttpResponse:
    """Take a dismissal back."""
    told, by = _hint(request, id)
    if (answer := _locked(request, told, "bring back")) is not None:
        return answer
    try:
        hints.bring_back(id, by=by)
    except Conflict as late:
        say(request, str(late))
    else:
        say(request, f"Brought back: {terms.lower(told.label)}, {what(told).name}")
    return redirect("console:hints")
