"""How a request is told in a line: who asks for what, until when, why, and how far it has come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext, pgettext_lazy

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, State, Who
from authzsite.console.requests.preview import words_of
from lakewarden.law.objects import split_name
from policies.models import AccessRequest, RequestPart, RequestWant
from policies.models.requests import GRANTED, WAITING
from policies.requests import durations
from policies.requests.needs import HOLD
from policies.requests.plan_approvals import APPLY

KINDS = {
    "asked": "behind",
    "asked_back": "paused",
    "approved": "ok",
    "approved_less": "ok",
    "refused": "failed",
}
"""The mark of each state; all else is only said."""
VERBS = {
    "read": pgettext_lazy("to do", "read"),
    "write": pgettext_lazy("to do", "write"),
    "use": pgettext_lazy("to do", "use"),
    "grant": pgettext_lazy("to do", "grant access to"),
    HOLD: pgettext_lazy("to do", "hold role"),
    APPLY: pgettext_lazy("to do", "apply a policy file to"),
}
NAMED = 3
"""More objects than this are counted."""
LONG = 90
"""So much of a reason stands in a line."""


def url_of(request: AccessRequest) -> str:
    return reverse("console:request", args=[request.pk])


def law_of(request: AccessRequest) -> str:
    return request.realm.law if request.realm else "gravitino"


def short(name: str) -> str:
    """demo/shop.sales.orders -> sales.orders, as people say it."""
    realm, _, rest = name.partition("/")
    return ".".join(split_name(rest)[-2:]) if rest else realm


def wants_words(wants: Sequence[RequestWant]) -> str:
    """read and write sales.orders; read sales.orders and sales.customers; use sales and read 4 objects"""
    by_name: dict[str, list[str]] = {}
    for want in wants:
        by_name.setdefault(want.name, []).append(verb(want.action, want.type))
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, verbs in by_name.items():
        alike.setdefault(tuple(dict.fromkeys(verbs)), []).append(short(name))
    phrases = [
        gettext("%(verbs)s %(names)s") % {"verbs": words.listed(verbs), "names": _named(names)}
        for verbs, names in alike.items()
    ]
    return words.listed(phrases, 2)


def as_heading(text: str, wants: Sequence[RequestWant]) -> str:
    """Begun with a capital letter, unless a language begins with an object's name."""
    begins_with_a_name = any(text.startswith(short(want.name)) for want in wants)
    return text if begins_with_a_name else f"{text[:1].upper()}{text[1:]}"


def _named(names: Sequence[str]) -> str:
    return words.listed(names) if len(names) <= NAMED else words.count(len(names), "object")


def verb(action: str, type_: str) -> str:
    if action == "read" and type_ in terms.CONTAINERS:
        return str(VERBS["use"])
    if action.startswith("create_"):
        return gettext("%(action)s in") % {"action": terms.lower(terms.action(action, type_))}
    return str(VERBS.get(action, action))


def lasts_words(request: AccessRequest) -> str:
    """for 30 days; until Fri 27 Nov, 18:00; without end"""
    if request.lasts:
        return gettext("for %(lasts)s") % {"lasts": lasting_words(request.lasts)}
    return (
        gettext("until %(until)s") % {"until": words.moment(request.until, within=True)}
        if request.until
        else gettext("without end")
    )


def lasting_words(text: str) -> str:
    """P30D -> 30 days; PT8H -> 8 hours"""
    return words.listed([words.count(many, unit) for many, unit in durations.lasting(text).parts])


def other_holder(request: AccessRequest) -> str:
    """Who is to have it, where that is somebody else than who asks; else empty."""
    return terms.principal_name(request.holder) if request.holder_id != request.asker_id else ""


def state_of(request: AccessRequest, *, note: str = "") -> State:
    word = gettext(str(AccessRequest(state=request.state).get_state_display()))
    return State(KINDS.get(request.state, "unknown"), word[:1].upper() + word[1:], note)


def part_words(part: RequestPart, law: str) -> str:
    """Use schema sales; Read on orders; Membership of demo; Role sales_read."""
    realm, _, rest = part.name.partition("/")
    name = split_name(rest)[-1] if rest else realm
    return words_of(part.kind, part.type, name, part.privileges, law)


@dataclass(frozen=True)
class RequestRow:
    """One request in a list."""

    id: int
    who: Who
    text: str
    note: str
    state: State
    decisions: str
    ends: Chip | None
    url: str
    action: str
    tickable: bool = False
    why_not: str = ""


def wanted(request: AccessRequest) -> str:
    """read orders for 30 days; read orders for group analysts until Fri 27 Nov, 18:00"""
    if any(want.action == APPLY for want in request.wants.all()):
        return wants_words(list(request.wants.all()))
    holder = other_holder(request)
    text = gettext("%(wants)s for %(holder)s %(lasts)s") if holder else gettext("%(wants)s %(lasts)s")
    return text % {
        "wants": wants_words(list(request.wants.all())),
        "holder": holder,
        "lasts": lasts_words(request),
    }


def row(request: AccessRequest, viewer: Principal, *, deciding: bool = False) -> RequestRow:
    """The request as a line; `wants` and `parts` are there already."""
    parts = list(request.parts.all())
    asked_at = words.moment(request.asked_at, within=True)
    end = max((want.valid_until for want in request.wants.all() if want.valid_until), default=None)
    ticket = f", {request.ticket}" if request.ticket else ""
    return RequestRow(
        id=request.pk,
        who=terms.who(request.asker, gettext("you") if request.asker == viewer else ""),
        text=gettext("asks to %(wanted)s") % {"wanted": wanted(request)},
        note=gettext("Request %(pk)s, %(asked)s · “%(reason)s”%(request)s")
        % {"pk": request.pk, "asked": asked_at, "reason": cut(request.reason), "request": ticket},
        state=state_of(request),
        decisions=_decisions(parts),
        ends=terms.ends_chip(end),
        url=reverse("console:request_decide", args=[request.pk]) if deciding else url_of(request),
        action=gettext("Decide") if deciding else gettext("Open"),
    )


def cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONG else f"{line[:LONG].rsplit(' ', 1)[0]} …"


def _decisions(parts: Iterable[RequestPart]) -> str:
    """1 of 2 decided; 2 decisions."""
    counted = [part for part in parts if part.state != "needless"]
    decided = sum(part.state in (*GRANTED, "refused") for part in counted)
    if not decided and any(part.state in WAITING for part in counted):
        return words.count(len(counted), "decision")
    return gettext("%(decided)s of %(counted)s decided") % {
        "decided": words.number(decided),
        "counted": words.number(len(counted)),
    }
