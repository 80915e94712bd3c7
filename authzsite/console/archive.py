"""The archive of the history: events that are not live any more, searched in their files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse

from accounts.models import Principal
from authzsite.console.door import signed_in
from authzsite.console.history import somebody
from authzsite.console.history_tabs import tabs
from authzsite.console.methods import reads
from authzsite.console.parts import Empty, Note
from authzsite.console.requests import Request, asker_of
from authzsite.console.shell import page
from catalog.nodes import Node
from policies import history
from policies.archiving import reading
from policies.archiving.files import ArchiveBroken
from policies.archiving.reading import Sought
from policies.history import Names
from policies.models import Event
from policies.queries import realms_of
from policies.services.grants import revision_now

MOST = 100
SLOW = "Every file of the realm is read for each search, so a long history takes some seconds."


@dataclass(frozen=True)
class Line:
    """One archived event in words."""

    at: datetime
    revision: int
    actor: str
    text: str
    reason: str


@reads
@signed_in
def room(request: Request) -> HttpResponse:
    """A search in the archive of one realm, for who may read the history there."""
    asker = asker_of(request)
    places = _places(asker)
    name, text, person = (request.GET.get(one, "").strip()[:255] for one in ("realm", "q", "person"))
    chosen = next((node for node in places if node.name == name), None)
    context = {
        "heading": "History",
        "lead": "What is older than a realm's retention is in files that belong to the same verified chain.",
        "tabs": tabs("history_archive"),
        "realms": [node.name for node in places],
        "realm": chosen.name if chosen else "",
        "q": text,
        "person": person,
        "slow": Note("plain", "This is slower than the history that is live.", SLOW),
        "none": Empty(
            "Nothing is archived",
            "A realm keeps all of its history live unless its owner says else.",
            level=2,
        ),
        **(_found(asker, chosen, text, person) if chosen else {}),
    }
    return page(request, "console/archive.html", context, room="history", revision=revision_now())


def _places(asker: Principal) -> list[Node]:
    """The realms with an archive of which the asker may read some of the history."""
    archived = set(reading.archives().values_list("realm", flat=True))
    nodes = [node for node in realms_of(asker) if node.realm_id in archived]
    return [node for node in nodes if history.sight(asker, [node]).objects]


def _found(asker: Principal, root: Node, text: str, person: str) -> dict[str, object]:
    who = somebody(person) if person else None
    if person and who is None:
        return {"problem": f"Nobody is called {person}."}
    inside = frozenset(history.sight(asker, [root]).objects)
    sought = Sought(root.realm_id, text=text, person=who, inside=None if root.id in inside else inside)
    try:
        return {"searched": True, "lines": _lines(reading.search(sought, MOST)), "most": MOST}
    except ArchiveBroken as broken:
        return {"broken": Note("bad", "The archive cannot be read.", f"It says: {broken}.")}


def _lines(events: list[Event]) -> list[Line]:
    names = Names([event.change for event in events], events)
    return [
        Line(
            event.change.at,
            event.change_id,
            names.of(event.change.actor),
            names.line(event).text,
            event.change.reason,
        )
        for event in events
    ]
