"""One emergency: who opened what and why, what was done with it, its end and its review."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.emergency.views import state_of
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Crumbs, Empty, Fact, Facts, Note
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from catalog.nodes import Node, nodes
from policies.authority import Actor
from policies.emergency import access as emergency_access
from policies.emergency import traces
from policies.errors import NotFound, PolicyError
from policies.models import Emergency


@dataclass(frozen=True)
class UseRow:
    """One use while it was open."""

    what: str
    did: str
    run: str
    when: str


@reads_and_writes
@login_required
def emergency_detail(request: Request, id: int) -> HttpResponse:
    """The page; a POST ends it, or closes its review with words."""
    asker = asker_of(request)
    actor = Actor(asker, "console")
    try:
        row, node = emergency_access.seen(id, actor)
    except NotFound:
        raise Http404 from None
    if request.method != "POST":
        return _show(request, row, node, [])
    verdict = request.POST.get("verdict", "").replace("\0", "")
    try:
        if request.POST.get("do") == "close":
            emergency_access.close(row.pk, verdict, by=actor)
            say(request, "The review is closed with your statement")
        else:
            emergency_access.end(row.pk, by=actor)
            say(request, f"{node.name} is no longer open")
    except PolicyError as problem:
        row.refresh_from_db()
        return _show(request, row, node, [Note("bad", "Nothing was changed.", str(problem))], status=422)
    return redirect("console:emergency", id=id)


def _show(
    request: Request, row: Emergency, node: Node, notes: list[Note], *, status: int = 200
) -> HttpResponse:
    asker, state = asker_of(request), state_of(row)
    own, governs = asker.pk == row.person_id, emergency_access.may_review(asker, row, node)
    used = list(_used(row))
    context: dict[str, Any] = {
        "heading": f"{row.person.label} opened {node.ref.full_name or node.name}",
        "lead": f"“{row.reason}”",
        "crumbs": Crumbs((("Emergency access", reverse("console:emergencies")),)),
        "facts": Facts(tuple(_facts(row, node))),
        "notes": notes,
        "used": used,
        "no_use": Empty("No job reported usage", "Jobs report their usage once per run.", drawn=False),
        "changes": _changes_words(traces.changes_of(row)),
        "history": f"{reverse('console:history')}?{urlencode({'person': str(row.person)})}",
        "may_end": state.word == "Open" and (own or governs),
        "end_words": f"End it now for {row.person.label}" if not own else "End it now",
        "may_close": state.word != "Open" and governs,
        "waits": _waits_words(row, own=own, governs=governs, open_=state.word == "Open"),
        "verdict": request.POST.get("verdict", "")[: emergency_access.LONGEST],
        "closed": row.state == "closed",
        "words": row.verdict,
        "closed_by": f"{row.reviewer.label}, {words.when_in_words(words.moment(row.reviewed))}"
        if row.reviewer and row.reviewed
        else "",
    }
    return page(request, "console/emergency/emergency.html", context, section="emergency", status=status)


def _facts(row: Emergency, node: Node) -> Iterable[Fact]:
    yield Fact("Object", terms.short_name(node), terms.page_of(node.id, node.type))
    rights = [terms.right(code, node.type, node.kind) for code in row.privileges]
    yield Fact("Could", terms.sentence_list(list(dict.fromkeys(rights))))
    yield Fact("From", words.moment(row.opened))
    yield Fact("Until", words.moment(row.ended or row.until))
    yield Fact("State", state=state_of(row))


def _used(row: Emergency) -> Iterable[UseRow]:
    uses = traces.uses_of(row)
    places = nodes(use.securable_id for use in uses) if uses else {}
    for use in uses:
        node = places.get(use.securable_id)
        did = use.action if use.executed else f"prepared to {use.action}"
        yield UseRow(terms.short_name(node) if node else "", did, use.run, words.moment(use.at))


def _changes_words(many: int) -> str:
    if not many:
        return "Nothing was changed on this site meanwhile."
    return f"{words.count(many, 'change')} on this site meanwhile."


def _waits_words(row: Emergency, *, own: bool, governs: bool, open_: bool) -> str:
    if row.state == "closed" or governs:
        return ""
    if own and not open_:
        return "Another approver of the object reviews what you did and closes it with a statement."
    return "" if open_ else "It waits until an approver of the object closes it."
