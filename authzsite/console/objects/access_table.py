"""Who has access to an object, as rows: nearest path first, groups unfold to people, foreigners last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import accumulate
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Spark, Toggle
from authzsite.console.kit.display.parts import Action, Chip, Face, Path, Reason, State, Who
from authzsite.console.objects.access import ObjectAccess
from authzsite.console.sync.backend_state import Foreign
from catalog.nodes import Node
from lakewarden.law.facts import OWNER, Rule, Station
from policies.decisions import ask
from policies.decisions.lookups.access import Access, AccessMap
from policies.decisions.lookups.access import Path as Way
from policies.sync.status import StatusQuestion

SHOWN, INSIDE, MEMBERS = 50, 12, 100
READY = 40
"""So many people of a page's first groups have lines ready to unfold; other groups unfold on a page of their
own."""
SOON = timedelta(days=14)
HOWS = ("direct", "group", "soon", "denied", "later", "foreign")
"""The filters; of what begins later and of foreigners the table has lines of their own."""


@dataclass(frozen=True)
class UseLine:
    """How often somebody used an object in the last days, with the page that shows each day."""

    spark: Spark | None
    text: str
    url: str


@dataclass(frozen=True)
class AccessRow:
    """One line of the table; a group's line carries an `id`, its people's lines are `under` it."""

    who: Who
    can: str
    how: tuple[Path, ...] = ()
    level: int = 1
    as_group: str = ""
    ends: Chip | None = None
    since: str = ""
    action: Action | None = None
    applied: State | None = None
    used: UseLine | None = None
    id: str = ""
    open: bool = False
    fold_url: str = ""
    under: str = ""
    folded: bool = False
    more: str = ""
    more_words: str = ""


@dataclass(frozen=True)
class AccessTableFilter:
    """How the table is filtered and which group is unfolded; all of it stands in the address."""

    text: str = ""
    how: str = ""
    group: str = ""
    after: int = 0

    def url(self, **changed: object) -> str:
        kept = {"q": self.text, "how": self.how, "group": self.group, "after": self.after or "", **changed}
        return "?" + urlencode({name: value for name, value in kept.items() if value})


@dataclass
class AccessTable:
    """The table of one object for one asker."""

    place: ObjectAccess
    asked: AccessTableFilter
    foreign: tuple[Foreign, ...] = ()
    since: dict[int, datetime] = field(default_factory=dict)
    locked: dict[int, Reason] = field(default_factory=dict)
    applied: dict[int, State | None] = field(default_factory=dict)
    used: dict[int, UseLine] = field(default_factory=dict)

    @cached_property
    def map(self) -> AccessMap:
        return AccessMap(self.place.node, now=self.place.now)

    @property
    def node(self) -> Node:
        return self.place.node

    @cached_property
    def main(self) -> str:
        return "use" if self.node.type in terms.CONTAINERS else "read"

    @cached_property
    def labels(self) -> dict[object, str]:
        return {pk: row.label for pk, row in self.map.holders.items()}

    @cached_property
    def all(self) -> list[Access]:
        """Nearest path first, owners before others, then by name."""

        def order(row: Access) -> tuple[int, bool, str]:
            return -row.ways.depth, not row.owns, row.principal.label.casefold()

        return sorted(self.map.rows(), key=order)

    # What is shown

    @cached_property
    def wanted(self) -> list[Access]:
        rows = [row for row in self.all if self._fits(row, self.asked.how)]
        if self.asked.group:
            rows = [row for row in rows if row.principal.name == self.asked.group]
        return [row for row in rows if self._named(row)] if self.asked.text else rows

    @property
    def page(self) -> list[Access]:
        return self.wanted[self.asked.after : self.asked.after + SHOWN]

    def rows(self) -> list[AccessRow]:
        shown = [row for access in self.page for row in self._lines(access)]
        if self._at_the_end and self.asked.how in ("", "later"):
            shown += [self._later(grant, paths) for grant, paths in self.coming]
        if self._at_the_end and self.asked.how in ("", "foreign") and not self.asked.text:
            shown += [self._foreign(finding) for finding in self.foreign]
        return shown

    @property
    def _at_the_end(self) -> bool:
        return not self.asked.group and self.asked.after + SHOWN >= len(self.wanted)

    @cached_property
    def coming(self) -> list[tuple[Principal, tuple[Way, ...]]]:
        """To whom something is given that has not begun."""
        return [pair for pair in self.map.coming() if not self.asked.text or self._matches(pair[0])]

    def _fits(self, row: Access, how: str) -> bool:
        return how not in HOWS or how in self._hows[row.principal.pk]

    @cached_property
    def _hows(self) -> dict[int, set[str]]:
        """By which of the filters each row is shown."""
        soon = (timezone.now() + SOON).timestamp()
        return {row.principal.pk: set(_hows_of(row, soon)) for row in self.all}

    def _named(self, row: Access) -> bool:
        return self._matches(row.principal) or any(map(self._matches, self.map.in_group(row.principal)))

    def _matches(self, principal: Principal) -> bool:
        text = self.asked.text.casefold()
        return text in principal.label.casefold() or text in principal.name.casefold()

    # Lines

    def _lines(self, access: Access) -> Iterable[AccessRow]:
        if access.principal.kind != Principal.Kind.GROUP:
            yield self._line(access)
            return
        people = self.map.in_group(access.principal)
        if self.asked.text and not self._matches(access.principal):
            people = [person for person in people if self._matches(person)]
        open_ = bool(self.asked.group or self.asked.text)
        yield self._group(access, people, open_=open_)
        group = access.principal
        limit = self._ready_in(group)
        for at, row_person in enumerate(people[:limit]):
            last = at == limit - 1 and len(people) > limit
            row = replace(self._member(group, row_person), under=f"g{group.pk}", folded=not open_)
            if last:
                left = words.number(len(people) - limit)
                url = self.asked.url(group=group.name, after="")
                if self.asked.group:  # their own page goes on where this one ends
                    url = reverse("console:person_groups", args=[group.pk])
                row = replace(
                    row,
                    more=url,
                    more_words=gettext("Show %(number)s more in %(group)s")
                    % {"number": left, "group": group.label},
                )
            yield row

    def _ready_in(self, group: Principal) -> int:
        """How many of its people have a line under a group."""
        if self.asked.group:
            return MEMBERS
        return INSIDE if self.asked.text or group.pk in self._ready else 0

    @cached_property
    def _ready(self) -> set[int]:
        groups = [item.principal.pk for item in self.page if item.principal.kind == Principal.Kind.GROUP]
        lines = accumulate(min(len(self.map.members.get(group, ())), INSIDE) for group in groups)
        return {group for group, many in zip(groups, lines, strict=True) if many <= READY}

    def _line(self, access: Access) -> AccessRow:
        opened = min((path.rule.opened for path in access.paths if path.rule.opened), default=0)
        since = words.day(self.since[opened]) if opened in self.since else ""
        return AccessRow(
            who=terms.who(access.principal, self._note(access.principal)),
            can=terms.can(access.can, self.node.type, owns=access.owns),
            how=terms.paths((path.rule for path in access.paths), self.node, self.labels),
            ends=terms.ends_chip(ends_of(access)),
            since=since,
            action=self._action(access),
            applied=self.applied.get(access.principal.pk),
            used=self.used.get(access.principal.pk),
        )

    def _note(self, principal: Principal) -> str:
        if principal.pk == self.place.asker.pk:
            return gettext("you")
        return "service" if principal.kind == Principal.Kind.SERVICE else ""

    def _group(self, access: Access, people: list[Principal], *, open_: bool) -> AccessRow:
        able = sum(self.main in self.map.access_of(person).can for person in people)
        count = words.count(len(people), "person", "people")
        note = (
            count
            if able == len(people)
            else gettext("%(able)s of %(count)s") % {"able": words.number(able), "count": count}
        )
        can = terms.given((path.rule for path in access.paths), self.node.type, self.node.kind)
        row = replace(self._line(access), who=terms.who(access.principal, note), can=can)
        if not people:
            return row
        fold = self.asked.url(group="" if open_ else access.principal.name, after="")
        return replace(row, id=f"g{access.principal.pk}", open=open_, fold_url=fold)

    def _later(self, principal: Principal, paths: tuple[Way, ...]) -> AccessRow:
        """Scheduled grants that have not begun, with its beginning where others have their end."""
        rules = [path.rule for path in paths]
        direct = [path.rule.privilege for path in paths if path.direct and not path.denies]
        return AccessRow(
            who=terms.who(principal, self._note(principal)),
            can=terms.given(rules, self.node.type, self.node.kind),
            how=terms.paths(rules, self.node, self.labels),
            ends=terms.window_chip(min(filter(None, (rule.valid_from for rule in rules))), last_end(rules)),
            action=self._revoke(principal, direct) if direct else None,
        )

    def _member(self, group: Principal, person: Principal) -> AccessRow:
        access = self.map.access_of(person)
        others = [path for path in access.paths if not _through(path.rule.via, group.pk)]
        row = replace(self._line(access), level=2)
        if others:
            return row
        return replace(row, how=(), as_group=gettext("as %(group)s") % {"group": group.label}, action=None)

    def _foreign(self, finding: Foreign) -> AccessRow:
        return AccessRow(
            who=Who(finding.holder or gettext("Unknown"), Face("foreign"), gettext("database user")),
            can=terms.sentence_list(list(finding.rights)),
            how=(Path((Chip("foreign", gettext("Granted in %(system)s") % {"system": finding.system}),)),),
            since=gettext("seen %(first_seen)s") % {"first_seen": words.day(finding.first_seen, within=True)},
            action=Action(gettext("Open"), reverse("console:object_sync", args=[self.node.id]), "mini"),
        )

    @cached_property
    def _shown_access(self) -> list[Access]:
        """Those who have a line on the page, each once."""
        people = {
            item.pk: item
            for access in self.page
            for group in (access.principal,)
            for item in (group, *self.map.in_group(group)[: self._ready_in(group)])
        }
        return list(map(self.map.access_of, people.values()))

    def revisions(self) -> set[int]:
        """The changes that brought what the page shows; their moments are read at once."""
        return {
            path.rule.opened for access in self._shown_access for path in access.paths if path.rule.opened
        }

    def grants(self) -> dict[int, StatusQuestion]:
        """What the lines say is given, by principal, to learn how far it has come outside."""
        given = (item for item in self._shown_access if self._gets(item))
        return {item.principal.pk: self._grant(item) for item in given}

    def people_of(self) -> dict[int, list[int]]:
        """Whose uses count for each line: a person's own, for a group those of all its people."""
        return {
            item.principal.pk: self.map.members.get(item.principal.pk, [item.principal.pk])
            for item in self._shown_access
        }

    def _gets(self, access: Access) -> bool:
        """Whether a line gives something: a denial alone has nothing that could arrive."""
        group = access.principal.kind == Principal.Kind.GROUP
        return any(not path.denies for path in access.paths) and bool(group or access.can or access.owns)

    def _grant(self, access: Access) -> StatusQuestion:
        principal = access.principal
        people = self.map.in_group(principal) if principal.kind == Principal.Kind.GROUP else [principal]
        last = max((path.rule.opened or 0 for path in access.paths if not path.denies), default=0)
        gives = [path.rule.privilege for path in access.paths if not path.denies]
        codes = frozenset[str]() if OWNER in gives else frozenset(gives)
        return StatusQuestion(self.node.lineage, frozenset(person.name for person in people), last, codes)

    # What the viewer can do about a line

    def _action(self, access: Access) -> Action | None:
        name = access.principal.label
        direct = [path for path in access.paths if path.direct and not path.denies]
        if direct:
            return self._revoke(access.principal, [path.rule.privilege for path in direct])
        if access.denied:
            return Action(
                gettext("Why?"),
                self._why(access.principal),
                "mini plain",
                more=gettext("of %(name)s") % {"name": name},
            )
        above = [path for path in access.paths if path.above and not path.owner]
        if above:
            return self._change_at(min(above, key=lambda path: -path.depth).depth, name)
        return None

    def _why(self, principal: Principal) -> str:
        query = {"who": str(principal), "action": self.main, "what": self.node.ref.id, "type": self.node.type}
        return f"{reverse('console:why')}?{urlencode(query)}"

    def _revoke(self, principal: Principal, codes: list[str]) -> Action:
        more = gettext("from %(label)s") % {"label": principal.label}
        if not self.place.may_grant:
            return Action(
                gettext("Revoke"), look="mini", more=more, reason=self._lock(len(self.node.levels) - 1)
            )
        query = urlencode([("who", str(principal)), *(("may", code) for code in dict.fromkeys(codes))])
        return Action(
            gettext("Revoke"), f"{reverse('console:revoke', args=[self.node.id])}?{query}", "mini", more=more
        )

    def _change_at(self, depth: int, name: str) -> Action:
        above = list(self.node.above())[depth]
        label, more = (
            gettext("Change at %(name)s") % {"name": above.name},
            gettext("for %(name)s") % {"name": name},
        )
        may = ask.answer(self.place.slice, "grant", above, now=self.place.now)
        if not may:
            return Action(label, look="mini", more=more, reason=self._lock(depth))
        return Action(label, reverse("console:object", args=[above.id]), "mini", more=more)

    def _lock(self, depth: int) -> str:
        key, type_ = self.node.levels[depth].key, self.node.levels[depth].type
        name = self.node.names[depth]
        query = {
            "action": "grant",
            "what": "/".join(filter(None, (self.node.realm, ".".join(self.node.names[1 : depth + 1])))),
            "type": type_,
        }
        self.locked[depth] = Reason(
            f"why-{key}",
            gettext("Only %(self)s can change access on %(type)s %(name)s.")
            % {"type": terms.type_of(type_), "name": name, "self": owner_words(self, depth)},
            f"{reverse('console:why')}?{urlencode({'who': str(self.place.asker), **query})}",
            gettext("See what you lack"),
        )
        return f"why-{key}"

    # Around the table

    def toggles(self) -> tuple[Toggle, ...]:
        kinds = (
            ("", gettext("All")),
            ("direct", gettext("Direct")),
            ("group", gettext("By group")),
            ("soon", gettext("Ends soon")),
            ("denied", gettext("Denied")),
        )
        counts = Counter(how for hows in self._hows.values() for how in hows) | Counter({"": len(self.all)})
        shown = [(how, word, counts[how]) for how, word in kinds if counts[how] or how == ""]
        if self.coming:
            shown.append(("later", gettext("Begins later"), len(self.coming)))
        if self.foreign:
            shown.append(("foreign", gettext("Granted outside"), len(self.foreign)))
        return tuple(
            Toggle(
                word, self.asked.url(how=how, after="", group=""), self.asked.how == how, words.number(count)
            )
            for how, word, count in shown
        )

    def summary(self) -> str:
        people, services = self.map.count(self.main)
        denied = sum(row.denied for row in self.all)
        able, rows = words.able_words(people, services), words.count(len(self.all), "row")
        text = (
            gettext("%(able)s with rights of their own in %(rows)s, nearest path first")
            if self.node.type == "metalake"
            else gettext("%(able)s with access in %(rows)s, nearest path first")
        ) % {"able": able, "rows": rows}
        extra = [gettext("%(denied)s denied") % {"denied": words.number(denied)}] if denied else []
        extra += (
            [gettext("%(foreign)s granted outside") % {"foreign": words.number(len(self.foreign))}]
            if self.foreign
            else []
        )
        return f"{text}; {', '.join(extra)}" if extra else text


