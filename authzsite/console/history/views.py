"""History: everything that ever changed and that the viewer may know of, filtered, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from authzsite.console.history import query_box, timeline
from authzsite.console.history.kinds import KINDS
from authzsite.console.history.question import Question, read
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.charts import DayChart, by_day
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Action, Crumbs, Empty
from authzsite.console.kit.display.tables import Table
from authzsite.console.kit.error_pages import show
from authzsite.console.kit.http import Request, asker_of, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.lists.shown import ShownList
from authzsite.console.objects.access import ObjectAccess, get_past_object_or_404
from authzsite.downloads import csv_file
from catalog.nodes import Node
from policies.decisions import duties
from policies.decisions.lookups import counts
from policies.record import history
from policies.record.history import Filter, Sight
from policies.services.grants import revision_now

EVERYTHING = ("realm", "request", "kind", "person", "actor", "since", "until", "q", "revision")
SHOWN = 50
CHARTED = 60
"""So many days are drawn."""
EXPORT_HISTORY = "export_history"
NO_EXPORT = gettext_lazy(
    "Only people with the duty to export the history can export it. Nothing was changed."
)


def shown(
    request: Request,
    viewer: Principal,
    realms: Sequence[Node],
    object_: Node | None,
    realm: str = "",
    given: frozenset[int] | None = None,
) -> dict[str, Any]:
    """Rows and pager of one page of the record."""
    given = history.given_to(viewer) if given is None else given
    seen = history.sight(viewer, realms, given=given)
    question = read(request, seen, object_, realm)
    if question.problems:
        return {"question": question, "seen": seen, "rows": [], "empty": _nothing(question)}
    before = question.revision + 1 if question.revision and not question.before else question.before
    limit, lines = (1, timeline.ALONE) if question.revision else (SHOWN, timeline.LINES)
    change_page = history.page(question.filter, seen, before=before, limit=limit, lines=lines)
    if question.doubts and not change_page.entries:
        question = question.doubted()
        return {"question": question, "seen": seen, "rows": [], "empty": _nothing(question)}
    entries = [
        entry
        for entry in change_page.entries
        if not question.revision or entry.change.revision == question.revision
    ]
    rows = timeline.followed(timeline.opened(timeline.rows(entries), viewer, seen, given))
    return {
        "question": question,
        "seen": seen,
        "rows": timeline.with_undo(rows, entries, viewer),
        "pager": _pager(question, change_page, export=bool(duties.held(viewer, EXPORT_HISTORY))),
        **timeline.nothing(change_page, question.url(before=change_page.next), _nothing(question)),
    }


def _pager(question: Question, change_page: history.Page, *, export: bool) -> Pager:
    if question.revision:
        return Pager(
            gettext("Change %(revision)s alone") % {"revision": words.number(question.revision)},
            previous=question.url(revision=""),
        )
    text = gettext("%(entries)s, newest first") % {"entries": words.count(len(change_page.entries), "change")}
    text = ". ".join(filter(None, (text, timeline.as_far(change_page))))
    csv = reverse("console:history_csv") + question.url() if export else ""
    next_ = question.url(before=change_page.next) if change_page.next else ""
    return Pager(text, question.url() if question.before else "", next_, csv)


def _nothing(question: Question) -> Empty:
    if question.url() != Question(filter=Filter(object=question.filter.object)).url():
        everything = Action(
            gettext("Show everything"),
            question.url(**dict.fromkeys(EVERYTHING, "")),
            "",
        )
        return Empty(
            gettext("No change matches"),
            gettext("All of the history was searched. You see changes about you and your objects."),
            drawn=False,
            actions=(everything,),
        )
    return Empty(
        gettext("Nothing has changed yet"),
        gettext("Every change of grants, roles, groups and owners will be listed here, permanently."),
    )


LIST: Table[Any] = Table(gettext_lazy("History"), code="history")
"""Nobody chooses its columns; views keep what is asked of it."""


@reads
@login_required
def history_list(request: Request) -> HttpResponse:
    """Everything the viewer may know of, on the whole site or from one object down."""
    if address := query_box.address_of(request):
        return redirect(address)
    asker = asker_of(request)
    place = _object(request)
    node = place.node if place else None
    given = history.given_to(asker)
    realms = history.realms(asker, given=given)
    root = None if node else realm_in(request, realms)
    context = shown(request, asker, realms, node or root, root.name if root else "", given)
    question = context["question"]
    if not context["rows"] and not question.problems:
        context["empty"] = query_box.with_meanings(request, question, context["empty"])
    return page(
        request,
        "console/history/history.html",
        {
            **context,
            **_frame(place),
            **fields(question, realms),
            "chart": _chart(question, context["seen"]),
            "options": ShownList.of(request, LIST).options(),
        },
        section="history",
        realm=realms[0].name if len(realms) == 1 else "",
        revision=revision_now(),
    )


def _chart(question: Question, seen: history.Sight) -> DayChart | None:
    """How much changed day by day on what the viewer looks after, where nothing is filtered.  One query."""
    if question.url() != Question().url() or not seen.objects:
        return None
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    days = [today - timedelta(days=back) for back in range(CHARTED - 1, -1, -1)]
    many = counts.changes_by_day(seen.objects, timeline.ABOUT_ACCESS, since=days[0])
    return by_day(gettext("Changes to access"), [(day, many.get(day.date(), 0)) for day in days])


def _object(request: Request) -> ObjectAccess | None:
    number = number_in(request.GET.get("object", ""))
    return get_past_object_or_404(request, number) if number else None


def realm_in(request: Request, realms: Sequence[Node]) -> Node | None:
    """The realm that is asked about, None for all.  One that is not the asker's is absent: Http404."""
    name = request.GET.get("realm", "")
    match = next((realm for realm in realms if realm.name == name), None)
    if name and match is None:
        raise Http404
    return match


