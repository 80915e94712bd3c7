"""Privileges given to principals themselves, where the law of a realm does that: a whole entry at a time."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from accounts.models import Principal
from catalog.nodes import Node
from policies.authority import Actor, Authority, origin_of
from policies.changes import ChangeInProgress, change
from policies.events import GRANT_ADDED, GRANT_REMOVED, Said
from policies.models import Grant
from policies.saying import said
from policies.services import holding, realm_of
from policies.services.roles import check_binding


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
                current.end(row, _said(GRANT_REMOVED, node, holder, row), by=authority)
        for code in privileges:
            if code not in lasting:
                _begin(current, node, holder, Grant(privilege=code, origin=origin_of(by)), by=authority)


def take(node: Node, holder: Principal, *, by: Actor, authority: Authority, reason: str = "") -> int:
    """Take everything the holder was given on the object; answers how many privileges."""
    with change(GRANT_REMOVED, realm=realm_of(node), by=by, reason=reason) as current:
        rows = list(open_grants(node, holder))
        for row in rows:
            current.end(row, _said(GRANT_REMOVED, node, holder, row), by=authority)
    return len(rows)


def open_grants(node: Node, holder: Principal) -> QuerySet[Grant]:
    """What the holder was given on the object, whether or not its window has come."""
    return Grant.objects.open().filter(securable=node.id, holder=holder)


def _begin(current: ChangeInProgress, node: Node, holder: Principal, grant: Grant, *, by: Authority) -> None:
    """Open a grant to the holder himself; `grant` brings the privilege, its window and its origin."""
    check_binding(node, grant.privilege)
    holding.ensure(current, node, holder)
    grant.holder, grant.securable_id = holder, node.id
    current.begin(grant, _said(GRANT_ADDED, node, holder, grant), by=by)


def _said(kind: str, node: Node, holder: Principal, grant: Grant) -> Said:
    until = grant.valid_until.isoformat() if grant.valid_until else None
    return said(kind, node, holder, privilege=grant.privilege, holder=holder.pseudonym, until=until)
