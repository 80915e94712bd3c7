"""What is given on texts and not needed: nobody uses what they name, or others give the same there.

Every text stands for one bit, so that those which name an entity, or cover another text, are found at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from lakewarden.law import pattern_levels
from lakewarden.law.dialects.patterns import TextDialect
from lakewarden.law.facts import Level
from lakewarden.law.globs import like
from lakewarden.law.patterns import Texts, parts_of
from lakewarden.spark.pipelines import hint_phrases
from lakewarden.spark.pipelines.hint_phrases import Phrase, phrase
from lakewarden.spark.pipelines.inherited_facts import Fact, ObjectFacts
from lakewarden.spark.pipelines.people_sets import Crowd, count, places
from lakewarden.spark.pipelines.population import ROLE, contains
from lakewarden.spark.pipelines.reach_counts import data_types
from lakewarden.spark.pipelines.unneeded_grants import Hint, Least, serving

Use = tuple[int, int, str]
"""Who did what: the principal, the object, and the action."""


class Named(NamedTuple):
    """What a text names: `objects` that hold data, of which jobs told of `reported`; `used` by privileges."""

    objects: int
    reported: int
    used: Mapping[int, Crowd]


class OnTexts:
    """The hints of one realm about its texts.  `facts` are all on texts, `uses` those that count as uses."""

    def __init__(
        self, least: Least, facts: Iterable[Fact], every: Iterable[ObjectFacts], uses: Iterable[Use]
    ) -> None:
        self.least, self.law = least, cast("TextDialect", least.law)
        self.facts = [fact for fact in facts if fact.allow and self._now(fact) and self._bits(fact)]
        self.texts = tuple(dict.fromkeys(fact.on for fact in self.facts))
        self._at = {text: place for place, text in enumerate(self.texts)}
        self._held = Texts((text, 1 << place) for place, text in enumerate(self.texts))
        self._told = [least.containers[key].name for key in least.told_below if key in least.containers]
        self._named = self._looked(every, uses)

    def found(self) -> Iterator[Hint]:
        superfluous = self._superfluous()
        for fact in self.facts:
            if fact.key in superfluous:
                yield self._about(fact, "redundant_grant", {"others": superfluous[fact.key]})
            else:
                yield from self._unused(fact)

    def _looked(self, every: Iterable[ObjectFacts], uses: Iterable[Use]) -> list[Named]:
        objects, reported = [0] * len(self.texts), [0] * len(self.texts)
        used: list[dict[int, Crowd]] = [defaultdict(int) for _ in self.texts]
        done: dict[int, list[Use]] = defaultdict(list)
        for use in uses:
            done[use[1]].append(use)
        data = data_types(self.law)
        for entity in every if self.texts else ():
            above = (self.least.containers[key] for key in entity.ancestors)
            lineage = tuple(Level(item.type, item.key, item.name) for item in (*above, entity))
            # the texts that name an entity, or something above it: what is asked there may be what it is for
            rules = self._held.on(*pattern_levels.named(lineage))
            for end in range(1, len(lineage)):
                rules |= self._held.on(*pattern_levels.named(lineage[:end]))
            naming, seen_uses = rules, done.get(entity.key, ())
            if entity.type in data:
                for place in places(naming):
                    objects[place] += 1
                    reported[place] += bool(seen_uses)
            if seen_uses:
                self._add(
                    used, naming | self._held.below(*pattern_levels.named(lineage)), entity.type, seen_uses
                )
        return [Named(*item) for item in zip(objects, reported, used)]

    def _add(self, used: list[dict[int, Crowd]], naming: int, type: str, uses: Iterable[Use]) -> None:
        for person, _, action in uses:
            bits = serving(self.law.code, type, action)
            for place in places(naming):
                used[place][bits] |= self.least.standing.people.alone(person)

    def _unused(self, fact: Fact) -> Iterator[Hint]:
        privilege, named = self.law.privilege(fact.privilege), self._named[self._at[fact.on]]
        if privilege is None or privilege.category == "manage" or not named.objects:
            return
        if self.least.since is None or not self._told_here(fact.on) or not self.least.settled_in(fact):
            return
        crowd = self.least.standing.crowd(fact.unit)
        if any(crowd & mine for bits, mine in named.used.items() if bits & self._bits(fact)):
            return
        ground = {"days": self.least.days, "reported": named.reported, "objects": named.objects}
        yield self._about(fact, "unused_grant", {**ground, "given": self.least.given(fact)})

    def _told_here(self, text: str) -> bool:
        """Whether jobs told of a use in a namespace that the text can be about."""
        type, parts = parts_of(text)
        return bool(self._told) if type == "instance" else any(like(parts[0], name) for name in self._told)

    def _superfluous(self) -> dict[int | None, Phrase]:
        """The grants that change nothing: who has them has as much, for good, by others on the same names.

        They can all be ended together: what is ended does not count as a ground to end another.
        """
        on: dict[int, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            on[self._at[fact.on]].append(fact)
        phrases: dict[int | None, Phrase] = {}
        for fact in sorted(self.facts, key=self.least.ease):
            crowd, beside = self.least.standing.crowd(fact.unit), self._beside(fact, on, phrases)
            others = 0
            for item in beside:
                others |= self.least.lasting.crowd(item.unit)
            if crowd and not crowd & ~others:
                wider = sorted({item.on for item in beside} - {fact.on})
                phrases[fact.key] = (
                    phrase(hint_phrases.ON_TEXT, name=wider[0]) if wider else phrase(hint_phrases.SAME_NAME)
                )
        return phrases

    def _beside(
        self, fact: Fact, on: Mapping[int, Sequence[Fact]], ended: Mapping[int | None, Phrase]
    ) -> list[Fact]:
        """Other grants that give as much, for good, on all that the text names."""
        bits = self._bits(fact)
        return [
            item
            for place in places(self._held.on(*parts_of(fact.on)))
            for item in on[place]
            if item is not fact
            and item.key not in ended
            and item.window[1] is None
            and not bits & ~self._bits(item)
        ]

    def _bits(self, fact: Fact) -> int:
        return self.law.bits(fact.privilege)

    def _now(self, fact: Fact) -> bool:
        return contains(fact.window, self.least.standing.realm.at)

    def _about(self, fact: Fact, kind: str, data: Mapping[str, object]) -> Hint:
        unit = fact.unit
        by_role = unit.kind == ROLE
        return Hint(
            kind,
            role=unit.key if by_role else None,
            holder=None if by_role else unit.key,
            grant=fact.key,
            pattern=fact.on,
            privilege=fact.privilege,
            people=count(self.least.standing.crowd(unit)),
            data=data,
        )
