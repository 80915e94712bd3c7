"""The archive of the history: events that are not live any more, searched in their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.history.question import Question, read
from authzsite.console.history.views import fields
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Empty, Note
from authzsite.console.kit.http import Request, asker_of, two_numbers_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from catalog.nodes import Node
from policies.models import Event
from policies.record import history
from policies.record.archive import reading
from policies.record.archive import search as archive_search
from policies.record.archive.files import ArchiveBroken
from policies.record.history import Names, Sight
from policies.services.grants import revision_now

SHOWN = 100
SLOW = gettext_lazy("Files are read from the newest backwards, only where something may match.")


@dataclass(frozen=True)
class ArchivedEventRow:
    """One archived event in words."""

    at: datetime
    revision: int
    actor: str
    text: str
    reason: str


@reads
@login_required
def archive_page(request: Request) -> HttpResponse:
    """A search in the archive of one realm, for readers of the history there."""
    asker = asker_of(request)
    places = _places(asker)
    root = next((place for place in places if place.name == request.GET.get("realm")), None)
    seen = history.sight(asker, [root] if root else [])
    question = read(request, seen, realm=root.name if root else "")
    results = (
        _results(question, seen, root, request.GET.get("before", ""))
        if root and not question.problems
        else {}
    )
    if question.doubts and not results.get("lines"):
        question, results = question.doubted(), {}
    context = {
        "heading": _("History"),
        "lead": _("Changes older than a realm's retention are in files of the same verified chain."),
        **fields(question, places),
        "slow": Note("plain", _("This is slower than the history that is live."), SLOW),
        "none": Empty(
            _("Nothing is archived"),
            _("A realm keeps all of its history live unless its owner sets a retention."),
            level=2,
        ),
        **results,
    }
    return page(request, "console/history/archive.html", context, section="history", revision=revision_now())


def _places(asker: Principal) -> list[Node]:
    """The realms with an archive of which the asker may read some of the history."""
    archived = set(reading.archives().values_list("realm", flat=True))
    nodes = [node for node in history.realms(asker) if node.realm_id in archived]
    return [node for node in nodes if history.sight(asker, [node]).objects]


def _results(question: Question, seen: Sight, root: Node, before: str) -> dict[str, object]:
    place = two_numbers_in(before)
    try:
        results = archive_search.search(root.realm_id, question.filter, seen, before=place, limit=SHOWN)
    except ArchiveBroken as broken:
        return {
            "broken": Note(
                "bad", _("The archive cannot be read."), _("The error: %(broken)s.") % {"broken": broken}
            )
        }
    next_ = question.url(before=f"{results.next[0]}.{results.next[1]}") if results.next else ""
    caption = _("%(events)s, newest first") % {"events": words.count(len(results.events), "event")}
    return {
        "searched": True,
        "lines": _lines(results.events),
        "pager": Pager(caption, question.url() if before else "", next_),
    }


def _lines(events: Sequence[Event]) -> list[ArchivedEventRow]:
    names = Names([event.change for event in events], events)
    return [
        ArchivedEventRow(
            event.change.at,
            event.change_id,
            names.of(event.change.actor),
            names.line(event).text,
            event.change.reason,
        )
        for event in events
    ]
