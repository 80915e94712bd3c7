"""The objects that rules name, however many: in groups that are decided alike, and page by page.

One object stands for all of its group, so deciding costs as much as there are containers, not objects; and a
page reads its own rows alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from django.db import connection

from accounts.text import holdable
from catalog.nodes import Numbers, array
from lakewarden.law import dialects
from lakewarden.law.facts import OWNER, Rule, Slice
from policies.decisions import slices
from policies.decisions.cache_versions import principals_in
from policies.decisions.lookups.visible_objects import owned_in

PIECES = 8
"""A text is looked for in so many parts, between its dots."""


class ObjectGroup(NamedTuple):
    """Objects of one type in one container of which the same is said; `alone` for one like no other."""

    sign: int
    parent: int
    type: str
    alone: int


@dataclass(frozen=True)
class Alike:
    """A group, one object that stands for it, how many there are, and how many objects lie above each."""

    group: ObjectGroup
    first: int
    many: int
    deep: int


@dataclass(frozen=True)
class RuleSets:
    """What the rules of one slice say of each object, and a number for each thing that is said.

    `groups` are those through which some of it comes, `denied` the objects of which a denial speaks, `later`
    the rules that have not begun.  `plain` is the number of what is owned and no more, where that is so much
    that the database had better find it itself: all that belongs to `owners`.
    """

    rules: Mapping[int, Sequence[Rule]]
    signs: Mapping[int, int]
    plain: int
    owners: Sequence[int]
    groups: frozenset[int]
    denied: tuple[int, ...]
    later: tuple[Rule, ...]

    @cached_property
    def columns(self) -> tuple[str, str]:
        """Objects and numbers, as the database writes them; not what is owned and no more."""
        columns = {key: sign for key, sign in self.signs.items() if not self.owners or sign != self.plain}
        return array(columns), array(columns.values())


def rule_sets(slice_: Slice, realm: int) -> RuleSets:
    """What is said in the realm of that number while the slice is good.  No queries.

    What two realms say differs, and so do the numbers.  Where names count, each object is like no other.
    """
    return slices.following(slice_, "said", lambda: _rule_sets_at(slice_, realm << 20))


def _rule_sets_at(slice_: Slice, first: int) -> RuleSets:
    now, since = [rule for rule in slice_.rules if rule.holds_at(slice_.since)], slice_.since
    rules: dict[int, list[Rule]] = {}
    for rule in now:
        if isinstance(rule.object, int):
            rules.setdefault(rule.object, []).append(rule)
    later = (rule for rule in slice_.rules if rule.valid_from is not None and rule.valid_from > since)
    by_name, numbers, signs = dialects.get(slice_.dialect).by_text, dict[object, int](), {}
    for key, some in rules.items():
        own = by_name or key in slice_.selves
        sign = key if own else _sign(some[0]) if len(some) == 1 else tuple(sorted(map(_sign, some)))
        signs[key] = numbers.setdefault(sign, first + len(numbers))
    denied = tuple(sorted(key for key, some in rules.items() if not all(rule.allow for rule in some)))
    owners = principals_in(slice_.selves) if owned_in(slice_).rows else ()
    plain = numbers.get((OWNER, True, 0), -1)
    return RuleSets(rules, signs, plain, owners, frozenset(_groups(now)), denied, tuple(later))


def _sign(rule: Rule) -> tuple[str, bool, float]:
    return rule.privilege, rule.allow, rule.valid_until or 0


def _groups(rules: Sequence[Rule]) -> Iterator[int]:
    for rule in rules:
        yield from (item.key for item in rule.via if item.kind == "group" and isinstance(item.key, int))


@dataclass(frozen=True)
class Named:
    """The objects that rules name, each with the number of what is said of it.

    Those of the types `alone` are like no other.  With `seen`, only those on and below these objects.
    """

    said: Sequence[RuleSets]
    alone: Sequence[str]
    seen: Collection[int] | None = None

    @cached_property
    def alike(self) -> list[Alike]:
        """All of them in groups.  One query."""
        return [Alike(ObjectGroup(*row[:4]), *row[4:]) for row in self._rows(_ALIKE)]

    def count(self, text: str, groups: Collection[ObjectGroup] | None = None) -> int:
        """How many of some groups have a text in the name, their own or of what is above.  One query."""
        return sum(row[0] for row in self._rows(_COUNT, text, groups))

    def page(
        self, text: str, groups: Collection[ObjectGroup] | None = None, *, after: int = 0, most: int = 50
    ) -> dict[int, list[int]]:
        """A page of them with what is above each, the highest first, by name; behind the object `after`."""
        if text or not self._plain:
            return dict(self._rows(_PAGE, text, groups, after=after, most=most))
        wanted = None if groups is None else set(groups)
        some = [item for item in self.alike if wanted is None or item.group in wanted]
        return dict(self._rows(_LISTED, groups=groups, some=some, after=after, most=most))

    def picked(self, pick: int, groups: Collection[ObjectGroup]) -> dict[int, list[int]]:
        """The one of that number with what is above it; else the first by name of those that lie deepest.

        One of these groups, when there is any.
        """
        if not self._plain:
            return dict(self._rows(_PICKED, groups=groups, pick=pick))
        wanted = set(groups)
        named_groups = [item for item in self.alike if item.group in wanted] or self.alike
        deepest = max((item.deep for item in named_groups), default=0)
        some = [item for item in named_groups if item.deep == deepest]
        pick = pick if any(pick in item.signs for item in self.said) else 0
        among = {item.group for item in some}
        return dict(self._rows(_FIRST, groups=among, some=some, pick=pick, after=0, most=1))

    @property
    def _plain(self) -> list[RuleSets]:
        return [item for item in self.said if item.owners]

    def _rows(
        self,
        form: str,
        text: str = "",
        groups: Collection[ObjectGroup] | None = None,
        some: Sequence[Alike] = (),
        **more: int,
    ) -> list[Any]:
        if not holdable(text):
            return []
        pieces = [piece for piece in text.split(".") if piece][:PIECES]
        values: dict[str, Any] = {
            "keys": _joined(item.columns[0] for item in self.said),
            "signs": _joined(item.columns[1] for item in self.said),
            "own": list(self.alone),
            "all": self.seen is None,
            "seen": Numbers.of(self.seen or ()).text,
            **_columns(groups or (), "group"),
            **_columns([item.group for item in some], "some"),
            "some_deep": [item.deep for item in some],
            **{f"plain{at}": piece.plain for at, piece in enumerate(self._plain)},
            **{f"owners{at}": list(piece.owners) for at, piece in enumerate(self._plain)},
            **{f"piece{at}": piece for at, piece in enumerate(pieces)},
            **more,
        }
        with connection.cursor() as cursor:
            statement = _statement(form, len(pieces), len(self._plain), grouped=groups is not None)
            cursor.execute(statement, values)
            return list(cursor.fetchall())


def _joined(columns: Iterable[str]) -> str:
    """{1,2} and {3}: {1,2,3}"""
    return f"{{{','.join(filter(None, (column[1:-1] for column in columns)))}}}"


def _columns(groups: Collection[ObjectGroup], what: str) -> dict[str, list[Any]]:
    return {f"{what}_{name}": [getattr(group, name) for group in groups] for name in ObjectGroup._fields}


_GROUP = """
told.sign, coalesce(p.parent_id, 0), p.type, CASE WHEN p.type = ANY(%(own)s) THEN p.securable_id ELSE 0 END
"""
_SEEN = """
(%(all)s OR EXISTS (
    SELECT FROM unnest(p.ancestors || p.securable_id) AS one WHERE one = ANY(%(seen)s::bigint[])))
