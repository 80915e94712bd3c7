"""What owners decided about foreign grants lately, each with the proof that was read back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import State
from authzsite.console.sync.backend_state import right_word
from authzsite.console.sync.drift.stuck_reasons import cause
from policies.models import ForeignOrder

SHOWN = 20
LATELY = timedelta(days=14)


@dataclass(frozen=True)
class Decided:
    """One decision on one right, and what was read back since."""

    what: str
    holder: str
    right: str
    object: str
    by: str
    proof: State


def decided(rows: QuerySet[ForeignOrder], *, whole: Collection[int] = ()) -> list[Decided]:
    """Newest first, for a fortnight; those that are still to be carried out as long as it takes.

    `whole`: the backends whose own words the reader may see.
    """
    lately = rows.filter(Q(at__gt=timezone.now() - LATELY) | Q(done__isnull=True))
    return [
        _decided(row, whole=row.backend_id in whole)
        for row in lately.select_related("by", "backend").order_by("-pk")[:SHOWN]
    ]


def _decided(row: ForeignOrder, *, whole: bool) -> Decided:
    by = row.by.label if row.by else _("An erased person")
    return Decided(
        what=_("Adopted") if row.replaced else _("Revoked"),
        holder=row.holder,
        right=terms.lower(right_word(row.right, row.type)),
        object=".".join(row.path) or row.backend.place,
        by=_("%(by)s, %(at)s, revision %(revision)s")
        % {"by": by, "at": words.moment(row.at, within=True), "revision": words.number(row.revision)},
        proof=_proof(row, whole=whole),
    )


def _proof(row: ForeignOrder, *, whole: bool) -> State:
    if row.dropped and row.done is not None:
        return State(
            "unknown",
            _("Given up"),
            _("%(done)s: it was left as it was") % {"done": words.moment(row.done, within=True)},
        )
    if row.done is not None:
        outcome = _("replaced by our grant") if row.replaced else _("it is gone")
        return State("ok", _("Read back"), f"{words.moment(row.done, within=True)}: {outcome}")
    if row.error:
        return State("failed", _("Not done"), cause(row, row.backend, whole=whole))
    return State("behind", _("On its way"))
