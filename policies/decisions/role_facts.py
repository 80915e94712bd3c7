"""What roles were given, read once, held in this process and shared by the slices of all who hold them.

It is good as long as nothing touched the role, which the one statement of `facts` says of every role it comes
upon: what is held here and what that statement brings are of one snapshot.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lakewarden.law.facts import Key, Rule, Station, Window

ALWAYS: Window = (None, None)
GrantRow = tuple[Any, str, bool, Window, int, int]
"""The object or text, the privilege, whether it is allowed, when, since which revision, the fact's number."""
MOST_PATHS = 16
"""By so many paths, of groups that hold the role, its rules are kept ready."""
KEPT_ROWS = 500_000
"""So many grants the roles held here have at most together."""

UNHELD = """,
unheld AS (
    SELECT r.role_id FROM roles r
      LEFT JOIN unnest(%(held)s::bigint[], %(since)s::bigint[]) h(id, revision) ON h.id = r.role_id
      LEFT JOIN policies_touch t ON t.key = 's:' || r.role_id
     WHERE %(held)s::bigint[] IS NOT NULL
       AND (h.id IS NULL OR t.revision > h.revision
            OR EXISTS (SELECT FROM policies_unsealedfact u WHERE u.key = 's:' || r.role_id)))"""
TOLD = """
UNION ALL
SELECT 'touched', r.role_id, coalesce(t.revision, 0), NULL, NULL, {nothing}
  FROM roles r LEFT JOIN policies_touch t ON t.key = 's:' || r.role_id
UNION ALL
SELECT 'unheld', u.role_id, NULL, NULL, NULL, {nothing} FROM unheld u
UNION ALL
SELECT 'doubted', NULL, NULL, u.key, NULL, {nothing} FROM policies_unsealedfact u
"""
"""What the statement of `facts` has besides: grants come only of roles that are not held, or were touched."""


@dataclass(frozen=True)
class RoleFacts:
    """The grants of one role as of a revision."""

    revision: int
    rows: tuple[GrantRow, ...]
    made: dict[tuple[Station, ...], tuple[Rule, ...]] = field(default_factory=dict)

    def rules(
        self, path: tuple[Station, ...], held: Window, objects: Collection[Key] | None
    ) -> Sequence[Rule]:
        """The role's rules for whoever holds it by a path, on all objects or only some."""
        if objects is not None:
            rows = [row for key in self.by_object.keys() & set(objects) for row in self.by_object[key]]
            return tuple(rules_from(rows, path, held))
        # most hold a role themselves and without an end, so that one tuple serves them all
        rules = self.made.get(path) if held == ALWAYS else None
        if rules is None:
            rules = tuple(rules_from(self.rows, path, held))
        if held == ALWAYS and len(self.made) < MOST_PATHS:
            self.made[path] = rules
        return rules

    @cached_property
    def by_object(self) -> dict[Key, list[GrantRow]]:
        grants: dict[Key, list[GrantRow]] = {}
        for row in self.rows:
            grants.setdefault(row[0], []).append(row)
        return grants


def rules_from(rows: Iterable[GrantRow], path: tuple[Station, ...], held: Window) -> Iterator[Rule]:
    """The rules of grants, while both the grant and what leads to it last."""
    for on, privilege, allow, own, opened, pk in rows:
        start, end = overlap(held, own)
        yield Rule(on, privilege, allow, path, start, end, opened, f"grant:{pk}")


def overlap(window: Window, other: Window) -> Window:
    # most of what there is has no end, and some own a hundred thousand objects
    if window == ALWAYS:
        return other
    if other == ALWAYS:
        return window
    starts = [edge for edge in (window[0], other[0]) if edge is not None]
    ends = [edge for edge in (window[1], other[1]) if edge is not None]
    return (max(starts, default=None), min(ends, default=None))


_held: OrderedDict[int, RoleFacts] = OrderedDict()
_rows = 0
_lock = threading.Lock()


def find(roles: Iterable[int]) -> dict[int, RoleFacts]:
    """Those of the roles that are held here, as they were."""
    with _lock:
        kept_facts = {role: _held[role] for role in roles if role in _held}
        for role in kept_facts:
            _held.move_to_end(role)
        return kept_facts


def keep(roles: Iterable[tuple[int, RoleFacts]]) -> None:
    """Hold what was read of roles; never what a transaction that is still open has written."""
    global _rows
    with _lock:
        for role, facts in roles:
            old = _held.pop(role, None)
            _rows += _weight(facts) - (_weight(old) if old else 0)
            _held[role] = facts
        while _rows > KEPT_ROWS and len(_held) > 1:
            _, evicted = _held.popitem(last=False)
            _rows -= _weight(evicted)


def _weight(facts: RoleFacts) -> int:
    return len(facts.rows) + 1  # one that gives nothing takes room too


def forget_all() -> None:
    """Drop everything held; for tests, where databases come and go under one process."""
    global _rows
    with _lock:
        _held.clear()
        _rows = 0
