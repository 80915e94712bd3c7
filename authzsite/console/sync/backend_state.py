"""What is known of the backend behind an object: its state in words, and what others granted there."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.db.models import Count, F, Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, ngettext

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import State
from authzsite.console.objects.access import ObjectAccess
from catalog.nodes import Node
from policies.models import Backend, BackendFinding, OutboxEntry
from policies.sync.differences import items
from policies.sync.differences.findings import OPTION
from policies.sync.status import differing_on

RIGHTS = {
    "USAGE": gettext_lazy("Use"),
    "CONNECT": gettext_lazy("Connect"),
    "SELECT": gettext_lazy("Read"),
    "INSERT": gettext_lazy("Write"),
    "UPDATE": gettext_lazy("Write"),
    "DELETE": gettext_lazy("Write"),
    "TRUNCATE": gettext_lazy("Write"),
    "CREATE": gettext_lazy("Create"),
    "EXECUTE": gettext_lazy("Execute"),
}
"""The backend's rights in our words, the plainest first."""
RESTORED, STUCK, MOVING, LEFT = "restored", "stuck", "moving", "left"
"""What a backend is at, besides the states of its row."""
MOST_ASKED = 150
"""So often a page asks on, every two seconds: what takes longer is seen when it is opened again."""


@dataclass(frozen=True)
class BackendState:
    """The backend of one catalog, how many entries wait for it, and how many items are stuck.

    Of one object it counts what differs on it or in it: `differs` is None where the whole backend is meant.
    `left`: how many of what differs somebody left as it is, for now.
    """

    row: Backend
    waiting: int
    stuck: int = 0
    differs: int | None = None
    left: int = 0

    @property
    def system(self) -> str:
        return self.row.get_kind_display()

    @property
    def settled(self) -> bool:
        """Whether nothing is on its way: what is stuck, or only watched, stays as it is for now."""
        if self.waiting:
            return False
        if self.row.state == Backend.State.BEHIND and self.row.policy == Backend.Policy.REPAIR:
            return self._differs <= self.stuck + self.left
        return self.row.state in (Backend.State.IN_SYNC, Backend.State.BEHIND)

    @property
    def _differs(self) -> int:
        """How many rights and memberships differ."""
        if self.differs is not None:
            return self.differs
        return sum(int(self.row.counts.get(name, 0)) for name in ("missing", "extra"))

    @property
    def whole(self) -> bool:
        """Whether all that was decided about it was applied and read back."""
        return self.settled and (self.row.state == Backend.State.IN_SYNC or self.differs == 0)

    def plainly(self) -> State:
        """The same for viewers who may not know how many others it concerns."""
        return replace(self.state(), note="")

    @property
    def code(self) -> str:
        """What its state is called in code: that of its row, or one of RESTORED, STUCK, MOVING and LEFT."""
        if self.row.restored and self.row.state != Backend.State.PAUSED:
            return RESTORED
        if self.row.state not in (Backend.State.IN_SYNC, Backend.State.BEHIND):
            return self.row.state
        if self.stuck or self.waiting:
            return STUCK if self.stuck else MOVING
        if self.left and self._differs <= self.left:
            return LEFT
        return Backend.State.IN_SYNC if self.differs == 0 else self.row.state

    def state(self) -> State:
        """How far what was decided has come: of one object what was decided about it, and nothing else."""
        kind, word = _WORDS[self.code]
        if self.code == RESTORED:
            note = gettext("the database was restored from a backup")
        elif self.code == MOVING:
            note = gettext("%(waiting)s to go") % {"waiting": words.number(self.waiting)}
        elif kind == "ok" and self.row.compared_at:
            note = words.ago(max(self.row.compared_at, self.row.proved_at or _EVER))
        else:
            note = self._note()
        return State(kind, str(word), note)

    def _note(self) -> str:
        stuck = [gettext("%(stuck)s stuck") % {"stuck": words.number(self.stuck)}] if self.stuck else []
        if self.code == LEFT:
            return words.count(self.left, "right")
        if self.differs is not None:
            left = self.differs - self.stuck
            differ = ngettext("%(left)s differs", "%(left)s differ", left) % {"left": words.number(left)}
            return ", ".join([*([differ] if left > 0 else []), *stuck])
        counts = self.row.counts
        labels = {"missing": gettext("%(number)s missing"), "extra": gettext("%(number)s extra")}
        parts = [
            text % {"number": words.number(counts[name])} for name, text in labels.items() if counts.get(name)
        ]
        return ", ".join([*parts, *stuck])


_EVER = datetime.min.replace(tzinfo=UTC)
_WORDS = {
    Backend.State.NEW: ("unknown", gettext_lazy("Not yet compared")),
    Backend.State.IN_SYNC: ("ok", gettext_lazy("In sync")),
    Backend.State.BEHIND: ("behind", gettext_lazy("Behind")),
    Backend.State.FAILED: ("failed", gettext_lazy("Not reachable")),
    Backend.State.PAUSED: ("paused", gettext_lazy("Paused")),
    Backend.State.HELD: ("paused", gettext_lazy("Held")),
    Backend.State.SILENT: ("failed", gettext_lazy("Not answering")),
    RESTORED: ("paused", gettext_lazy("Changes nothing")),
    STUCK: ("failed", gettext_lazy("Needs attention")),
    MOVING: ("behind", gettext_lazy("Catching up")),
    LEFT: ("paused", gettext_lazy("Left as it is")),
}


