"""The lists of requests: those the viewer decides, made, or may see, and those that ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.models import Principal
from accounts.text import called, holdable
from authzsite.console.home.waiting import SHOWN as ON_HOME
from authzsite.console.home.waiting import Waits, waits
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Item, Pager
from authzsite.console.kit.display.parts import Action, Empty, Tab, Tabs
from authzsite.console.kit.http import Request, asker_of, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.navigation import MOST_COUNTED, counted
from authzsite.console.kit.page import page
from authzsite.console.requests import rows as requests_rows
from authzsite.console.requests.deciding import risk
from authzsite.downloads import csv_file
from policies.models import AccessRequest
from policies.models.requests import WAITING
from policies.requests import visibility
from policies.services.grants import revision_now

SHOWN, CHUNK = 25, 500
TABS = (
    ("decide", gettext_lazy("To decide")),
    ("mine", gettext_lazy("Yours")),
    ("all", gettext_lazy("All")),
    ("ended", gettext_lazy("Ended")),
)
"""What stands in the address as `tab`."""


@dataclass(frozen=True)
class RequestFilter:
    """Which list, filtered how, after which request; all of it stands in the address."""

    tab: str = "decide"
    text: str = ""
    after: int = 0

    @classmethod
    def read(cls, request: Request) -> RequestFilter:
        tab, text = request.GET.get("tab", ""), request.GET.get("q", "").strip()[:255]
        tab_code = tab if tab in dict(TABS) else "decide"
        after = number_in(request.GET.get("after", "")) or 0
        return cls(tab_code, text if holdable(text) else "", after)

    def url(self, **changed: object) -> str:
        kept = {"tab": self.tab, "q": self.text, "after": self.after or "", **changed}
        return "?" + urlencode({name: value for name, value in kept.items() if value})


@dataclass
class Board:
    """One viewer's lists.  The number of queries does not depend on how many requests there are."""

    viewer: Principal
    asked: RequestFilter

    @cached_property
    def to_decide(self) -> QuerySet[AccessRequest]:
        return visibility.waiting_for(self.viewer)

    @cached_property
    def rows(self) -> list[AccessRequest]:
        """One more than is shown, to know whether there are more."""
        rows = self.whole()
        if self.asked.after:
            rows = rows.filter(
                Q(pk__gt=self.asked.after) if self.asked.tab == "decide" else Q(pk__lt=self.asked.after)
            )
        return list(rows[: SHOWN + 1])

    def whole(self) -> QuerySet[AccessRequest]:
        """The list that is asked for, to its end, in its order."""
        lists: dict[str, Callable[[], QuerySet[AccessRequest]]] = {
            "decide": lambda: self.to_decide,
            "mine": lambda: visibility.made_by(self.viewer),
            "all": lambda: visibility.visible_to(self.viewer),
            "ended": lambda: visibility.visible_to(self.viewer).exclude(state__in=WAITING),
        }
        rows = self._filtered(lists[self.asked.tab]()).select_related("asker", "holder", "realm")
        order = "pk" if self.asked.tab == "decide" else "-pk"
        return rows.prefetch_related("wants", "parts").order_by(order)

    def _filtered(self, rows: QuerySet[AccessRequest]) -> QuerySet[AccessRequest]:
        text = self.asked.text
        if not text:
            return rows
        who = called(text, "asker__")
        what = Q(reason__icontains=text) | Q(ticket__icontains=text)
        number = Q(pk=number_in(text)) if number_in(text) is not None else Q()
        named = Q(pk__in=AccessRequest.objects.filter(wants__name__icontains=text).values("pk"))
        return rows.filter(who | what | named | number)

    @property
    def shown(self) -> list[requests_rows.RequestRow]:
        deciding = self.asked.tab == "decide"
        rows = self.rows[:SHOWN]
        marked = risk.low(rows) if deciding else {}
        made = [requests_rows.row(row, self.viewer, deciding=deciding) for row in rows]
        return [risk.marked(item, marked) for item in made] if deciding else made

    @cached_property
    def waiting(self) -> int:
        """How many there are to decide, counted no further than `MOST_COUNTED`."""
        return self.to_decide.order_by().values("pk")[: MOST_COUNTED + 1].count()

    def tabs(self) -> Tabs:
        counts = {"decide": counted(self.waiting)}
        made = [
            Tab(label, RequestFilter(tab, self.asked.text).url(), tab == self.asked.tab, counts.get(tab, ""))
            for tab, label in TABS
        ]
        return Tabs(tuple(made))

    def pager(self) -> Pager | None:
        more = len(self.rows) > SHOWN
        if not more and not self.asked.after:
            return None
        order = _("Oldest first") if self.asked.tab == "decide" else _("Newest first")
        next_ = self.asked.url(after=self.rows[SHOWN - 1].pk) if more else ""
        return Pager(order, self.asked.url(after=0) if self.asked.after else "", next_)

    def empty(self) -> Empty:
        if self.asked.text:
            back = (Action(_("Show all"), RequestFilter(self.asked.tab).url()),)
            return Empty(
                _("None matches “%(text)s”") % {"text": self.asked.text}, drawn=False, actions=back, level=2
            )
        heading, text = NOTHING[self.asked.tab]
        ask = (Action(_("Request access"), reverse("console:request_new")),)
        return Empty(heading, text, actions=ask if self.asked.tab in ("mine", "all") else (), level=2)


