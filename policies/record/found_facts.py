"""What was found to be written past the console is put on record, once.

By that the site has a new revision: snapshots are made anew, and programs are told that keep answers and were
given one by such a row before it was found.
"""

from __future__ import annotations

from policies.authority import SYSTEM, of_system
from policies.events import FACTS_FOUND
from policies.models import Event, UnsealedFact
from policies.record.change import change
from policies.record.event_drafts import make_event

NAMED = 100


def put_on_record() -> int:
    """How many were not on record yet.  Two queries where all are."""
    if not _new():
        return 0
    with change(FACTS_FOUND, realm=None, by=SYSTEM) as current:
        rows = _new()
        if rows:
            named = ", ".join(str(row) for row in rows[:NAMED])
            draft = make_event(FACTS_FOUND, None, many=f"{len(rows)} facts", facts=named, last=rows[-1].pk)
            current.say(draft, by=of_system("they bear no good seal, or are gone"))
    return len(rows)


def _new() -> list[UnsealedFact]:
    event = Event.objects.filter(kind=FACTS_FOUND).order_by("change", "number").last()
    return list(UnsealedFact.objects.filter(pk__gt=event.data["last"] if event else 0).order_by("pk"))
