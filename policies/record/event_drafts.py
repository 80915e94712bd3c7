"""Events about an object or a person, in the record's form."""

from __future__ import annotations

from typing import Any

from accounts.models import Principal
from catalog.nodes import Node
from policies.events import EventDraft


def make_event(kind: str, node: Node | None, /, *people: Principal, **data: Any) -> EventDraft:
    """An event about an object and the people it concerns, who appear by pseudonym."""
    pseudonyms = tuple(person.pseudonym for person in people)
    named = {**data, **({"person": pseudonyms[0]} if pseudonyms else {})}
    if node is None:
        return EventDraft(kind, people=pseudonyms, data=named)
    return EventDraft(kind, node.type, node.ref.id, node.lineage, pseudonyms, named)