"""
_SAID = "SELECT * FROM unnest(%(keys)s::bigint[], %(signs)s::bigint[])"
_OWNED = """
SELECT o.securable_id, %({plain})s::bigint FROM policies_ownership o
 WHERE o.closed IS NULL AND o.owner_id = ANY(%({owners})s::bigint[])
   AND NOT EXISTS (SELECT FROM unnest(%(keys)s::bigint[]) AS other WHERE other = o.securable_id)
"""
_TOLD = """
({said}) AS told (key, sign) JOIN catalog_placement p ON p.securable_id = told.key AND p.closed IS NULL
 AND {seen}
"""
_OF_GROUPS = """
({group}) IN (SELECT * FROM unnest(%(group_sign)s::bigint[], %(group_parent)s::bigint[],
                                   %(group_type)s::text[], %(group_alone)s::bigint[]))
"""
_HOLDS = """
 AND (strpos(upper(p.name), upper(%({piece})s)) > 0 OR p.ancestors && ARRAY(
        SELECT c.securable_id FROM catalog_placement c
         WHERE c.closed IS NULL AND c.type = ANY(%(own)s) AND strpos(upper(c.name), upper(%({piece})s)) > 0))
"""
_ALIKE = """
SELECT {group}, min(p.securable_id), count(*), max(cardinality(p.ancestors)) FROM {told} GROUP BY 1, 2, 3, 4
"""
_COUNT = "SELECT count(*) FROM {told} WHERE true {fitting}"
_PAGE = """
SELECT p.securable_id, p.ancestors FROM {told} WHERE true {fitting}
   AND (NOT EXISTS (SELECT FROM catalog_placement a WHERE a.securable_id = %(after)s AND a.closed IS NULL)
        OR (cardinality(p.ancestors), p.name, p.securable_id) > (
            SELECT cardinality(a.ancestors), a.name, a.securable_id FROM catalog_placement a
             WHERE a.securable_id = %(after)s AND a.closed IS NULL))
 ORDER BY cardinality(p.ancestors), p.name, p.securable_id LIMIT %(most)s
