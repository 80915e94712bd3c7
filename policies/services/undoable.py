"""Which of somebody's own changes they could still take back, looked at together and without doing it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import Membership, Principal
from accounts.record import Fact
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from lakewarden.law.facts import Slice
from policies import events
from policies.authority import Actor
from policies.decisions import ask, personal_role_names, site_permissions, slices
from policies.errors import PolicyError
from policies.models import (
    Assignment,
    Change,
    Event,
    Grant,
    Ownership,
    RealmMember,
    SeparationException,
    SeparationRule,
)
from policies.services import grants, members, owners, patterns, roles
from policies.services.undo import UNDONE, reason_of

FACTS: tuple[type[Fact], ...] = (
    RealmMember,
    Membership,
    Assignment,
    Ownership,
    Grant,
    SeparationRule,
    SeparationException,
)
IN_GROUPS = frozenset((events.GROUP_JOINED, events.GROUP_LEFT))
OF_MEMBERS = {events.MEMBER_ADDED: members.REMOVES, events.MEMBER_REMOVED: members.ADMITS}
OF_GRANTS = frozenset((events.GRANT_ADDED, events.GRANT_REMOVED, events.DENIAL_ADDED, events.DENIAL_REMOVED))
OF_ROLES = frozenset((events.ROLE_ASSIGNED, events.ROLE_UNASSIGNED))
OF_OWNERS = frozenset((events.OWNER_SET, events.OWNER_ENDED))


def undoable(rows: Iterable[Change], *, by: Actor) -> frozenset[int]:
    """The revisions among these that `undo` would most likely take back for this actor.

    Left out are those of others, of kinds that are not undone, that were undone already, of which something
    changed since or has run out, and whose opposite the actor may not do now.  What only the writers' lock
    can tell, such as a rule of separation, `undo.plan` says.  Five queries and those of the actor's rights;
    none where no change is the actor's own.
    """
    mine = {row.revision for row in rows if row.kind in UNDONE and row.actor == by.pseudonym}
    if not mine or by.decides_as is None:
        return frozenset()
    left = mine - _undone(mine, by) - _changed_since(mine) - _run_out(mine)
    return _Rights(by.decides_as, by).over(left) if left else frozenset()


def _undone(revisions: Collection[int], by: Actor) -> set[int]:
    reasons = {reason_of(revision): revision for revision in revisions}
    later = Change.objects.filter(
        actor=by.pseudonym, revision__gt=min(revisions), reason__in=list(reasons), kind__in=UNDONE.values()
    )
    return {reasons[reason] for reason in later.values_list("reason", flat=True)}


def _changed_since(revisions: Collection[int]) -> set[int]:
    """Those of which something that they began has ended.  One query."""
    begun = [_facts(model).filter(opened__in=revisions, closed__isnull=False) for model in FACTS]
    return _together([rows.values_list("opened", flat=True) for rows in begun])


def _run_out(revisions: Collection[int]) -> set[int]:
    """Those that ended something which would have ended by itself by now.  One query."""
    ended = [_facts(model).filter(closed__in=revisions, valid_until__lte=timezone.now()) for model in FACTS]
    return _together([rows.values_list("closed", flat=True) for rows in ended])


def _facts(model: type[Fact]) -> QuerySet[Any, Any]:
    return model.objects.all()


def _together(rows: Sequence[QuerySet[Any, Any]]) -> set[int]:
    return set(rows[0].union(*rows[1:], all=True))


@dataclass(frozen=True)
class _Rights:
    """What somebody may do now, asked of the events of changes that they would take back."""

    who: Principal
    by: Actor
    slices: dict[int, Slice] = field(default_factory=dict)
    """Those of each realm, read once."""
    realms: dict[int, bool] = field(default_factory=dict)
    """Whether they may give the duties of each realm that was asked for."""
    texts: dict[tuple[int, str], bool] = field(default_factory=dict)
    """Whether they may say who has what on each text of a realm that was asked for."""

    def over(self, revisions: Collection[int]) -> frozenset[int]:
        rows = list(Event.objects.filter(change__in=revisions))
        places = nodes({row.object_key for row in rows if row.object_key})
        kinds = self._kinds_of(rows)
        barred = {row.change_id for row in rows if not self._may(row, places, kinds)}
        return frozenset({row.change_id for row in rows} - barred)

    @staticmethod
    def _kinds_of(rows: Sequence[Event]) -> dict[str, str]:
        """Whether those who were admitted or removed are people, groups or services, by pseudonym."""
        people = {person for row in rows if row.kind in OF_MEMBERS for person in row.people}
        if not people:
            return {}
        return dict(Principal.objects.filter(pseudonym__in=people).values_list("pseudonym", "kind"))

    def _may(self, row: Event, places: dict[int, Node], kinds: dict[str, str]) -> bool:
        if personal_role_names.tells_of_personal_role(row):
            return True
        if row.kind in IN_GROUPS:
            return self._is_admin
        node = places.get(row.object_key or 0)
        if node is None:
            return False
        if row.kind in OF_MEMBERS:
            kind = kinds.get(row.people[0]) if row.people else None
            return kind is not None and self._can(OF_MEMBERS[row.kind][kind], node)
        if row.kind in OF_OWNERS:
            return self._can(owners.SET_OWNER, node)
        by_text = dialects.get(node.kind).by_text
        if row.kind in OF_ROLES:
            assign = roles.operation(node, "assign")
            return self._may_on_text(_root(node), "") if by_text else self._can(assign, node)
        if row.kind in OF_GRANTS:
            text = str(row.data.get("text", ""))
            return self._may_on_text(_root(node), text) if by_text else self._can(grants.GRANT, node)
        return self._may_give_duties(_root(node))

    @cached_property
    def _is_admin(self) -> bool:
        return bool(site_permissions.ask_admin(self.who))

    def _may_give_duties(self, root: Node) -> bool:
        if root.id not in self.realms:
            self.realms[root.id] = bool(site_permissions.ask_realm(self.who, root))
        return self.realms[root.id]

    def _may_on_text(self, root: Node, text: str) -> bool:
        asked = root.id, text
        if asked not in self.texts:
            try:
                patterns.authority(root, patterns.named(root, text) if text else None, by=self.by)
                self.texts[asked] = True
            except PolicyError:
                self.texts[asked] = False
        return self.texts[asked]

    def _can(self, operation: str, node: Node) -> bool:
        now = timezone.now()
        if node.realm_id not in self.slices:
            self.slices[node.realm_id] = slices.current(self.who, node, now=now)
        return bool(ask.answer(self.slices[node.realm_id], operation, node, now=now))


def _root(node: Node) -> Node:
    return next(iter(node.above()), node)
