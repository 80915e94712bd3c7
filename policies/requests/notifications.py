"""Who is told what of a request: each thing once, with one link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from accounts.models import Principal
from policies import notices
from policies.models import AccessRequest, RequestPart, RequestWant
from policies.requests import decision_places, parties
from policies.sentences import Said, Type, say, sentence

TO_DECIDE = notices.kind("request.to_decide", "requests that wait for your decision")
ANSWERS = notices.kind("request.answers", "outcome of your requests")
QUESTIONS = notices.kind("request.questions", "questions about your requests")
ASKED = sentence("request.asked", "{who} waits for your decision: {what}.")
ESCALATED = sentence("request.escalated", "Nobody has decided yet, so you are asked: {who} waits for {what}.")
REOPENED = sentence(
    "request.reopened", "An earlier approver may no longer approve it, so {who} waits for you: {what}."
)
ANSWERED = sentence("request.answered", "{who} answered your question about a request: {what}.")
ASKED_BACK = sentence("request.asked_back", "An approver has a question about your request: {what}.")
DELIVERED = sentence("request.delivered", "Your requested access now works in {where}: {what}.")
BECAME = {
    "approved": sentence("request.approved", "Your request was approved: {what}."),
    "approved_less": sentence("request.approved_less", "Your request was approved in part: {what}."),
    "refused": sentence("request.refused", "Your request was refused: {what}."),
    "lapsed": sentence("request.lapsed", "Your request lapsed, because nobody decided it in time: {what}."),
    "asked": sentence("request.waits_again", "Your request waits for a decision again: {what}."),
}
WANTS, MORE_WANTS = sentence("wants", "{some}"), sentence("wants.more", "{some} and more")
AND_MORE = sentence("wants.and_more", "{some} and {number} more")
GRANT = sentence("want.grant", "grant access to {name}")
READ, WRITE = sentence("want.read", "read {name}"), sentence("want.write", "write {name}")
USE, HOLD = sentence("want.use", "use {type} {name}"), sentence("want.hold", "hold {type} {name}")
CREATE = sentence("want.create", "create {type} in {name}")
PLAN = sentence("want.plan", "apply a policy file to {name}")
OTHER = sentence("want.other", "{action} {type} {name}")


def link(request: AccessRequest) -> str:
    return f"/requests/{request.pk}"


def deciders_of(request: AccessRequest, parts: Iterable[RequestPart]) -> list[Principal]:
    """The people to whom these parts are addressed now."""
    rows = list(parts)
    by_part = decision_places.of_rows(rows, request.holder.kind)
    placed = [(part, place) for part in rows if (place := by_part[part.pk]) is not None]
    every = decision_places.deciders_of([place for _, place in placed], parties.of(request))
    return list(
        {
            item.principal.pk: item.principal
            for (part, place), some in zip(placed, every, strict=True)
            for item in some
            if set(place.keys(item.where)) & set(part.addressed)
        }.values()
    )


def asked(request: AccessRequest, parts: Sequence[RequestPart]) -> None:
    _to_deciders(request, parts, ASKED, f"request:{request.pk}:asked")


def escalated(request: AccessRequest, part: RequestPart, times: int) -> None:
    _to_deciders(request, [part], ESCALATED, f"request:{request.pk}:escalated:{part.number}:{times}")


def reopened(request: AccessRequest, part: RequestPart) -> None:
    times = request.steps.filter(move="reopened").count()
    _to_deciders(request, [part], REOPENED, f"request:{request.pk}:reopened:{part.number}:{times}")


def answered(request: AccessRequest, parts: Sequence[RequestPart]) -> None:
    times = request.steps.filter(move="answered").count()
    _to_deciders(request, parts, ANSWERED, f"request:{request.pk}:answered:{times}")


def _to_deciders(request: AccessRequest, parts: Sequence[RequestPart], code: str, key: str) -> None:
    notices.tell(
        deciders_of(request, parts),
        TO_DECIDE,
        say(code, what=what_of(request)),
        key=key,
        link=link(request),
        who=request.holder,
        until=request.lapses_at,
    )


def asked_back(request: AccessRequest) -> None:
    times = request.steps.filter(move="asked_back").count()
    notices.tell(
        request.asker,
        QUESTIONS,
        say(ASKED_BACK, what=what_of(request)),
        key=f"request:{request.pk}:asked_back:{times}",
        link=link(request),
        until=request.lapses_at,
    )


def became(request: AccessRequest, state: str) -> None:
    """Tell the requester, and for whom, what a request has come to."""
    until = request.wants.filter(given_at__isnull=False).order_by("valid_until").first()
    times = request.steps.count()
    notices.tell(
        _askers(request),
        ANSWERS,
        say(BECAME[state], what=what_of(request)),
        key=f"request:{request.pk}:{state}:{times}",
        link=link(request),
        until=until.valid_until if until else None,
    )
    if state != "asked":
        over(request)


def delivered(request: AccessRequest, where: str) -> None:
    text = say(DELIVERED, where=where, what=what_of(request))
    key = f"request:{request.pk}:proved:{where}"
    notices.tell(_askers(request), ANSWERS, text, key=key, link=link(request))


def over(request: AccessRequest) -> None:
    """Nothing is left to decide."""
    from policies.models import Notice

    keys = Notice.objects.filter(
        key__startswith=f"request:{request.pk}:", kind__in=(TO_DECIDE, QUESTIONS), done__isnull=True
    )
    notices.settle(*set(keys.values_list("key", flat=True)))


def _askers(request: AccessRequest) -> list[Principal]:
    people = [request.asker]
    if request.holder.kind == Principal.Kind.USER and request.holder_id != request.asker_id:
        people.append(request.holder)
    return people


def what_of(request: AccessRequest) -> Said:
    """What is asked for, in a few words."""
    wants = list(request.wants.order_by("number")[:3])
    return say(MORE_WANTS if len(wants) > 2 else WANTS, some=[said_of(want) for want in wants[:2]])


def said_of(want: RequestWant) -> Said:
    """read shop.sales.orders; give access to shop; use schema shop.sales; hold role sales_read"""
    name = want.name.partition("/")[2] or want.name
    plain = {"grant": GRANT, "read": READ, "write": WRITE}.get(want.action)
    if plain:
        return say(plain, name=name)
    verb, _, made = want.action.partition("_")
    if verb == "create" and made:
        return say(CREATE, type=Type(made), name=name)
    code = {"use": USE, "hold": HOLD, "apply_policy_file": PLAN}.get(want.action, OTHER)
    return say(code, action=want.action.replace("_", " "), type=Type(want.type), name=name)
