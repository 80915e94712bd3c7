"""Writing the population down: every row there is at the start revision, in batches, by a worker.

A batch and where to go on are one transaction, so a worker that is killed loses at most a batch, and the next
one goes on there.  Only one works at a time: it holds a lease that it renews with every batch.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Q
from django.utils import timezone

from accounts.models import Principal
from catalog.models import Realm
from catalog.nodes import nodes
from catalog.queries import root
from lakewarden.record import chain
from policies import notices
from policies.authority import SYSTEM, of_system
from policies.decisions import ask
from policies.decisions.facts import is_service_admin
from policies.errors import Conflict
from policies.events import REVIEW_OPENED
from policies.models import Review, ReviewRow, review_states
from policies.models.review_seals import seal_new_rows
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.reviews.campaign_plans import Scope, scope_of
from policies.reviews.enrichment import Enricher
from policies.reviews.management import notice_key
from policies.reviews.reviewers import Seating
from policies.reviews.row_sources import RowDraft, Sources, removable
from policies.sentences import say, sentence
from policies.services.grants import GRANT

BATCH = 500
LEASE = timedelta(minutes=2)
"""A worker that has not renewed its lease for so long is taken for dead."""
ASKED = notices.kind("review.asked", "access reviews that wait for your decisions")
ASKS = sentence("review.asks", "{who} asks you to review access: {title}.")


class Lost(Exception):
    """Another worker has taken over, or there is nothing left to work on."""


def build(review: Review, *, told: Callable[[int], None] | None = None) -> bool:
    """Write the population down, going on where an earlier worker stopped; False when another one is at it.

    `told` hears how many rows there are after each batch.
    """
    if not take_lease(review, ("building",)):
        return False
    try:
        _Build(review).run(told or (lambda many: None))
    except (Lost, Conflict):
        return False
    except Exception as error:
        # whatever it is: it is raised on, and the review's starter sees it until the next worker
        # tries again
        Review.objects.filter(pk=review.pk, lease=review.lease).update(
            error=str(error)[:2000], lease="", leased=None
        )
        raise
    return True


def take_lease(review: Review, in_states: Iterable[str]) -> bool:
    """Become the one who works on a review.  One conditional statement."""
    free = Q(leased__isnull=True) | Q(leased__lt=timezone.now() - LEASE) | Q(lease="")
    token = secrets.token_hex(8)
    rows = Review.objects.filter(free, pk=review.pk, state__in=list(in_states))
    if not rows.update(lease=token, leased=timezone.now()):
        return False
    review.refresh_from_db()
    return True


def keep_lease(review: Review, **values: Any) -> None:
    """Say that one is still at work, and note how far.  Raises Lost, when it was cancelled too."""
    mine = Review.objects.filter(pk=review.pk, lease=review.lease, state=review.state)
    if not mine.update(leased=timezone.now(), **values):
        raise Lost
    for name, value in values.items():
        setattr(review, name, value)


def release(review: Review) -> None:
    Review.objects.filter(pk=review.pk, lease=review.lease).update(lease="", leased=None)


class _Build:
    def __init__(self, review: Review) -> None:
        self.review, self.root = review, root(review.realm)
        self.scope = scope_of(review)
        admin = is_service_admin(review.starter)
        self.sources = Sources(review, self.scope, self.root, members=admin)
        self.weigher, self.seating = Enricher(review, self.root), Seating(review, self.root, 0)
        self.assignable = _Assignable(review.starter, self.scope)

    def run(self, told: Callable[[int], None]) -> None:
        progress = self.review.progress or {"source": 0, "after": [], "rows": 0, "seen": 0}
        while progress["source"] < len(self.sources.order):
            progress = self._step(progress)
            told(progress["rows"])
        self._open()

    def _step(self, progress: dict[str, Any]) -> dict[str, Any]:
        source = self.sources.order[progress["source"]]
        drafts, after = self.sources.batch(source, progress["after"], BATCH)
        rows, risks = self._rows(drafts, progress["rows"]), self.scope.risks
        rows = [row for row in rows if not risks or not set(row.risks).isdisjoint(risks)]
        for number, row in enumerate(rows, start=progress["rows"] + 1):
            row.number = number
        on = progress["source"] + (after is None)
        counted = {"rows": progress["rows"] + len(rows), "seen": progress["seen"] + len(drafts)}
        progress = {"source": on, "after": after or [], **counted}
        with transaction.atomic():
            self.seating.seat(rows)
            seal_new_rows(rows)
            ReviewRow.objects.bulk_create(rows, batch_size=BATCH)
            keep_lease(self.review, progress=progress)
        return progress

    def _rows(self, drafts: list[RowDraft], first: int) -> list[ReviewRow]:
        kept = [draft for draft in drafts if self._removable(draft)]
        by_role = self.sources.gives([draft.role for draft in kept if draft.kind == "role" and draft.role])
        by_group = self.sources.gives_by_group([draft.group for draft in kept if draft.group])
        for draft in kept:
            if draft.kind in ("role", "member"):
                given = by_group.get(draft.group) if draft.group else by_role.get(draft.role or 0)
                draft.given, draft.gives = given or (0, [])
        return self.weigher.rows(kept, first)

    def _removable(self, draft: RowDraft) -> bool:
        self.assignable.learn(draft.role)
        return removable(draft, self.scope, assignable=self.assignable.may(draft.role))

    def _open(self) -> None:
        """Count, seal and open it, and tell the reviewers: one change."""
        review = self.review
        counts, digest = counted(review), sealed(review)
        with change(REVIEW_OPENED, realm=Realm(pk=review.realm_id), by=SYSTEM) as current:
            rows = Review.objects.filter(pk=review.pk, lease=review.lease)
            review_states.REVIEW.move(
                rows, "open", opened=current.at, counts=counts, digest=digest, lease="", leased=None, error=""
            )
            event = make_event(
                REVIEW_OPENED,
                self.root,
                review=review.pk,
                rows=counts["rows"],
                digest=digest,
                as_of=review.revision,
                scope=review.scope,
            )
            current.say(event, by=of_system("the population is written down"))
            tell_reviewers(review)
        review.refresh_from_db()


class _Assignable:
    """Which roles somebody may give and take away, decided once for each."""

    def __init__(self, person: Principal, scope: Scope) -> None:
        self.person, self._known = person, {node.id: True for node in scope.roles}

    def learn(self, role: int | None) -> None:
        if role is None or role in self._known:
            return
        nodes_ = nodes([role]).get(role)
        self._known[role] = bool(nodes_ and ask.ask(self.person, GRANT, nodes_))

    def may(self, role: int | None) -> bool:
        return self._known.get(role or 0, False)


def counted(review: Review) -> dict[str, Any]:
    """How many rows there are, by kind, and how many nobody can be asked about."""
    rows = ReviewRow.objects.filter(review=review)
    kinds = rows.values("kind").annotate(many=Count("pk")).values_list("kind", "many")
    counts = rows.aggregate(
        rows=Count("pk"),
        far=Count("pk", filter=Q(far=True)),
        holders=Count("holder", distinct=True),
        objects=Count("securable", distinct=True),
        nobody=Count("pk", filter=Q(desk__isnull=True)),
    )
    return {**counts, "kinds": dict(kinds), "seen": review.progress.get("seen", 0)}


def sealed(review: Review) -> str:
    """The digest of the population, row after row; memory stays constant."""
    digest = hashlib.sha256()
    for line in lines(review):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def lines(review: Review) -> Iterator[str]:
    """The population as it was frozen, one canonical line a row, in order."""
    rows = ReviewRow.objects.filter(review=review).order_by("number")
    with_names = rows.annotate(who=F("holder__pseudonym"), of_group=F("group__pseudonym"))
    for row in with_names.values(*_FROZEN, "who", "of_group").iterator(chunk_size=2000):
        yield chain.canonical({name: _plain(value) for name, value in row.items()})


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


_FROZEN = (
    *("number", "kind", "key", "role_id", "role_name", "securable_id", "what", "pattern", "privileges"),
    *("effect", "facts", "valid_from", "valid_until", "outside", "gives"),
)


def tell_reviewers(review: Review) -> None:
    """Tell everybody who is asked in the running stage, once."""
    people = Principal.objects.filter(
        seats__desk__review=review, seats__desk__stage=review.stage, seats__left__isnull=True
    ).distinct()
    text = say(ASKS, title=review.title)
    key = notice_key(review) if review.stage == 0 else notice_key(review, f"stage {review.stage}")
    link = f"/reviews/{review.pk}"
    until = review.stages[review.stage]["until"]
    if people:
        notices.tell(
            people, ASKED, text, key=key, link=link, who=review.starter, until=datetime.fromisoformat(until)
        )


def waiting() -> list[Review]:
    """The reviews whose population is still to be written, and nobody is at it."""
    stale = Q(leased__isnull=True) | Q(leased__lt=timezone.now() - LEASE)
    return list(Review.objects.filter(stale, state="building").order_by("pk"))
