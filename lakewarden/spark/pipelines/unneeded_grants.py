"""Where a realm gives more than is needed: found object by object, from what is given there, above and below.

Nothing here asks about one person and one object: who has a privilege by a grant is a crowd, and so is who
has it anyway, who used it, and who might have it below.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, Optional

from lakewarden.law import dialects
from lakewarden.law.conditions import HELD, NO_DENIAL, OWNER, RIGHT, atoms
from lakewarden.law.dialects.base import Dialect, Privilege
from lakewarden.law.facts import OWNER as OWNS
from lakewarden.spark.pipelines import hint_phrases
from lakewarden.spark.pipelines.hint_phrases import Phrase, phrase
from lakewarden.spark.pipelines.inherited_facts import Fact, ObjectFacts
from lakewarden.spark.pipelines.people_sets import Crowd, count
from lakewarden.spark.pipelines.population import HOLDER, ROLE, Population, Unit, began, contains
from lakewarden.spark.pipelines.reach_counts import data_types

WINDOW = 90
"""Days within which a use counts as a use."""
DAY = 86_400.0
AFTER = 30
"""Days for which something must have been given, and uses told of, before it is called unused."""
WIDE = 10
"""What is given on a container is wide when no more than one in so many of the objects in it was used."""


class ReportedUse(NamedTuple):
    """Somebody did something to an object; told by a job, and really done."""

    person: int
    type: str
    action: str


class Beneath(NamedTuple):
    """What is known of an object and all below it.

    `objects` hold data, of which jobs told of `reported`; `used` is who did what; `touched` how many objects
    a type's action was done to; `allowed` what is given below the object, not on it.
    """

    objects: int = 0
    reported: int = 0
    used: tuple[ReportedUse, ...] = ()
    touched: tuple[tuple[str, str, int], ...] = ()
    allowed: tuple[tuple[str, Unit], ...] = ()


NOTHING = Beneath()


class Hint(NamedTuple):
    """One hint: its kind, what and whom it is about, and the numbers of its ground.

    `people` are concerned; `key` is the same for the same hint in the next run.
    """

    kind: str
    object: Optional[int] = None
    role: Optional[int] = None
    other_role: Optional[int] = None
    holder: Optional[int] = None
    grant: Optional[int] = None
    pattern: str = ""
    privilege: str = ""
    people: int = 0
    data: Mapping[str, Any] = {}

    @property
    def key(self) -> str:
        about = (
            self.kind,
            self.object,
            self.role,
            self.other_role,
            self.holder,
            self.pattern,
            self.privilege,
        )
        return hashlib.sha256("\x1f".join(map(str, about)).encode()).hexdigest()


@dataclass
class Least:
    """Everything that is needed beside the object itself.

    `standing` is who stands where now, `lasting` the part of it that has no end, `ever` all that holds now or
    later, `settled` who has stood there for `after` days: what is newer is not called unused.  `since` is the
    moment of the first use that was told, `told_below` which objects right below the root hold something that
    a use was told of.  `personal` are the holders of roles made for one person.
    """

    standing: Population
    lasting: Population
    ever: Population
    settled: Population
    containers: Mapping[int, ObjectFacts]
    personal: Mapping[int, int]
    since: Optional[float] = None
    told_below: frozenset[int] = frozenset()
    after: int = AFTER
    _kept: dict[int, dict[str, Crowd]] = field(default_factory=dict)
    _denied: dict[int, dict[str, Crowd]] = field(default_factory=dict)

    @property
    def law(self) -> Dialect:
        return self.standing.law

    @property
    def days(self) -> int:
        """How many days the reports of uses cover, up to WINDOW."""
        return 0 if self.since is None else min(WINDOW, int((self.standing.realm.at - self.since) / DAY))

    def found(self, place: ObjectFacts, beneath: Beneath = NOTHING) -> Iterator[Hint]:
        """The hints about what is given on one object, and about its owner."""
        yield from self._owner(place, beneath)
        superfluous = self._superfluous(place)
        for fact in place.facts:
            if fact.privilege == OWNS or not self._now(fact) or self._privilege(fact, place) is None:
                continue
            if fact.key in superfluous and fact.allow:
                yield self._about(fact, place, "redundant_grant", {"others": superfluous[fact.key]})
            elif fact.key in superfluous:
                others = phrase(hint_phrases.DENIED_TOO, others=superfluous[fact.key])
                yield self._about(fact, place, "idle_deny", {"others": others})
            elif fact.allow:
                yield from self._unused(fact, place, beneath)
            else:
                yield from self._idle(fact, place, beneath)

    def _unused(self, fact: Fact, place: ObjectFacts, beneath: Beneath) -> Iterator[Hint]:
        privilege = self._privilege(fact, place)
        if privilege is None or self.since is None or privilege.category == "manage":
            return  # whoever manages does it here, where no job tells of it
        if not self._told_here(place) or not self.settled_in(fact):
            return
        counted = {"days": self.days, "reported": beneath.reported, "objects": beneath.objects}
        ground = {**counted, "given": self.given(fact)}
        crowd = self.standing.crowd(fact.unit)
        # who did something here or below that the privilege serves
        bit = self.law.privileges[privilege.code].bit
        users = self.standing.people.crowd(
            item.person for item in beneath.used if bit & serving(self.law.code, item.type, item.action)
        )
        if not crowd & users:
            yield self._about(fact, place, "unused_grant", ground)
        elif privilege.category != "use":
            touched = sum(
                n
                for type, action, n in beneath.touched
                if privilege.bit & serving(self.law.code, type, action)
            )
            if touched * WIDE <= beneath.objects:
                yield self._about(fact, place, "wide_grant", {**ground, "used": touched})

    def settled_in(self, fact: Fact) -> bool:
        """Whether somebody has had it for so long that not using it says something."""
        age = self._age(fact)
        young = self.days < self.after or (age is not None and age < self.after)
        return not young and bool(self.settled.crowd(fact.unit) & self.standing.crowd(fact.unit))

    def _age(self, fact: Fact) -> int | None:
        """For how many days it has been given; None: for longer than the history that is kept tells."""
        start = began(fact.window[0], fact.since)
        return None if start is None else int((self.standing.realm.at - start) / DAY)

    def given(self, fact: Fact) -> Phrase | str:
        """How long ago something was granted, as the end of a sentence."""
        age = self._age(fact)
        if age is None:
            return ""
        return phrase(hint_phrases.DAYS_AGO, many=age) if age else phrase(hint_phrases.TODAY)

    def _told_here(self, place: ObjectFacts) -> bool:
        if place.key == self.standing.realm.root:
            return bool(self.told_below)
        top = place.ancestors[1] if len(place.ancestors) > 1 else place.key
        return top in self.told_below

    def _superfluous(self, place: ObjectFacts) -> dict[int | None, Phrase]:
        """The facts here that change nothing: what they give or deny, the others here or above do too.

        They can all be ended together: what is ended does not count as a ground to end another.
        """
        above = self._kept_on(place.ancestors[-1]) if place.ancestors else {}
        phrases: dict[int | None, Phrase] = {}
        facts = [fact for fact in place.facts if self._now(fact) and self._privilege(fact, place)]
        for fact in sorted(facts, key=self.ease):
            side = _side(fact, self.law)
            others = above.get(side, 0)
            beside = [
                item
                for item in facts
                if item is not fact
                and _side(item, self.law) == side
                and item.key not in phrases
                and _lasts(item)
            ]
            for item in beside:
                others |= self.lasting.crowd(item.unit)
            crowd = self.standing.crowd(fact.unit)
            if fact.privilege != OWNS and crowd and not crowd & ~others:
                phrases[fact.key] = self._by(crowd, above.get(side, 0), beside)
        return phrases

    def ease(self, fact: Fact) -> tuple[int, int, int]:
        """What is easiest to miss comes first: what one person alone has, then what few have."""
        alone = fact.unit.kind == HOLDER or fact.unit.key in self.personal
        return (not alone, count(self.standing.crowd(fact.unit)), fact.key or 0)

    def _by(self, crowd: Crowd, above: Crowd, beside: Iterable[Fact]) -> Phrase:
        if not crowd & ~above:
            return phrase(hint_phrases.ABOVE)
        return phrase(hint_phrases.HERE, many=len({item.unit.key for item in beside}) or 1)

    def _kept_on(self, key: int) -> dict[str, Crowd]:
        """Who has, or is denied, each privilege on an object for good, by facts on it and above."""
        if key not in self._kept:
            place = self.containers[key]
            kept = dict(self._kept_on(place.ancestors[-1])) if place.ancestors else {}
            for fact in place.facts:
                if self._now(fact) and _lasts(fact) and self._privilege(fact, place):
                    side = _side(fact, self.law)
                    kept[side] = kept.get(side, 0) | self.lasting.crowd(fact.unit)
            self._kept[key] = kept
        return self._kept[key]

    def _idle(self, fact: Fact, place: ObjectFacts, beneath: Beneath) -> Iterator[Hint]:
        privilege_ = self._privilege(fact, place)
        if privilege_ is None or privilege_.bit & denial_matters(self.law.code):
            return  # some operations ask that it is not denied, whoever has it
        given = self._ever_on(place.key, place).get(privilege_.code, 0)
        for code, unit in beneath.allowed:
            privilege = self.law.privilege(code)
            if privilege is not None and privilege.code == privilege_.code:
                given |= self.ever.crowd(unit)
        crowd = self.ever.crowd(fact.unit)
        if not crowd & given:
            yield self._about(fact, place, "idle_deny", {"others": ""})

    def _ever_on(self, key: int, place: ObjectFacts) -> dict[str, Crowd]:
        """Who might have each privilege on an object now or later, denials put aside."""
        if key not in self._denied:
            above = place.ancestors[-1] if place.ancestors else None
            crowds = dict(self._ever_on(above, self.containers[above])) if above is not None else {}
            for fact in place.facts:
                privilege = self._privilege(fact, place)
                if privilege is not None and fact.allow and not _over(fact, self.standing.realm.at):
                    crowds[privilege.code] = crowds.get(privilege.code, 0) | self.ever.crowd(fact.unit)
            if place.key not in self.containers:
                return crowds
            self._denied[key] = crowds
        return self._denied[key]

    def _owner(self, place: ObjectFacts, beneath: Beneath) -> Iterator[Hint]:
        if place.type not in ownable(self.law.code):
            return
        owners = [fact.unit for fact in place.facts if fact.privilege == OWNS and self._now(fact)]
        crowd = 0
        for unit in owners:
            crowd |= self.standing.crowd(unit)
        concerned = {"objects": beneath.objects}
        if owners and not crowd & self.standing.able:
            yield Hint(
                "ownerless",
                place.key,
                people=count(crowd),
                data={"why": phrase(hint_phrases.OWNER_CLOSED), **concerned},
            )
        elif not owners and len(place.ancestors) < 2 and place.key in self.containers:
            yield Hint("ownerless", place.key, data={"why": phrase(hint_phrases.NO_OWNER), **concerned})

    def _about(self, fact: Fact, place: ObjectFacts, kind: str, data: Mapping[str, Any]) -> Hint:
        unit, crowd = fact.unit, count(self.standing.crowd(fact.unit))
        role = unit.key if unit.kind == ROLE else None
        holder = self.personal.get(unit.key) if role is not None else unit.key
        return Hint(
            kind,
            place.key,
            role,
            holder=holder,
            grant=fact.key,
            privilege=fact.privilege,
            people=crowd,
            data=data,
        )

    def _privilege(self, fact: Fact, place: ObjectFacts) -> Privilege | None:
        """The privilege that a fact gives or denies on the object; None for one that counts for nothing."""
        privilege = self.law.privilege(fact.privilege)
        return privilege if privilege is not None and place.type in privilege.binds else None

    def _now(self, fact: Fact) -> bool:
        return contains(fact.window, self.standing.realm.at)


def _side(fact: Fact, law: Dialect) -> str:
    privilege = law.privilege(fact.privilege)
    return f"{privilege.code if privilege else fact.privilege}{'' if fact.allow else ' denied'}"


def _lasts(fact: Fact) -> bool:
    return fact.window[1] is None


def _over(fact: Fact, now: float) -> bool:
    end = fact.window[1]
    return end is not None and end <= now


@cache
def serving(law: str, type: str, action: str) -> int:
    """The bits of the privileges that help to do an action to a type."""
    dialect = dialects.get(law)
    test = dialect.test(dialect.action(type, action) or action, type)
    if test is None:
        return 0
    names = {atom.name for atom in atoms(test.condition) if atom.kind in (RIGHT, HELD)}
    whole = {name for name in dialect.privileges if names & _implied(dialect, name)}
    return sum(dialect.privileges[name].bit for name in names | whole)


def _implied(law: Dialect, name: str) -> frozenset[str]:
    implied: Mapping[str, frozenset[str]] = getattr(law, "implied", {})
    return implied.get(name, frozenset())


@cache
def denial_matters(law: str) -> int:
    """The bits of the privileges of which some operation asks only that they are not denied."""
    dialect = dialects.get(law)
    return sum(
        bit
        for bit in {
            dialect.privileges[atom.name].bit
            for test in dialect.tests.values()
            for atom in atoms(test.condition)
            if atom.kind == NO_DENIAL
        }
    )


@cache
def ownable(law: str) -> frozenset[str]:
    """The types whose owner the law asks for, and that stand in the tree of data."""
    dialect = dialects.get(law)
    owned = {
        atom.name for test in dialect.tests.values() for atom in atoms(test.condition) if atom.kind == OWNER
    }
    # the types that hold data, and those below which it stands
    types, before = set(data_types(dialect)), -1
    while len(types) != before:
        before = len(types)
        types |= {type for type in dialect.types if set(dialect.child_types(type)) & types}
    return frozenset(owned & types)


__all__ = ["Beneath", "Hint", "Least", "ReportedUse", "denial_matters", "ownable", "serving"]
