"""Has this been applied and read back?  The one answer, for every page, file and API that shows it.

A state belongs to the very right it is about: what a comparison found to differ stands as a finding of its
own, with the objects, privileges and people it concerns and what the backend said of it.  What was decided
since the last comparison is on its way; of the rest, what no finding is about was read back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Max, Min, Q
from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.models import Placement
from catalog.nodes import Node, any_of, on_or_below
from policies.models import Backend, BackendFinding, BackendLogins, ForeignOrder, OutboxEntry
from policies.sync.differences.findings import PEOPLE


@dataclass(frozen=True)
class StatusQuestion:
    """A decision in question: on what, for whom by login name, and in which change it was last decided.

    `lineage` are the numbers of the object and of what it lies in, from the root down.  `privileges` are
    those that were given or taken, none for all; without `names` it is about everybody.  `loses`: whether
    something was taken away, so that what is left of it counts, and not what is missing.
    """

    lineage: tuple[int, ...]
    names: frozenset[str] | None
    revision: int = 0
    privileges: frozenset[str] = frozenset()
    loses: bool = False


@dataclass(frozen=True)
class SyncStatus:
    """Who has in the backend what was decided, as of the last comparison; the rest by why not.

    `waiting`: it is missing and tried again; `refused`: the backend refused it for good, and said why
    (`error`); `coming`: it was decided after the comparison and is on its way; `parked`: nothing could be
    compared for a reason that lasts; `left`: it was refused, and somebody left it as it is for now.
    """

    applied: int
    of: int
    waiting: tuple[str, ...]
    without_login: tuple[str, ...]
    backend: Backend | None = None
    coming: bool = False
    parked: bool = False
    refused: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    error: str = ""

    @property
    def whole(self) -> bool:
        """Whether it is true for everybody."""
        return self.applied == self.of and not self.coming


EVERYBODY = "everybody"
"""Stands for those a decision is about, where it names nobody."""


class StatusReader:
    """What was found in the backend at the last comparisons, read once for many questions.

    Four queries, and one more where something differs.
    """

    def __init__(self, questions: Iterable[StatusQuestion], backend: Backend | None = None) -> None:
        self.questions = list(questions)
        self.names = sorted({name for question in self.questions for name in question.names or ()})
        keys = {key for question in self.questions for key in question.lineage}
        rows = [backend] if backend else Backend.objects.filter(any_of("catalog_id", keys))
        self.backends = {row.catalog_id: row for row in rows}
        self._numbers = sorted(row.pk for row in self.backends.values())
        if self.backends:
            self._read(keys)

    def _read(self, keys: Collection[int]) -> None:
        rows = BackendLogins.objects.filter(backend__in=self._numbers).values_list("backend", "names")
        self._logins = {pk: frozenset(names) for pk, names in rows}
        self._differing = self._differences(keys)
        self._entries = _entries(
            self._numbers, {question.revision for question in self.questions if question.revision}
        )
        numbers = {
            int(key) for rows in self._differing.values() for row in rows for key in row.concerns or ()
        }
        self._above = _lineages(numbers)

    def _differences(self, keys: Collection[int]) -> dict[int, list[BackendFinding]]:
        inside = Placement.objects.open().filter(
            on_or_below({question.lineage[-1] for question in self.questions})
        )
        here = any_of("securable_id", keys) | Q(type="") | Q(securable__in=inside.values("securable"))
        rows = BackendFinding.objects.filter(here, backend__in=self._numbers, kind__in=("missing", "extra"))
        if all(question.names is not None for question in self.questions):
            # of very many people not all are kept with a finding: it may be about anybody
            rows = rows.filter(Q(people__overlap=self.names) | Q(people__len__gte=PEOPLE))
        by_backend: dict[int, list[BackendFinding]] = defaultdict(list)
        for row in rows:
            by_backend[row.backend_id].append(row)
        return by_backend

    def differing(self, backend: Backend, question: StatusQuestion) -> list[BackendFinding]:
        """What differs of a decision, each by itself."""
        return [row for row in self._differing.get(backend.pk, ()) if self._is_about(row, question)]

    def statuses(self) -> list[SyncStatus | None]:
        """The answer to each question, in their order; None where no backend mirrors the object."""
        return [self._of(question) for question in self.questions]

    def _of(self, question: StatusQuestion) -> SyncStatus | None:
        # a catalog's own backend stands nearer to its objects than one of the whole realm
        row = next((self.backends[key] for key in reversed(question.lineage) if key in self.backends), None)
        if row is None:
            return None
        untried, parked = self._entries.get((row.pk, question.revision), (False, False))
        newer = question.revision > row.compared_revision
        names = frozenset([EVERYBODY]) if question.names is None else question.names
        without = frozenset[str]()
        if question.names is not None and not question.loses:
            without = names - self._logins.get(row.pk, frozenset())
        refused, waiting, left, error = set[str](), set[str](), set[str](), ""
        for differs in self.differing(row, question):
            everybody = question.names is None or len(differs.people) >= PEOPLE
            concerned = (names if everybody else names & set(differs.people)) - without
            (refused if differs.is_stuck else left if differs.is_left else waiting).update(concerned)
            error = error or (differs.error if differs.is_stuck and concerned else "")
        left -= refused
        waiting -= refused | left
        applied = len(names) - len(without) - len(waiting) - len(refused) - len(left)
        waits, nowhere, stuck, as_is = (tuple(sorted(some)) for some in (waiting, without, refused, left))
        compared = SyncStatus(applied, len(names), waits, nowhere, refused=stuck, left=as_is, error=error)
        return replace(compared, backend=row, coming=newer or untried, parked=newer and parked)

    def _is_about(self, row: BackendFinding, question: StatusQuestion) -> bool:
        if row.kind != ("extra" if question.loses else "missing"):
            return False
        if row.concerns is None:
            return True
        return any(self._concerns(int(key), codes, question) for key, codes in row.concerns.items())

    def _concerns(self, number: int, privileges: Sequence[str], question: StatusQuestion) -> bool:
        if number in question.lineage[:-1]:
            # who may not use what it lies in cannot reach it
            return not question.loses and (
                not privileges or any(code.startswith("USE_") for code in privileges)
            )
        if question.lineage[-1] not in self._above.get(number, ()):
            return False
        return not privileges or not question.privileges or not question.privileges.isdisjoint(privileges)


def _lineages(numbers: Collection[int]) -> dict[int, tuple[int, ...]]:
    if not numbers:
        return {}
    rows = Placement.objects.open().filter(any_of("securable_id", numbers))
    return {key: (*above, key) for key, above in rows.values_list("securable_id", "ancestors")}


def _entries(
    backends: Collection[int], revisions: Collection[int]
) -> dict[tuple[int, int], tuple[bool, bool]]:
    """Of changes with entries that are due: whether one was not tried yet, and whether one is parked."""
    if not revisions:
        return {}
    rows = OutboxEntry.objects.filter(any_of("revision", revisions), backend__in=backends)
    due = rows.filter(due__lte=timezone.now()).order_by().values("backend", "revision")
    parked = Max("attempts", filter=Q(parked=True), default=0)
    return {
        (row["backend"], row["revision"]): (not row["fewest"] and not row["most"], bool(row["most"]))
        for row in due.annotate(fewest=Min("attempts"), most=parked)
    }


def statuses(questions: Sequence[StatusQuestion]) -> list[SyncStatus | None]:
    """How far each of many decisions has come.  Four queries, however many; five where something differs."""
    return StatusReader(questions).statuses()


def status_on(backend: Backend, node: Node, names: Collection[str]) -> SyncStatus:
    """For people with access to an object, by their login names, in one of its backends."""
    reader = StatusReader([StatusQuestion(node.lineage, frozenset(names))], backend=backend)
    [status] = reader.statuses()
    return status or SyncStatus(0, len(set(names)), (), tuple(sorted(set(names))))


def differing_on(backend: Backend, node: Node, names: frozenset[str] | None = None) -> list[BackendFinding]:
    """What of all that was decided differs on an object, or in it, for these people or for anybody.

    Two or three queries.
    """
    questions = [StatusQuestion(node.lineage, names, loses=loses) for loses in (False, True)]
    reader = StatusReader(questions, backend=backend)
    return [row for question in questions for row in reader.differing(backend, question)]


def of_orders(revisions: Collection[int]) -> dict[int, list[ForeignOrder]]:
    """The decisions about foreign rights, by the change they were made in.  One query."""
    by_revision: dict[int, list[ForeignOrder]] = defaultdict(list)
    if revisions:
        for row in ForeignOrder.objects.filter(any_of("revision", revisions)).select_related("backend"):
            by_revision[row.revision].append(row)
    return by_revision


def names_by_pseudonym(pseudonyms: Collection[str]) -> Mapping[str, frozenset[str]]:
    """The login names behind pseudonyms of the record.  Two queries."""
    people = list(Principal.objects.filter(pseudonym__in=pseudonyms)) if pseudonyms else []
    names = names_behind(people) if people else {}
    return {principal.pseudonym: names[principal.pk] for principal in people}


def names_behind(principals: Iterable[Principal]) -> dict[int, frozenset[str]]:
    """The login names of people and services, and of those in groups, by principal.  One query."""
    rows = {principal.pk: principal for principal in principals}
    groups = [pk for pk, principal in rows.items() if principal.kind == Principal.Kind.GROUP]
    names = {pk: {principal.name} for pk, principal in rows.items() if principal.kind != Principal.Kind.GROUP}
    inside = Membership.objects.open().within(timezone.now()).filter(any_of("group_id", groups))
    for group, name in inside.values_list("group", "member__name") if groups else ():
        names.setdefault(group, set()).add(name)
    return {pk: frozenset(names.get(pk, ())) for pk in rows}
