"""Who is told what of a request: each thing once, with one link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from accounts.models import Principal
from policies import notices
from policies.models import AccessRequest, RequestPart, RequestWant
from policies.requests import decision_places, parties

TO_DECIDE = notices.kind("request.to_decide", "requests that wait for your decision")
ANSWERS = notices.kind("request.answers", "what became of your requests")
QUESTIONS = notices.kind("request.questions", "questions about your requests")


def link(request: AccessRequest) -> str:
    return f"/requests/{request.pk}"


def deciders_of(request: AccessRequest, parts: Iterable[RequestPart]) -> list[Principal]:
    """The people to whom these parts are addressed now."""
    rows = list(parts)
    there = decision_places.of_rows(rows, request.holder.kind)
    known = [(part, place) for part in rows if (place := there[part.pk]) is not None]
    every = decision_places.deciders_of([place for _, place in known], parties.of(request))
    return list(
        {
            item.principal.pk: item.principal
            for (part, place), some in zip(known, every, strict=True)
            for item in some
            if set(place.keys(item.where)) & set(part.addressed)
        }.values()
    )


def asked(request: AccessRequest, parts: Sequence[RequestPart]) -> None:
    text = f"{{who}} waits for your decision: {what_of(request)}."
    _to_deciders(request, parts, text, f"request:{request.pk}:asked")


def escalated(request: AccessRequest, part: RequestPart, times: int) -> None:
    text = f"Nobody has decided yet, so you are asked: {{who}} waits for {what_of(request)}."
    _to_deciders(request, [part], text, f"request:{request.pk}:escalated:{part.number}:{times}")


def reopened(request: AccessRequest, part: RequestPart) -> None:
    text = f"Somebody who had approved it may no longer, so {{who}} waits for you: {what_of(request)}."
    times = request.steps.filter(move="reopened").count()
    _to_deciders(request, [part], text, f"request:{request.pk}:reopened:{part.number}:{times}")


def answered(request: AccessRequest, parts: Sequence[RequestPart]) -> None:
    text = f"{{who}} answered your question about a request: {what_of(request)}."
    times = request.steps.filter(move="answered").count()
    _to_deciders(request, parts, text, f"request:{request.pk}:answered:{times}")


def _to_deciders(request: AccessRequest, parts: Sequence[RequestPart], text: str, key: str) -> None:
    people = deciders_of(request, parts)
    notices.tell(
        people, TO_DECIDE, text, key=key, link=link(request), who=request.holder, until=request.lapses_at
    )


def asked_back(request: AccessRequest) -> None:
    times = request.steps.filter(move="asked_back").count()
    text = f"Before it is decided, an approver has a question about your request: {what_of(request)}."
    notices.tell(
        request.asker,
        QUESTIONS,
        text,
        key=f"request:{request.pk}:asked_back:{times}",
        link=link(request),
        until=request.lapses_at,
    )


def became(request: AccessRequest, state: str) -> None:
    """Tell the requester, and for whom, what a request has come to."""
    words = {
        "approved": "Your request was approved",
        "approved_less": "Your request was approved in part",
        "refused": "Your request was refused",
        "lapsed": "Your request lapsed, because nobody decided it in time",
        "asked": "Your request waits for a decision again",
    }
    until = request.wants.filter(given_at__isnull=False).order_by("valid_until").first()
    times = request.steps.count()
    notices.tell(
        _askers(request),
        ANSWERS,
        f"{words[state]}: {what_of(request)}.",
        key=f"request:{request.pk}:{state}:{times}",
        link=link(request),
        until=until.valid_until if until else None,
    )
    if state != "asked":
        over(request)


def delivered(request: AccessRequest, where: str) -> None:
    text = f"What you asked for works now in {where}: {what_of(request)}."
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


def what_of(request: AccessRequest) -> str:
    """What is asked for, in a few words."""
    wants = list(request.wants.order_by("number")[:3])
    what = ", ".join(map(in_words, wants[:2]))
    return f"{what} and more" if len(wants) > 2 else what


def in_words(want: RequestWant) -> str:
    """read shop.sales.orders; give access to shop; use schema shop.sales; hold role sales_read"""
    name = want.name.partition("/")[2] or want.name
    if want.action == "grant":
        return f"give access to {name}"
    plain = want.action.replace("_", " ")
    return f"{plain} {name}" if want.action in ("read", "write") else f"{plain} {want.type} {name}"
