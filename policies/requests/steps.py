"""What happens to a request, on the record: each step an event of its change and a row of the request."""

from __future__ import annotations

from django.db.models import QuerySet

from policies.authority import Authority
from policies.events import EventDraft, event
from policies.models import AccessRequest, RequestStep
from policies.record.change import ChangeInProgress
from policies.requests.notifications import AND_MORE, WANTS, said_of
from policies.sentences import Said, say, sentence

ASKED = event("request.asked", "requested access for {person}: {what} (request {request})")
ASKED_BACK = event("request.asked_back", "asked a question about request {request} for {person}: {what}")
ANSWERED = event("request.answered", "answered a question about request {request} for {person}: {what}")
APPROVED = event("request.approved", "approved {part} of request {request} for {person}")
APPROVED_LESS = event(
    "request.approved_less", "approved part of request {request} for {person}: {given}; requested: {part}"
)
REFUSED = event("request.refused", "refused {part} of request {request} for {person}")
WITHDRAWN = event("request.withdrawn", "withdrew request {request} for {person}: {what}")
LAPSED = event("request.lapsed", "let request {request} for {person} lapse, as nobody decided it: {what}")
ESCALATED = event("request.escalated", "asked the next level to decide {part} of request {request}")
GIVEN = event("request.given", "granted {person} what request {request} asked for: {what}")
APPLIED = event("request.applied", "applied the plan that request {request} had approved: {what}")
REOPENED = event(
    "request.reopened", "opened {part} of request {request} again: {deputy} may no longer approve it"
)
PROVED = event("request.proved", "confirmed in {backend} the access that request {request} granted {person}")
STUCK = event("request.stuck", "could not apply in {backend} what request {request} granted {person}")

ALL = sentence("part.all", "all")
SENTENCES = "sentences"
"""Where an event keeps what its values say, each as a sentence by its code; the values are in English."""
NAMED = 3
"""So many of the things that a request is for are named."""


def stepped(
    current: ChangeInProgress,
    request: AccessRequest,
    kind: str,
    *,
    by: Authority,
    text: str = "",
    part: int | None = None,
    **data: object,
) -> RequestStep:
    """Record one step; `text` is what was said with it, `data` goes into the event's sentence."""
    current.say(_draft_of(request, kind, part=data.pop("told", say(ALL)), **data), by=by)
    return RequestStep.objects.create(
        request=request,
        part=part,
        move=kind.removeprefix("request."),
        at=current.at,
        by=by.actor.principal,
        on_behalf_of=by.actor.on_behalf_of,
        text=text,
        revision=current.revision,
    )


def _draft_of(request: AccessRequest, kind: str, **data: object) -> EventDraft:
    wants = list(request.wants.order_by("number"))
    # how many levels are asked tells that there is something, so that it is no part of their own history
    concerned = () if kind == ESCALATED else (request.holder.pseudonym, request.asker.pseudonym)
    people = dict.fromkeys(concerned)
    some, more = [said_of(want) for want in wants[:NAMED]], len(wants) - NAMED
    what = say(AND_MORE, some=some, number=more) if more > 0 else say(WANTS, some=some)
    values = {"request": request.pk, "person": request.holder.pseudonym, "what": what, **data}
    sentences = {name: value for name, value in values.items() if isinstance(value, Said)}
    kept = {
        **values,
        **{name: value.english for name, value in sentences.items()},
        SENTENCES: {name: value.as_data() for name, value in sentences.items()},
    }
    return EventDraft(kind, wants[0].type, wants[0].name, tuple(request.lineage), tuple(people), kept)


def row_of(request: AccessRequest) -> QuerySet[AccessRequest]:
    """The request as rows, for a move."""
    return AccessRequest.objects.filter(pk=request.pk)


def fresh(request: AccessRequest) -> AccessRequest:
    """The request as it is now."""
    return AccessRequest.objects.select_related("realm", "asker", "holder").get(pk=request.pk)
