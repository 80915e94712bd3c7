"""What turning entries would do, worked out before it is done: who gains and loses which privileges.

Everybody concerned is decided twice by the engine, with the rules as they are and as they would be; whom a
pattern speaks of is concerned too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.utils import timezone

from accounts.models import Principal
from accounts.text import in_capitals
from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.law import dialects, engine
from lakewarden.law.facts import Rule, Slice, Station
from policies.decisions import facts
from policies.models import Grant
from policies.services.entries import Turn

MOST = 500
"""So many people whom patterns speak of are looked at one by one."""


@dataclass(frozen=True)
class Outcome:
    """What becomes of one holder, or of one person a pattern speaks of (`pattern`), on the object.

    `had` and `has` are the privileges in force before and after, by whatever way; `ways` the names of the
    patterns by which what was taken, or what is given once more, holds all the same.
    """

    holder: Principal
    turn: Turn
    had: frozenset[str]
    has: frozenset[str]
    slice: Slice
    ways: tuple[str, ...] = ()
    pattern: Principal | None = None

    @property
    def gains(self) -> frozenset[str]:
        return self.has - self.had

    @property
    def loses(self) -> frozenset[str]:
        return self.had - self.has

    @property
    def keeps(self) -> frozenset[str]:
        """What is taken and holds all the same."""
        return self.turn.takes & self.has

    @property
    def had_already(self) -> frozenset[str]:
        return self.turn.gives & self.had


@dataclass
class Foretelling:
    """The rules of everybody whom some turns concern, and what they come to.  Three queries."""

    node: Node
    turns: Sequence[Turn]
    now: datetime

    @cached_property
    def patterns(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.holder.kind == Principal.Kind.PATTERN]

    @cached_property
    def covered(self) -> list[tuple[Principal, Turn]]:
        """People known here whom a pattern speaks of and who have no turn of their own."""
        own = {item.holder.pk for item in self.turns if item.holder.pk}
        people = Principal.objects.filter(kind__in=("user", "service")).exclude(pk__in=own)
        turns_by_person: dict[int, tuple[Principal, Turn]] = {}
        for turn in self.patterns:
            rows = people.filter(name__iendswith=turn.holder.name[1:]).order_by("display_name", "name")
            turns_by_person.update(
                {row.pk: (row, turn) for row in rows[:MOST] if row.pk not in turns_by_person}
            )
        return list(turns_by_person.values())

    @cached_property
    def loaded(self) -> facts.Loaded:
        ids = [turn.holder.pk for turn in self.turns if turn.holder.pk] + [row.pk for row, _ in self.covered]
        realm = Realm(pk=self.node.realm_id, kind=self.node.kind)
        strangers = {number: turn.holder.name for number, turn in self._numbered() if number < 0}
        return facts.load(
            realm, self.node.realm, ids, now=self.now, objects=self.node.lineage, strangers=strangers
        )

    def _numbered(self) -> Iterable[tuple[int, Turn]]:
        """Each turn with its holder's number, a negative one for who is not known yet."""
        for at, turn in enumerate(self.turns, 1):
            yield turn.holder.pk or -at, turn

    @cached_property
    def gone(self) -> dict[int | None, frozenset[str]]:
        """The facts that each turn ends, by holder."""
        taking = [turn.holder.pk for turn in self.turns if turn.takes and turn.holder.pk]
        rows = Grant.objects.open().filter(securable=self.node.id, holder__in=taking)
        takes = {turn.holder.pk: turn.takes for turn in self.turns}
        ended: dict[int | None, set[str]] = {}
        for pk, holder, privilege in rows.values_list("pk", "holder", "privilege"):
            if privilege in takes.get(holder, ()):
                ended.setdefault(holder, set()).add(f"grant:{pk}")
        return {holder: frozenset(names) for holder, names in ended.items()}

    def outcomes(self) -> list[Outcome]:
        own = [self._outcome(number, turn.holder, [turn]) for number, turn in self._numbered()]
        return [*own, *(self._outcome(row.pk, row, [turn], turn.holder) for row, turn in self.covered)]

    def _outcome(
        self, number: int, person: Principal, turns: Collection[Turn], pattern: Principal | None = None
    ) -> Outcome:
        before = self.loaded.slice_of(person, number)
        spoken = [item for item in self.patterns if _speaks_of(item.holder, person)]
        every = [*turns, *(item for item in spoken if item not in turns)]
        removed_facts = frozenset().union(*(self.gone.get(item.holder.pk, frozenset()) for item in every))
        new = [rule for item in every for rule in self._new(item, person)]
        rules = (*(rule for rule in before.rules if rule.fact not in removed_facts), *new)
        after = engine.with_rules(before, rules, now=self.now.timestamp())
        [turn, *_] = turns
        return Outcome(
            person, turn, self._held(before), self._held(after), after, _ways(after, turn, self.node), pattern
        )

    def _new(self, turn: Turn, person: Principal) -> Iterable[Rule]:
        holder = turn.holder
        is_own = holder == person or holder is person
        via = () if is_own else (Station("pattern", holder.name, holder.pk or 0),)
        return (Rule(self.node.id, code, True, via) for code in turn.gives)

    def _held(self, slice_: Slice) -> frozenset[str]:
        law, moment = dialects.get(self.node.kind), self.now.timestamp()
        codes = (privilege.code for privilege in law.privileges.values() if self.node.type in privilege.binds)
        return frozenset(
            code for code in codes if engine.permitted(slice_, code, self.node.levels, now=moment)
        )


def _speaks_of(pattern: Principal, person: Principal) -> bool:
    suffix = in_capitals(pattern.name[1:])
    return person.kind != Principal.Kind.PATTERN and in_capitals(person.name).endswith(suffix)


def _ways(after: Slice, turn: Turn, node: Node) -> tuple[str, ...]:
    codes = turn.takes | turn.gives
    rules = (rule for rule in after.rules if rule.object == node.id and rule.privilege in codes and rule.via)
    return tuple(dict.fromkeys(rule.via[0].name for rule in rules))


def of_turns(node: Node, turns: Sequence[Turn], *, now: datetime | None = None) -> list[Outcome]:
    """What becomes of each holder, then of each person whom a turned pattern speaks of."""
    return Foretelling(node, turns, now or timezone.now()).outcomes() if turns else []
