"""Giving people and groups access to one object, and taking it back: what an owner does in the console."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from accounts.models import Principal
from accounts.record import Origin
from catalog.nodes import Node
from policies import decisions
from policies.authority import Actor, Authority, require
from policies.changes import ChangeInProgress, change
from policies.errors import Conflict, Invalid, Refused
from policies.events import GRANT_ADDED, GRANT_REMOVED
from policies.models import Counter, Grant
from policies.models.grants import Effect
from policies.saying import said
from policies.services import personal, realm_of
from policies.services.roles import check_binding, must_be_member

GRANT = "grant"


@dataclass(frozen=True)
class Wish:
    """What an owner wants to give: privileges on one object, to some holders, within a window."""

    node: Node
    holders: tuple[Principal, ...]
    privileges: tuple[str, ...]
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    def problem(self, now: datetime) -> str | None:
        """Why this cannot be meant, or None."""
        if not self.holders or not self.privileges:
            return "Name at least one person and one right."
        if self.valid_until and self.valid_until <= now:
            return "The end lies in the past."
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            return "The end lies before the beginning."
        return None


def authority_to_grant(node: Node, actor: Actor, *, now: datetime | None = None) -> Authority:
    """The right to grant on an object, by the same law as everything else.  Raises Refused."""
    if actor.decides_as is None:
        raise Refused("Nobody is signed in.")
    answer = decisions.ask(actor.decides_as, GRANT, node, now=now)
    return require(answer.decision, actor, otherwise=f"You may not change who has access to {node.ref.full_name}.")


def add(wish: Wish, *, by: Actor, reason: str = "", seen: int | None = None) -> int:
    """Give the privileges to each holder directly; answers how many rights are new or have a new window.

    A direct grant by hand of the same privilege is replaced, so that its end can be moved.  `seen` is the revision
    the asker looked at: when these grants changed since, Conflict.  Raises Refused, Invalid, Conflict.
    """
    now = timezone.now()
    if problem := wish.problem(now):
        raise Invalid(problem)
    with change(GRANT_ADDED, realm=realm_of(wish.node), by=by, reason=reason) as current:
        authority = authority_to_grant(wish.node, by, now=now)
        _unchanged_since(wish.node, wish.holders, seen)
        return sum(_give(current, wish, holder, code, authority) for holder in wish.holders for code in wish.privileges)


def _give(current: ChangeInProgress, wish: Wish, holder: Principal, code: str, authority: Authority) -> bool:
    must_be_member(wish.node, holder)
    check_binding(wish.node, code)
    role = personal.ensure(current, wish.node, holder)
    mine = Grant.objects.open().filter(
        role=role, securable=wish.node.id, privilege=code, effect=Effect.ALLOW, origin=Origin.HAND
    )
    window = {"valid_from": wish.valid_from, "valid_until": wish.valid_until}
    if mine.filter(**window).exists():
        return False
    for old in mine:
        current.end(old, _said(GRANT_REMOVED, wish.node, holder, old), by=authority)
    grant = Grant(role=role, securable_id=wish.node.id, privilege=code, origin=Origin.HAND, **window)
    current.begin(grant, _said(GRANT_ADDED, wish.node, holder, grant), by=authority)
    return True


def remove(
    node: Node,
    holders: Sequence[Principal],
    privileges: Sequence[str],
    *,
    by: Actor,
    reason: str = "",
    seen: int | None = None,
) -> int:
    """Take direct grants back; answers how many were there.  Other paths to the object are not touched."""
    with change(GRANT_REMOVED, realm=realm_of(node), by=by, reason=reason) as current:
        authority = authority_to_grant(node, by)
        _unchanged_since(node, holders, seen)
        return sum(_take(current, node, holder, privileges, authority) for holder in holders)


def _take(
    current: ChangeInProgress, node: Node, holder: Principal, privileges: Sequence[str], authority: Authority
) -> int:
    rows = list(direct(node, holder).filter(privilege__in=privileges))
    for row in rows:
        current.end(row, _said(GRANT_REMOVED, node, holder, row), by=authority)
    personal.drop_when_empty(current, node, holder)
    return len(rows)


def direct(node: Node, holder: Principal):
    """The open direct ALLOW grants of a holder on an object."""
    role = personal.find(node, holder)
    rows = Grant.objects.open().filter(securable=node.id, effect=Effect.ALLOW)
    return rows.filter(role=role) if role else rows.none()


def _unchanged_since(node: Node, holders: Sequence[Principal], seen: int | None) -> None:
    if seen is None:
        return
    roles = [role for role in (personal.find(node, holder) for holder in holders) if role]
    newer = Grant.objects.filter(role__in=roles, securable=node.id)
    if newer.filter(opened__gt=seen).exists() or newer.filter(closed__gt=seen).exists():
        raise Conflict("Somebody changed these grants since you opened this page.")


def _said(kind: str, node: Node, holder: Principal, grant: Grant):
    until = grant.valid_until.isoformat() if grant.valid_until else None
    return said(kind, node, holder, privilege=grant.privilege, holder=holder.pseudonym, until=until)


def revision_now() -> int:
    """The site's last committed revision."""
    return Counter.objects.values_list("revision", flat=True).get()


__all__ = ["Wish", "add", "authority_to_grant", "direct", "remove", "revision_now"]
