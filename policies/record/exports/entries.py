"""Events and access records as plain entries, with names in the place of pseudonyms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accounts.models import Principal
from policies.models import AccessRecord, Event
from policies.record.history import Names

NAMED = ("privilege", "role", "duty", "group")
"""Values of events that entries have by themselves, beside the sentence."""
FIXED = ("operator", "system", "directory")
COLUMNS = (
    "id", "kind", "at", "actor", "on_behalf_of", "via", "reason", "request_id", "revision", "object_type",
    "object_id", "people", "text", "operation", "count", "last",
)  # fmt: skip


def entry_rows(rows: Sequence[Event | AccessRecord]) -> list[dict[str, Any]]:
    """Entries as programs read them; events must bring their changes.  One query."""
    events = [row for row in rows if isinstance(row, Event)]
    names = Names([event.change for event in events], events)
    names.wanted |= {row.actor for row in rows if isinstance(row, AccessRecord)}
    return [_event(row, names) if isinstance(row, Event) else _record(row, names) for row in rows]


def flat(entry: dict[str, Any]) -> list[object]:
    """An entry as a line of a table, in the order of `COLUMNS`."""
    place = entry["object"] or {}
    people = " ".join(entry.get("people", ()))
    flattened = {**entry, "object_type": place.get("type"), "object_id": place.get("id"), "people": people}
    return [flattened.get(column) for column in COLUMNS]


def _event(event: Event, names: Names) -> dict[str, Any]:
    change = event.change
    return {
        "id": f"{change.revision}.{event.number}",
        "kind": event.kind,
        "at": change.at.isoformat(),
        "actor": _name(change.actor, names.principals),
        "on_behalf_of": _name(change.on_behalf_of, names.principals),
        "via": change.via,
        "reason": change.reason,
        "request_id": change.request_id,
        "revision": change.revision,
        "object": _place(event),
        "people": [_name(person, names.principals) for person in event.people],
        "text": names.line(event).text,
        **{name: event.data[name] for name in NAMED if isinstance(event.data.get(name), str)},
    }


def _record(record: AccessRecord, names: Names) -> dict[str, Any]:
    return {
        "id": f"a{record.pk}",
        "kind": record.kind,
        "at": record.at.isoformat(),
        "actor": _name(record.actor, names.principals),
        "via": record.via,
        "operation": record.operation,
        "object": _place(record),
        "count": record.repeat.count,
        "last": record.repeat.last.isoformat(),
    }


def _place(entry: Event | AccessRecord) -> dict[str, str] | None:
    return {"type": entry.object_type, "id": entry.object_name} if entry.object_name else None


def _name(pseudonym: str, principals: dict[str, Principal]) -> str | None:
    """`user:ana`; who is not in the map was erased."""
    if not pseudonym or pseudonym in FIXED:
        return pseudonym or None
    return str(principals[pseudonym]) if pseudonym in principals else "erased"
