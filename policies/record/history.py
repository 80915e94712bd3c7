"""The record, questioned: who changed what, when and why, in plain sentences, for those who may know."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import Any

from django.db.models import Count, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext_noop

from accounts.models import Principal
from accounts.text import holdable
from catalog.models import Placement, Securable
from catalog.nodes import Node, Numbers, any_along, any_in, nodes
from lakewarden.law import dialects, engine
from lakewarden.law.facts import Slice
from policies.decisions import duties, slices
from policies.decisions.facts import is_service_admin
from policies.decisions.lookups.visible_objects import owned_in, realms_of
from policies.events import SENTENCES
from policies.models import AccessRecord, Change, Counter, Event, RequestStep
from policies.models.search_index import beginning_so
from policies.record import newest_editions
from policies.record import search as record_search
from policies.record.planner_settings import planned_anew
from policies.record.search import SearchPage, Sought

VIEW_HISTORY = "view_history"
WITHOUT_OBJECTS = ("console", "cdap", "api")
"""Ways by which a refusal without an object is recorded alike, whether there is something or not."""
MOST_FACETS = 256
"""So many facets of one set the index is asked for in each block; of more each event is asked instead."""


@dataclass(frozen=True)
class Filter:
    """What is asked for: an object with what is below (or above), people, kinds, a time, words, a request."""

    object: Node | None = None
    from_above: bool = False
    person: Principal | None = None
    actor: Principal | None = None
    kinds: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""
    request: str = ""

    def events(self) -> QuerySet[Event]:
        rows = Event.objects.all()
        if self.object and self.from_above:
            rows = rows.filter(object_key__in=self.object.lineage)
        elif self.object:
            rows = rows.filter(lineage__contains=[self.object.id])
        if self.person:
            rows = rows.filter(people__contains=[self.person.pseudonym])
        if self.kinds:
            rows = rows.filter(kind__in=self.kinds)
        return rows

    def changes(self) -> QuerySet[Change]:
        rows = Change.objects.all()
        if self.actor:
            rows = rows.filter(actor=self.actor.pseudonym)
        if self.request:
            rows = rows.filter(self._of_request()) if holdable(self.request) else rows.none()
        if self.since:
            rows = rows.filter(at__gte=self.since)
        return rows.filter(at__lt=self.until) if self.until else rows

    def sought(self, seen: Sight) -> Sought:
        """The same as the index of facets is asked, with what may be seen, unless of too many places."""
        sets = [seen.facets()] if len(seen.objects) < MOST_FACETS else []
        if self.object:
            above = tuple(f"t{key}" for key in self.object.lineage)
            sets.append(above if self.from_above else (f"o{self.object.id}",))
        if self.person:
            sets.append((f"p{self.person.pseudonym}",))
        if self.kinds:
            sets.append(tuple(f"k{kind}" for kind in self.kinds))
        actor = self.actor.pseudonym if self.actor else ""
        return Sought(tuple(sets), actor, self.since, self.until, self.text)

    def _of_request(self) -> Q:
        """The id that a program sent along, or the number of a request for access."""
        same = Q(request_id=self.request)
        if self.request.isdecimal() and len(self.request) <= 18:
            steps = RequestStep.objects.filter(request=int(self.request))
            same |= Q(revision__in=steps.values("revision"))
        return same


@dataclass(frozen=True)
class Sight:
    """How much of the record somebody may see: everything below these objects, and what concerns themselves.

    `site`: what is said of no object as well, such as accounts and groups.  Of the realms of these names they
    see all, with what was asked there under names at which nothing is.
    """

    viewer: Principal
    objects: Collection[int]
    site: bool
    realms: tuple[str, ...] = ()

    @cached_property
    def numbers(self) -> Numbers:
        return Numbers.of(self.objects)

    @property
    def inside(self) -> frozenset[int]:
        return self.numbers.keys

    def covers(self) -> Q:
        seen = Q(people__contains=[self.viewer.pseudonym])
        seen |= any_along("object_key", "lineage", self.numbers)
        return seen | Q(lineage=[]) if self.site else seen

    def facets(self) -> tuple[str, ...]:
        """The same in facets of events."""
        places = tuple(f"o{key}" for key in self.objects)
        return (f"p{self.viewer.pseudonym}", *places, *(("o",) if self.site else ()))

    def of_records(self) -> Q:
        """The same for the access log: below these objects, the site's own, and the viewer's own actions.

        The viewer's own actions may name hidden objects, so of these `reads` has the last word.
        """
        seen = Q(actor=self.viewer.pseudonym) | any_in("lineage", self.numbers)
        if self.site:
            return seen | Q(lineage=[])
        for name in self.realms:
            seen |= Q(lineage=[]) & (Q(object_name=name) | Q(object_name__startswith=f"{name}/"))
        return seen

    def reads(self, record: AccessRecord, opens: Collection[int]) -> bool:
        """Whether the viewer may read a record of the log; `opens` are objects that they may see themselves.

        Who was refused learns nothing of the object by it: what was hidden from them and what was absent
        leave the same in their own log, which is nothing.
        """
        if record.lineage:
            return not self.inside.isdisjoint(record.lineage) or record.lineage[-1] in opens
        realm = record.object_name.partition("/")[0]
        return self.site or realm in self.realms or record.via in WITHOUT_OBJECTS

    def sees(self, node: Node) -> bool:
        return self.sees_place(node.lineage)

    def sees_place(self, lineage: Iterable[int]) -> bool:
        """The same where only the numbers of an object and of what is above it are at hand."""
        return not self.inside.isdisjoint(lineage)


def given_to(viewer: Principal) -> frozenset[int]:
    """The objects on which a viewer has the duty to view the history.  Two queries."""
    return duties.held(viewer, VIEW_HISTORY)


def realms(viewer: Principal, *, given: frozenset[int] | None = None) -> list[Node]:
    """Realms with history that somebody may read: as a member, or by the duty for it."""
    return realms_of(viewer, also=given_to(viewer) if given is None else given)


def sight(viewer: Principal, realms: Iterable[Node], *, given: frozenset[int] | None = None) -> Sight:
    """What a viewer may see of the history: below what they own, may grant on or have the duty for.

    The duty is looked up unless it is known where it was `given`.
    """
    given = given_to(viewer) if given is None else given
    tops = list(realms)
    objects = Numbers.joined((given, *(governed(slices.current(viewer, node), node) for node in tops)))
    whole = tuple(node.name for node in tops if node.id in objects.keys)
    # what is said of no object, such as accounts and groups, is the site's own business
    return Sight(viewer, objects, is_service_admin(viewer), whole)


def of_one_realm(viewer: Principal, top: Node) -> Sight:
    """The same in one realm alone: a duty in another is none here, whether there is such a realm or not."""
    return sight(viewer, [top], given=of_realm(given_to(viewer), top))


def of_realm(keys: frozenset[int], top: Node) -> frozenset[int]:
    """Those of some objects that are in a realm.  One query, none for none."""
    if not keys:
        return keys
    return frozenset(Securable.objects.filter(pk__in=keys, realm=top.realm_id).values_list("pk", flat=True))


def views_a_realm(viewer: Principal) -> bool:
    """Whether the viewer has the duty to view all the history of some realm, a member of it or not."""
    roots = Placement.objects.open().filter(parent__isnull=True)
    return roots.filter(securable__in=duties.held(viewer, VIEW_HISTORY)).exists()


def governed(slice_: Slice, root: Node) -> Numbers:
    """Objects of a realm on and below which a principal owns or gives access, unless it is denied below."""
    if not slice_.member:
        return Numbers.of(())
    if slices.following(slice_, "denies giving", lambda: _denies(slice_, _giving(slice_))):
        # what lies above is not the slice's own
        return Numbers.of(_governed(slice_, root))
    return slices.following(slice_, f"governed from {root.id}", lambda: _all_governed(slice_, root)).again()


def _all_governed(slice_: Slice, root: Node) -> Numbers:
    visible_ids, owned = frozenset(_governed(slice_, root)), owned_in(slice_)
    return (
        Numbers(visible_ids, owned.rows, visible_ids - owned.keys) if owned.rows else Numbers.of(visible_ids)
    )


def _giving(slice_: Slice) -> int:
    manage = dialects.get(slice_.dialect).privilege("MANAGE_GRANTS")
    return manage.bit if manage else 0


def _denies(slice_: Slice, bit: int) -> bool:
    return any(bits.deny & bit for bits in slice_.bits.values())


def _governed(slice_: Slice, root: Node) -> Iterable[int]:
    listed = engine.visible(slice_, root.levels, "governed", now=slice_.since)
    yield from (key for key in listed.exceptions if isinstance(key, int) and listed.shows(key))
    bit = _giving(slice_)
    given = {key for key, bits in slice_.bits.items() if isinstance(key, int) and bits.allow & bit}
    if _denies(slice_, bit):
        # a denial above counts too, and only the law knows what is above
        given = {
            key
            for key, place in nodes(given).items()
            if engine.permitted(slice_, "MANAGE_GRANTS", place.levels, now=slice_.since)
        }
    yield from given
    yield from (key for key, bits in slice_.bits.items() if isinstance(key, int) and bits.owned)


@dataclass(frozen=True)
class EventLine:
    """One event in words: the sentence without its subject, and what it links to."""

    event: Event
    text: str
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    """What its sentence is filled with: names, and codes as they are stored."""


@dataclass(frozen=True)
class Entry:
    """One change with those of its events that were asked for and may be seen; `more` were left out."""

    change: Change
    actor: str
    on_behalf_of: str
    lines: tuple[EventLine, ...]
    more: int = 0


@dataclass(frozen=True)
class Page:
    """Entries, newest first; `next` is the revision to go on before, None at the end.

    `searched` is the time back to which changes were looked at, when there was more to look at than one page
    may: then it holds fewer than was asked for, or none, and `next` goes on from there.
    """

    entries: tuple[Entry, ...]
    next: int | None
    searched: datetime | None = None


@planned_anew()
def page(
    asked: Filter, seen: Sight, *, before: int | None = None, limit: int = 50, lines: int | None = None
) -> Page:
    """One page of the record.  Six queries, or a few more where what is asked for is rare.

    With `lines` it holds only so many of each change, and ends when it has twice as many of all together.
    """
    events = asked.events().filter(seen.covers())
    changes = _newest(asked, seen, events, before, limit + 1)
    shown = list(changes.changes[:limit])
    mine: dict[int, list[Event]] = {change.revision: [] for change in shown}
    told_events = changes.told(events.filter(change__in=mine))
    counts: dict[int, int] = {}
    if lines is not None:
        counts = dict(told_events.order_by().values_list("change").annotate(Count("pk")))
        at = Window(RowNumber(), partition_by="change", order_by="number")
        told_events = told_events.annotate(at=at).filter(at__lte=lines)
    for event in told_events.order_by("change", "number"):
        mine[event.change_id].append(event)
    if lines is not None:
        shown = _fitting(shown, mine, 2 * lines)
        mine = {change.revision: mine[change.revision] for change in shown}
    names = Names([*shown], [event for some in mine.values() for event in some])
    entries = tuple(
        names.entry(
            item, mine[item.revision], max(0, counts.get(item.revision, 0) - len(mine[item.revision]))
        )
        for item in shown
    )
    if len(changes.changes) > len(shown):
        return Page(entries, shown[-1].revision)
    return Page(entries, changes.edge, _moment_of(changes.edge) if changes.edge else None)


def _moment_of(revision: int) -> datetime:
    """When that change was made, or the next one after it that there is."""
    rows = Change.objects.filter(revision__gte=revision).order_by("revision")
    made: datetime = rows.values_list("at", flat=True)[0]
    return made


def _newest(
    filter_: Filter, seen: Sight, events: QuerySet[Event], before: int | None, most: int
) -> SearchPage:
    """The newest changes that were asked for and of which some event is among `events`, newest first."""
    words = beginning_so(filter_.text) if holdable(filter_.text) else None
    if filter_.text and words is None:
        return SearchPage(())
    last = Counter.objects.values_list("revision", flat=True).get()
    last = last if before is None else min(last, before - 1)
    if filter_.request:  # an index of its own knows these, and they are few
        return record_search.all_within(filter_.changes(), events, words, last, most)
    patience = record_search.PATIENCE if before is None else record_search.GOING_ON
    return record_search.newest(filter_.changes(), events, filter_.sought(seen), words, last, most, patience)


def _fitting(shown: list[Change], mine: dict[int, list[Event]], most: int) -> list[Change]:
    """The first of the changes whose lines do not fill more than a page; one at least."""
    total = accumulate(len(mine[change.revision]) for change in shown)
    return [
        change for at, (change, sum_) in enumerate(zip(shown, total, strict=True)) if sum_ <= most or not at
    ]


NOBODY = {
    "": "",
    "operator": gettext_noop("The site's operator"),
    "system": gettext_noop("The system"),
    "directory": gettext_noop("The directory"),
    "review": gettext_noop("A review"),
}
"""Actors that are nobody."""
ERASED = gettext_noop("an erased person")
UNSHOWN = (newest_editions.IN_EVENT, "sentences")
"""Values of events that say again, for programs, what others say."""


class Names:
    """The one map from pseudonyms to names, for the changes and events of a page.  One query."""

    def __init__(self, changes: Sequence[Change], events: Sequence[Event]):
        self.wanted = {change.actor for change in changes} | {change.on_behalf_of for change in changes}
        self.concerned = {person for event in events for person in event.people}
        self.wanted |= self.concerned

    @cached_property
    def principals(self) -> dict[str, Principal]:
        return {row.pseudonym: row for row in Principal.objects.filter(pseudonym__in=self.wanted)}

    def of(self, pseudonym: str) -> str:
        """The name behind a pseudonym; who is not in the map was erased."""
        if pseudonym in NOBODY:
            return NOBODY[pseudonym]
        row = self.principals.get(pseudonym)
        return row.label if row else ERASED

    def principal(self, pseudonym: str) -> str:
        """The same as programs read it: `user:ana`, or the word for an actor that is nobody."""
        row = self.principals.get(pseudonym)
        return str(row) if row else pseudonym if pseudonym in NOBODY else ERASED

    def entry(self, change: Change, events: Sequence[Event], more: int = 0) -> Entry:
        lines = tuple(self.line(event) for event in events)
        return Entry(change, self.of(change.actor), self.of(change.on_behalf_of), lines, more)

    def line(self, event: Event) -> EventLine:
        values = {
            name: self._word(name, str(value))
            for name, value in event.data.items()
            if isinstance(value, str | int)  # a row of a review is told by its number
        }
        values.setdefault("type", event.object_type)
        if "text" in event.data:
            place = str(event.data["text"])
        else:
            realm, slash, rest = event.object_name.partition("/")
            place = rest if slash else realm
        filled = filled_in(values, object=place)
        text = _MANY.sub(r"1 \1", SENTENCES[event.kind].format_map(filled))
        state = event.data.get("state")
        shown = {name: value for name, value in event.data.items() if name not in UNSHOWN}
        return EventLine(event, text, {} if state else shown, dict(state or {}), filled)

    def _word(self, name: str, value: str) -> str:
        if name == "privilege":
            return privilege_label(value)
        # an actor's pseudonym may be a plain word, such as `operator`, which a role may be called too
        if value.startswith("~") and value[1:] in self.concerned:
            return f"of {self.of(value[1:])}"
        return self.of(value) if value in self.concerned else value


def privilege_label(code: str) -> str:
    """What people call a privilege; an unknown one keeps its code."""
    for law in dialects.every():
        privilege = law.privilege(code)
        if privilege:
            return privilege.label
    return code


_MANY = re.compile(r"\b1 ((?:quick |ended )?(?:row|decision|event|fact))s\b")
"""What a sentence counts, where it counts one."""


def filled_in(values: Mapping[str, str], *, otherwise: str = "it", **more: str) -> Mapping[str, str]:
    """Values for a sentence; what is not among them reads as `otherwise`."""
    return _Blank(otherwise, {**values, **more})


class _Blank(dict[str, str]):
    def __init__(self, otherwise: str, values: Mapping[str, str]):
        super().__init__(values)
        self.otherwise = otherwise

    def __missing__(self, key: str) -> str:
        return self.otherwise
