"""An object with its place, and objects by number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, QuerySet, Value

from catalog.models import Placement, Realm
from lakewarden.law import dialects
from lakewarden.law.facts import Level, Lineage
from lakewarden.law.objects import ObjectRef, path_of


def array(numbers: Iterable[int]) -> str:
    """Numbers as the database writes a list of them, to be cast to `bigint[]`.

    Of 95,000 the driver makes that in 150 ms, and this in ten.
    """
    return f"{{{','.join(map(str, numbers))}}}"


@dataclass(frozen=True, eq=False)
class Numbers(Collection[int]):
    """The numbers of some objects, however many, that one page asks about again and again.

    They are written out once, and once it is asked which of them hold others.  `rows` are queries by which
    the database finds them itself, as `securable`, all but the `rest`: a long list takes it long to plan for.
    """

    keys: frozenset[int]
    rows: tuple[QuerySet[Any], ...] = ()
    rest: frozenset[int] = frozenset()

    @classmethod
    def of(cls, keys: Iterable[object]) -> Numbers:
        if isinstance(keys, Numbers):
            return keys
        numbers = frozenset(key for key in keys if isinstance(key, int))
        return cls(numbers, rest=numbers)

    @classmethod
    def joined(cls, some: Iterable[Collection[int]]) -> Numbers:
        """All of several; one alone is not copied."""
        parts = [part for part in some if part]
        if len(parts) == 1:
            return cls.of(parts[0]).again()
        all_ = [cls.of(part) for part in parts]
        rows = tuple(row for part in all_ for row in part.rows)
        keys, rest = (frozenset().union(*(getattr(item, name) for item in all_)) for name in ("keys", "rest"))
        return cls(keys, rows, rest)

    def again(self) -> Numbers:
        """The same; which of them hold others is asked anew."""
        same = Numbers(self.keys, self.rows, self.rest)
        written = {name: text for name, text in self.__dict__.items() if name in ("text", "told")}
        same.__dict__.update(written)
        return same

    def __contains__(self, key: object) -> bool:
        return key in self.keys

    def __iter__(self) -> Iterator[int]:
        return iter(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def text(self) -> str:
        return array(self.keys)

    @cached_property
    def told(self) -> str:
        """Those that the database must be told."""
        return array(self.rest)

    @cached_property
    def holding(self) -> Numbers:
        """Those that hold others or once did, which of many are few; few are taken for such.

        One query at most.
        """
        if len(self) <= FEW:
            return self
        rows = Placement.objects.filter(any_of("parent_id", self)).order_by()
        return Numbers.of(rows.values_list("parent_id", flat=True).distinct())


def any_of(column: str, keys: Iterable[object]) -> Q:
    """Whether a column is one of a set of numbers, which is one parameter however many they are."""
    numbers = Numbers.of(keys)
    condition = Q(
        *(Exists(rows.filter(securable=OuterRef(column))) for rows in numbers.rows), _connector=Q.OR
    )
    if numbers.rows and not numbers.rest:
        return condition
    form = {"template": "(%(expressions)s::bigint[]))", "arg_joiner": " = ANY("}
    return condition | Q(Func(F(column), Value(numbers.told), output_field=BooleanField(), **form))


def any_in(column: str, keys: Iterable[object]) -> Q:
    """Whether a list of numbers has one of a set: of few by the index of lists, of many by a hash of them."""
    numbers = Numbers.of(keys)
    if len(numbers) <= FEW:
        return Q(**{f"{column}__overlap": sorted(numbers)})
    form = {
        "template": "EXISTS (SELECT 1 FROM unnest(%(expressions)s::bigint[]))",
        "arg_joiner": ") AS one WHERE one = ANY(",
    }
    return Q(Func(F(column), Value(numbers.text), output_field=BooleanField(), **form))


def on_or_below(keys: Collection[object]) -> Q:
    """Placements of the objects of these numbers and of what is below them."""
    numbers = Numbers.of(keys)
    return any_of("securable_id", numbers) | any_in("ancestors", numbers.holding)


def any_along(own: str, line: str, keys: Collection[object]) -> Q:
    """The same of rows that name an object in `own`, and in `line` the way down to it, itself included."""
    numbers = Numbers.of(keys)
    if len(numbers) <= FEW:
        return any_in(line, numbers)
    return any_of(own, numbers) | any_in(line, numbers.holding)


FEW = 500
"""So many numbers an index of lists is asked for; beyond, each row is asked instead."""

ABSENT = 0
"""The number of an object that does not exist."""


def number(level: Level) -> int:
    """The number of the object on a level: in the console, that is what objects are known by."""
    return cast("int", level.key)


@dataclass(frozen=True)
class Node:
    """An object with its place: `levels` and `names` run from the realm's root down to it.

    `kind` is the code of its realm's law.  Where that law is about texts, an object may be named that does
    not exist; its number is then ABSENT, and its level is known by its text.
    """

    id: int
    realm_id: int
    kind: str
    levels: Lineage
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if dialects.get(self.kind).by_text:
            named = (level._replace(name=name) for level, name in zip(self.levels, self.names, strict=True))
            object.__setattr__(self, "levels", tuple(named))

    @property
    def exists(self) -> bool:
        return self.id != ABSENT

    @property
    def type(self) -> str:
        return self.levels[-1].type

    @property
    def name(self) -> str:
        return self.names[-1]

    @property
    def realm(self) -> str:
        return self.names[0]

    @cached_property
    def path(self) -> tuple[str, ...]:
        """The parts of its full name."""
        below = zip(self.levels[1:], self.names[1:], strict=True)
        return path_of([(level.type, name) for level, name in below])

    @cached_property
    def ref(self) -> ObjectRef:
        return ObjectRef(self.type, self.realm, self.path)

    @cached_property
    def lineage(self) -> tuple[int, ...]:
        return tuple(number(level) for level in self.levels if isinstance(level.key, int))

    @property
    def root_id(self) -> int:
        return number(self.levels[0])

    def path_below(self, id: int) -> str:
        """sales.orders: its names below one of those above it, as a backend connected there knows it."""
        return ".".join(self.names[self.lineage.index(id) + 1 :])

    def above(self) -> Iterable[Node]:
        """The objects above it, root first."""
        for depth in range(1, len(self.levels)):
            levels = self.levels[:depth]
            key = levels[-1].key
            id = key if isinstance(key, int) else ABSENT
            yield Node(id, self.realm_id, self.kind, levels, self.names[:depth])


def nodes(ids: Iterable[int]) -> dict[int, Node]:
    """Those of the numbers that are open objects.  Two queries."""
    rows = Placement.objects.open().filter(any_of("securable_id", ids)).values_list(*_Placed._fields)
    return {node.id: node for node in _nodes([_Placed(*row) for row in rows])}


def node(id: int) -> Node | None:
    """The open object of that number."""
    return nodes([id]).get(id)


def last(id: int) -> Node | None:
    """The object as it stands, or stood when it was dropped; None when what was above it is gone too."""
    place = Placement.objects.filter(securable=id).order_by("-opened").first()
    if place is None or Placement.objects.open().filter(securable__in=place.ancestors).count() < len(
        place.ancestors
    ):
        return None
    return next(iter(_nodes([place])))


def as_placed_last(ids: Iterable[int]) -> dict[int, Node]:
    """Objects as they stand, or stood when they were dropped, below what is gone too.  Three queries."""
    own = _last_places(ids)
    above = _last_places({key for place in own.values() for key in place.ancestors} - own.keys())
    return {node.id: node for node in _built(list(own.values()), own | above)}


def _last_places(ids: Iterable[int]) -> dict[int, Placement]:
    rows = Placement.objects.filter(any_of("securable_id", ids)).order_by("securable", "-pk")
    return {place.securable_id: place for place in rows.distinct("securable")}


class _Placed(NamedTuple):
    """What a node is made of, read without making a model of every row."""

    securable_id: int
    type: str
    name: str
    ancestors: list[int]


def all_placed(places: Sequence[Placement], known: Mapping[int, Placement]) -> list[Node]:
    """The objects of placements, when the placements above them are at hand.  One query."""
    return _built(places, known)


def _nodes(places: Sequence[Placement | _Placed]) -> list[Node]:
    above = {key for place in places for key in place.ancestors}
    by_id: dict[int, Placement | _Placed] = {place.securable_id: place for place in places}
    missing = above - by_id.keys()
    if missing:
        rows = Placement.objects.open().filter(any_of("securable_id", missing))
        by_id |= {row.securable_id: row for row in rows}
    return _built(places, by_id)


def _built(places: Sequence[Placement | _Placed], by_id: Mapping[int, Placement | _Placed]) -> list[Node]:
    """What is above them is put together once for all that are in one container."""
    roots = {place.ancestors[0] if place.ancestors else place.securable_id for place in places}
    rows = Realm.objects.filter(securables__in=roots).annotate(root=F("securables")) if roots else ()
    realms = {row.root: (row.pk, row.law) for row in rows}
    ways: dict[tuple[int, ...], tuple[Lineage, tuple[str, ...]]] = {(): ((), ())}
    built = []
    for place in places:
        above = tuple(place.ancestors)
        if above not in ways:
            chain = [by_id[key] for key in above]
            ways[above] = (
                tuple(Level(row.type, row.securable_id) for row in chain),
                tuple(row.name for row in chain),
            )
        levels, names = ways[above]
        realm_id, kind = realms[above[0] if above else place.securable_id]
        own = Level(place.type, place.securable_id)
        built.append(Node(place.securable_id, realm_id, kind, (*levels, own), (*names, place.name)))
    return built
