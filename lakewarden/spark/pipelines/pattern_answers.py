"""The answers of a law whose rules are about texts: which texts name an entity, and who holds them.

The texts are matched by the law's own code, all of them at once: each stands for one bit there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from lakewarden.law import pattern_levels
from lakewarden.law.conditions import BELOW, HELD, MEMBER, OWNER, SERVICE_ADMIN, Atom
from lakewarden.law.dialects.base import Test
from lakewarden.law.dialects.cdap import by_settings
from lakewarden.law.dialects.patterns import TextDialect
from lakewarden.law.facts import OWNER as OWNS
from lakewarden.law.facts import Level, Lineage
from lakewarden.law.patterns import Texts
from lakewarden.law.principals import Principal
from lakewarden.spark.pipelines.inherited_facts import Answers, Fact, HeldPrivileges, ObjectFacts
from lakewarden.spark.pipelines.people_sets import Crowd, places
from lakewarden.spark.pipelines.population import HOLDER, Population, Unit, contains
from lakewarden.spark.pipelines.population import OWNER as OWNING


def _of_settings(standing: Population) -> tuple[list[Fact], list[Fact]]:
    """What the realm's law and settings give without a grant: on texts, and as ownership of the realm."""
    realm, texts, owners = standing.realm, list[Fact](), list[Fact]()
    for principal in standing.principals.values():
        who = Principal(principal.kind, principal.name)
        for rule in by_settings.rules(realm.root, realm.law, realm.settings, who, ()):
            if rule.privilege == OWNS:
                owners.append(Fact(Unit(OWNING, principal.key), OWNS))
            else:
                texts.append(Fact(Unit(HOLDER, principal.key), rule.privilege, on=str(rule.object)))
    return texts, owners


NOTHING = HeldPrivileges({}, {}, {}, (), None)


class Named(Answers):
    """The same questions as Levels, of entities and texts.  `facts` are all that are about texts."""

    by_text = True

    def __init__(
        self, standing: Population, containers: Mapping[int, ObjectFacts], facts: Iterable[Fact]
    ) -> None:
        super().__init__(standing)
        self.text_law = cast("TextDialect", self.law)
        more, owners = _of_settings(standing)
        root = containers[standing.realm.root]
        self.containers: Mapping[int, ObjectFacts] = {
            **containers,
            root.key: root._replace(facts=(*root.facts, *owners)),
        }
        self.facts: Sequence[Fact] = [*facts, *more]
        # who holds each privilege on each text now, what a privilege stands for counted too
        crowds: dict[str, dict[int, Crowd]] = defaultdict(lambda: defaultdict(int))
        for fact in self.facts:
            if fact.on and fact.allow and contains(fact.window, self.standing.realm.at):
                crowd, bits = self.standing.crowd(fact.unit), self.text_law.bits(fact.privilege)
                while bits:
                    bit = bits & -bits
                    crowds[fact.on][bit] |= crowd
                    bits ^= bit
        self._bits = {text: dict(held) for text, held in crowds.items()}
        self.texts = Texts((text, 1 << place) for place, text in enumerate(self._bits))
        self._held_by = list(self._bits.values())
        self._known: dict[tuple[object, ...], Crowd] = {}

    def held(self, place: ObjectFacts) -> HeldPrivileges:
        return NOTHING

    def above(self, place: ObjectFacts) -> HeldPrivileges | None:
        return None if place.parent is None else NOTHING

    def able(self, place: ObjectFacts, operation: str, held: HeldPrivileges) -> Crowd:
        """Everybody who may do an operation to an entity."""
        lineage = self.lineage(place)
        test = self.law.test(operation, place.type)
        if test is None or not pattern_levels.known(self.text_law, lineage):
            return 0
        law_operation = test.operation
        free = self.unguarded(law_operation)
        if free is not None:
            return free
        if law_operation.beside or law_operation.each:
            return 0
        # entities that the same texts name on every level asked about are answered once
        named = []
        for on in test.levels:
            level = pattern_levels.level_of(on, lineage)
            named.append((on, self.texts.on(*pattern_levels.named(level)) if level else 0))
        below = self.texts.below(*pattern_levels.named(lineage)) if test.whole else 0
        like = id(test), tuple(named), below
        if like not in self._known:
            self._known[like] = self.joined(test, self._crowds(test, dict(named), below))
        return self._known[like]

    def lineage(self, place: ObjectFacts) -> Lineage:
        """The levels of an entity, root first, as the law is asked about them."""
        above = (self.containers[key] for key in place.ancestors)
        return tuple(Level(item.type, item.key, item.name) for item in (*above, place))

    def _crowds(self, test: Test, named: Mapping[str, int], below: int) -> Mapping[Atom, Crowd]:
        standing, root = self.standing, self.standing.realm.root
        crowds: dict[Atom, Crowd] = {}
        for atom in {atom for way in self.ways(test) for atom in way}:
            if atom.kind == HELD:
                crowds[atom] = self._holding(named.get(atom.on, 0), self.law.privileges[atom.name].bit)
            elif atom.kind == BELOW:
                crowds[atom] = self._holding(below, -1)
            elif atom.kind == OWNER:
                crowds[atom] = self._owners if atom.name == self.law.root_type else 0
            elif atom.kind == MEMBER:
                crowds[atom] = standing.members
            elif atom.kind == SERVICE_ADMIN:
                crowds[atom] = standing.admins
            else:
                raise ValueError(f"a law about texts has no `{atom.kind}` ({root})")
        return crowds

    def _holding(self, texts: int, bits: int) -> Crowd:
        holding_crowd = 0
        for place in places(texts):
            for bit, crowd in self._held_by[place].items():
                if bit & bits:
                    holding_crowd |= crowd
        return holding_crowd

    @property
    def _owners(self) -> Crowd:
        root = self.containers.get(self.standing.realm.root)
        crowd = 0
        for fact in root.facts if root else ():
            if fact.privilege == OWNS and contains(fact.window, self.standing.realm.at):
                crowd |= self.standing.crowd(fact.unit)
        return crowd
