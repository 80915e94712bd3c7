"""Who was refused and who looked at other people's access: the access log as a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_noop as noop

from accounts.models import Principal
from authzsite.console.history.question import NamedPerson, someone
from authzsite.console.history.timeline import actor_words
from authzsite.console.history.views import (
    EXPORT_HISTORY,
    not_yours_to_take,
    to_take_away,
)
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.links import leading
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Empty
from authzsite.console.kit.http import Request, asker_of, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.downloads import csv_file
from lakewarden.law import dialects
from policies.decisions import duties
from policies.models import AccessRecord
from policies.record import access_log, history, inquiries
from policies.record.history import Names, Sight
from policies.record.planner_settings import planned_anew
from policies.services.grants import revision_now

SHOWN, CHUNK = 50, 1000
MOST_LOOKED_AT = 10
"""So many pages of records are looked at for one page of those that may be read."""
OF = re.compile(r"((?:access|groups) of |the catalog as )(\w+)")
"""As a look at what concerns one person is recorded: before a pseudonym."""
OF_WHOM = {
    "access of ": noop("access of %(name)s"),
    "groups of ": noop("groups of %(name)s"),
    "the catalog as ": noop("the catalog as %(name)s"),
}
SAID = {
    "access": noop("who has access"),
    inquiries.ASKS: noop("a question about the access of other people"),
    "access in the past": noop("who had access"),
    "access as a file": noop("who has access, as a file"),
    "holders as a file": noop("who holds it, as a file"),
    "owners as a file": noop("who owns what, as a file"),
    "rules as a file": noop("its rules, as a file"),
    "findings as a file": noop("what differs, as a file"),
    "review access": noop("who has access"),
    "duties": noop("who has which duty"),
    "evidence": noop("who had access, as evidence"),
    "uses": noop("who uses what"),
    "grants": noop("who was granted what"),
    "conflicts with rules of separation": noop("who holds both sides of a separation rule"),
    "all access as a policy file": noop("all access, as a policy file"),
    "names as a file": noop("who has access by which name, as a file"),
    "what is gone as a file": noop("vanished objects, as a file"),
    # what somebody was refused
    "realm_office": noop("the settings of the realm"),
    "realm_switch": noop("switching authorization"),
    "service_admin": noop("the administration of the site"),
    "keeper": noop("the administration of a service account"),
    "directory": noop("the administration of the directory"),
    "review": noop("a review"),
    "look": noop("who has access"),
}
"""What is recorded in few letters, as people say it."""
WITH_A_NAME = {
    "access in review ": noop("who has access, in review %(name)s"),
    "evidence of review ": noop("evidence of review %(name)s"),
    "file of review ": noop("review %(name)s, as a file"),
    "access to ": noop("who has access to %(name)s"),
    "export of the history as ": noop("the history, as %(name)s"),
}
WHY = re.compile(r"why [\w.]+")
LABELS = {name.rpartition(".")[2]: item.label for name, item in dialects.get("gravitino").operations.items()}
"""What people call the operations that were named for machines alone, by the last part of their names."""
WITH_ITS_CODE = noop("%(operation)s (%(code)s)")
CALL = noop("the call %(code)s")
THE_DUTY = noop("something that needs the duty %(duty)s")
SOMEBODY = noop("why someone can or cannot use it")
KINDS = (
    ("", gettext_lazy("All")),
    ("refused", gettext_lazy("Refusals")),
    ("looked", gettext_lazy("Views of others’ access")),
)
LEAD = gettext_lazy(
    "Who was refused, and who viewed other people’s access. Repeats within an hour are one entry."
)


@dataclass(frozen=True)
class AccessLogRow:
    """One entry of the access log, in words."""

    kind: str
    sign: str
    sentence: str
    object: str
    url: str
    via: str
    when: str
    times: str


@dataclass(frozen=True)
class AccessLogFilter:
    kind: str = ""
    actor: str = ""
    before: int | None = None

    def url(self, **changed: object) -> str:
        kept = {"kind": self.kind, "actor": self.actor, **changed}
        return "?" + urlencode({name: value for name, value in kept.items() if value})


@reads
@login_required
def access_log_page(request: Request) -> HttpResponse:
    """Who was refused and who looked at others' access, below what the asker may see the history of."""
    asker = asker_of(request)
    given = history.given_to(asker)
    seen = history.sight(asker, history.realms(asker, given=given), given=given)
    filter_, actor, problem = _asked(request, seen)
    # of people seldom in it the newest are found by their index, of others from the end
    with planned_anew():
        log_page = (
            _log_page(_records(filter_, seen, actor), seen, given)
            if actor or not problem
            else AccessLogPage()
        )
    context = {
        "heading": gettext("History"),
        "lead": LEAD,
        "kinds": KINDS,
        "asked": filter_,
        "problem": "" if log_page.records else problem,
        "rows": _rows(log_page.records, log_page.opens),
        "pager": _pager(filter_, log_page, export=bool(duties.held(asker, EXPORT_HISTORY))),
        "empty": Empty(
            gettext("Nothing is recorded yet"),
            gettext("You see records about objects you own or look after."),
        ),
    }
    return page(
        request, "console/history/access_log.html", context, section="history", revision=revision_now()
    )


def _asked(request: Request, seen: Sight) -> tuple[AccessLogFilter, Principal | None, str]:
    """What the address asks for, whom it names, and what is wrong with that if nothing is found."""
    kind, who = request.GET.get("kind", ""), request.GET.get("actor", "").strip()[:255]
    filter_ = AccessLogFilter(
        kind if kind in dict(KINDS) else "", who, number_in(request.GET.get("before", ""))
    )
    named = someone(who, seen) if who else NamedPerson()
    return filter_, named.principal, named.problem


