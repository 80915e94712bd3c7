"""Privileges given to principals themselves, where the law of a realm does that: a whole entry at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from accounts.models import Principal
from accounts.text import in_capitals
from catalog.nodes import Node
from policies.authority import Actor, Authority, origin_of
from policies.errors import Conflict, Invalid
from policies.events import GRANT_ADDED, GRANT_REMOVED, EventDraft
from policies.models import Grant
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.services import grant_holders, realm_of
from policies.services.roles import check_binding


@dataclass(frozen=True)
class Turn:
    """What one holder is to be given, and what is to be taken from them, on one object."""

    holder: Principal
    gives: frozenset[str] = frozenset()
    takes: frozenset[str] = frozenset()


def turn(
    node: Node,
    turns: Collection[Turn],
    *,
    by: Actor,
    authority: Authority,
    reason: str = "",
    seen: int | None = None,
) -> int:
    """Change the entries of several holders at once, each only where it says so; answers how many facts.

    `seen` is the revision the asker looked at.  Raises Conflict when one of these entries changed since, and
    Invalid when somebody would take their own GRANT and keep the rest.
    """
    kind = GRANT_ADDED if any(item.gives for item in turns) else GRANT_REMOVED
    with change(kind, realm=realm_of(node), by=by, reason=reason) as current:
        _unchanged_since(node, [item.holder for item in turns], seen)
        return sum(_turn(current, node, item, by, authority) for item in turns)


def _turn(current: ChangeInProgress, node: Node, entry_change: Turn, by: Actor, authority: Authority) -> int:
    rows = list(open_grants(node, entry_change.holder))
    held = {row.privilege for row in rows}
    if drops_own_grant(by, entry_change.holder.name, held, held - entry_change.takes | entry_change.gives):
        raise Invalid(
            gettext("You cannot revoke your own Grant and keep the rest. Another person can revoke it.")
        )
    removed = [row for row in rows if row.privilege in entry_change.takes]
    for row in removed:
        current.end(row, _draft_of(GRANT_REMOVED, node, entry_change.holder, row), by=authority)
    new = sorted(entry_change.gives - (held - entry_change.takes))
    for code in new:
        _begin(current, node, entry_change.holder, Grant(privilege=code, origin=origin_of(by)), by=authority)
    return len(removed) + len(new)


def _unchanged_since(node: Node, holders: Iterable[Principal], seen: int | None) -> None:
    mine = Grant.objects.filter(securable=node.id, holder__in=list(holders))
    if seen is not None and mine.filter(Q(opened__gt=seen) | Q(closed__gt=seen)).exists():
        raise Conflict(gettext("Someone changed these entries since you opened this page."))


def drops_own_grant(by: Actor, user: str, before: Collection[str], after: Collection[str]) -> bool:
    """Whether somebody would take GRANT from their own entry and keep the rest; giving up all is allowed."""
    own = by.decides_as is not None and in_capitals(by.decides_as.name) == in_capitals(user)
    return own and bool(after) and "GRANT" in set(before) - set(after)


def replace(
    node: Node,
    holder: Principal,
    privileges: Collection[str],
    *,
    by: Actor,
    authority: Authority,
    reason: str = "",
) -> None:
    """Let the holder have exactly these privileges on the object, until further notice.  Raises Invalid."""
    with change(GRANT_ADDED, realm=realm_of(node), by=by, reason=reason) as current:
        rows = list(open_grants(node, holder))
        lasting = {row.privilege for row in rows if row.valid_from is None and row.valid_until is None}
        for row in rows:
            if row.privilege not in privileges or row.privilege not in lasting:
                current.end(row, _draft_of(GRANT_REMOVED, node, holder, row), by=authority)
        for code in privileges:
            if code not in lasting:
                _begin(current, node, holder, Grant(privilege=code, origin=origin_of(by)), by=authority)


def take(node: Node, holder: Principal, *, by: Actor, authority: Authority, reason: str = "") -> int:
    """Take everything the holder was given on the object; answers how many privileges."""
    with change(GRANT_REMOVED, realm=realm_of(node), by=by, reason=reason) as current:
        rows = list(open_grants(node, holder))
        for row in rows:
            current.end(row, _draft_of(GRANT_REMOVED, node, holder, row), by=authority)
    return len(rows)


def open_grants(node: Node, holder: Principal) -> QuerySet[Grant]:
    """What the holder was given on the object, whether or not its window has come."""
    return Grant.objects.open().filter(securable=node.id, holder=holder)


def _begin(current: ChangeInProgress, node: Node, holder: Principal, grant: Grant, *, by: Authority) -> None:
    """Open a grant to the holder directly; `grant` brings the privilege, its window and its origin."""
    check_binding(node, grant.privilege)
    grant_holders.ensure(current, node, holder)
    grant.holder, grant.securable_id = holder, node.id
    current.begin(grant, _draft_of(GRANT_ADDED, node, holder, grant), by=by)


def _draft_of(kind: str, node: Node, holder: Principal, grant: Grant) -> EventDraft:
    until = grant.valid_until.isoformat() if grant.valid_until else None
    return make_event(kind, node, holder, privilege=grant.privilege, holder=holder.pseudonym, until=until)