NOTHING = {
    "decide": (
        gettext_lazy("No request waits for you"),
        gettext_lazy("Requests that you can decide will be listed here."),
    ),
    "mine": (
        gettext_lazy("You have not requested anything yet"),
        gettext_lazy("Request what you need; the outcome is shown here."),
    ),
    "all": (
        gettext_lazy("No requests that you can see"),
        gettext_lazy("Your own requests, and those you decide or decided, are listed here."),
    ),
    "ended": (gettext_lazy("None has ended yet"), gettext_lazy("Every request stays listed after its end.")),
}


@reads
@login_required
def request_list(request: Request) -> HttpResponse:
    """The list that the address asks for."""
    board = Board(asker_of(request), RequestFilter.read(request))
    shown = board.shown
    context: dict[str, Any] = {
        "heading": _heading(board),
        "lead": _("What people request, who decides, and the outcome."),
        "actions": [Action(_("Request access"), reverse("console:request_new"), "" if shown else "primary")],
        "tabs": board.tabs(),
        "asked": board.asked,
        "rows": shown,
        "deciding": board.asked.tab == "decide",
        "ticks": any(item.tickable for item in shown),
        "locked": risk.REASON if any(item.why_not for item in shown) else None,
        "pager": board.pager(),
        "csv": reverse("console:requests_csv") + board.asked.url(after=0),
        "empty": board.empty(),
    }
    return page(request, "console/requests/list.html", context, section="requests", revision=revision_now())


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """The same list to its end: a line for each thing that a request asks for."""
    board = Board(asker_of(request), RequestFilter.read(request))
    head = [
        "request",
        _("requested at"),
        _("requested by"),
        "for",
        "object",
        "type",
        "action",
        "reason",
        "ticket",
    ]
    lines = (line for item in board.whole().iterator(CHUNK) for line in _lines(item))
    return csv_file.answer("requests", [*head, "state", _("granted at"), "ends"], lines)


def _lines(access_request: AccessRequest) -> Iterator[list[object]]:
    who = [
        access_request.pk,
        access_request.asked_at.isoformat(),
        access_request.asker,
        access_request.holder,
    ]
    for want in access_request.wants.all():
        times = [moment.isoformat() if moment else "" for moment in (want.given_at, want.valid_until)]
        what = [want.name, want.type, want.action, access_request.reason, access_request.ticket]
        yield [*who, *what, access_request.get_state_display(), *times]


def _heading(board: Board) -> str:
    many = board.waiting
    if board.asked.tab != "decide" or not many:
        return _("Requests")
    heading = (
        words.spelled(many)
        if many <= MOST_COUNTED
        else _("More than %(most_counted)s") % {"most_counted": words.number(MOST_COUNTED)}
    )
    return ngettext("%(told)s request waits for you", "%(told)s requests wait for you", many) % {
        "told": heading
    }


@reads
@login_required
def count(request: Request) -> HttpResponse:
    """How many wait, for the navigation on every page."""
    board = Board(asker_of(request), RequestFilter())
    return render(request, "console/requests/count.html", {"count": counted(board.waiting)})


# Home


@waits(10, "request")
def to_decide(asker: Principal) -> Waits:
    """Requests that wait for somebody's decision, and their own that a decider asked back about."""
    board = Board(asker, RequestFilter())
    rows = board.rows[:ON_HOME]
    mine = visibility.made_by(asker).filter(state="asked_back").select_related("asker", "holder", "realm")
    asked_back = list(mine.prefetch_related("wants", "parts").order_by("pk")[:ON_HOME])
    items = [*map(_item, rows), *map(_question, asked_back)]
    many = board.waiting + len(asked_back)
    url = reverse("console:requests")
    step = Action(_("Decide requests"), url, "primary") if rows else None
    lead = "" if not rows else _("The oldest request came %(when)s.") % {"when": words.on(rows[0].asked_at)}
    return Waits(tuple(items), many, step, lead)


def _item(access_request: AccessRequest) -> Item:
    shown = requests_rows.row(access_request, access_request.asker)
    parts = words.count(len(access_request.parts.all()), "decision")
    decide = Action(
        _("Decide"),
        reverse("console:request_decide", args=[access_request.pk]),
        "mini",
        more=_("request %(pk)s") % {"pk": access_request.pk},
    )
    asked_at, reason = words.moment(access_request.asked_at), requests_rows.cut(access_request.reason)
    note = _("%(asked_at)s · “%(reason)s” · needs %(parts)s") % {
        "asked_at": asked_at,
        "reason": reason,
        "parts": parts,
    }
    return Item(shown.who.face, access_request.asker.label, shown.text, note, decide)


def _question(access_request: AccessRequest) -> Item:
    answer = Action(
        _("Answer"),
        requests_rows.url_of(access_request) + "#answer",
        "mini",
        more=_("about request %(pk)s") % {"pk": access_request.pk},
    )
    text = _("asks to %(all)s: an approver has a question") % {
        "all": requests_rows.wants_words(list(access_request.wants.all()))
    }
    return Item(
        requests_rows.row(access_request, access_request.asker).who.face,
        _("Your request"),
        text,
        _("Request %(pk)s") % {"pk": access_request.pk},
        answer,
    )
