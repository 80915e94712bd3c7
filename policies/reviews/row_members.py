"""The people behind a row of a group or a role: each with their last use of what it gives, and a suggestion.

They are those of the revision of the review, as its rows are; uses are counted until now.  What is said of
each comes from the same table as what is said of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from accounts.models import Membership, Principal
from catalog.nodes import Node
from policies.models import Assignment, ReviewRow
from policies.reviews.enrichment import Enricher
from policies.reviews.row_sources import RowDraft

Kind = ReviewRow.Kind
GROUP = Principal.Kind.GROUP


def has_members(row: ReviewRow) -> bool:
    """Whether a row reaches people through a group or a role rather than one by name."""
    if row.kind == Kind.FOREIGN:
        return False
    return row.kind == Kind.RULE or (row.holder is not None and row.holder.kind == GROUP)


def people_of(row: ReviewRow) -> QuerySet[Principal]:
    """The people and services a row reaches: those in its group; those who hold its role, by groups too."""
    inside = _memberships(row)
    if row.kind != Kind.RULE:
        return Principal.objects.filter(pk__in=inside.values("member"))
    holders = _assignments(row).exclude(holder__kind=GROUP).values("holder")
    return Principal.objects.filter(Q(pk__in=holders) | Q(pk__in=inside.values("member")))


def advised(row: ReviewRow, people: Sequence[Principal], root: Node) -> list[ReviewRow]:
    """What is said of each of these people, as a row that is not kept.

    The same few queries for any number of them.
    """
    paths = _paths(row, people)
    drafts = [_draft(row, paths[person.pk]) for person in people]
    lines = Enricher(row.review, root).rows(drafts, 1) if drafts else []
    for person, line in zip(people, lines, strict=True):
        line.holder = person
        line.change = ""  # earlier reviews had the row, and none of its people
    return lines


@dataclass(frozen=True)
class _Path:
    """How a row comes to one person, since when and until when."""

    person: int
    group: int | None
    since: int
    ends: tuple[datetime, ...]


def _assignments(row: ReviewRow) -> QuerySet[Assignment]:
    return Assignment.objects.as_of(row.review.revision).filter(role=row.role_id)


def _memberships(row: ReviewRow) -> QuerySet[Membership]:
    rows = Membership.objects.as_of(row.review.revision)
    if row.kind != Kind.RULE:
        return rows.filter(group=row.holder_id)
    return rows.filter(group__in=_assignments(row).values("holder"))


def _paths(row: ReviewRow, people: Sequence[Principal]) -> dict[int, _Path]:
    """The path of each of the people, the shortest where there are several.  One query, of a role two."""
    memberships = list(_memberships(row).filter(member__in=people).order_by("opened"))
    if row.kind != Kind.RULE:
        return {inside.member_id: _path(inside.member_id, row, inside) for inside in memberships}
    holders = {person.pk for person in people} | {inside.group_id for inside in memberships}
    held = {fact.holder_id: fact for fact in _assignments(row).filter(holder__in=holders)}
    through = {
        inside.member_id: _path(inside.member_id, row, inside, held[inside.group_id])
        for inside in memberships
    }
    direct = {
        person.pk: _path(person.pk, row, None, held[person.pk]) for person in people if person.pk in held
    }
    return through | direct


def _path(person: int, row: ReviewRow, inside: Membership | None, held: Assignment | None = None) -> _Path:
    facts = [fact for fact in (inside, held) if fact is not None]
    ends = (row.valid_until, *(fact.valid_until for fact in facts))
    since = max(row.since or 0, *(fact.opened for fact in facts))
    group = inside.group_id if inside else None
    return _Path(person, group, since, tuple(end for end in ends if end is not None))


def _draft(row: ReviewRow, path: _Path) -> RowDraft:
    owned = row.kind == Kind.OWNER
    return RowDraft(
        Kind.OWNER if owned else Kind.MEMBER if path.group else Kind.ROLE,
        holder=path.person,
        group=path.group,
        role=row.role_id,
        effect=row.effect,
        since=path.since,
        valid_until=min(path.ends, default=None),
        gives=list(_given(row)),
    )


def _given(row: ReviewRow) -> Iterable[list[Any]]:
    """What the row gives, as drafts have it: the object's number, or a text where there is none."""
    if not row.gives:
        yield [row.securable_id, row.pattern, row.privileges, row.effect]
    for key, name, privileges, effect in row.gives:
        yield [key, "" if key else name, privileges, effect]
