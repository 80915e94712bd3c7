"""What ends by itself soon, and whose it is: for the lists of it and for the reminders before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.db.models import Q

from accounts.fact_content import fact_code
from accounts.models import Principal
from accounts.record import END, Origin
from catalog.models import Placement
from catalog.nodes import Node, nodes, on_or_below
from policies import notices
from policies.decisions import approvers
from policies.models import Assignment, Change, Grant, Notice
from policies.models.grants import Effect
from policies.sentences import Right, Said, say, sentence
from policies.services import scheduled_grants

REMINDED = (timedelta(days=7), timedelta(days=1))
"""So long before the end people are reminded, where it was given before that."""
ENDS_SOON = notices.kind("access.ends", "your access that ends soon")
ENDS_FOR = notices.kind("access.ends_for", "access to your data that ends soon for others", mail=False)
YOURS = sentence("ends.yours", "Your access ends by itself: {what}.")
THEIRS = sentence("ends.theirs", "The access of {who} ends by itself: {what}.")
ROLE, RIGHT = sentence("ends.role", "role {name}"), sentence("ends.right", "{right} on {name}")
Fact = Grant | Assignment


@dataclass(frozen=True)
class Ending:
    """A grant or an assignment that ends at `until`, and the object or role it is about.

    Held by a person, a group or a service, or given by a made `role`.
    """

    fact: Fact
    holder: Principal | None
    node: Node
    role: Node | None = None

    @property
    def until(self) -> datetime:
        return self.fact.valid_until or END

    @property
    def code(self) -> str:
        """The privilege that ends; empty for a role."""
        return self.fact.privilege if isinstance(self.fact, Grant) else ""

    @property
    def what(self) -> Said:
        """Read on shop.sales.orders; role sales_read."""
        if isinstance(self.fact, Assignment):
            return say(ROLE, name=self.node.name)
        right = Right(self.fact.privilege, self.node.kind)
        return say(RIGHT, right=right, name=self.node.ref.full_name or self.node.name)


def between(start: datetime, end: datetime) -> list[Ending]:
    """What ends after `start` and not after `end`, the soonest first.  Six queries, however much that is."""
    return _between(start, end, Q(), Q())


def on(owned: Collection[int], start: datetime, end: datetime) -> list[Ending]:
    """The same on objects and all below them, roles among them; grants and roles alike."""
    under = Placement.objects.open().filter(on_or_below(owned)).values("securable")
    return _between(start, end, Q(securable__in=under), Q(role__in=under))


def _between(start: datetime, end: datetime, on_objects: Q, on_roles: Q) -> list[Ending]:
    window = {"valid_until__gt": start, "valid_until__lte": end}
    grants = Grant.objects.open().filter(on_objects, effect=Effect.ALLOW, securable__isnull=False, **window)
    roles = Assignment.objects.open().exclude(origin=Origin.SYSTEM).filter(on_roles, **window)
    rows: list[Fact] = [*grants.select_related("holder"), *roles.select_related("holder")]
    endings = [Ending(item.fact, item.holder, item.node) for item in scheduled_grants.beginnings_of(rows)]
    held = {fact_code(item.fact) for item in endings}
    endings += _by_roles([row for row in rows if isinstance(row, Grant) and fact_code(row) not in held])
    return sorted(endings, key=lambda ending: (ending.until, fact_code(ending.fact)))


def _by_roles(rows: Sequence[Grant]) -> list[Ending]:
    """What roles gave and no longer will, with their holders.  At most one query."""
    keys = {key for row in rows for key in (row.role_id, row.securable_id) if key}
    places = nodes(keys) if keys else {}
    complete = [row for row in rows if row.role_id in places and row.securable_id in places]
    return [
        Ending(item, None, places[item.securable_id or 0], places[item.role_id or 0]) for item in complete
    ]


def remind(now: datetime) -> int:
    """Tell holders, and those who may give it longer, of what ends; each once, and not of what is settled.

    Answers how many endings were told of.
    """
    # nobody is left to do anything about what was extended, taken back, or has ended
    open_notices = Notice.objects.filter(key__startswith="ends:", done__isnull=True)
    keys = set(open_notices.values_list("key", flat=True))
    by_model: dict[str, set[int]] = {"grant": set(), "assignment": set()}
    for key in keys:
        by_model[key.split(":")[1]].add(int(key.split(":")[2]))
    still = Q(closed__isnull=True, valid_until__gt=now)
    lasting = {
        f"ends:{model}:{pk}"
        for model, rows in (("grant", Grant), ("assignment", Assignment))
        for pk in rows.objects.filter(still, pk__in=by_model[model]).values_list("pk", flat=True)
    }
    over = [key for key in keys if key.rpartition(":")[0] not in lasting]
    if over:
        notices.settle(*over)
    return sum(_remind(now, ahead) for ahead in REMINDED)


def _remind(now: datetime, ahead: timedelta) -> int:
    due = between(now + ahead - timedelta(days=1), now + ahead)
    given = dict(
        Change.objects.filter(revision__in={item.fact.opened for item in due}).values_list("revision", "at")
    )
    due = [item for item in due if item.holder and given[item.fact.opened] < item.until - ahead]
    keys = set(
        Notice.objects.filter(key__in=[_key(item, ahead) for item in due]).values_list("key", flat=True)
    )
    fresh = [item for item in due if _key(item, ahead) not in keys]
    places = {item.node.id: item.node for item in fresh}
    may_extend = {key: [item.principal for item in approvers.of(node)] for key, node in places.items()}
    for item in fresh:
        _tell(item, ahead, may_extend[item.node.id])
    return len(fresh)


def _key(ending: Ending, ahead: timedelta) -> str:
    return f"ends:{fact_code(ending.fact)}:{ahead.days}"


def _tell(ending: Ending, ahead: timedelta, others: Sequence[Principal]) -> None:
    if ending.holder is None:
        return
    key = _key(ending, ahead)
    mine, text_ = f"/people/{ending.holder.pk}", say(YOURS, what=ending.what)
    notices.tell(ending.holder, ENDS_SOON, text_, link=mine, key=key, until=ending.until)
    others = [other for other in others if other.pk != ending.holder.pk]
    text_ = say(THEIRS, what=ending.what)
    notices.tell(others, ENDS_FOR, text_, link=extend(ending), who=ending.holder, key=key, until=ending.until)


def extend(ending: Ending) -> str:
    """The page of the console where its end can be moved; its beginning is kept."""
    if ending.role is not None:
        return f"/roles/{ending.role.id}/give/{ending.node.id}"
    query = {"who": str(ending.holder), "until": "month"}
    if isinstance(ending.fact, Assignment):
        return f"/roles/{ending.node.id}/assign?{urlencode(query)}"
    query |= {"may": ending.fact.privilege}
    return f"/objects/{ending.node.id}/grant?{urlencode(query)}"
