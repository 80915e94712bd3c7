"""What the record says of a request: kept in English, read in the reader's language."""

from __future__ import annotations

import re
from collections.abc import Iterable

from policies.models import RequestPart
from policies.record.history import privilege_label
from policies.requests import notifications as wants
from policies.requests.durations import Lasting
from policies.sentences import Said, Word, read_back, say, sentence

ALL = sentence("part.all", "all")
RIGHTS = sentence("part.rights", "{rights} on {type} {name}")
ROLE, MEMBERSHIP = sentence("part.role", "role {name}"), sentence("part.membership", "membership of {name}")
ONLY = sentence("given.only", "only {rights}")
FOR, UNTIL = sentence("given.for", "{what} for {lasts}"), sentence("given.until", "{what} until {until}")
AND_MORE = sentence("wants.and_more", "{some} and {number} more")
TIMES = {
    "day": sentence("lasts.days", "{many} day", "{many} days"),
    "hour": sentence("lasts.hours", "{many} hour", "{many} hours"),
    "minute": sentence("lasts.minutes", "{many} minute", "{many} minutes"),
}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+]+")
_ITEMS = (
    *(wants.READ, wants.WRITE, wants.GRANT, wants.USE, wants.HOLD, wants.CREATE),
    *(RIGHTS, ROLE, MEMBERSHIP, wants.OTHER),
)


def part_in_words(part: RequestPart) -> str:
    """What a part asks for: `Read on table demo/shop.sales.orders`."""
    if part.kind == RequestPart.Kind.MEMBERSHIP:
        return say(MEMBERSHIP, name=part.name).english
    if part.kind == RequestPart.Kind.ROLE:
        return say(ROLE, name=part.name).english
    return say(RIGHTS, rights=_labels(part.privileges), type=part.type, name=part.name).english


def given_in_words(part: RequestPart, given: list[str], lasts: Lasting | None, until: str | None) -> str:
    """What of a part was approved: `only Read for 7 days`."""
    whole = given == part.privileges
    what = part_in_words(part) if whole else say(ONLY, rights=_labels(given)).english
    if lasts:
        return say(FOR, what=what, lasts=str(lasts)).english
    return say(UNTIL, what=what, until=until).english if until else what


def _labels(codes: Iterable[str]) -> list[Word]:
    return [Word(label) for label in dict.fromkeys(map(privilege_label, codes))]


def in_readers_language(text: str) -> str:
    """A text of the record about a request; one whose wording is known no more stays in English."""
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


def _lasts(text: str) -> list[Said] | None:
    items = [read_back(piece, TIMES.values()) for piece in text.split(" and ")]
    known = [item for item in items if item is not None]
    return known if len(known) == len(items) else None
