"""The one box of the history: what is typed becomes chips, each a filter that the address remembers.

    by:olivia on:shop.sales action:grants since:2026-01-31 "quarterly report"

Names of filters are English, or those of the reader's language; what belongs to none is sought as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

from accounts.models import Principal
from authzsite.console.history.kinds import KINDS
from authzsite.console.history.question import Question
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.parts import Action, Empty, StrOrPromise
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.visible_principals import circle_of
from authzsite.console.kit.methods import reads
from authzsite.console.search.palette import Sought
from authzsite.console.why.named_objects import visible_objects

FILTERS: dict[str, tuple[StrOrPromise, str]] = {
    "by": (pgettext_lazy("name of a filter", "by"), "actor"),
    "person": (pgettext_lazy("name of a filter", "person"), "person"),
    "on": (pgettext_lazy("name of a filter", "on"), "object"),
    "action": (pgettext_lazy("name of a filter", "action"), "kind"),
    "since": (pgettext_lazy("name of a filter", "since"), "since"),
    "until": (pgettext_lazy("name of a filter", "until"), "until"),
    "request": (pgettext_lazy("name of a filter", "request"), "request"),
}
"""The name of a filter, the same in the reader's language, and its parameter in the address."""
_TERM = re.compile(r'(?<!\S)(?P<name>[^\W\d_]+):(?:"(?P<quoted>[^"]*)"|(?P<bare>\S*))', re.UNICODE)
SUGGESTED = 5


def _filter_named(name: str) -> str:
    """The code of a filter that is typed in English or in the reader's language; "" when it is none."""
    typed = name.casefold()
    return next(
        (code for code, (label, _parameter) in FILTERS.items() if typed in (code, str(label).casefold())), ""
    )


@dataclass(frozen=True)
class TypedQuery:
    """What stands in the box: values by the codes of their filters, and the words that are left."""

    values: Mapping[str, str]
    words: str

    @classmethod
    def of(cls, text: str) -> TypedQuery:
        values: dict[str, str] = {}

        def taken(term: re.Match[str]) -> str:
            code = _filter_named(term["name"])
            if not code:
                return term[0]
            values[code] = term["quoted"] if term["quoted"] is not None else term["bare"]
            return " "

        rest = _TERM.sub(taken, text)
        return cls({code: value for code, value in values.items() if value}, " ".join(rest.split()))


def address_of(request: Request) -> str | None:
    """The address that holds as parameters what is typed in the box; None when nothing of it is a filter.

    An object that cannot be found stays in the box, as a word.
    """
    typed = TypedQuery.of(request.GET.get("q", "")[:255])
    if not typed.values:
        return None
    query: QueryDict = request.GET.copy()
    words = [typed.words]
    for code, value in typed.values.items():
        query.pop("before", None)
        if code == "on":
            places = visible_objects(asker_of(request), value)
            if places:
                query["object"] = str(places[0].id)
                query.pop("realm", None)
            else:
                words.append(value)
        else:
            query[FILTERS[code][1]] = _kind_of(value) if code == "action" else value
    query["q"] = " ".join(filter(None, words))
    for name in [name for name in query if not query[name]]:
        del query[name]
    return f"{request.path}?{query.urlencode()}"


def _kind_of(text: str) -> str:
    """The code of an action by its code or by the beginning of its label."""
    typed = text.casefold()
    codes = (code for code, label, _kinds in KINDS if code and typed in (code, str(label).casefold()))
    begins = (code for code, label, _kinds in KINDS if code and str(label).casefold().startswith(typed))
    return next(codes, "") or next(begins, text)


@dataclass(frozen=True)
class FilterChip:
    """A filter that counts now, and the address without it."""

    label: str
    value: str
    without: str
    typed: bool = True
    """Whether the value is in somebody's own words."""


