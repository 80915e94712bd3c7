"""Proof: after a removal every backend it concerns was read again, and what was removed was not there.

A backend says up to which revision it was compared, and what differed then stands as findings; a row is
proved when the comparison is not before the change that carried it out and left nothing of it behind.
Where no backend mirrors the realm, what is decided is in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from catalog.models import Realm
from catalog.queries import root
from policies.authority import SYSTEM, of_system
from policies.events import REVIEW_PROVED
from policies.models import Backend, ForeignOrder, Review, ReviewRow, review_states
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.reviews import removals
from policies.sync.status import StatusQuestion, names_behind, statuses

Kind = ReviewRow.Kind
BATCH = 200
CONSOLE = "the console"
"""What is read where no backend mirrors the object: our own decisions."""


def prove(review: Review) -> int:
    """Prove what can be proved now; answers how many rows still wait for a backend."""
    backends = list(Backend.objects.filter(realm=review.realm_id))
    left, last = 0, 0
    while batch := list(_carried(review).filter(number__gt=last).order_by("number")[:BATCH]):
        last = batch[-1].number
        proofs = {row.pk: _proof(row, backends) for row in batch}
        left += sum(proof is None for proof in proofs.values())
        for where, rows in _by_backend(batch, proofs).items():
            _note(review, where, rows, proofs)
    return left


def _carried(review: Review) -> QuerySet[ReviewRow]:
    return ReviewRow.objects.filter(review=review, state="carried")


Proof = dict[str, Any]


def _proof(row: ReviewRow, backends: Sequence[Backend]) -> Proof | None:
    """What proves that a row is in force: a reading of every backend concerned; None when one is missing."""
    if row.kind == Kind.FOREIGN:
        return _foreign_gone(row, backends)
    if _still_true(row):
        return None
    concerned = [backend for backend in backends if _concerns(backend, row)]
    if not concerned:
        at = row.carried_at.isoformat() if row.carried_at else None
        return {"backend": CONSOLE, "revision": row.carried_revision, "at": at}
    if not all(_read_back(item, row) for item in concerned):
        return None
    names = ", ".join(sorted(str(item) for item in concerned))
    read = max(item.compared_at for item in concerned if item.compared_at)
    revision = min(item.compared_revision for item in concerned)
    return {"backend": names, "revision": revision, "at": read.isoformat()}


def _read_back(backend: Backend, row: ReviewRow) -> bool:
    """Whether a backend was read after the row was carried out, and nothing that it took was left."""
    if backend.compared_at is None or backend.compared_revision < (row.carried_revision or 0):
        return False
    lineage = tuple(row.lineage) if backend.catalog_id in row.lineage else (backend.catalog_id,)
    names = names_behind([row.holder])[row.holder.pk] if row.holder else None
    codes = frozenset(row.takes if row.choice == ReviewRow.Choice.REDUCE else row.privileges)
    [status] = statuses([StatusQuestion(lineage, names, row.carried_revision or 0, codes, loses=True)])
    return status is None or status.whole


def _still_true(row: ReviewRow) -> bool:
    """Whether a fact that was to end is open: then nothing is proved, whatever a backend says."""
    if row.choice == ReviewRow.Choice.REDUCE:
        rows = _facts(row, "grant").filter(privilege__in=row.takes)
        return bool(rows.exists())
    return any(_facts(row, kind).exists() for kind in removals.MODELS)


def _facts(row: ReviewRow, kind: str) -> QuerySet[Any]:
    numbers = [int(code.partition(":")[2]) for code in row.facts if code.startswith(f"{kind}:")]
    facts = removals.MODELS[kind].objects.open().filter(pk__in=numbers)
    if row.choice == ReviewRow.Choice.END:
        # what ends before the date by itself was left as it is
        return facts.exclude(valid_until__lte=row.until)
    return facts


def _concerns(backend: Backend, row: ReviewRow) -> bool:
    """Whether a backend can have had what the row gave: everything above its catalog, or in it."""
    if row.kind in (Kind.ROLE, Kind.MEMBER) or len(row.lineage) < 2:
        return True
    return backend.catalog_id in row.lineage


def _foreign_gone(row: ReviewRow, backends: Sequence[Backend]) -> Proof | None:
    backend = next((item for item in backends if item.pk == row.outside.get("backend")), None)
    if backend is None:
        return {"backend": CONSOLE, "revision": row.carried_revision, "at": None}
    if row.choice == ReviewRow.Choice.END:
        at = row.carried_at.isoformat() if row.carried_at else None
        return {"backend": CONSOLE, "revision": row.carried_revision, "at": at}
    orders = ForeignOrder.objects.filter(backend=backend, revision=row.carried_revision or 0)
    done = [None if order.dropped else order.done for order in orders]
    if not done or any(item is None for item in done):
        return None
    last_read = max(item for item in done if item is not None)
    return {"backend": str(backend), "revision": backend.proved_revision, "at": last_read.isoformat()}


def _by_backend(
    batch: Iterable[ReviewRow], proofs: Mapping[int, Proof | None]
) -> dict[tuple[str, int], list[ReviewRow]]:
    """The rows that one reading proves together."""
    by_backend: dict[tuple[str, int], list[ReviewRow]] = {}
    for row in batch:
        proof = proofs[row.pk]
        if proof is not None:
            where = proof["backend"]
            by_backend.setdefault((where, 0 if where == CONSOLE else proof["revision"]), []).append(row)
    return by_backend


def _note(
    review: Review,
    where: tuple[str, int],
    rows: Sequence[ReviewRow],
    proofs: Mapping[int, Proof | None],
) -> None:
    with change(REVIEW_PROVED, realm=Realm(pk=review.realm_id), by=SYSTEM) as current:
        for row in rows:
            mine = ReviewRow.objects.filter(pk=row.pk)
            proof = proofs[row.pk] or {}
            review_states.ROW.move(
                mine, "prove", proved_at=proof["at"] or current.at, proof=proof, outcome=""
            )
        read = where[1] or max(row.carried_revision or 0 for row in rows)
        data = {
            "backend": where[0],
            "read": read,
            "numbers": [row.number for row in rows],
            "at": (proofs[rows[0].pk] or {})["at"],
        }
        event = make_event(REVIEW_PROVED, root(review.realm), review=review.pk, rows=len(rows), **data)
        current.say(event, by=of_system("read again"))


def give_up(review: Review) -> None:
    """Say of each row that waits why it is not proved."""
    backends = list(Backend.objects.filter(realm=review.realm_id))
    for row in _carried(review).iterator(chunk_size=500):
        concerned = [backend for backend in backends if _concerns(backend, row)]
        late = [item for item in concerned if not _read_back(item, row)]
        why = "; ".join(f"{item} is {item.get_state_display()}" for item in late) or "it is given again"
        ReviewRow.objects.filter(pk=row.pk, state="carried").update(outcome=f"Not proved: {why}.")