def fields(asked: Question, realms: Sequence[Node]) -> dict[str, Any]:
    """What the form of filters needs."""
    return {
        "kinds": [(code, word) for code, word, _ in KINDS],
        "realms": [realm.name for realm in realms],
        "asked": asked,
        "problems": asked.problems,
        "chips": query_box.chips(asked),
    }


def _frame(place: ObjectAccess | None) -> dict[str, Any]:
    return {
        "crumbs": _crumbs(place) if place else None,
        "heading": gettext("History of %(name)s") % {"name": place.node.name}
        if place
        else gettext("History"),
        "lead": gettext("What changed, who did it, when and why. Nothing here can be edited or removed."),
        "actions": [] if place is None else [Action(gettext("Open it"), _page_of(place), "")],
        "object": place.node.id if place else "",
    }


def _crumbs(place: ObjectAccess) -> Crumbs:
    """The way down to it; of what is gone or hidden to the history alone, as what is above may be so too."""
    every, node = reverse("console:history"), place.node
    above = [] if place.only_past else [(item.name, f"{every}?object={item.id}") for item in node.above()]
    return Crumbs(((gettext("History"), every), *above))


def _page_of(place: ObjectAccess) -> str:
    if place.only_past:
        return reverse("console:object_history", args=[place.node.id])
    return terms.page_of(place.node.id, place.node.type)


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """The same record as a file, to its end."""
    asker = asker_of(request)
    seen = to_take_away(asker)
    if seen is None:
        return not_yours_to_take(request)
    place = _object(request)
    node = place.node if place else None
    root = realm_in(request, history.realms(asker)) if node is None and "realm" in request.GET else None
    question = read(request, seen, node or root, root.name if root else "")
    head = ["revision", "when", "by", "what", "object", "reason"]
    return csv_file.answer("history", head, [] if question.problems else _every(question, seen))


def to_take_away(asker: Principal) -> Sight | None:
    """The part of the record that somebody may take away; None without the duty to export it."""
    roots = duties.held(asker, EXPORT_HISTORY)
    return Sight(asker, tuple(sorted(roots)), site=False) if roots else None


def not_yours_to_take(request: Request) -> HttpResponse:
    return show(request, 403, heading=gettext("You cannot export this"), text=str(NO_EXPORT))


def _every(question: Question, seen: Sight) -> Iterator[Sequence[object]]:
    before: int | None = None
    while True:
        change_page = history.page(question.filter, seen, before=before, limit=500)
        for entry in change_page.entries:
            for line in entry.lines:
                yield (
                    entry.change.revision,
                    entry.change.at.isoformat(),
                    entry.actor,
                    line.text,
                    line.event.object_name,
                    entry.change.reason,
                )
        if change_page.next is None:
            return
        before = change_page.next
