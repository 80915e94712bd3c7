"""What Herd and CDAP have in common: each right is one person's own, and nothing says who gave it.

What is ours is known from our own record alone.  A step is written down before the call that gives and struck
out after the call that takes, so that stopping anywhere makes neither ours foreign nor the foreign ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lakewarden.backends.base import (
    Finding,
    Foreign,
    FoundObject,
    Observation,
    Outcome,
    Plan,
    Right,
    Source,
    Step,
)
from lakewarden.backends.console import Fact, Peers, Record
from lakewarden.backends.decisions import PERSON
from lakewarden.backends.errors import BackendError
from lakewarden.backends.steps import in_turn
from policies.sync.backends.shared.peering import must_not_lead_back, source_at
from policies.sync.backends.shared.rest import Refused, Rest


@dataclass
class Entries:
    """What a server has: rights of single people, what lies there, and what others hold besides."""

    facts: set[Fact] = field(default_factory=set)
    objects: list[FoundObject] = field(default_factory=list)
    foreign: list[Foreign] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    groups: dict[str, frozenset[str]] = field(default_factory=dict)


class Wire(Protocol):
    """One kind of server's calls."""

    rest: Rest
    peers: Peers

    def read(self, people: Collection[str]) -> Entries:
        """Everything that can be seen, at least of these people.  Raises BackendError."""

    def held(self, holder: str, rights: Sequence[Right]) -> set[Right]:
        """Those of the rights that somebody holds directly now."""

    def give(self, holder: str, rights: Sequence[Right]) -> None:
        """Let somebody have these; a right already held is no error."""

    def take(self, holder: str, rights: Sequence[Right]) -> None:
        """Take these; what is gone is no error."""

    def leave(self, holder: str, role: str) -> None:
        """Take somebody out of a role that others made."""

    def check(self) -> Iterable[Finding]:
        """What a person should know about the connection."""

    def translated(self, refusal: Refused) -> BackendError:
        """What to do next about an error."""


class ByPerson:
    """A backend without roles: everybody holds their rights directly."""

    def __init__(
        self,
        wire: Wire,
        record: Record,
        admits: Callable[[], Iterable[str]],
        *,
        carries: Mapping[str, tuple[str, ...]],
        between: tuple[str, str],
    ) -> None:
        """`carries` says which rights there are on each kind of object, `between` which realms this joins."""
        self.wire, self._record, self._admits = wire, record, admits
        self._carries, self._between = carries, between

    def rights_for(self, privilege: str, kind: str) -> tuple[str, ...]:
        """The privilege itself, where it is carried over."""
        return (privilege,) if privilege in self._carries.get(kind, ()) else ()

    def source(self) -> Source:
        """The realm over there."""
        return source_at(self.wire.rest, f"{self._between[1]}{'/'.join(self.wire.rest.at.path)}")

    def observe(self) -> Observation:
        """Everything that can be seen, call by call.  Raises errors of `lakewarden.backends.errors`."""
        must_not_lead_back(self.wire.rest, self.wire.peers, self._record.mark, *self._between)
        admitted = {*self._admits(), *self._record.holders()}
        try:
            seen = self.wire.read(sorted(admitted))
        except Refused as refusal:
            raise self.wire.translated(refusal) from None
        ours = self._record.seen(seen.facts, complete=not seen.unread)
        theirs = [Foreign(fact.right, fact.holder) for fact in seen.facts if ours.get(fact, True)]
        roles: dict[str, set[Right]] = defaultdict(set)
        for fact in ours:
            roles[PERSON + fact.holder].add(fact.right)
        return Observation(
            complete=not seen.unread,
            position="",
            objects=tuple(seen.objects),
            people=frozenset(admitted | {fact.holder for fact in seen.facts}),
            roles={key: frozenset(rights) for key, rights in roles.items()},
            members={key: frozenset({key.removeprefix(PERSON)}) for key in roles},
            foreign=tuple(sorted((*theirs, *seen.foreign), key=str)),
            unknown=tuple(seen.unread),
            groups=seen.groups,
        )

    def apply(self, plan: Plan) -> Iterator[Outcome]:
        """Do each step and say what became of it."""
        return in_turn(plan.steps, self._done)

    def check(self) -> Iterable[Finding]:
        """What works and what has to be mended, in words."""
        try:
            return list(self.wire.check())
        except Refused as refusal:
            return [Finding(ok=False, text=str(self.wire.translated(refusal)), blocks=True)]
        except BackendError as error:
            return [Finding.unreachable(error)]

    def close(self) -> None:
        """Let go of the connection; the next call makes a new one."""
        self.wire.rest.close()

    def _done(self, step: Step) -> None:
        try:
            # making, joining and dropping a role is nothing here: who has rights is there by having them
            if step.kind == "give":
                holder = step.role.removeprefix(PERSON)
                rights = step.rights
                facts = [Fact(holder, right) for right in rights]
                held = self.wire.held(holder, rights)
                self._record.give(facts, {Fact(holder, right) for right in held})
                if len(held) < len(rights):
                    self.wire.give(holder, [right for right in rights if right not in held])
                self._record.given(facts)
            elif step.kind == "take":
                self._take(step.role.removeprefix(PERSON), step.rights)
            elif step.kind == "take_foreign":
                self._take_foreign(step)
        except Refused as refusal:
            raise self.wire.translated(refusal) from None

    def _take(self, holder: str, rights: Sequence[Right]) -> None:
        ours = self._record.take([Fact(holder, right) for right in rights])
        if ours:
            self.wire.take(holder, [fact.right for fact in ours])
            self._record.taken(ours)

    def _take_foreign(self, step: Step) -> None:
        roles = [right.path[0] for right in step.rights if right.kind == "role"]
        for role in roles:
            self.wire.leave(step.person, role)
        rights = [right for right in step.rights if right.kind != "role"]
        theirs = self._record.own([Fact(step.person, right) for right in rights])
        if theirs:
            self.wire.take(step.person, [fact.right for fact in theirs])