@dataclass(frozen=True)
class AccessLogPage:
    """Records that the viewer may read, the objects in them that open to them, and where to go on before."""

    records: Sequence[AccessRecord] = ()
    opens: frozenset[int] = frozenset()
    next: int | None = None


def _log_page(rows: QuerySet[AccessRecord], seen: Sight, given: frozenset[int]) -> AccessLogPage:
    """The newest of these that the viewer may read, a page of them or what a bounded number of rows holds."""
    records: list[AccessRecord] = []
    opens: frozenset[int] = frozenset()
    before: int | None = None
    for _ in range(MOST_LOOKED_AT):
        some = list((rows.filter(pk__lt=before) if before else rows)[: SHOWN + 1])
        opens |= leading(seen.viewer, seen, (item.lineage for item in some[:SHOWN]), given)
        for record in some[:SHOWN]:
            if len(records) == SHOWN:
                return AccessLogPage(records, opens, before)
            before = record.pk
            if seen.reads(record, opens):
                records.append(record)
        if len(some) <= SHOWN:
            return AccessLogPage(records, opens)
        if len(records) == SHOWN:
            break
    return AccessLogPage(records, opens, before)


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """The same to its end, for people with the duty to export the history."""
    asker = asker_of(request)
    seen = to_take_away(asker)
    if seen is None:
        return not_yours_to_take(request)
    filter_, actor, problem = _asked(request, seen)
    head = ["when", "kind", "who", "what", "object", "type", "through", "times"]
    rows = _records(replace(filter_, before=None), seen, actor)
    return csv_file.answer("refusals-and-looks", head, _lines(rows, seen) if actor or not problem else ())


def _way(via: str) -> str:
    ways = {"console": gettext("in the console"), "api": gettext("by a program")}
    ways[access_log.BY_NUMBER] = ways["console"]
    return ways.get(via, gettext("through %(via)s") % {"via": via})


def _lines(rows: QuerySet[AccessRecord], seen: Sight) -> Iterator[list[object]]:
    rest = rows.iterator(CHUNK)
    while chunk := list(islice(rest, CHUNK)):
        opens = leading(seen.viewer, seen, (item.lineage for item in chunk), frozenset(seen.objects))
        some = [item for item in chunk if seen.reads(item, opens)]
        names = _names(some)
        for item in some:
            about = [item.object_name, item.object_type, item.via, item.repeat.count]
            yield [item.at.isoformat(), item.kind, names.of(item.actor), _what(item, names), *about]


def _records(filter_: AccessLogFilter, seen: Sight, actor: Principal | None) -> QuerySet[AccessRecord]:
    rows = AccessRecord.objects.filter(seen.of_records()).select_related("repeat").order_by("-pk")
    if filter_.kind:
        rows = rows.filter(kind=filter_.kind)
    if actor:
        rows = rows.filter(actor=actor.pseudonym)
    return rows.filter(pk__lt=filter_.before) if filter_.before else rows


def _pager(filter_: AccessLogFilter, log_page: AccessLogPage, *, export: bool) -> Pager:
    next_ = filter_.url(before=log_page.next) if log_page.next else ""
    text = gettext("%(records)s, newest first") % {
        "records": words.count(len(log_page.records), "entry", "entries")
    }
    csv = reverse("console:looks_csv") + filter_.url() if export else ""
    return Pager(text, filter_.url() if filter_.before else "", next_, csv)


def _rows(records: Sequence[AccessRecord], open_: Collection[int]) -> list[AccessLogRow]:
    names = _names(records)
    return [_row(item, names, open_) for item in records]


def _names(records: Sequence[AccessRecord]) -> Names:
    names = Names([], [])
    names.wanted |= {item.actor for item in records}
    names.wanted |= {match[2] for item in records if (match := OF.fullmatch(item.operation))}
    return names


def _what(record: AccessRecord, names: Names, say: Callable[[str], str] = str) -> str:
    """What was refused or looked at; `say` puts it into the reader's language; files are English."""
    if match := OF.fullmatch(record.operation):
        return say(OF_WHOM[match[1]]) % {"name": names.of(match[2])}
    if WHY.fullmatch(record.operation):
        return say(SOMEBODY)
    for begins, text in WITH_A_NAME.items():
        if record.operation.startswith(begins):
            return say(text) % {"name": record.operation.removeprefix(begins)}
    if record.operation in terms.DUTIES:
        return say(THE_DUTY) % {"duty": record.operation if say is str else terms.DUTIES[record.operation]}
    if record.operation in SAID:
        return say(SAID[record.operation])
    return record.operation if say is str else _operation(record.operation)


def _operation(code: str) -> str:
    """read (Table.loadTable); of laws that name their operations by calls alone: the call program.start"""
    label = LABELS.get(code.rpartition(".")[2])
    if label is None:
        return gettext(CALL) % {"code": code}
    return gettext(WITH_ITS_CODE) % {"operation": terms.lower(gettext(label)), "code": code}


def _row(record: AccessRecord, names: Names, open_: Collection[int]) -> AccessLogRow:
    refused = record.kind == AccessRecord.Kind.REFUSED
    values = {"who": actor_words(names.of(record.actor)), "what": _what(record, names, gettext)}
    key = record.lineage[-1] if record.lineage else 0
    return AccessLogRow(
        kind="stop" if refused else "same",
        sign="⊘" if refused else "○",
        sentence=gettext("%(who)s was refused: %(what)s") % values
        if refused
        else gettext("%(who)s viewed %(what)s") % values,
        object=record.object_name,
        url=terms.page_of(key, record.object_type) if key in open_ else "",
        via=_way(record.via),
        when=words.moment(record.at),
        times=gettext("%(count)s times") % {"count": words.number(record.repeat.count)}
        if record.repeat.count > 1
        else "",
    )