def behind(node: Node, whose: frozenset[str] | None = None) -> BackendState | None:
    """The backend that mirrors the catalog an object is in, with what differs there.  Two to five queries.

    `whose`: of these logins alone, for viewers who may not know of others.
    """
    row = Backend.objects.filter(catalog__in=node.lineage).first()
    if row is None:
        return None
    waiting = waiting_for([row.pk]).get(row.pk, 0)
    if row.state != Backend.State.BEHIND:
        return BackendState(row, waiting)
    differs = differing_on(row, node, whose)
    orders = [order for order in items.stuck_orders([row.pk]) if order.securable_id == node.id]
    orders = [order for order in orders if whose is None or order.holder in whose]
    stuck = sum(differ.is_stuck for differ in differs) + len(orders)
    left = sum(differ.is_left for differ in differs)
    return BackendState(row, waiting, stuck, len(differs) + len(orders), left)


def whose(place: ObjectAccess) -> frozenset[str] | None:
    """Whose rights an asker may be told of: everybody's where they may look, else their own."""
    return None if place.may_look else frozenset([place.asker.name])


def waiting_for(backends: Collection[int]) -> dict[int, int]:
    """How many entries are due that no comparison since has covered, by backend.  One query."""
    rows = OutboxEntry.objects.filter(to_look_at(), backend__in=backends, parked=False).order_by()
    return dict(rows.values_list("backend").annotate(Count("pk")))


def stuck_in(backends: Collection[int]) -> dict[int, int]:
    """How many items wait for somebody, by backend; that nothing could be compared is one.  Three queries."""
    counts: dict[int, int] = {}
    stuck = [finding.backend_id for finding in items.stuck_findings(backends)]
    stuck += [order.backend_id for order in items.stuck_orders(backends)]
    for backend in stuck:
        counts[backend] = counts.get(backend, 0) + 1
    parked = OutboxEntry.objects.filter(to_look_at(), backend__in=backends, parked=True).order_by()
    for backend in parked.values_list("backend", flat=True).distinct():
        counts[backend] = counts.get(backend, 0) + 1
    return counts


def left_in(rows: Collection[Backend]) -> dict[int, int]:
    """How many rights and memberships somebody left as they are, by backend.

    One query, and none where everything is in sync.
    """
    backends = [row.pk for row in rows if row.state == Backend.State.BEHIND]
    if not backends:
        return {}
    left = BackendFinding.objects.filter(items.left(), backend__in=backends, kind__in=("missing", "extra"))
    return dict(left.order_by().values_list("backend").annotate(Count("pk")))


def to_look_at() -> Q:
    """Entries that are due and that no full comparison since has covered."""
    newer = Q(revision__gt=F("backend__compared_revision"))
    later = Q(due__gt=F("backend__compared_at"))
    return Q(due__lte=timezone.now()) & (newer | later)


@dataclass(frozen=True)
class Foreign:
    """What one outside holder was given on an object by others."""

    holder: str
    rights: tuple[str, ...]
    system: str
    first_seen: datetime


def foreign_on(node: Node, there: BackendState | None) -> tuple[Foreign, ...]:
    """Foreign grants on the object itself, one entry a holder.  One query."""
    if there is None:
        return ()
    rows = BackendFinding.objects.filter(securable=node.id, kind=BackendFinding.Kind.FOREIGN)
    return tuple(_by_holder(rows.order_by("holder", "what"), there.system, node.type))


def _by_holder(rows: Iterable[BackendFinding], system: str, type_: str) -> Iterable[Foreign]:
    findings: dict[str, list[BackendFinding]] = {}
    for row in rows:
        findings.setdefault(row.holder, []).append(row)
    for holder, mine in findings.items():
        yield Foreign(holder, rights_of(mine, type_), system, min(row.first_seen for row in mine))


def rights_of(rows: Iterable[BackendFinding], type_: str, *, with_type: bool = True) -> tuple[str, ...]:
    """The rights of findings in our words, the plainest first, each once; passed on where one of them is."""
    return rights_in_words((row.what for row in rows), type_, with_type=with_type)


def rights_in_words(codes: Iterable[str], type_: str, *, with_type: bool = True) -> tuple[str, ...]:
    """SELECT, INSERT -> Read, Write: as `rights_of` has it, of the backend's own codes."""
    order = {what: at for at, what in enumerate(RIGHTS)}
    rights: dict[str, str] = {}
    for code in sorted(codes, key=lambda code: order.get(code.removesuffix(OPTION), len(order))):
        word = right_word(code.removesuffix(OPTION), type_, with_type=with_type)
        if word not in rights or code.endswith(OPTION):
            rights[word] = right_word(code, type_, with_type=with_type)
    return tuple(rights.values())


def right_word(what: str, type_: str, *, with_type: bool = True) -> str:
    """SELECT -> Read, USAGE of a schema -> Use schema; an unusual right keeps its own name."""
    if what.endswith(OPTION):
        word = right_word(what.removesuffix(OPTION), type_, with_type=with_type)
        return gettext("%(right)s (with grant option)") % {"right": word}
    if what == "USAGE" and with_type:
        return terms.action("use", type_ or "schema")
    return str(RIGHTS.get(what, what))
