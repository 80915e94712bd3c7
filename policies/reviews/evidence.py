"""The evidence of a review: the sealed population, what was decided and why, what was done and read again.

`lakewarden.record.review` checks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, Q

from accounts.models import Principal
from lakewarden.record import chain
from policies.models import Change, Checkpoint, Review, ReviewDecision, ReviewRow, ReviewSeat
from policies.record import checkpoints
from policies.record.archive import reading
from policies.record.exports import evidence
from policies.reviews import pace_checks, population
from policies.reviews.events import place_of

QUERY = (
    "Every grant, role, membership and foreign right within the scope, as the facts were open at the start "
    "revision (opened <= revision and (closed is null or closed > revision)), grouped by holder and object."
)


@dataclass
class Evidence:
    """What is put into the files of one review."""

    review: Review
    checkpoint: Checkpoint
    changes: list[dict[str, Any]]
    counts: dict[str, Any]
    names: dict[str, str]
    paces: list[pace_checks.Pace] = field(default_factory=list)

    def about(self) -> dict[str, Any]:
        """What the manifest says of the review."""
        review = self.review
        return {
            "id": review.pk,
            "title": review.title,
            "realm": place_of(review).name,
            "state": review.state,
            "revision": review.revision,
            "scope": review.scope,
            "stages": review.stages,
            "silence": review.silence,
            "starter": review.starter.pseudonym,
            "started": review.started.isoformat(),
            "opened": _moment(review.opened),
            "ended": _moment(review.ended),
            "closed": _moment(review.closed),
            "series": review.series_id,
        }


def gather(review: Review) -> Evidence:
    """Prove every change that the review made or that began what it removed.  Reads all digests once."""
    checkpoints.make()
    checkpoint = Checkpoint.objects.filter(log=checkpoints.CHANGES).latest("size")
    changes = evidence.proved(checkpoint, _revisions(review))
    counts = {**review.counts, "query": QUERY, "digest": review.digest}
    return Evidence(review, checkpoint, changes, counts, _names(review), pace_checks.paces(review))


def _revisions(review: Review) -> set[int]:
    changes = Change.objects.filter(
        realm=review.realm_id, kind__startswith="review.", revision__gt=review.revision
    )
    events = reading.events_of(list(changes.values_list("revision", flat=True)))
    own = {event.change_id for event in events if event.data.get("review") == review.pk}
    rows = ReviewRow.objects.filter(review=review, carried_revision__isnull=False)
    codes = {
        code
        for facts in rows.values_list("facts", flat=True)
        for code in facts
        if code.partition(":")[0] in evidence.MODELS
    }
    return own | evidence.revisions_of(codes)


def _names(review: Review) -> dict[str, str]:
    """The names behind the pseudonyms, as they are now; a person that was erased has none any more."""
    rows = ReviewRow.objects.filter(review=review)
    keys = Q(pk__in=rows.values("holder")) | Q(pk__in=rows.values("group")) | Q(pk=review.starter_id)
    keys |= Q(pk__in=ReviewSeat.objects.filter(desk__review=review).values("reviewer"))
    keys |= Q(pk__in=ReviewDecision.objects.filter(row__review=review).values("reviewer"))
    return {principal.pseudonym: principal.label for principal in Principal.objects.filter(keys).distinct()}


def population_lines(review: Review) -> Iterator[bytes]:
    """The population, byte for byte as it was sealed."""
    return (line.encode() + b"\n" for line in population.lines(review))


def rows(review: Review) -> Iterator[dict[str, Any]]:
    """What became of each row, in order, streaming."""
    rows_ = ReviewRow.objects.filter(review=review).order_by("number")
    named = rows_.select_related("holder", "group", "decided_by").annotate(desk_label=F("desk__label"))
    for row in named.iterator(chunk_size=2000):
        yield _row(row)


def row_lines(review: Review) -> Iterator[bytes]:
    return (chain.canonical(row).encode() + b"\n" for row in rows(review))


def _row(row: ReviewRow) -> dict[str, Any]:
    return {
        "number": row.number,
        "kind": row.kind,
        "holder": str(row.holder) if row.holder else "",
        "pseudonym": row.holder.pseudonym if row.holder else "",
        "group": str(row.group) if row.group else "",
        "role": row.role_name,
        "object": row.what,
        "privileges": row.privileges,
        "effect": row.effect,
        "gives": gives(row),
        "risks": row.risks,
        "last_used": _moment(row.last_used),
        "peers": [row.peers_have, row.peers_of],
        "change": row.change,
        "advice": row.advice,
        "state": row.state,
        "choice": row.choice,
        "takes": row.takes,
        "until": _moment(row.until),
        "reason": row.reason,
        "default": row.default,
        "decided_by": row.decided_by.pseudonym if row.decided_by else None,
        "decided_at": _moment(row.decided_at),
        "quick": row.quick,
        "seen_twice": row.seen_twice,
        "carried_revision": row.carried_revision,
        "carried_at": _moment(row.carried_at),
        "proved_at": _moment(row.proved_at),
        "proof": row.proof,
        "outcome": row.outcome,
    }


def gives(row: ReviewRow) -> str:
    """What a row gives, in a few words."""
    if row.kind == ReviewRow.Kind.ROLE:
        return f"role {row.role_name}"
    if row.group is not None:
        return f"a place in group {row.group.name}"
    if row.kind == ReviewRow.Kind.OWNER:
        return f"the ownership of {row.what}"
    return f"{', '.join(row.privileges)} on {row.what}"


def _moment(value: Any) -> str | None:
    return None if value is None else value.isoformat()
