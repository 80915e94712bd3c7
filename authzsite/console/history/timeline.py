"""The record on a page: changes as sentences, with their signs, moments and reasons."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.links import leading
from authzsite.console.kit.display.parts import Empty, Moment, State, Timeline
from authzsite.console.sync.applied import arrived, ordered
from catalog.nodes import Node
from policies import sentences
from policies.authority import Actor
from policies.decisions.personal_role_names import tells_of_personal_role
from policies.events import SENTENCES, EventDraft
from policies.models import Change, Event, ForeignOrder
from policies.record import history
from policies.record.history import Entry, EventLine, Filter, Sight
from policies.requests import record_words
from policies.services.undoable import undoable
from policies.sync.status import StatusQuestion, SyncStatus, names_by_pseudonym, of_orders, statuses

GAINS = ("grant.added", "role.assigned", "group.joined", "member.added", "denial.removed", "duty.given")
LOSSES = (
    "grant.removed",
    "role.unassigned",
    "group.left",
    "member.removed",
    "denial.added",
    "duty.taken",
    "token.revoked",
)
ABOUT_ACCESS = (
    "grant.added",
    "grant.removed",
    "denial.added",
    "denial.removed",
    "owner.set",
    "owner.ended",
    "object.registered",
    "object.renamed",
    "object.dropped",
)
APPLIED = (
    *("grant.added", "grant.removed", "denial.added", "denial.removed"),
    *("owner.set", "owner.ended", "object.dropped"),
)
"""What a backend is changed for, and so must have arrived there."""
TAKING = ("grant.removed", "denial.added", "owner.ended", "object.dropped")
ORDERED = ("foreign.adopted", "foreign.revoked")
"""What is carried out by an order to the backend."""
LINES, ALONE = 40, 80
"""So many lines of one change stand among others, and so many when it is looked at alone."""
BY_THEMSELVES = {
    "request.asked": noop("{actor} requested access: {what} (request {request})"),
    "request.answered": noop("{actor} answered a question about request {request}: {what}"),
    "request.withdrawn": noop("{actor} withdrew request {request}: {what}"),
    "grant.added": noop("{actor} granted themselves {privilege} on {object}"),
    "grant.removed": noop("{actor} gave up {privilege} on {object}"),
    "owner.set": noop("{actor} became the owner of {object}"),
    "role.assigned": noop("{actor} took on role {role}"),
    "role.unassigned": noop("{actor} gave up role {role}"),
    "group.joined": noop("{actor} joined group {group}"),
    "group.left": noop("{actor} left group {group}"),
}
"""What reads otherwise where somebody does it about themselves."""
SIGNS = {
    "gain": ("+", noop("Gained")),
    "lose": ("−", noop("Lost")),
    "stop": ("⊘", noop("Denied")),
    "change": ("~", noop("Changed")),
}


def kind_of(event_kind: str) -> str:
    """gain, lose, stop or change."""
    if event_kind == "denial.added":
        return "stop"
    return "gain" if event_kind in GAINS else "lose" if event_kind in LOSSES else "change"


def moments_of(revisions: Collection[int]) -> dict[int, datetime]:
    """When changes were made.  One query."""
    rows = Change.objects.filter(revision__in=list(revisions))
    return dict(rows.values_list("revision", "at"))


@dataclass(frozen=True)
class TimelineRow:
    """One line of the history table; `way` leads down to the object that its address opens."""

    kind: str
    sentence: str
    object: str
    url: str
    by: str
    when: str
    reason: str
    number: int
    before: str = ""
    after: str = ""
    way: tuple[int, ...] = ()
    claim: SyncClaim | None = None
    orders: bool = False
    applied: State | None = None
    undo: str = ""
    """Where the change can be undone, on the first of its lines."""

    @property
    def sign(self) -> str:
        return SIGNS[self.kind][0]

    @property
    def word(self) -> str:
        return _(SIGNS[self.kind][1])

    @property
    def revision(self) -> str:
        return words.number(self.number)

    @property
    def revision_url(self) -> str:
        return f"{reverse('console:history')}?revision={self.number}"


@dataclass(frozen=True)
class Searching:
    """In the place of rows while none are found: how far the search came, and the address where it goes on.

    A page with scripts goes on by itself.
    """

    template: ClassVar[str] = "parts/searching.html"
    heading: str
    text: str
    further: str


def as_far(found: history.Page) -> str:
    """How far back was searched, and how much is left, where that is not to the beginning."""
    if not found.searched or not found.next:
        return ""
    left = words.count(found.next - 1, "change")
    return _("Searched back to %(searched)s; %(left)s left to search") % {
        "searched": words.moment(found.searched),
        "left": left,
    }


def nothing(found: history.Page, further: str, empty: Empty) -> dict[str, Any]:
    """What stands in the place of rows: the `empty` one at the end, else the search; and the same aloud."""
    shown = Searching(_("Nothing found so far"), f"{as_far(found)}.", further) if found.searched else empty
    many = words.count(len(found.entries), "change")
    return {"empty": shown, "aloud": _("%(many)s found") % {"many": many} if found.entries else shown.heading}


def rows(entries: Iterable[Entry]) -> list[TimelineRow]:
    """A row for each thing that was done; what the system keeps house with is left to the record itself."""
    return [row for entry in entries for row in _rows(entry)]


def _rows(entry: Entry) -> Iterable[TimelineRow]:
    yield from (_row(entry, fold) for fold in _folds(entry))
    if entry.more:
        many = words.count(entry.more, "more line", "more lines")
        note = _("%(many)s of this change; a file holds all of them") % {"many": many}
        url = f"{reverse('console:history')}?revision={entry.change.revision}"
        when, change = words.moment(entry.change.at), entry.change
        yield TimelineRow("change", note, "", url, _by(entry), when, change.reason, change.revision)


@dataclass
class EventGroup:
    """Events of one change that read as one sentence: several rights on one object, an end moved."""

    lines: list[EventLine]
    ended: list[EventLine]

    @property
    def first(self) -> EventLine:
        return self.lines[0]


def _folds(entry: Entry) -> list[EventGroup]:
    folds: dict[tuple[Any, ...], EventGroup] = {}
    for line in entry.lines:
        if not tells_of_personal_role(line.event):
            fold = folds.setdefault(_alike(line), EventGroup([], []))
            (fold.ended if _replaced(line, entry) else fold.lines).append(line)
    return [fold for fold in folds.values() if fold.lines]


def _alike(line: EventLine) -> tuple[Any, ...]:
    event = line.event
    kind = _BEGINS.get(event.kind, event.kind)
    if event.kind == "object.registered":
        return kind, event.object_type, tuple(event.lineage[:-1])
    key = event.data.get("holder") or (event.data.get("person") if kind not in ("owner.set",) else "")
    return kind, event.object_name, key


_BEGINS = {"grant.removed": "grant.added", "owner.ended": "owner.set", "realm.mode.ended": "realm.mode"}


def _replaced(line: EventLine, entry: Entry) -> bool:
    """Whether an end in a change makes way for what begins in the same change."""
    begins = _BEGINS.get(line.event.kind)
    return begins is not None and any(
        other.event.kind == begins and _alike(other) == _alike(line) for other in entry.lines
    )


def _row(entry: Entry, fold: EventGroup) -> TimelineRow:
    event, change = fold.first.event, entry.change
    way, type_ = tuple(event.lineage), event.object_type
    if len(fold.lines) > 1 and event.kind == "object.registered":
        way, type_ = way[:-1], "schema"
    return TimelineRow(
        kind="change" if fold.ended else kind_of(event.kind),
        sentence=_until(_sentence(fold, entry), fold.first),
        object=_shared_place(fold),
        url=terms.page_of(way[-1], type_) if way and type_ not in ("role", "") else "",
        by=_by(entry),
        when=words.moment(change.at),
        reason=change.reason,
        number=change.revision,
        before=", ".join(dict.fromkeys(map(_state_words, fold.ended or _gone(fold)))),
        after=", ".join(dict.fromkeys(map(_state_words, fold.lines))) if fold.ended else "",
        way=way,
        claim=SyncClaim.of(fold, change.revision),
        orders=event.kind in ORDERED,
    )


def opened(
    shown: Iterable[TimelineRow], viewer: Principal, seen: Sight, given: frozenset[int] | None = None
) -> list[TimelineRow]:
    """The same rows, linked only where a page opens to the viewer: what concerns them may lie anywhere."""
    fields = list(shown)
    # what is left out of a long change is told of by the history itself
    away = [row for row in fields if row.url and row.way]
    open_ = leading(viewer, seen, (row.way for row in away), given)
    return [replace(row, url="") if row.way and row.way[-1] not in open_ else row for row in fields]


def followed(shown: Iterable[TimelineRow]) -> list[TimelineRow]:
    """The same rows, with how far each has come in the backend behind its object.  Seven queries at most."""
    fields = list(shown)
    claims = [row.claim for row in fields if row.claim is not None]
    names = names_by_pseudonym({who for item in claims for who in item.people})
    outside = iter(statuses([item.asked(names) for item in claims]) if claims else ())
    orders = of_orders({row.number for row in fields if row.orders})
    return [replace(row, applied=_arrived(row, outside, orders)) for row in fields]


def with_undo(shown: Iterable[TimelineRow], entries: Iterable[Entry], viewer: Principal) -> list[TimelineRow]:
    """The same rows, with Undo on the first line of each change that the viewer can still take back."""
    left = set(undoable((entry.change for entry in entries), by=Actor(viewer, "console")))
    merged = []
    for row in shown:
        offered = row.number in left
        left.discard(row.number)
        merged.append(replace(row, undo=reverse("console:undo", args=[row.number])) if offered else row)
    return merged


def foreseen(actor: str, drafts: Iterable[EventDraft]) -> list[TimelineRow]:
    """Lines for what somebody, named by pseudonym, would do: as the record would have them."""
    change = Change(revision=0, at=timezone.now(), actor=actor)
    events = [
        Event(
            change=change,
            number=at,
            kind=draft.kind,
            object_type=draft.object_type,
            object_name=draft.object_name,
            lineage=list(draft.lineage),
            people=list(draft.people),
            data=dict(draft.data),
        )
        for at, draft in enumerate(drafts)
    ]
    return rows([history.Names([change], events).entry(change, events)])


def _arrived(
    row: TimelineRow, outside: Iterator[SyncStatus | None], orders: Mapping[int, Sequence[ForeignOrder]]
) -> State | None:
    if row.claim is not None:
        return arrived(next(outside))
    return ordered(orders.get(row.number, ())) if row.orders else row.applied


@dataclass(frozen=True)
class SyncClaim:
    """The change of access that a line of the record stands for: what was given or taken, where, whose."""

    lineage: tuple[int, ...]
    people: tuple[str, ...]
    revision: int
    privileges: frozenset[str]
    loses: bool

    @classmethod
    def of(cls, fold: EventGroup, revision: int) -> SyncClaim | None:
        event = fold.first.event
        if event.kind not in APPLIED or not event.lineage:
            return None
        codes = {str(line.event.data.get("privilege", "")) for line in fold.lines}
        people = {who for line in fold.lines for who in line.event.people}
        loses = event.kind in TAKING
        return cls(tuple(event.lineage), tuple(sorted(people)), revision, frozenset(codes - {""}), loses)

    def asked(self, names: Mapping[str, frozenset[str]]) -> StatusQuestion:
        """The same by login names; where a role is given something it is about everybody who holds it."""
        mine = [names[who] for who in self.people if who in names]
        whose = frozenset().union(*mine) if mine else None
        return StatusQuestion(self.lineage, whose, self.revision, self.privileges, self.loses)


def _gone(fold: EventGroup) -> list[EventLine]:
    """What a revocation took, told with the end it would have had."""
    return fold.lines if fold.first.event.kind == "grant.removed" else []


def _shared_place(fold: EventGroup) -> str:
    place = _place(fold.first)
    together = len(fold.lines) > 1 and fold.first.event.kind == "object.registered"
    return place.rpartition(".")[0] or place if together else place


def _sentence(fold: EventGroup, entry: Entry) -> str:
    """Olivia Owner granted Use schema and Read on shop.sales to Ana Analyst; Sam registered 17 tables: …"""
    event, actor = fold.first.event, actor_words(entry.actor)
    alone = set(event.people) == {entry.change.actor}
    if event.kind == "object.registered" and len(fold.lines) > 1:
        names = [_place(line).rpartition(".")[2] for line in fold.lines]
        values = {"many": terms.count_of(len(names), event.object_type), "names": words.listed(names, 3)}
        return _("%(actor)s registered %(many)s: %(names)s") % {"actor": actor, **values}
    if "privilege" not in event.data:
        return said(fold.first, actor, alone=alone)
    kind = "herd" if event.object_type in ("herd", "namespace", "job_definition") else "gravitino"
    codes = dict.fromkeys(line.event.data["privilege"] for line in fold.lines)
    labels = dict.fromkeys(terms.right(code, event.object_type, kind) for code in codes)
    return said(fold.first, actor, alone=alone, privilege=words.listed(list(labels)))


_CODE = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")
_CODES = {
    *(noop("keep"), noop("remove"), noop("reduce"), noop("end on a date"), noop("not sure")),
    *(noop("enabled"), noop("disabled"), noop("on"), noop("off"), noop("pass-through")),
    *(noop("ended"), noop("paused"), noop("resumed"), noop("repair"), noop("report")),
}
"""Stored words that sentences are filled with, for the catalogues."""
_SIDES = ("one", "other")
"""What a rule of separation keeps apart, as the record has it: role payers; MODIFY_TABLE on shop.stock."""
_CODED = ("choice", "how", "mode", "policy")
"""What holds such words; in all else they are names."""


def said(line: EventLine, actor: str, *, alone: bool = False, **values: str) -> str:
    """What somebody did as a whole sentence in the reader's language; rights, duties and moments in words.

    `alone`: it is about nobody but themselves.
    """
    about_request = line.event.kind.startswith("request.")
    worded = {
        name: _of_request(name, value, line.event)
        if about_request and name in _OF_REQUEST
        else _value(name, value)
        for name, value in line.values.items()
    }
    filled = history.filled_in({**worded, **values}, otherwise=_("it"), actor=actor)
    usual = f"{{actor}} {SENTENCES[line.event.kind]}"
    text = _(BY_THEMSELVES.get(line.event.kind, usual) if alone else usual).format_map(filled)
    return _MANY.sub(r"1 \1", text)


def _value(name: str, value: str) -> str:
    if name in ("until", "ends") and _ISO.match(value):
        return words.moment(datetime.fromisoformat(value), within=True)
    if name == "duty":
        return str(terms.DUTIES.get(value, value))
    if name == "type":
        return terms.type_of(value)
    if name in ("holder", *_SIDES) and value.startswith("role "):
        return _("role %(name)s") % {"name": value.removeprefix("role ")}
    if name in _SIDES and (codes := _CODE.findall(value)):
        right = sentences.either([_(history.privilege_label(code)) for code in codes])
        return _("%(right)s on %(name)s") % {"right": right, "name": value.rpartition(" on ")[2]}
    if name in _CODED and value in _CODES:
        return _(value)
    return _CODE.sub(lambda match: _(history.privilege_label(match[0])), value)


_OF_REQUEST = ("what", "part", "given")
"""What is told of a request in words."""


def _of_request(name: str, value: str, event: Event) -> str:
    return _MOMENT.sub(
        lambda match: words.moment(datetime.fromisoformat(match[0]), within=True),
        record_words.in_readers_language(name, value, event.data),
    )


_ISO = re.compile(r"\d{4}-\d\d-\d\dT")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[\d.]+[+]\d\d:\d\d")
_MANY = re.compile(r"\b1 ((?:quick |ended )?(?:row|decision|event|fact))s\b")
"""What an English sentence counts, where it counts one."""


def actor_words(name: str) -> str:
    """Who did it; those that are nobody in particular are named in the reader's language."""
    return _(name) if name in _NOBODY else name


