"""What is known of the backend behind an object: its state in words, and what others granted there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Q
from django.utils import timezone

from authzsite.console import naming, words
from authzsite.console.parts import State
from catalog.nodes import Node
from policies.models import Backend, BackendFinding, OutboxEntry

RIGHTS = {
    "SELECT": "Read",
    "INSERT": "Write",
    "UPDATE": "Write",
    "DELETE": "Write",
    "TRUNCATE": "Write",
    "CREATE": "Create",
    "CONNECT": "Connect",
    "EXECUTE": "Execute",
}

PASSED_ON = ", and may pass it on"


@dataclass(frozen=True)
class Behind:
    """The backend of one catalog and how many entries wait for it."""

    row: Backend
    waiting: int
    parked: int = 0

    @property
    def system(self) -> str:
        return self.row.get_kind_display()

    @property
    def settled(self) -> bool:
        return self.row.state == Backend.State.IN_SYNC and not self.waiting

    def state(self) -> State:
        kind, word = _WORDS[Backend.State(self.row.state)]
        if self.row.restored and self.row.state != Backend.State.PAUSED:
            return State("paused", "Changes nothing", "the database came back from a copy")
        if self.parked and self.row.state == Backend.State.BEHIND:
            return State("failed", "Needs somebody", self._note())
        if self.waiting and self.row.state in (Backend.State.IN_SYNC, Backend.State.BEHIND):
            return State("behind", "Catching up", f"{words.number(self.waiting)} to go")
        if kind == "ok" and self.row.proved_at:
            return State(kind, word, words.ago(self.row.proved_at))
        return State(kind, word, self._note())

    def _note(self) -> str:
        counts = self.row.counts
        parts = [
            f"{words.number(counts.get(name, 0))} {name}" for name in ("missing", "extra") if counts.get(name)
        ]
        if self.parked:
            parts.append(f"{words.number(self.parked)} parked")
        return ", ".join(parts)


_WORDS = {
    Backend.State.NEW: ("unknown", "Not yet compared"),
    Backend.State.IN_SYNC: ("ok", "In sync"),
    Backend.State.BEHIND: ("behind", "Behind"),
    Backend.State.FAILED: ("failed", "Not reached"),
    Backend.State.PAUSED: ("paused", "Paused"),
    Backend.State.HELD: ("paused", "Held"),
    Backend.State.SILENT: ("failed", "Not answering"),
}


def behind(node: Node) -> Behind | None:
    """The backend that mirrors the catalog an object is in.  Two queries."""
    row = Backend.objects.filter(catalog__in=node.lineage).first()
    return Behind(row, _waiting(row)) if row else None


def _waiting(row: Backend) -> int:
    return OutboxEntry.objects.filter(to_look_at(), backend=row).count()


def to_look_at(prefix: str = "") -> Q:
    """Entries that are due and that no full comparison since has covered; `prefix` leads to them."""
    backend = "" if prefix else "backend__"
    newer = Q(**{f"{prefix}revision__gt": F(f"{backend}proved_revision")})
    later = Q(**{f"{prefix}due__gt": F(f"{backend}proved_at")})
    return Q(**{f"{prefix}due__lte": timezone.now()}) & (newer | later)


@dataclass(frozen=True)
class Foreign:
    """What one outside holder was given on an object by others."""

    holder: str
    rights: tuple[str, ...]
    system: str
    first_seen: datetime


def foreign_on(node: Node, there: Behind | None) -> tuple[Foreign, ...]:
    """Foreign grants on the object itself, one entry a holder.  One query."""
    if there is None:
        return ()
    rows = BackendFinding.objects.filter(securable=node.id, kind=BackendFinding.Kind.FOREIGN)
    return tuple(_by_holder(rows.order_by("holder", "what"), there.system, node.type))


def _by_holder(rows: Iterable[BackendFinding], system: str, type_: str) -> Iterable[Foreign]:
    found: dict[str, list[BackendFinding]] = {}
    for row in rows:
        found.setdefault(row.holder, []).append(row)
    for holder, mine in found.items():
        yield Foreign(holder, rights_of(mine, type_), system, min(row.first_seen for row in mine))


def rights_of(rows: Iterable[BackendFinding], type_: str) -> tuple[str, ...]:
    """The rights of findings in our words, the plainest first, each once."""
    every = dict.fromkeys(right_word(row.what, type_) for row in rows)
    found = [word for word in every if f"{word}{PASSED_ON}" not in every]
    order = {word: at for at, word in enumerate(("Use", "Connect", "Read", "Write", "Create"))}
    return tuple(sorted(found, key=lambda word: order.get(word.split()[0].strip(","), len(order))))


def right_word(what: str, type_: str) -> str:
    """SELECT -> Read, USAGE of a schema -> Use schema; an unusual right keeps its own name."""
    base, option, _ = what.partition(" WITH GRANT OPTION")
    if option:
        return f"{right_word(base, type_)}{PASSED_ON}"
    if what == "USAGE":
        return naming.action("use", type_ or "schema")
    return RIGHTS.get(what, what)
