"""Carrying out what was decided: each removal through the service that anybody else would use, one at a time.

It is done on behalf of the review's starter, whose right is decided again now.  A row and what it ends
are one change, so whatever is killed in between, no row is done twice and none is half done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Membership, Principal
from accounts.record import Fact
from catalog.models import Realm
from catalog.nodes import Node, nodes
from catalog.queries import root
from lakewarden.law import dialects
from policies.authority import SYSTEM, Actor, Authority
from policies.authority import of_system as by_system
from policies.decisions import personal_role_names, site_permissions
from policies.errors import Conflict, NotFound, PolicyError, Refused
from policies.events import REVIEW_CARRIED, REVIEW_MISSED
from policies.models import Assignment, Grant, Ownership, Review, ReviewRow, review_seals, review_states
from policies.record import newest_editions
from policies.record.change import ChangeInProgress, change
from policies.reviews.events import said_of
from policies.services import entries, expirations, grants, members, owners, patterns, personal_roles, roles
from policies.services.authorities import may
from policies.services.entries import Turn
from policies.services.roles import Privilege
from policies.sync.actions import foreign_rights

Choice, Kind = ReviewRow.Choice, ReviewRow.Kind
VIA = "review"
MODELS: dict[str, type[Fact]] = {
    "grant": Grant,
    "assignment": Assignment,
    "membership": Membership,
    "ownership": Ownership,
}


class Gone(Exception):
    """Somebody else ended it meanwhile."""


def carry(review: Review, row: ReviewRow) -> str:
    """Carry one row out; answers its state then.  A row that cannot be carried out says why."""
    actor = Actor(row.decided_by, VIA, f"review:{review.pk}", on_behalf_of=review.starter)
    realm = Realm(pk=review.realm_id)
    if not review_seals.may_be_done(review, row) or not newest_editions.among([row]):
        return _missed(review, row, "fail", review_seals.FORGED, SYSTEM)
    try:
        with change(REVIEW_CARRIED, realm=realm, by=actor, reason=_reason(review, row)) as current:
            deed = RowChange(review, row, actor)
            deed.do()
            _note(current, review, row, deed)
        return "carried"
    except Gone:
        return _missed(review, row, "miss", "Somebody else ended it before.", actor)
    except PolicyError as problem:
        return _missed(review, row, "fail", str(problem), actor)


def _reason(review: Review, row: ReviewRow) -> str:
    return f"{review.title}: {row.reason}" if row.reason else review.title


def _note(current: ChangeInProgress, review: Review, row: ReviewRow, deed: RowChange) -> None:
    rows = ReviewRow.objects.filter(pk=row.pk, version=row.version)
    review_states.ROW.move(rows, "carry", carried_revision=current.revision, carried_at=current.at)
    data = {"choice": row.choice, "takes": row.takes, "facts": [f for f in row.facts if f in deed.ended]}
    event = said_of(REVIEW_CARRIED, review, row, **data, default=row.default)
    current.say(event, by=deed.authority)


def _missed(review: Review, row: ReviewRow, move: str, why: str, actor: Actor) -> str:
    with change(REVIEW_MISSED, realm=Realm(pk=review.realm_id), by=actor) as current:
        review_states.ROW.move(ReviewRow.objects.filter(pk=row.pk), move, outcome=why)
        current.say(said_of(REVIEW_MISSED, review, row, why=why), by=by_system("review"))
    return review_states.ROW.get(move).target


@dataclass
class RowChange:
    """What is done about one row, inside a change."""

    review: Review
    row: ReviewRow
    actor: Actor

    def __post_init__(self) -> None:
        self.ended: set[str] = set()
        self.authority: Authority = by_system("review")

    def do(self) -> None:
        """End, reduce or shorten it.  Raises Gone, Refused, Conflict, NotFound, Invalid."""
        _DEEDS[self.row.kind](self)

    # what it is about

    @cached_property
    def root(self) -> Node:
        return root(self.review.realm)

    @cached_property
    def node(self) -> Node:
        """The object it is on; where rights are on texts, the realm's root."""
        return self._there(self.row.securable_id) if not self.row.pattern else self.root

    @cached_property
    def role(self) -> Node:
        return self._there(self.row.role_id)

    @property
    def holder(self) -> Principal:
        if self.row.holder is None:
            raise NotFound(gettext("The holder of this access is no longer known."))
        return self.row.holder

    @property
    def wanted(self) -> set[str]:
        """The privileges that are to go."""
        return set(self.row.takes if self.row.choice == Choice.REDUCE else self.row.privileges)

    @property
    def later(self) -> datetime | None:
        """When it is to end by itself; None when it goes at once, as it does when that date has passed."""
        until = self.row.until if self.row.choice == Choice.END else None
        return until if until is not None and until > timezone.now() else None

    def _there(self, key: int | None) -> Node:
        node = nodes([key or 0]).get(key or 0)
        if node is None:
            raise Gone
        return node

    def facts(self, model: type[Fact]) -> QuerySet[Fact]:
        """The facts of the row that are still true.  Raises Gone when none is."""
        kind = next(code for code, model_ in MODELS.items() if model_ is model)
        numbers = [int(code.partition(":")[2]) for code in self.row.facts if code.startswith(f"{kind}:")]
        rows = model.objects.open().filter(pk__in=numbers)
        if not rows.exists():
            raise Gone
        return rows

    def _end(self, kind: str, rows: Sequence[Fact]) -> None:
        self.ended |= {f"{kind}:{row.pk}" for row in rows}

    def _only_these(self, rows: QuerySet[Fact], mine: Sequence[Fact]) -> None:
        """Raises Conflict when the same was given again since: that was another decision."""
        if rows.exclude(pk__in=[row.pk for row in mine]).exists():
            raise Conflict(
                gettext("The same access was granted again since the review began, so it is not revoked.")
            )

    # grants

    def grant(self) -> None:
        """What was given to somebody directly, on an object or a text."""
        rows = [row for row in self.facts(Grant) if isinstance(row, Grant) and row.privilege in self.wanted]
        if not rows:
            raise Gone
        first = rows[0]
        same = Grant.objects.open().filter(
            role=first.role_id,
            holder=first.holder_id,
            securable=first.securable_id,
            pattern=first.pattern,
            privilege__in=self.wanted,
            effect=first.effect,
        )
        if first.securable_id is None:
            same = same.filter(realm=first.realm_id)
        self._only_these(same, rows)
        self._end("grant", rows)
        self._take(rows)

    def _take(self, rows: Sequence[Grant]) -> None:
        codes = sorted({row.privilege for row in rows})
        by_role = self.row.kind == Kind.RULE
        self.authority = self._may_grant()
        if self.later:
            self._shorten(rows)
        elif self.row.pattern:
            to = self.role if by_role else self.holder
            patterns.revoke(self.root, patterns.named(self.root, self.row.pattern), to, codes, by=self.actor)
        elif by_role or self.row.effect == "deny":
            self._take_from_role(rows)
        elif dialects.get(self.node.kind).grantees:
            turn = Turn(self.holder, takes=frozenset(codes))
            entries.turn(self.node, [turn], by=self.actor, authority=self.authority)
        else:
            grants.remove(self.node, [self.holder], codes, by=self.actor)

    def _take_from_role(self, rows: Sequence[Grant]) -> None:
        role = self._there(rows[0].role_id)
        removed = [Privilege(row.privilege, row.effect) for row in rows]
        roles.remove_privileges(role, self.node, removed, by=self.actor, authority=self.authority)
        if (
            personal_role_names.is_personal(role.name)
            and not Grant.objects.open().filter(role=role.id).exists()
        ):
            personal_roles.end_when_empty(self.node, role.id, by=self.actor)

    def _may_grant(self) -> Authority:
        if self.row.pattern:
            return patterns.authority(self.root, patterns.named(self.root, self.row.pattern), by=self.actor)
        return may(self.actor, grants.GRANT, self.node)

    def _shorten(self, rows: Sequence[Grant]) -> None:
        to = self.role if self.row.kind == Kind.RULE else self.holder
        if self.later:
            expirations.end_grants(self.node, to, rows, self.later, by=self.actor, authority=self.authority)

    # the rest

    def assignment(self) -> None:
        """A role that somebody holds."""
        rows = [row for row in self.facts(Assignment) if isinstance(row, Assignment)]
        same = Assignment.objects.open().filter(role=self.row.role_id, holder=self.holder)
        self._only_these(same, rows)
        self.authority = may(self.actor, grants.GRANT, self.role)
        self._end("assignment", rows)
        given = {"by": self.actor, "authority": self.authority}
        if self.later:
            expirations.end_assignments(self.role, self.holder, rows, self.later, **given)  # type: ignore[arg-type]
        else:
            roles.unassign(self.role, self.holder, **given)  # type: ignore[arg-type]

    def membership(self) -> None:
        """Somebody's place in a group, which only a site admin takes."""
        rows = list(self.facts(Membership))
        if self.row.group is None:
            raise Gone
        self._only_these(Membership.objects.open().filter(group=self.row.group, member=self.holder), rows)
        self.authority = site_permissions.of_admin(self.actor)
        self._end("membership", rows)
        members.leave_group(self.row.group, self.holder, by=self.actor, authority=self.authority)

    def ownership(self) -> None:
        """What somebody owns; it then belongs to the owner of what it is in."""
        rows = list(self.facts(Ownership))
        self.authority = owners.may_set_all([self.node], self.actor)
        self._end("ownership", rows)
        owners.bring_back([self.node], {}, by=self.actor)

    def foreign(self) -> None:
        """What was given outside: taken by the sync, or left knowingly until a date."""
        number = int(self.row.facts[0].partition(":")[2])
        try:
            about = foreign_rights.foreign(number)
        except NotFound:
            raise Gone from None
        self.authority = may(self.actor, grants.GRANT, about.node)
        self._end("finding", about.rows)  # type: ignore[arg-type]
        if self.later:
            why = self.row.reason or self.review.title
            foreign_rights.accept(number, self.later, by=self.actor, reason=why)
        else:
            foreign_rights.revoke(number, by=self.actor)


_DEEDS: dict[str, Callable[[RowChange], None]] = {
    Kind.GRANT: RowChange.grant,
    Kind.RULE: RowChange.grant,
    Kind.ROLE: RowChange.assignment,
    Kind.MEMBER: RowChange.membership,
    Kind.OWNER: RowChange.ownership,
    Kind.FOREIGN: RowChange.foreign,
}

__all__ = ["MODELS", "Refused", "carry"]
