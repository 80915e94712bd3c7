"""How much of what was decided is true out there: applied to 41 of 42 people, and why not to the last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Max, Q
from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.nodes import Node, any_of
from policies.models import Backend, BackendFinding, BackendLogins, OutboxEntry


@dataclass(frozen=True)
class Asked:
    """A grant in question: on what, for whom by login name, and in which change it was last decided."""

    node: Node
    names: frozenset[str]
    revision: int = 0


@dataclass(frozen=True)
class Standing:
    """Who has out there what was decided, as of the last look; the rest by why not.

    `coming`: it was decided after that and is on its way; `parked`: it was refused and waits for somebody.
    """

    applied: int
    of: int
    waiting: tuple[str, ...]
    without_login: tuple[str, ...]
    backend: Backend | None = None
    coming: bool = False
    parked: bool = False

    @property
    def whole(self) -> bool:
        """Whether it is true for everybody."""
        return self.applied == self.of and not self.coming


class Outside:
    """What was seen out there at the last looks, read once for many questions.  Four queries."""

    def __init__(self, asked: Iterable[Asked]) -> None:
        self.asked = list(asked)
        self.names = sorted({name for one in self.asked for name in one.names})
        keys = {key for one in self.asked for key in one.node.lineage}
        self.backends = {row.catalog_id: row for row in Backend.objects.filter(any_of("catalog_id", keys))}
        self._numbers = sorted(row.pk for row in self.backends.values())
        if self.backends:
            self._read(keys)

    def _read(self, keys: Collection[int]) -> None:
        rows = BackendLogins.objects.filter(backend__in=self._numbers).values_list("backend", "names")
        self._logins = {pk: frozenset(names) for pk, names in rows}
        self._missing = _missing(self._numbers, keys, self.names)
        self._entries = _outstanding(self._numbers, {one.revision for one in self.asked if one.revision})

    def standings(self) -> list[Standing | None]:
        """The answer to each question, in their order; None where no backend mirrors the object."""
        return [self._of(one) for one in self.asked]

    def _of(self, one: Asked) -> Standing | None:
        # a catalog's own backend stands nearer to its objects than one of the whole realm
        row = next((self.backends[key] for key in reversed(one.node.lineage) if key in self.backends), None)
        if row is None:
            return None
        found = self._found(row, one.node, one.names)
        parked = self._entries.get((row.pk, one.revision))
        return replace(found, backend=row, coming=parked is not None, parked=bool(parked))

    def _found(self, row: Backend, node: Node, names: frozenset[str]) -> Standing:
        without = names - self._logins.get(row.pk, frozenset())
        concerned = (self._missing.get((row.pk, key), frozenset()) for key in (None, *node.lineage))
        waiting = (names - without) & frozenset().union(*concerned)
        applied = len(names) - len(without) - len(waiting)
        return Standing(applied, len(names), tuple(sorted(waiting)), tuple(sorted(without)))


def _missing(
    backends: Collection[int], keys: Collection[int], names: Sequence[str]
) -> dict[tuple[int, int | None], frozenset[str]]:
    """By backend and object those whom a missing right concerns; by no object those who lack a membership."""
    here = any_of("securable_id", keys) | Q(type="")
    rows = BackendFinding.objects.filter(here, backend__in=backends, kind="missing")
    found: dict[tuple[int, int | None], set[str]] = defaultdict(set)
    told = rows.filter(people__overlap=list(names)).values_list("backend", "securable", "type", "people")
    for backend, securable, type_, people in told:
        found[backend, securable if type_ else None].update(people)
    return {key: frozenset(people) for key, people in found.items()}


def _outstanding(backends: Collection[int], revisions: Collection[int]) -> dict[tuple[int, int], int]:
    """The changes that were not yet proved in a backend, each with whether it waits for somebody there."""
    if not revisions:
        return {}
    rows = OutboxEntry.objects.filter(any_of("revision", revisions), backend__in=backends)
    due = rows.filter(due__lte=timezone.now()).order_by().values("backend", "revision")
    return {
        (row["backend"], row["revision"]): row["attempts"]
        for row in due.annotate(attempts=Max("attempts", filter=Q(parked=True), default=0))
    }


@dataclass(frozen=True)
class Arrival:
    """How far one change has come in a backend: `proved` there, refused (`parked`), or on its way."""

    backend: Backend
    proved: bool
    parked: bool


def arrivals(places: Mapping[int, Collection[int]]) -> dict[int, Arrival]:
    """How far changes have come, by revision, each in the backend nearest to it.  Two queries.

    `places` names by revision the objects, from the root down, that a change is about.
    """
    keys = {key for lineage in places.values() for key in lineage}
    backends = {row.catalog_id: row for row in Backend.objects.filter(any_of("catalog_id", keys))}
    entries = _outstanding([row.pk for row in backends.values()], places) if backends else {}
    found = {}
    for revision, lineage in places.items():
        row = next((backends[key] for key in reversed(list(lineage)) if key in backends), None)
        if row is not None:
            parked = entries.get((row.pk, revision))
            found[revision] = Arrival(row, parked is None and row.proved_revision >= revision, bool(parked))
    return found


def standings(asked: Sequence[Asked]) -> list[Standing | None]:
    """How far each of many grants has come.  Four queries, however many."""
    return Outside(asked).standings()


def standing(backend: Backend, node: Node, names: Collection[str]) -> Standing:
    """For people with access to an object, by their login names, in one of its backends."""
    outside = Outside([Asked(node, frozenset(names))])
    outside.backends = {key: row for key, row in outside.backends.items() if row.pk == backend.pk}
    [found] = outside.standings()
    return found or Standing(0, len(set(names)), (), tuple(sorted(set(names))))


def names_behind(principals: Iterable[Principal]) -> dict[int, frozenset[str]]:
    """The login names of people and services, and of those in groups, by principal.  One query."""
    rows = {one.pk: one for one in principals}
    groups = [pk for pk, one in rows.items() if one.kind == Principal.Kind.GROUP]
    found = {pk: {one.name} for pk, one in rows.items() if one.kind != Principal.Kind.GROUP}
    inside = Membership.objects.open().within(timezone.now()).filter(any_of("group_id", groups))
    for group, name in inside.values_list("group", "member__name") if groups else ():
        found.setdefault(group, set()).add(name)
    return {pk: frozenset(found.get(pk, ())) for pk in rows}
