"""What somebody reaches, when that may be a hundred thousand objects: decided by group, read by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Toggle
from authzsite.console.kit.display.parts import Action, Chip, Face, Path, State, Who
from authzsite.console.people.reach import FILTERS, Coming, PersonReach, Reached, comings, main_action
from authzsite.console.sync import applied
from catalog.nodes import Node
from catalog.queries import nodes
from lakewarden.law.facts import OWNER, Rule, Slice
from policies.decisions.lookups.reach import Alike, Named, ObjectGroup, RuleSets

SHOWN = 50
PIECE = 2000
"""So many rows of a file are read at a time."""


@dataclass(frozen=True)
class ReachPageRow:
    what: Who
    can: str
    note: str
    how: tuple[Path, ...]
    ends: Chip | None
    picked: bool
    actions: tuple[Action, ...]
    applied: State | None = None


@dataclass
class PagedReach(PersonReach):
    """The same questions, answered without reading every object."""

    @cached_property
    def _named(self) -> Named:
        seen = None if self.circle.is_own(self.person) else self.circle.sight.objects
        return Named([report for _, report in self.said], terms.CONTAINERS, seen)

    @cached_property
    def _likes(self) -> dict[ObjectGroup, Reached]:
        """What stands for each group, decided."""
        places = nodes(item.first for item in self._groups)
        firsts = ((item.group, places.get(item.first)) for item in self._groups)
        return {group: self._alone(node) for group, node in firsts if node is not None}

    @cached_property
    def _groups(self) -> list[Alike]:
        return self._named.alike

    @cached_property
    def counts(self) -> Counter[str]:
        """How many of all fit each filter."""
        counter: Counter[str] = Counter()
        for group in self._groups:
            like = self._likes.get(group.group)
            counter.update(dict.fromkeys(like.fits if like else (), group.many))
        return Counter({how: counter[how] for how, _ in FILTERS})

    @property
    def many(self) -> int:
        return self.counts[""]

    @cached_property
    def fitting(self) -> int:
        if self.asked.text:
            return self._named.count(self.asked.text, self._fitting_groups)
        return self.counts[self.how]

    @property
    def _fitting_groups(self) -> Collection[ObjectGroup] | None:
        if not self.how:
            return None
        return [group for group, like in self._likes.items() if self.how in like.fits]

    @cached_property
    def _keys_of_page(self) -> dict[int, list[int]]:
        """A page, and one more to know whether there is another; with what is above each."""
        return self._named.page(self.asked.text, self._fitting_groups, after=self.asked.after, most=SHOWN + 1)

    @cached_property
    def page(self) -> list[Reached]:
        return [self._near[key] for key in list(self._keys_of_page)[:SHOWN] if key in self._near]

    @property
    def next(self) -> int:
        """The object that the next page begins behind; 0 at the end."""
        return list(self._keys_of_page)[SHOWN - 1] if len(self._keys_of_page) > SHOWN else 0

    @cached_property
    def picked(self) -> Reached | None:
        """The object whose path is drawn: the one asked for, else the first of the deepest of use."""
        return next((self._near[key] for key in self._picked if key in self._near), None)

    @cached_property
    def _picked(self) -> dict[int, list[int]]:
        usable = [group for group, like in self._likes.items() if like.can]
        return self._named.picked(self.asked.pick, usable)

    @cached_property
    def _near(self) -> dict[int, Reached]:
        """The rows of the page, the picked object, some that are denied, and all that lies above them."""
        denied = sorted(key for _, report in self.said for key in report.denied)
        return self._read({**self._keys_of_page, **self._picked}, denied[:SHOWN])

    def _read(
        self, keys_by_group: Mapping[int, Sequence[int]], others: Iterable[int] = ()
    ) -> dict[int, Reached]:
        """Some objects with what lies above them and is reached too, as far as the viewer may know."""
        above = {
            key
            for keys in keys_by_group.values()
            for key in keys
            if any(key in report.rules for _, report in self.said)
        }
        places = nodes({*keys_by_group, *above, *others})
        visible = (place for place in places.values() if self.circle.sees(self.person, place))
        return {node.id: self._like(node) for node in visible}

    def whole(self) -> Iterator[tuple[Reached, list[Rule]]]:
        """The table to its end, with the rules that tell of each object; so many are read at a time."""
        groups, after, page = self._fitting_groups, 0, dict[int, list[int]]()
        while not after or len(page) == PIECE:
            page = self._named.page(self.asked.text, groups, after=after, most=PIECE)
            objects = self._read(page)
            yield from ((objects[key], self.telling(objects[key], objects)) for key in page if key in objects)
            after = list(page)[-1] if page else -1

    def _like(self, node: Node) -> Reached:
        slice_, report = self._facts_about(node)
        parent = node.lineage[-2] if len(node.lineage) > 1 else 0
        alone = node.id if node.type in terms.CONTAINERS else 0
        like = self._likes.get(ObjectGroup(report.signs[node.id], parent, node.type, alone))
        if like is None:
            return self._alone(node)
        return Reached(node, tuple(report.rules[node.id]), like.can, slice_, like.refused, like.fits)

    def _alone(self, node: Node) -> Reached:
        slice_, report = self._facts_about(node)
        return self._decided(node, tuple(report.rules[node.id]), slice_)

    def _facts_about(self, node: Node) -> tuple[Slice, RuleSets]:
        """The facts that speak of one that rules name."""
        return next(item for item in self.said if node.id in item[1].rules)

    @cached_property
    def by_number(self) -> dict[int, Reached]:
        """Of all that is reached, what the page tells of."""
        return self._near

    @cached_property
    def places(self) -> dict[int, Node]:
        """Of what has not begun; the rest is read by page."""
        nodes_ = nodes({rule.object for rule in self.later if isinstance(rule.object, int)})
        return {key: node for key, node in nodes_.items() if self.circle.sees(self.person, node)}

    # What is shown

    def toggles(self) -> tuple[Toggle, ...]:
        counts, filter_ = self.counts, self.asked
        return tuple(
            Toggle(word, filter_.url(how=how, after=0), filter_.how == how, words.number(counts[how]))
            for how, word in FILTERS
            if counts[how] or not how
        )

    def rows(self) -> list[ReachPageRow]:
        return [self._row(item) for item in self.page]

    @cached_property
    def applied(self) -> dict[int, State | None]:
        """How far what the page shows has come outside, by object."""
        given = {item.node.id: item for item in self.page if any(rule.allow for rule in item.rules)}
        grants = [
            (item.node, self.person, _decided_last(item.rules), gives_of(item.rules))
            for item in given.values()
        ]
        return dict(zip(given, applied.states(grants), strict=True)) if given else {}

    def coming(self) -> list[Coming]:
        """Scheduled grants that have not begun, the soonest first; one line an object and a window."""
        return comings(self.later, self.places)

    def _row(self, reached: Reached) -> ReachPageRow:
        node = reached.node
        above = " / ".join(node.names[:-1]) or terms.kind_of(node.type)
        who = Who(
            node.name, Face("thing", terms.icon_of(node.type)), above, terms.page_of(node.id, node.type)
        )
        return ReachPageRow(
            what=who,
            can=reached.words,
            note=reached.note,
            how=terms.paths(self.telling(reached, self.by_number), node, self.groups),
            ends=terms.ends_chip(reached.ends),
            picked=self.picked is reached,
            actions=tuple(self._actions(reached)),
            applied=self.applied.get(node.id),
        )

    def _actions(self, reached: Reached) -> Iterable[Action]:
        more = gettext("to %(name)s") % {"name": reached.node.name}
        yield Action(
            gettext("Path"),
            self.asked.url(pick=reached.node.id) + "#paths",
            "mini plain roomy",
            more=more,
        )
        yield Action(
            gettext("Why?"),
            why(self.person, reached.node),
            "mini plain",
            more=gettext("about %(name)s") % {"name": reached.node.name},
        )


def _decided_last(rules: Iterable[Rule]) -> int:
    return max((rule.opened or 0 for rule in rules if rule.allow), default=0)


def gives_of(rules: Iterable[Rule]) -> frozenset[str]:
    """The privileges that rules allow; none for all of them."""
    codes = frozenset(rule.privilege for rule in rules if rule.allow)
    return frozenset() if OWNER in codes else codes


def why(person: Principal, node: Node) -> str:
    query = {"who": str(person), "action": main_action(node), "what": node.ref.id, "type": node.type}
    return f"{reverse('console:why')}?{urlencode(query)}"
