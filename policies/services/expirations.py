"""Giving what was given without end, or until later, an earlier end: the same fact again, only shorter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from accounts.record import again
from catalog.nodes import Node
from policies.authority import Actor, Authority
from policies.errors import Invalid
from policies.events import GRANT_ADDED, GRANT_REMOVED, ROLE_ASSIGNED, ROLE_UNASSIGNED, EventDraft
from policies.models import Assignment, Grant
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import realm_of
from policies.services.patterns import Holder, said_of

Row = TypeVar("Row", Grant, Assignment)


def end_grants(
    node: Node,
    holder: Holder,
    rows: Sequence[Grant],
    until: datetime,
    *,
    by: Actor,
    authority: Authority,
    reason: str = "",
) -> int:
    """Let grants to a principal or a role end at a date; those that end before it stay.  Raises Invalid."""
    _to_come(until)
    with change(GRANT_ADDED, realm=realm_of(node), by=by, reason=reason) as current:
        late = [row for row in rows if row.valid_until is None or row.valid_until > until]
        current.end_all([(row, _draft_of(GRANT_REMOVED, node, holder, row)) for row in late], by=authority)
        new = [_until(row, until) for row in late]
        current.begin_all([(row, _draft_of(GRANT_ADDED, node, holder, row)) for row in new], by=authority)
    return len(late)


def end_assignments(
    role: Node,
    holder: Principal,
    rows: Sequence[Assignment],
    until: datetime,
    *,
    by: Actor,
    authority: Authority,
    reason: str = "",
) -> int:
    """Let somebody hold a role until a date; what ends before it stays.  Raises Invalid."""
    _to_come(until)
    with change(ROLE_ASSIGNED, realm=realm_of(role), by=by, reason=reason) as current:
        late = [row for row in rows if row.valid_until is None or row.valid_until > until]
        draft = make_event(ROLE_UNASSIGNED, role, holder, role=role.name)
        current.end_all([(row, draft) for row in late], by=authority)
        again = make_event(ROLE_ASSIGNED, role, holder, role=role.name, until=until.isoformat())
        current.begin_all([(_until(row, until), again) for row in late], by=authority)
    return len(late)


def _to_come(until: datetime) -> None:
    if until <= timezone.now():
        raise Invalid(gettext("The end is in the past."))


def _until(row: Row, until: datetime) -> Row:
    row = again(row)
    row.valid_until = until
    return row


def _draft_of(kind: str, node: Node, holder: Holder, row: Grant) -> EventDraft:
    if row.pattern:
        return said_of(kind, node, row, holder)
    until = row.valid_until.isoformat() if row.valid_until else None
    if isinstance(holder, Principal):
        return make_event(kind, node, holder, privilege=row.privilege, holder=holder.pseudonym, until=until)
    name = f"role {holder.name}"
    return make_event(kind, node, privilege=row.privilege, holder=name, until=until, role=holder.id)
