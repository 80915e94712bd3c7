"""What the record says of a request: kept in English and as sentences, read in the reader's language.

Entries from before are in English alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from policies.models import RequestPart
from policies.record.history import privilege_label
from policies.requests import notifications as wants
from policies.requests.durations import TIMES, Lasting
from policies.requests.notifications import AND_MORE
from policies.requests.steps import ALL, SENTENCES
from policies.sentences import Said, Type, Word, filled, joined, read_back, say, sentence

RIGHTS = sentence("part.rights", "{rights} on {type} {name}")
PLAN = sentence("part.plan", "the plan of a policy file for {name}")
ROLE, MEMBERSHIP = sentence("part.role", "role {name}"), sentence("part.membership", "membership of {name}")
ONLY = sentence("given.only", "only {rights}")
FOR, UNTIL = sentence("given.for", "{what} for {lasts}"), sentence("given.until", "{what} until {until}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+]+")
_ITEMS = (
    *(wants.READ, wants.WRITE, wants.GRANT, wants.USE, wants.HOLD, wants.CREATE),
    *(wants.PLAN, PLAN, RIGHTS, ROLE, MEMBERSHIP, wants.OTHER),
)


def part_said(part: RequestPart) -> Said:
    """What a part asks for: `Read on table demo/shop.sales.orders`."""
    if part.kind == RequestPart.Kind.MEMBERSHIP:
        return say(MEMBERSHIP, name=part.name)
    if part.kind == RequestPart.Kind.ROLE:
        return say(ROLE, name=part.name)
    if part.kind == RequestPart.Kind.PLAN:
        return say(PLAN, name=part.name)
    return say(RIGHTS, rights=_labels(part.privileges), type=Type(part.type), name=part.name)


def given_said(part: RequestPart, given: list[str], lasts: Lasting | None, until: str | None) -> Said:
    """What of a part was approved: `only Read for 7 days`."""
    what = part_said(part) if given == part.privileges else say(ONLY, rights=_labels(given))
    if lasts:
        return say(FOR, what=what, lasts=lasts.words)
    return say(UNTIL, what=what, until=until) if until else what


def _labels(codes: Iterable[str]) -> list[Word]:
    return [Word(label) for label in dict.fromkeys(map(privilege_label, codes))]


def in_readers_language(name: str, text: str, data: Mapping[str, Any]) -> str:
    """A value of an event about a request; English whose wording is known no more stays as it is."""
    kept = data.get(SENTENCES, {}).get(name)
    return filled(kept) if kept else _read(text)


def _read(text: str) -> str:
    readers = {"what": _what, "some": _listed, "lasts": _lasts, "number": _number, "until": _moment}
    whole = read_back(text, (ALL, AND_MORE, FOR, UNTIL, ONLY), readers)
    if whole is not None:
        return str(whole)
    items = _listed(text)
    return text if items is None else ", ".join(map(str, items))


def _what(text: str) -> list[Said] | Said | None:
    return read_back(text, (ONLY,)) or _listed(text)


def _listed(text: str) -> list[Said] | None:
    """Wants or parts after commas, where the rights of one stand after commas too."""
    items, begun = [], ""
    for piece in text.split(", "):
        begun = f"{begun}, {piece}" if begun else piece
        item = read_back(begun, _ITEMS)
        if item is not None:
            items.append(item)
            begun = ""
    return None if begun else items


def _number(text: str) -> str | None:
    return text if text.isdecimal() else None


def _moment(text: str) -> str | None:
    return text if _MOMENT.fullmatch(text) else None


def _lasts(text: str) -> Said | None:
    items = [read_back(piece, TIMES.values()) for piece in text.split(" and ")]
    items_given = [item for item in items if item is not None]
    return joined(items_given) if len(items_given) == len(items) else None
