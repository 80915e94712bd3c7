"""The objects that rules name, however many: in groups that are decided alike, and page by page.

One object stands for all of its group, so deciding costs as much as there are containers, not objects; and a
page reads its own rows alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from django.db import connection

from accounts.text import holdable
from catalog.nodes import array

PIECES = 8
"""A text is looked for in so many parts, between its dots."""


class Group(NamedTuple):
    """Objects of one type in one container of which the same is said; `alone` for one like no other."""

    sign: int
    parent: int
    type: str
    alone: int


@dataclass(frozen=True)
class Alike:
    """A group, one object that stands for it, and how many there are."""

    group: Group
    first: int
    many: int


@dataclass(frozen=True)
class Named:
    """The objects that rules name, each with the number of what is said of it.

    Those of the types `alone` are like no other.  With `seen`, only those on and below these objects.
    """

    signs: Mapping[int, int]
    alone: Sequence[str]
    seen: Collection[int] | None = None

    def alike(self) -> list[Alike]:
        """All of them in groups.  One query."""
        return [Alike(Group(*row[:4]), row[4], row[5]) for row in self._rows(_ALIKE)]

    def count(self, text: str, groups: Collection[Group] | None = None) -> int:
        """How many of some groups have a text in the name, their own or of what is above.  One query."""
        return sum(row[0] for row in self._rows(_COUNT, text, groups))

    def page(
        self, text: str, groups: Collection[Group] | None = None, *, after: int = 0, most: int = 50
    ) -> dict[int, list[int]]:
        """A page of them with what is above each, the highest first, by name; behind the object `after`."""
        return dict(self._rows(_PAGE, text, groups, after=after, most=most))

    def picked(self, pick: int, groups: Collection[Group]) -> dict[int, list[int]]:
        """The one of that number with what is above it; else the first by name of those that lie deepest.

        One of these groups, when there is any.
        """
        return dict(self._rows(_PICKED, groups=groups, pick=pick))

    def _rows(
        self, form: str, text: str = "", groups: Collection[Group] | None = None, **more: int
    ) -> list[Any]:
        if not holdable(text):
            return []
        pieces = [piece for piece in text.split(".") if piece][:PIECES]
        values: dict[str, Any] = {
            "keys": array(self.signs),
            "signs": array(self.signs.values()),
            "own": list(self.alone),
            "all": self.seen is None,
            "seen": array(self.seen or ()),
            **_columns(groups or ()),
            **{f"piece{at}": piece for at, piece in enumerate(pieces)},
            **more,
        }
        with connection.cursor() as cursor:
            cursor.execute(_statement(form, len(pieces), grouped=groups is not None), values)
            return list(cursor.fetchall())


def _columns(groups: Collection[Group]) -> dict[str, list[Any]]:
    return {f"group_{name}": [getattr(one, name) for one in groups] for name in Group._fields}


_GROUP = """
told.sign, coalesce(p.parent_id, 0), p.type, CASE WHEN p.type = ANY(%(own)s) THEN p.securable_id ELSE 0 END
"""
_TOLD = """
unnest(%(keys)s::bigint[], %(signs)s::int[]) AS told (key, sign)
JOIN catalog_placement p ON p.securable_id = told.key AND p.closed IS NULL
 AND (%(all)s OR EXISTS (
        SELECT FROM unnest(p.ancestors || p.securable_id) AS one WHERE one = ANY(%(seen)s::bigint[])))
"""
_OF_GROUPS = """
({group}) IN (SELECT * FROM unnest(%(group_sign)s::int[], %(group_parent)s::bigint[],
                                   %(group_type)s::text[], %(group_alone)s::bigint[]))
"""
_HOLDS = """
 AND (strpos(upper(p.name), upper(%({piece})s)) > 0 OR p.ancestors && ARRAY(
        SELECT c.securable_id FROM catalog_placement c
         WHERE c.closed IS NULL AND c.type = ANY(%(own)s) AND strpos(upper(c.name), upper(%({piece})s)) > 0))
"""
_ALIKE = "SELECT {group}, min(p.securable_id), count(*) FROM {told} GROUP BY 1, 2, 3, 4"
_COUNT = "SELECT count(*) FROM {told} WHERE true {fitting}"
_PAGE = """
SELECT p.securable_id, p.ancestors FROM {told} WHERE true {fitting}
   AND (NOT EXISTS (SELECT FROM catalog_placement a WHERE a.securable_id = %(after)s AND a.closed IS NULL)
        OR (cardinality(p.ancestors), p.name, p.securable_id) > (
            SELECT cardinality(a.ancestors), a.name, a.securable_id FROM catalog_placement a
             WHERE a.securable_id = %(after)s AND a.closed IS NULL))
 ORDER BY cardinality(p.ancestors), p.name, p.securable_id LIMIT %(most)s
"""
_PICKED = """
SELECT p.securable_id, p.ancestors FROM {told}
 ORDER BY p.securable_id = %(pick)s DESC, {of_groups} DESC, cardinality(p.ancestors) DESC,
          p.name, p.securable_id
 LIMIT 1
"""


@cache
def _statement(form: str, pieces: int, *, grouped: bool) -> str:
    of_groups = _OF_GROUPS.format(group=_GROUP)
    fitting = [f" AND {of_groups}"] if grouped else []
    fitting += [_HOLDS.format(piece=f"piece{at}") for at in range(pieces)]
    return form.format(group=_GROUP, told=_TOLD, of_groups=of_groups, fitting="".join(fitting))
