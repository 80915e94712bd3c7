"""The order of a plan's steps: stopping anywhere leaves nobody with more than was ever decided for them.

Firm rules keep anyone from getting what was not decided: people leave a role before it is given more,
and what a role loses is taken before anyone joins.  Soft rules keep everyone in possession of what they keep:
where they go is filled first, what they held is taken last.  Where they are at odds the firm ones win.
Otherwise removals go first.

Denials go the other way: a denial is set before anything is given and taken back last, and people who
move by a role that denies are moved before the roles that they stay in are given more, after these lost.

When a role could not be filled wholly, people moving into it stay where they are, if they have nothing there
that is no longer decided for them; the others move all the same, into what there is: less than was decided
perhaps, never more.  A role whose denials could not be set is joined by nobody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from lakewarden.backends.base import Step

_RANKS = {"take_foreign": 0, "take": 1, "make_role": 2, "give": 3, "switch": 4, "drop_role": 5}

# places of two steps in the sorted list, the first to come before the second
_Rules = set[tuple[int, int]]


def in_order(steps: Iterable[Step], members: Mapping[str, Collection[str]]) -> tuple[Step, ...]:
    """The steps, sorted; `members` says who is in each role now."""
    parts: tuple[list[Step], ...] = [], [], []
    for step, part in _parted(sorted(steps, key=_rank)):
        parts[part].append(step)
    return tuple(step for part in parts for step in _arranged(part, members))


def _parted(ranked: Sequence[Step]) -> Iterator[tuple[Step, int]]:
    """Each step, and whether it goes before or after all that has nothing to do with denials: 0, 1 or 2."""
    denied = {step.role for step in ranked if step.kind == "give" and step.denies}
    allowed = {step.role for step in ranked if step.kind == "take" and step.denies}
    for step in ranked:
        if step.role in denied and (step.kind == "make_role" or (step.kind == "give" and step.denies)):
            yield step, 0
        elif step.role in allowed and (step.kind == "drop_role" or (step.kind == "take" and step.denies)):
            yield step, 2
        else:
            yield step, 1


def _arranged(ranked: Sequence[Step], members: Mapping[str, Collection[str]]) -> Iterator[Step]:
    firm = set(_firm(ranked))
    soft = set(_soft(ranked, members)) - firm
    return (ranked[at] for at in _sorted(len(ranked), firm, soft))


def waits_for(step: Step, failed: Iterable[Step]) -> Step | None:
    """The failed step that this one waits for, so that it gives or takes nothing that was not decided."""
    others = list(failed)
    firm = (other for other in others if _firmly_before(other, step) or _undenied(other, step))
    return next(firm, None) or _until_filled(step, others)


def alone(steps: Sequence[Step], wanted: Callable[[Step], bool]) -> list[Step]:
    """Those of ordered steps that are wanted, and what they wait for: without it they would give too much."""
    singles: list[Step] = []
    for step in reversed(steps):
        if wanted(step) or any(waits_for(later, [step]) for later in singles):
            singles.append(step)
    return singles[::-1]


def _undenied(first: Step, then: Step) -> bool:
    """Whether a denial that failed would be missing, or one is still needed for what could not be taken."""
    missing = first.kind == "give" and first.denies
    if then.kind == "switch":
        return missing and first.role in then.keeps + then.joins and bool(then.joins or then.denies)
    if then.kind == "give":
        return missing and not then.denies and _touch(first, then)
    if then.kind == "take" and then.denies:
        held = missing or (first.kind == "take" and not first.denies)
        return first.kind == "switch" or (held and _touch(first, then))
    return False


def _touch(step: Step, other: Step) -> bool:
    """Whether two steps are about the same object, or one above the other."""
    return any(_within(a.path, b.path) for a in step.rights for b in other.rights)


def _within(path: Sequence[str], other: Sequence[str]) -> bool:
    both = min(len(path), len(other))
    return path[:both] == other[:both]


def _until_filled(step: Step, failed: Sequence[Step]) -> Step | None:
    """What keeps people where they are, or the rights there, until the role they are to move to is whole."""
    if step.revokes:
        return None
    if step.kind == "switch" and step.leaves:
        return next(
            (failure for failure in failed if failure.kind == "give" and failure.role in step.joins), None
        )
    if step.kind == "take":
        left_in = [failure for failure in failed if failure.kind == "switch" and step.role in failure.leaves]
        # who should have left and could not must lose it at least here
        return None if any(failure.revokes for failure in left_in) else next(iter(left_in), None)
    return None


def _rank(step: Step) -> tuple[int, str, str]:
    leaves_only = step.kind == "switch" and not step.joins
    return 0 if leaves_only else _RANKS[step.kind], step.role, step.person


def _sorted(number: int, firm: _Rules, soft: _Rules) -> Iterator[int]:
    """Each place once, as early as all rules allow; when soft rules go in a circle, as the firm ones do."""
    before = [0] * number, [0] * number
    after: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for kind, rules in enumerate((firm, firm | soft)):
        for first, then in rules:
            before[kind][then] += 1
            after[first].append((kind, then))
    ready = [[at for at in range(number) if not counts[at]] for counts in before]
    heapify(ready[0])
    heapify(ready[1])
    done: set[int] = set()
    while ready[0]:
        at = heappop(ready[1] or ready[0])
        if at in done:
            continue
        done.add(at)
        yield at
        for kind, then in after[at]:
            before[kind][then] -= 1
            if not before[kind][then]:
                heappush(ready[kind], then)


def _firmly_before(first: Step, then: Step) -> bool:
    made = first.kind == "make_role" and first.role == then.role
    if then.kind == "give":
        left = then.role in first.leaves or (first.denies and then.role in first.keeps)
        return made or (left and not then.denies)
    if then.kind == "switch":
        if first.kind == "take" and not first.denies:
            return first.role in then.joins or (then.denies and first.role in then.keeps)
        return first.kind == "make_role" and first.role in then.joins
    if then.kind == "drop_role":
        return then.role in first.leaves or (first.kind == "take" and first.role == then.role)
    return False


def _firm(ranked: Sequence[Step]) -> Iterator[tuple[int, int]]:
    about: dict[str, list[int]] = defaultdict(list)
    switches: dict[str, list[int]] = defaultdict(list)
    for at, step in enumerate(ranked):
        if step.role:
            about[step.role].append(at)
        for role in (*step.joins, *step.leaves, *(step.keeps if step.denies else ())):
            switches[role].append(at)
    for role, ones in about.items():
        for first in ones:
            for other in (*ones, *switches[role]):
                if _firmly_before(ranked[first], ranked[other]):
                    yield first, other
                if _firmly_before(ranked[other], ranked[first]):
                    yield other, first


def _soft(ranked: Sequence[Step], members: Mapping[str, Collection[str]]) -> Iterator[tuple[int, int]]:
    gives = {step.role: at for at, step in enumerate(ranked) if step.kind == "give" and not step.denies}
    takes = {step.role: at for at, step in enumerate(ranked) if step.kind == "take" and not step.denies}
    switches = {step.person: at for at, step in enumerate(ranked) if step.kind == "switch"}
    roles: dict[str, set[str]] = defaultdict(set)
    for role, people in members.items():
        for person in people:
            roles[person].add(role)
    for person in {*roles, *switches}:
        move = ranked[switches[person]] if person in switches else Step("switch")
        filled = [
            gives[role] for role in (roles[person] | set(move.joins)) - set(move.leaves) if role in gives
        ]
        emptied = [takes[role] for role in roles[person] if role in takes]
        moved = [switches[person]] if move.joins else []
        yield from ((give, switches[person]) for give in filled if person in switches)
        yield from ((first, take) for first in (*filled, *moved) for take in emptied)
