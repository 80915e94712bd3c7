"""What the end of a review would change, so that it can be held against what was used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from django.db.models import Q
from django.utils import timezone

from catalog.nodes import Node, nodes
from catalog.queries import root
from policies.models import Grant, Review, ReviewRow
from policies.simulation import endings
from policies.simulation.changes import Change, ClearOwner, LeaveGroup, UnassignRole

Choice, Kind = ReviewRow.Choice, ReviewRow.Kind


def of_end(review: Review) -> tuple[Node, list[Change]]:
    """What would be taken, were the review to end now: what was decided, and what silence means.

    What ends later on a date, and what was given outside, is not among it.  A fixed number of queries.
    """
    top, rows = root(review.realm), list(_taken(review))
    by_id = nodes({key for row in rows for key in (row.securable_id, row.role_id) if key})
    changes = [change for row in rows for change in _changes(row, by_id)]
    return top, [*endings.of_grants(top, _grants(rows)), *changes]


def _taken(review: Review) -> Iterable[ReviewRow]:
    """The rows that would be carried out at once, as `completion.settle` orders them."""
    rows = ReviewRow.objects.filter(review=review, state__in=("open", "decided", "again"))
    at_once = Q(choice__in=(Choice.REMOVE, Choice.REDUCE))
    at_once |= Q(choice=Choice.END, until__lte=timezone.now())
    if review.silence == Review.Silence.REMOVE:
        at_once |= Q(choice="") & ~Q(effect="deny") & ~Q(kind=Kind.OWNER)
    return rows.filter(at_once).select_related("holder", "group").order_by("number")


def _grants(rows: Iterable[ReviewRow]) -> list[Grant]:
    """The direct grants and rules of roles among them that would end."""
    wanted: dict[int, set[str]] = {}
    for row in rows:
        codes = set(row.takes if row.choice == Choice.REDUCE else row.privileges)
        for code in row.facts:
            kind, _, number = code.partition(":")
            if kind == "grant":
                wanted[int(number)] = codes
    open_grants = Grant.objects.open().filter(pk__in=wanted).order_by("pk")
    return [grant for grant in open_grants if grant.privilege in wanted[grant.pk]]


def _changes(row: ReviewRow, by_id: Mapping[int, Node]) -> Iterator[Change]:
    role, node = by_id.get(row.role_id or 0), by_id.get(row.securable_id or 0)
    if row.kind == Kind.ROLE and role is not None and row.holder is not None:
        yield UnassignRole(role, row.holder)
    elif row.kind == Kind.MEMBER and row.group is not None and row.holder is not None:
        yield LeaveGroup(row.group, row.holder)
    elif row.kind == Kind.OWNER and node is not None:
        yield ClearOwner(node)
