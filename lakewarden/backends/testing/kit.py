"""What a backend is tried with: the outside as the contract suite sees it, and a worker in a few lines."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from typing import Optional, Protocol

from lakewarden.backends import planning
from lakewarden.backends.base import Backend, Desired, Foreign, Observation, Order, Outcome, Plan, Right
from lakewarden.backends.planning.losses import effective

READS, WRITES = "SELECT", "INSERT"
"""The two operations that people try, and the words that `Contract.on` turns into rights."""


class Site(Protocol):
    """An outside system that people change by hand, past the backend, with schemas and tables.

    `person` makes somebody who can sign in and answers the name there, `may` tries an operation as that
    person and answers whether it was allowed.  `foreign` are rights that others gave, read past the backend.
    `spoil` takes a right from one of our roles, or gives it one more; `spoil_member` lets a person join or
    leave it.
    """

    def backend(self) -> Backend: ...
    def schema(self, name: str) -> None: ...
    def table(self, schema: str, name: str) -> None: ...
    def drop(self, schema: str, name: str) -> None: ...
    def rename(self, schema: str, name: str, new: str) -> None: ...
    def person(self, name: str) -> str: ...
    def give_by_hand(self, right: Right, holder: str) -> None: ...
    def foreign(self) -> set[Foreign]: ...
    def spoil(self, key: str, *, taken: Optional[Right] = None, given: Optional[Right] = None) -> None: ...
    def spoil_member(self, key: str, person: str, *, joins: bool) -> None: ...
    def may(self, person: str, operation: str, schema: str, table: str) -> bool: ...


class Mortal(Site, Protocol):
    """A site that can let a worker die in the midst of a step, and be read only in part."""

    def dying(self, change: int) -> AbstractContextManager[None]:
        """Inside, `Crash` is raised just before the backend's n-th change to the system."""

    def blinded(self) -> AbstractContextManager[None]:
        """Inside, not everything in the backend can be read."""


class Crash(BaseException):
    """The worker's process ends here."""


@contextmanager
def opened(site: Site) -> Iterator[Backend]:
    """A backend that is closed at the end."""
    backend = site.backend()
    try:
        yield backend
    finally:
        backend.close()


def look(site: Site) -> Observation:
    """What the backend sees now."""
    with opened(site) as backend:
        return backend.observe()


def plan_of(site: Site, desired: Desired, orders: Iterable[Order] = ()) -> Plan:
    """What is to be done now."""
    return planning.plan(desired, look(site), orders)


def settle(site: Site, desired: Desired, *, rounds: int = 1, orders: Sequence[Order] = ()) -> list[Outcome]:
    """Observe, plan, apply as a worker does."""
    with opened(site) as backend:
        return [
            outcome
            for _ in range(rounds)
            for outcome in backend.apply(planning.plan(desired, backend.observe(), orders))
        ]


def die_halfway(site: Site, desired: Desired, rng: random.Random) -> None:
    """Begin to make something true and end anywhere, in the midst of a step where the site knows how."""
    dying = getattr(site, "dying", None)
    with suppress(Crash):
        if dying is None:
            with opened(site) as backend:
                plan = planning.plan(desired, backend.observe())
                list(islice(backend.apply(plan), rng.randint(0, len(plan.steps))))
        else:
            with dying(rng.randint(1, 25)):
                settle(site, desired)


def wanted(roles: Mapping[str, frozenset[Right]], **members: Iterable[str]) -> Desired:
    """Roles by their key, and who is in each."""
    return Desired(dict(roles), {key: frozenset(people) for key, people in members.items()})


def by_person(desired: Desired) -> Desired:
    """The same where there are no roles: each person's rights under their own key."""
    rights: dict[str, frozenset[Right]] = {}
    for key, people in desired.members.items():
        for name in sorted(people):
            rights[name] = rights.get(name, frozenset()) | desired.roles.get(key, frozenset())
    return Desired(
        {f"person:{name}": has for name, has in rights.items() if has},
        {f"person:{name}": frozenset({name}) for name, has in rights.items() if has},
    )


def held(
    roles: Mapping[str, frozenset[Right]], members: Mapping[str, Iterable[str]], person: str
) -> frozenset[Right]:
    """What a person has by their roles, less what these deny them."""
    return effective([key for key, people in members.items() if person in people], roles)


def random_desired(rng: random.Random, people: Sequence[str], rights: Sequence[frozenset[Right]]) -> Desired:
    """A world of up to four roles with some of the sets of rights; each person in at most two."""
    sets = [*rights, rights[0] | rights[-1], frozenset()]
    roles = {f"k{n}": rng.choice(sets) for n in rng.sample(range(6), rng.randint(0, 4))}
    members: dict[str, set[str]] = {key: set() for key in roles}
    for person in people:
        for key in rng.sample(sorted(roles), min(len(roles), rng.randint(0, 2))):
            members[key].add(person)
    return Desired(roles, {key: frozenset(who) for key, who in members.items()})