"""
_OPEN = """
WITH after AS MATERIALIZED (
    SELECT cardinality(a.ancestors) AS deep, a.name, a.securable_id AS id FROM catalog_placement a
     WHERE a.securable_id = %(after)s AND a.closed IS NULL),
wanted AS MATERIALIZED (
    SELECT g.*, coalesce((SELECT name FROM after WHERE after.deep = g.deep), '') AS start
      FROM unnest(%(some_sign)s::bigint[], %(some_parent)s::bigint[], %(some_type)s::text[],
                  %(some_alone)s::bigint[], %(some_deep)s::int[]) AS g (sign, parent, type, alone, deep)
     WHERE g.deep >= coalesce((SELECT deep FROM after), 0)),
listed AS (
    SELECT p.securable_id, p.ancestors, p.name FROM {few} WHERE true {fitting}
    {plainly})
"""
"""What is owned and no more is read group by group, each in the order of an index, no further than a page."""
_PLAINLY = """
    UNION ALL
    SELECT p.securable_id, p.ancestors, p.name FROM wanted JOIN catalog_placement p
      ON p.securable_id = wanted.alone AND p.closed IS NULL
     WHERE wanted.sign = %({plain})s
    UNION ALL
    SELECT one.* FROM wanted CROSS JOIN LATERAL (
        SELECT p.securable_id, p.ancestors, p.name FROM catalog_placement p
         WHERE p.closed IS NULL AND p.parent_id = wanted.parent AND p.type = wanted.type
           AND p.name >= wanted.start
           AND EXISTS (SELECT FROM policies_ownership o WHERE o.securable_id = p.securable_id
                          AND o.closed IS NULL AND o.owner_id = ANY(%({owners})s::bigint[]) OFFSET 0)
           AND p.securable_id <> ALL(%(keys)s::bigint[]) AND {seen}
         ORDER BY p.name, p.securable_id LIMIT %(most)s + 1) one
     WHERE wanted.sign = %({plain})s AND wanted.alone = 0
"""
_LISTED = """
{open}
SELECT securable_id, ancestors FROM listed
 WHERE NOT EXISTS (SELECT FROM after)
    OR (cardinality(ancestors), name, securable_id) > (SELECT deep, name, id FROM after)
 ORDER BY cardinality(ancestors), name, securable_id LIMIT %(most)s
"""
_FIRST = """
{open}
SELECT securable_id, ancestors FROM (
    SELECT p.securable_id, p.ancestors, p.name, 0 AS rank FROM catalog_placement p
     WHERE p.securable_id = %(pick)s AND p.closed IS NULL AND {seen}
    UNION ALL SELECT securable_id, ancestors, name, 1 FROM listed) one
 ORDER BY rank, name, securable_id LIMIT 1
"""
_PICKED = """
SELECT p.securable_id, p.ancestors FROM {told}
 ORDER BY p.securable_id = %(pick)s DESC, {of_groups} DESC, cardinality(p.ancestors) DESC,
          p.name, p.securable_id
 LIMIT 1
"""


@cache
def _statement(form: str, pieces: int, plain: int, *, grouped: bool) -> str:
    of_groups = _OF_GROUPS.format(group=_GROUP)
    fitting = [f" AND {of_groups}"] if grouped else []
    fitting += [_HOLDS.format(piece=f"piece{at}") for at in range(pieces)]
    names = [{"plain": f"plain{at}", "owners": f"owners{at}", "seen": _SEEN} for at in range(plain)]
    parts = " UNION ALL ".join([_SAID, *(_OWNED.format(**name) for name in names)])
    more = "".join(fitting)
    listed = _OPEN.format(
        few=_TOLD.format(said=_SAID, seen=_SEEN),
        fitting=more,
        plainly="".join(_PLAINLY.format(**name) for name in names),
    )
    query = _TOLD.format(said=parts, seen=_SEEN)
    return form.format(group=_GROUP, seen=_SEEN, told=query, open=listed, of_groups=of_groups, fitting=more)
