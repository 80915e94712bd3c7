"""What was registered by hand in a catalog or realm before a system was connected to it.

Whoever may register an object names it, and owns it.  A connection binds the name to what really bears it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext, ngettext

from accounts.models import Principal
from catalog.models import Securable
from catalog.nodes import Node, nodes
from catalog.queries import all_below
from lakewarden.backends.kinds import Kind
from policies.authority import Actor, Authority
from policies.decisions import ask, duties
from policies.errors import Conflict, Invalid, Refused
from policies.events import BACKEND_CONNECTED, GRANT_REMOVED, OWNER_ENDED, EventDraft
from policies.models import Backend, Event, Grant, Ownership
from policies.models.grants import Effect
from policies.record.change import ChangeInProgress
from policies.record.event_drafts import make_event
from policies.services.duties import take

KEEP, HAND_OVER = "keep", "hand-over"
CHOICES = (KEEP, HAND_OVER)
MOST_SHOWN = 20


@dataclass(frozen=True)
class HeldGrant:
    """A grant, and who has it: a name, or a role."""

    grant: Grant
    holder: str


@dataclass(frozen=True)
class Registered:
    """An object that somebody registered; `owner` where it is another than who owns what lies above."""

    node: Node
    owner: Ownership | None
    grants: tuple[HeldGrant, ...]
    duties: tuple[tuple[str, Principal], ...]

    @property
    def text(self) -> str:
        """table shop.sales.orders (owner eve; SELECT_TABLE for role readers, approve_requests for bo)"""
        owner = gettext("owner %(name)s") % {"name": self.owner.owner.name} if self.owner else ""
        given = [(held.grant.privilege, held.holder) for held in self.grants]
        given += [(duty, holder.name) for duty, holder in self.duties]
        texts = [
            gettext("%(privilege)s for %(holder)s") % {"privilege": what, "holder": holder}
            for what, holder in dict.fromkeys(given)
        ]
        rights = "; ".join(filter(None, (owner, some(texts, ", "))))
        return f"{self.node.type} {self.node.ref.full_name} ({rights})"


def some(texts: Sequence[str], between: str) -> str:
    """Those that a page has room for, and how many there are besides."""
    left = len(texts) - MOST_SHOWN
    more = [gettext("%(number)s more") % {"number": left}] if left > 0 else []
    return between.join([*texts[:MOST_SHOWN], *more])


def registered(place: Node, kind: Kind, *, now_connected: bool = False) -> list[Registered]:
    """What a connection binds by name although no source brought it, with owners and grants; by name.

    Once connected, only what bears no mark of the source; with `now_connected` also what was there before the
    first connection, for who looks at it afterwards.  Before an operator agreed to it, nothing is connected.
    """
    by_hand, about = Q(securable__external_id=""), Q()
    agreed = Backend.objects.filter(catalog=place.id).exclude(awaits=Backend.Awaits.NEW)
    if now_connected or not agreed.exists():
        first = Event.objects.filter(kind=BACKEND_CONNECTED, object_key=place.id).order_by("change").first()
        by_hand |= Q(securable__opened__lt=first.change_id) if first else Q(pk__in=[])
        about = Q(pk=place.id) if place.path else about
    types = kind.bound_types - {place.type}
    below = all_below(place.id).filter(by_hand, type__in=types).values("securable")
    objects = Securable.objects.filter(about | Q(pk__in=below)).values("pk")
    return _with_rights(place, objects)


def _with_rights(place: Node, objects: QuerySet[Any]) -> list[Registered]:
    facts = Ownership.objects.open().select_related("owner")
    above = {row.securable_id: row.owner_id for row in facts.filter(securable__in=place.lineage)}
    owned = {
        row.securable_id: row
        for row in facts.filter(securable__in=objects)
        if row.owner_id not in {owner for key, owner in above.items() if key != row.securable_id}
    }
    grants = _grants_on(objects)
    held: dict[int, list[tuple[str, Principal]]] = defaultdict(list)
    for key, duty, holder in duties.duties_on(objects):
        held[key].append((duty, holder))
    by_id = nodes(owned.keys() | grants.keys() | held.keys())
    rows = [
        Registered(node, owned.get(key), tuple(grants[key]), tuple(held[key])) for key, node in by_id.items()
    ]
    return sorted(rows, key=lambda row: row.node.names)


def _grants_on(objects: QuerySet[Any]) -> dict[int, list[HeldGrant]]:
    rows = Grant.objects.open().filter(securable__in=objects, effect=Effect.ALLOW).select_related("holder")
    given = list(rows.order_by("pk"))
    roles = nodes({grant.role_id for grant in given if grant.role_id})
    grants: dict[int, list[HeldGrant]] = defaultdict(list)
    for grant in given:
        role = roles.get(grant.role_id or 0)
        holder = grant.holder.name if grant.holder else f"role {role.name if role else grant.role_id}"
        grants[grant.securable_id or 0].append(HeldGrant(grant, holder))
    return grants


@dataclass(frozen=True)
class Decision:
    """What becomes of them, one of `CHOICES`; `seen` is the likeness of those that were looked at."""

    choice: str = ""
    seen: str = ""


def likeness(rows: Sequence[Registered]) -> str:
    """What tells these from others that were registered meanwhile."""
    parts = [
        (
            row.node.id,
            row.owner and row.owner.pk,
            [held.grant.pk for held in row.grants],
            [(duty, holder.pk) for duty, holder in row.duties],
        )
        for row in rows
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


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
        _hand_over(current, [row for row in rows if row.node.id != place.id], by, authority)
    names = [row.node.ref.full_name for row in rows[:MOST_SHOWN]]
    return {"registered": decision.choice, "many": len(rows), "names": names}


def _hand_over(
    current: ChangeInProgress, rows: Sequence[Registered], by: Actor, authority: Authority
) -> None:
    owners = [(row.owner, make_event(OWNER_ENDED, row.node, row.owner.owner)) for row in rows if row.owner]
    current.end_all(owners, by=authority)
    current.end_all([(held.grant, _end_of(row, held)) for row in rows for held in row.grants], by=authority)
    for row in rows:
        for duty, holder in row.duties:
            take(row.node, duty, holder, by=by, authority=authority)


def _end_of(row: Registered, held: HeldGrant) -> EventDraft:
    people = [held.grant.holder] if held.grant.holder else []
    holder = held.grant.holder.pseudonym if held.grant.holder else held.holder
    given = {"privilege": held.grant.privilege, "holder": holder, "role": held.grant.role_id}
    return make_event(GRANT_REMOVED, row.node, *people, **given)


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