def chips(asked: Question) -> list[FilterChip]:
    kinds = {code: str(label) for code, label, _kinds in KINDS}
    place = asked.filter.object if not asked.realm else None
    values = {
        "realm": (_("Realm"), asked.realm),
        "object": (_("On"), place.ref.full_name or place.name if place else ""),
        "kind": (_("What"), kinds.get(asked.kind, "") if asked.kind else ""),
        "person": (_("About whom"), asked.person),
        "actor": (_("Done by"), asked.actor),
        "since": (_("From"), asked.since),
        "until": (pgettext("the end of a time", "To"), asked.until),
        "request": (_("Request"), asked.filter.request),
        "q": (_("Words"), asked.text),
    }
    return [
        FilterChip(label, value, asked.url(**{name: ""}), typed=name != "kind")
        for name, (label, value) in values.items()
        if value
    ]


def with_meanings(request: Request, question: Question, empty: Empty) -> Empty:
    """Where words found nothing: what else they may mean, as filters to choose.

    Words are sought in reasons and in names of objects; who types the name of a person means the person.
    """
    labels = {"by": _("Done by"), "person": _("About whom"), "on": _("On"), "action": _("What")}
    words = Sought(circle_of(request), question.text)
    meant = tuple(
        Action(f"{labels[str(option['filter'])]}: {option['name']}", question.url(q=option["code"]), "")
        for option in islice(_options(words, "") if words.text else (), SUGGESTED)
    )
    if not meant:
        return empty
    text = _("Words are searched in reasons and names of objects. Did you mean one of these?")
    return replace(empty, text=text, actions=(*meant, *empty.actions))


@reads
@login_required
def suggestions(request: Request) -> HttpResponse:
    """What the last word in the box may mean, each with all that the box is to hold then."""
    before, last = re.fullmatch(r"(?s)(.*?)(\S*)", request.GET.get("q", "")[:255]).groups()  # type: ignore[union-attr]
    name, colon, value = last.rpartition(":")
    code = _filter_named(name) if colon else ""
    sought = Sought(circle_of(request), (value if code else last).strip('"'))
    options = [
        {**option, "code": f"{before}{option['code']} "}
        for option in _options(sought, code)
        if not code or str(option["filter"]) == code
    ]
    context = {"options": options, "nobody": _("Press Enter to search for these words.")}
    return render(request, "console/kit/options.html", context)


def _options(sought: Sought, code: str) -> Iterator[dict[str, object]]:
    text = sought.text.casefold()
    if code in ("", "by", "person"):
        for row in sought.people(SUGGESTED) if text or code else ():
            face = terms.avatar_of(row)
            shown = {"name": row.label, "face": face}
            if row.kind != Principal.Kind.GROUP:
                yield {**shown, "filter": "by", "note": _("did it"), "code": f"by:{row.name}"}
            yield {**shown, "filter": "person", "note": _("concerns them"), "code": f"person:{row.name}"}
    if code in ("", "on") and text:
        for node, _after in sought.objects(SUGGESTED):
            name = node.ref.full_name or node.name
            note, icon = terms.kind_of(node.type), terms.icon_of(node.type)
            yield {"name": name, "filter": "on", "note": note, "icon": icon, "code": f"on:{node.ref.id}"}
    if code in ("", "action"):
        for kind, label, _kinds in KINDS:
            if kind and (text in str(label).casefold() or text in kind):
                yield {
                    "name": label,
                    "filter": "action",
                    "note": _("action"),
                    "icon": "history",
                    "code": f"action:{kind}",
                }
    if code in ("since", "until"):
        yield from _days(code)


def _days(code: str) -> Iterator[dict[str, object]]:
    today = timezone.localdate()
    for label, back in (
        (_("Today"), 0),
        (_("A week ago"), 7),
        (_("30 days ago"), 30),
        (_("90 days ago"), 90),
    ):
        day = (today - timedelta(days=back)).isoformat()
        yield {"name": label, "filter": code, "note": day, "icon": "clock", "code": f"{code}:{day}"}
