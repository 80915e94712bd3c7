"""What of the record is gone after a copy of the database was restored, and saying so in the record itself.

A copy that is older than the last checkpoint ends before what was signed.  Nothing tells that from an end
that somebody cut off, so it stays broken until an operator answers for it, in a change signed by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from accounts.text import recordable
from lakewarden.record import lost_ends, notes
from lakewarden.record.lost_ends import Lost
from lakewarden.record.merkle import Frontier
from lakewarden.record.signed import Roots
from policies import signing
from policies.authority import OPERATOR, Authority
from policies.errors import Invalid
from policies.events import RECORD_RESTORED, EventDraft
from policies.models import Checkpoint, Event
from policies.record import checkpoint_places, checkpoints
from policies.record.change import LONGEST_REASON, change

LOGS = (checkpoints.CHANGES, checkpoints.ACCESS)


@dataclass(frozen=True)
class LogEnd:
    """How a log stands to what was signed of it.

    `entries` is how many there are, `fitting` the largest signed size that still comes out, `signed` the
    largest of all; `gone` are the checkpoints that do not come out, by size and root.
    """

    log: str
    entries: int
    fitting: int
    signed: int
    gone: tuple[tuple[int, str], ...]

    @property
    def copy_ended(self) -> int:
        """Where the copy seems to have ended: at the end, or before the first checkpoint that is gone."""
        return min(self.entries, *(size - 1 for size, _ in self.gone)) if self.gone else self.entries


def signed_roots(outside: str = "") -> dict[str, Roots]:
    """What every checkpoint says that the site knows of, by log, once its signature was found good.

    Raises BadNote.
    """
    roots: dict[str, Roots] = {}
    kept = Checkpoint.objects.order_by("pk").values_list("note", flat=True)
    for text in dict.fromkeys([*kept, *notes.each(checkpoint_places.kept_notes()), *notes.each(outside)]):
        checkpoint = notes.opened_by(text, signing.public_keys())
        roots.setdefault(checkpoint.log, {}).setdefault(checkpoint.size, set()).add(checkpoint.root)
    return roots


def statements() -> list[Lost]:
    """What the record says was lost, each once its signature was found good.  Raises BadNote."""
    return [lost_ends.opened(kept, signing.public_keys()) for kept in kept_statements()]


def kept_statements() -> list[dict[str, object]]:
    """The same as the record has them, signatures included, for whoever checks them elsewhere."""
    rows = Event.objects.filter(kind=RECORD_RESTORED).order_by("change", "number")
    return [kept for row in rows for kept in row.data["lost"]]


def look(outside: str = "") -> list[LogEnd]:
    """Hold each log against what was signed of it, apart from what was said to be lost.  Raises BadNote."""
    roots, statements_ = signed_roots(outside), statements()
    return [_end(log, roots.get(checkpoints.name_of(log), {}), statements_) for log in LOGS]


def accept(revision: int, reason: str, *, authority: Authority, outside: str = "") -> list[Lost]:
    """Say in the record that what follows the revision was lost, up to what was signed.  Raises Invalid."""
    if not reason.strip():
        raise Invalid("Say why the database was restored: --reason TEXT.")
    ends = look(outside)
    changes = ends[0]
    if not any(end.gone for end in ends):
        raise Invalid("Nothing that was signed is lost; there is nothing to accept.")
    if changes.gone and not changes.fitting <= revision <= changes.copy_ended:
        raise Invalid(
            f"The copy ended between revision {changes.fitting}, which was signed and is there, "
            f"and revision {changes.copy_ended}."
        )
    words = recordable(reason.strip(), LONGEST_REASON)
    losses = list(_statements(ends, revision, words))
    with change(RECORD_RESTORED, realm=None, by=OPERATOR, reason=words) as current:
        kept = [
            lost_ends.signed(item, signing.public_key(), signing.sign(lost_ends.message(item)))
            for item in losses
        ]
        data = {"first": losses[0].ended + 1, "last": losses[0].signed, "lost": kept}
        current.say(EventDraft(RECORD_RESTORED, data=data), by=authority)
    checkpoints.make()
    return losses


def _statements(ends: list[LogEnd], revision: int, reason: str) -> Iterator[Lost]:
    for end in ends:
        if end.gone:
            ended = revision if end.log == checkpoints.CHANGES else end.copy_ended
            yield Lost(checkpoints.name_of(end.log), ended, end.signed, reason, end.gone)


def _end(log: str, roots: Roots, losses: list[Lost]) -> LogEnd:
    lost_ends.excuse(roots, [item for item in losses if item.log == checkpoints.name_of(log)])
    entries, tree, fitting = checkpoints.size_of(log), Frontier(), 0
    signed_ends = {(size, root) for size, some in roots.items() for root in some}
    for leaf in checkpoints.leaves(log, 0, entries):
        tree.append(leaf)
        if tree.size in roots:
            end_here = (tree.size, tree.root().hex())
            fitting = tree.size if end_here in signed_ends else fitting
            signed_ends.discard(end_here)
    signed = max((size for size, _ in signed_ends), default=max(roots, default=0))
    return LogEnd(log, entries, fitting, signed, tuple(sorted(signed_ends)))
