"""What was registered by hand in a catalog or realm before a system was connected to it.

Whoever may register an object names it, and owns it.  A connection binds the name to what really bears it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.utils.translation import gettext, ngettext

from catalog.nodes import Node, nodes
from catalog.queries import all_below
from lakewarden.backends.kinds import Kind
from policies.authority import Actor, Authority
from policies.decisions import ask
from policies.errors import Conflict, Invalid, Refused
from policies.events import BACKEND_CONNECTED, GRANT_REMOVED, OWNER_ENDED
from policies.models import Backend, Event, Grant, Ownership
from policies.models.grants import Effect
from policies.record.change import ChangeInProgress
from policies.record.event_drafts import make_event

KEEP, HAND_OVER = "keep", "hand-over"
CHOICES = (KEEP, HAND_OVER)
MOST_SHOWN = 20


@dataclass(frozen=True)
class Registered:
    """An object that somebody registered; `owner` where it is another than who owns what lies above."""

    node: Node
    owner: Ownership | None
    grants: tuple[Grant, ...]
    holders: tuple[str, ...]
    """Who has each of the grants."""

    @property
    def text(self) -> str:
        """table shop.sales.orders (owner eve; SELECT_TABLE for role readers)"""
        owner = gettext("owner %(name)s") % {"name": self.owner.owner.name} if self.owner else ""
        given = dict.fromkeys(
            gettext("%(privilege)s for %(holder)s") % {"privilege": grant.privilege, "holder": holder}
            for grant, holder in zip(self.grants, self.holders, strict=True)
        )
        what = "; ".join(filter(None, (owner, some(list(given), ", "))))
        return f"{self.node.type} {self.node.ref.full_name} ({what})"


def some(texts: Sequence[str], between: str) -> str:
    """Those that a page has room for, and how many there are besides."""
    left = len(texts) - MOST_SHOWN
    more = [gettext("%(number)s more") % {"number": left}] if left > 0 else []
    return between.join([*texts[:MOST_SHOWN], *more])


def registered(place: Node, kind: Kind, *, now_connected: bool = False) -> list[Registered]:
    """What a connection binds by name although no source brought it, with owners and grants; by name.

    Once connected, only what bears no mark of the source; with `now_connected` also what was there before the
    first connection, for who looks at it afterwards.
    """
    by_hand, keys = Q(securable__external_id=""), set[int]()
    if now_connected or not Backend.objects.filter(catalog=place.id).exists():
        first = Event.objects.filter(kind=BACKEND_CONNECTED, object_key=place.id).order_by("change").first()
        by_hand |= Q(securable__opened__lt=first.change_id) if first else Q(pk__in=[])
        keys = {place.id} if place.path else keys
    types = {*kind.objects, *kind.discovers.values()} - {place.type}
    below = all_below(place.id).filter(by_hand, type__in=types)
    return _with_rights(place, keys | set(below.values_list("securable", flat=True)))


def _with_rights(place: Node, keys: Collection[int]) -> list[Registered]:
    owners = {
        row.securable_id: row
        for row in Ownership.objects.open()
        .filter(securable__in={*keys, *place.lineage})
        .select_related("owner")
    }
    above = {key: owners[key].owner_id for key in place.lineage if key in owners}
    owned = {
        key: owners[key]
        for key in keys
        if key in owners and owners[key].owner_id not in {above[up] for up in above if up != key}
    }
    given: dict[int, list[Grant]] = defaultdict(list)
    allowed = Grant.objects.open().filter(securable__in=keys, effect=Effect.ALLOW).select_related("holder")
    for grant in allowed.order_by("pk"):
        given[grant.securable_id or 0].append(grant)
    roles = nodes({grant.role_id for grants in given.values() for grant in grants if grant.role_id})
    rows = [
        Registered(
            node, owned.get(key), tuple(given[key]), tuple(_holder(grant, roles) for grant in given[key])
        )
        for key, node in nodes(owned.keys() | given.keys()).items()
    ]
    return sorted(rows, key=lambda row: row.node.names)


def _holder(grant: Grant, roles: dict[int, Node]) -> str:
    if grant.holder is not None:
        return grant.holder.name
    role = roles.get(grant.role_id or 0)
    return f"role {role.name}" if role else f"role {grant.role_id}"


@dataclass(frozen=True)
class Decision:
    """What becomes of them, one of `CHOICES`; `seen` is the likeness of those that were looked at."""

    choice: str = ""
    seen: str = ""


def likeness(rows: Sequence[Registered]) -> str:
    """What tells these from others that were registered meanwhile."""
    told = [(row.node.id, row.owner and row.owner.pk, [grant.pk for grant in row.grants]) for row in rows]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def decide(
    current: ChangeInProgress, place: Node, kind: Kind, decision: Decision, *, by: Actor, authority: Authority
) -> dict[str, object]:
    """Within the change that connects: keep what was registered, or let the owner of the place have it.

    Answers what the record is to say of it.  Raises Invalid where there is something and nobody chose,
    Conflict where it is not what was looked at, and Refused where it is not the actor's to hand over.
    """
    rows = registered(place, kind)
    if not rows:
        return {}
    if decision.choice not in CHOICES:
        raise Invalid(_undecided(rows))
    if decision.seen and decision.seen != likeness(rows):
        raise Conflict(gettext("What was registered by hand has changed since. Check it again."))
    if decision.choice == HAND_OVER:
        if by.decides_as is not None and not ask.ask(by.decides_as, "set_owner", place):
            raise Refused(gettext("You may not set the owner of %(name)s.") % {"name": place.name})
        _hand_over(current, [row for row in rows if row.node.id != place.id], authority)
    names = [row.node.ref.full_name for row in rows[:MOST_SHOWN]]
    return {"registered": decision.choice, "many": len(rows), "names": names}


def _hand_over(current: ChangeInProgress, rows: Sequence[Registered], authority: Authority) -> None:
    owners = [(row.owner, make_event(OWNER_ENDED, row.node, row.owner.owner)) for row in rows if row.owner]
    grants = [
        (
            grant,
            make_event(
                GRANT_REMOVED,
                row.node,
                *([grant.holder] if grant.holder else []),
                privilege=grant.privilege,
                holder=grant.holder.pseudonym if grant.holder else holder,
                role=grant.role_id,
            ),
        )
        for row in rows
        for grant, holder in zip(row.grants, row.holders, strict=True)
    ]
    current.end_all(owners, by=authority)
    current.end_all(grants, by=authority)


def _undecided(rows: Sequence[Registered]) -> str:
    """Why nothing was connected."""
    text = ngettext(
        "%(many)s object was registered by hand and gets its owner and grants on what really bears its name: "
        "%(shown)s. Decide whether it keeps them or goes to the owner of what is connected.",
        "%(many)s objects were registered by hand and get their owners and grants on what really bears their "
        "names: %(shown)s. Decide whether they keep them or go to the owner of what is connected.",
        len(rows),
    )
    return text % {"many": len(rows), "shown": some([row.text for row in rows], "; ")}
