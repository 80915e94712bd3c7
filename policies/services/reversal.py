"""The facts of a change reversed one by one, each by the right to make and end such a fact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from django.utils.translation import gettext, gettext_lazy

from accounts.models import Membership, Principal
from accounts.record import Fact, again
from catalog.nodes import Node, nodes
from catalog.queries import root
from lakewarden.law import dialects
from policies import events
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.errors import Conflict
from policies.models import (
    Assignment,
    Event,
    Grant,
    Ownership,
    RealmMember,
    SeparationException,
    SeparationRule,
)
from policies.models.grants import Effect
from policies.record.change import ChangeInProgress
from policies.record.event_drafts import make_event
from policies.record.pending import proved
from policies.services import duties, grants, members, owners, patterns, roles, separation
from policies.services.authorities import may
from policies.services.grants import GrantRequest
from policies.services.roles import Privilege, must_be_member

CHANGED = gettext_lazy("It was changed again since.")
F = TypeVar("F", bound=Fact)


@dataclass(frozen=True)
class Reversal:
    """What one revision began is ended, and what it ended begins again; `run` answers what it was about."""

    revision: int
    current: ChangeInProgress
    by: Actor
    rows: dict[type[Fact], list[Any]] = field(default_factory=dict)

    def run(self) -> list[Node | Principal]:
        for model in (RealmMember, Membership, Assignment, Ownership, Grant, SeparationRule):
            self._begun(model)  # looked at once: what this reversal ends itself did not end since
        # members first, because only a member can hold a role or own anything
        return [
            *self._members(),
            *self._groups(),
            *self._roles(),
            *self._owners(),
            *self._given_by_roles(),
            *self._given_directly(),
            *self._given_on_names(),
            *self._duties(),
            *self._rules(),
            *self._exceptions(),
        ]

    def _begun(self, model: type[F]) -> list[F]:
        """What the revision began; Conflict when some of it ended since."""
        if model not in self.rows:
            self.rows[model] = proved(model.objects.filter(opened=self.revision))
            if any(row.closed is not None for row in self.rows[model]):
                raise Conflict(str(CHANGED))
        return self.rows[model]

    def _ended(self, model: type[F]) -> list[F]:
        return proved(model.objects.filter(closed=self.revision))

    # Who belongs to what

    def _members(self) -> Iterator[Node]:
        for row in self._begun(RealmMember):
            node, principal = root(row.realm), row.principal
            held = Assignment.objects.open().filter(holder=row.principal, role__realm=row.realm)
            owned = Ownership.objects.open().filter(owner=row.principal, securable__realm=row.realm)
            if held.exists() or owned.exists():
                raise Conflict(
                    gettext("%(one)s now has access there; remove the member instead.")
                    % {"one": principal.label}
                )
            authority = may(self.by, members.REMOVES[principal.kind], node)
            members.remove(node, principal, by=self.by, authority=authority)
            yield node
        for row in self._ended(RealmMember):
            node, principal = root(row.realm), row.principal
            members.add(
                node, principal, by=self.by, authority=may(self.by, members.ADMITS[principal.kind], node)
            )
            yield node

    def _groups(self) -> Iterator[Principal]:
        for rows, act in (
            (self._begun(Membership), members.leave_group),
            (self._ended(Membership), members.join_group),
        ):
            for row in rows:
                act(row.group, row.member, by=self.by, authority=site_permissions.of_admin(self.by))
                yield row.group

    def _duties(self) -> Iterator[Node]:
        rows = Event.objects.filter(
            change=self.revision, kind__in=(events.DUTY_GIVEN, events.DUTY_TAKEN), object_key__isnull=False
        )
        for row in rows:
            node = nodes([row.object_key or 0]).get(row.object_key or 0)
            person = Principal.objects.filter(pseudonym=row.data.get("person", "")).first()
            if node is None or person is None:
                continue
            authority = site_permissions.of_realm(self.by, next(iter(node.above()), node))
            act = duties.take if row.kind == events.DUTY_GIVEN else duties.give
            act(node, str(row.data.get("duty", "")), person, by=self.by, authority=authority)
            yield node

    # Rules of separation

    def _rules(self) -> Iterator[Node]:
        for row in self._begun(SeparationRule):
            if SeparationException.objects.open().filter(rule=row).exists():
                raise Conflict(
                    gettext("An exception from this rule was made in the meantime; end the rule instead.")
                )
            place = root(row.realm)
            separation.end(row, place, by=self.by)
            yield place
        for row in self._ended(SeparationRule):
            place = root(row.realm)
            separation.bring_back(row, place, by=self.by)
            yield place

    def _exceptions(self) -> Iterator[Node]:
        for row in self._begun(SeparationException):
            place = root(row.rule.realm)
            separation.end_exception(row.rule, place, row.person, by=self.by)
            yield place
        for row in self._ended(SeparationException):
            if row.rule.closed != self.revision:  # with a rule its exceptions are back already
                place = root(row.rule.realm)
                separation.let_again(row, place, by=self.by)
                yield place

    # Roles and owners

    def _roles(self) -> Iterator[Node]:
        begun, ended = self._begun(Assignment), self._ended(Assignment)
        rows = [row for row in (*begun, *ended) if row.origin != "system"]
        places = nodes({row.role_id for row in rows})
        for row in rows:
            role = self._there(places, row.role_id)
            authority = (
                patterns.authority(next(iter(role.above()), role), None, by=self.by)
                if dialects.get(role.kind).by_text
                else may(self.by, roles.operation(role, "assign"), role)
            )
            event = (role, row.holder)
            if row in begun:
                draft = make_event(events.ROLE_UNASSIGNED, *event, role=role.name)
                self.current.end(row, draft, by=authority)
            else:
                must_be_member(role, row.holder)
                draft = make_event(events.ROLE_ASSIGNED, *event, role=role.name)
                self.current.begin(again(row), draft, by=authority)
            yield role

    def _owners(self) -> list[Node]:
        begun, ended = self._begun(Ownership), self._ended(Ownership)
        places = nodes({row.securable_id for row in (*begun, *ended)})
        if not places:
            return []
        back = {row.securable_id: row.owner for row in ended}
        owners.bring_back(places.values(), back, by=self.by)
        return list(places.values())

    # What is given

    def _given_by_roles(self) -> Iterator[Node]:
        for rows, act in (
            (self._begun(Grant), roles.remove_privileges),
            (self._ended(Grant), roles.add_privileges),
        ):
            named = [row for row in rows if row.role_id and not row.pattern and not self._holder_of(row)]
            places = nodes({key for row in named for key in (row.role_id, row.securable_id) if key})
            for row in named:
                role, node = self._there(places, row.role_id), self._there(places, row.securable_id)
                authority = may(self.by, grants.GRANT, node)
                privilege = Privilege(row.privilege, row.effect, row.written, row.valid_from, row.valid_until)
                act(role, node, [privilege], by=self.by, authority=authority)
                yield node

    def _given_directly(self) -> Iterator[Node]:
        begun, ended = self._begun(Grant), self._ended(Grant)
        places = nodes({row.securable_id for row in (*begun, *ended) if row.securable_id})
        for holder, row in self._direct(begun):
            node = self._there(places, row.securable_id)
            grants.remove(node, [holder], [row.privilege], by=self.by)
            yield node
        for holder, row in self._direct(ended):
            node = self._there(places, row.securable_id)
            window = (row.valid_from, row.valid_until)
            grants.add(GrantRequest(node, (holder,), (row.privilege,), *window, way=False), by=self.by)
            yield node

    def _direct(self, rows: Iterable[Grant]) -> Iterator[tuple[Principal, Grant]]:
        for row in rows:
            holder = self._holder_of(row)
            if holder is not None and row.effect == Effect.ALLOW and not row.pattern:
                yield holder, row

    def _given_on_names(self) -> Iterator[Node]:
        """What was given on the names of a CDAP is taken by name, and given again on the same."""
        begun, ended = self._begun(Grant), self._ended(Grant)
        for row in (*begun, *ended):
            if row.realm is None:
                continue
            place = root(row.realm)
            authority = patterns.authority(place, patterns.named(place, row.pattern), by=self.by)
            if row in begun:
                patterns.end(self.current, place, [row], by=authority)
            elif not _is_open(row):
                draft = patterns.said_of(events.GRANT_ADDED, place, row, row.holder)
                self.current.begin(again(row), draft, by=authority)
            yield place

    def _holder_of(self, row: Grant) -> Principal | None:
        """Who holds a grant directly: themselves, or by the personal role that was made for them."""
        return row.holder or self._personal.get(row.role_id or 0)

    @cached_property
    def _personal(self) -> dict[int, Principal]:
        touched = Grant.objects.filter(opened=self.revision) | Grant.objects.filter(closed=self.revision)
        rows = Assignment.objects.filter(role__in=touched.values("role"), origin="system")
        return {row.role_id: row.holder for row in rows.select_related("holder")}

    def _there(self, places: dict[int, Node], key: int | None) -> Node:
        node = places.get(key or 0)
        if node is None:
            raise Conflict(gettext("The object concerned no longer exists."))
        return node


def _is_open(row: Grant) -> bool:
    same = {name: getattr(row, name) for name in ("role_id", "holder_id", "realm_id", "privilege", "pattern")}
    return Grant.objects.open().filter(**same, valid_until=row.valid_until).exists()