def owner_words(who_has: AccessTable, depth: int) -> str:
    """its owner, Marek Malik; the owner of what is above it."""
    for row in who_has.all:
        if any(path.owner and path.depth <= depth and not path.rule.via for path in row.paths):
            return (
                gettext("its owner %(label)s") % {"label": row.principal.label}
                if row.principal.kind != "group"
                else gettext("its owner, the group %(label)s,") % {"label": row.principal.label}
            )
    return gettext("the owner of what is above it")


def _hows_of(row: Access, soon: float) -> Iterator[str]:
    if row.ways.direct:
        yield "direct"
    if row.principal.kind == Principal.Kind.GROUP:
        yield "group"
    if row.denied:
        yield "denied"
    end = ends_of(row)
    if end is not None and end < soon:
        yield "soon"


def ends_of(access: Access) -> float | None:
    """When the last of the paths that give something ends; None when one of them does not."""
    return last_end([path.rule for path in access.paths if not path.denies])


def last_end(rules: Sequence[Rule]) -> float | None:
    """When the last of some rules ends; None when one of them does not."""
    ends = [rule.valid_until for rule in rules]
    return max(ends) if ends and all(end is not None for end in ends) else None  # type: ignore[type-var]


def _through(via: tuple[Station, ...], group: int) -> bool:
    return any(station.kind == "group" and station.key == group for station in via)