_NOBODY = {*history.NOBODY.values(), history.ERASED}


def _by(entry: Entry) -> str:
    actor, other = actor_words(entry.actor), actor_words(entry.on_behalf_of)
    if other in ("", actor):
        return actor
    return _("%(actor)s, on behalf of %(other)s") % {"actor": actor, "other": other}


def _until(sentence: str, line: EventLine) -> str:
    """A sentence about what is given, with the end of it."""
    end = _end(line) if line.event.kind in GAINS else ""
    return _("%(sentence)s until %(until)s") % {"sentence": sentence, "until": end} if end else sentence


def _end(line: EventLine) -> str:
    until = line.event.data.get("until")
    return words.moment(datetime.fromisoformat(until), within=True) if until else ""


def _state_words(line: EventLine) -> str:
    """What was or is true, in words: Read until Fri 27 Nov, 18:00; Olivia Owner."""
    data = line.event.data
    if "privilege" in data:
        values = {"right": terms.right(data["privilege"], line.event.object_type), "until": _end(line)}
        return _("%(right)s until %(until)s") % values if values["until"] else _("%(right)s, no end") % values
    if line.event.kind in ("owner.set", "owner.ended"):
        return line.values.get("person", "")
    return _value("mode", str(data.get("mode", line.text)))


def _place(line: EventLine) -> str:
    return line.event.object_name.partition("/")[2] or line.event.object_name


def latest(node: Node, seen: Sight, *, limit: int = 4) -> list[TimelineRow]:
    """What lately changed who has access to an object, from above too."""
    filter_ = Filter(object=node, from_above=True, kinds=ABOUT_ACCESS)
    return rows(history.page(filter_, seen, limit=limit, lines=LINES).entries)[: limit + 2]


def timeline(shown: Iterable[TimelineRow]) -> Timeline:
    return Timeline(
        tuple(
            Moment(row.sentence, row.when, {"stop": "lose", "change": ""}.get(row.kind, row.kind), row.reason)
            for row in shown
        )
    )
