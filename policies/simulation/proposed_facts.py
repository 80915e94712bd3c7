"""The facts of some people as they would be: what one statement read, with each proposed change applied.

Only facts are changed here.  What follows from them is decided by the same functions as everything else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, singledispatchmethod
from typing import Any

from django.utils.translation import gettext

from accounts.models import Principal
from accounts.text import in_capitals
from catalog.models import Placement
from catalog.nodes import Node
from catalog.queries import all_below
from lakewarden.law import dialects
from lakewarden.law.facts import Lineage, Window
from policies.decisions.facts import Loaded
from policies.decisions.role_facts import GrantRow
from policies.errors import Invalid
from policies.models.grants import Effect
from policies.services import entities, roles
from policies.simulation import changes as proposals
from policies.simulation.changes import Change, Target

COPIED = ("groups", "outside", "roles", "grants", "direct", "aliases", "owned")


def copy_of(loaded: Loaded) -> Loaded:
    """The same facts, to be changed without changing these."""
    twin = copy(loaded)
    twin.members, twin.admitted = set(loaded.members), set(loaded.admitted)
    for name in COPIED:
        held = copy(getattr(loaded, name))
        held.update({key: list(rows) for key, rows in held.items()})
        setattr(twin, name, held)
    return twin


@dataclass
class ProposedFacts:
    """Facts to be changed in memory, in the realm below `root`.

    `personal` are personal roles by principal, `by_hand` the grants made by hand, `joined` the windows of
    memberships by member and group, `people` all whose facts were read, strangers by numbers below zero.
    """

    root: Node
    loaded: Loaded
    people: Mapping[int, Principal]
    personal: Mapping[int, int]
    by_hand: frozenset[int]
    joined: Mapping[tuple[int, int], tuple[str, Window]]
    gone: set[int] = field(default_factory=set)
    closed: set[int] = field(default_factory=set)
    moved: dict[int, Lineage] = field(default_factory=dict)
    _places: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    """Of what was moved the number of its parent, its type and its name."""
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _added: set[int] = field(default_factory=set)
    _kinds: dict[object, str | None] = field(default_factory=dict)

    def lineage(self, node: Node) -> Lineage | None:
        """Where an object would stand; None when it would be gone."""
        levels = self.moved.get(node.id, node.levels)
        return None if any(level.key in self.gone for level in levels) else levels

    def apply_all(self, changes: Iterable[Change]) -> None:
        """Apply changes one after another.  Raises Invalid for what could not be made."""
        for change in changes:
            self.apply(change)
        self._check_places()

    @singledispatchmethod
    def apply(self, change: Change) -> None:
        raise Invalid(gettext("%(name)s cannot be simulated.") % {"name": type(change).__name__})

    # direct grants

    @apply.register
    def _grant(self, change: proposals.GrantAccess) -> None:
        self._check(change.target, change.privileges, change.holder)
        holder, window = self._number(change.holder), _seconds(change.window)
        for code in change.privileges:
            mine = [row for row in self._direct(holder) if row[:3] == (change.target.key, code, True)]
            if any(self._same_or_longer(row, window) for row in mine):
                continue
            law = dialects.get(self.root.kind)
            keeps_others = law.by_text or (bool(law.grantees) and window == (None, None))
            if not keeps_others:
                self._end_rows(holder, [row for row in mine if row[5] in self.by_hand | self._added])
            self.loaded.direct[holder].append(self._row(change.target, code, True, window))

    def _same_or_longer(self, row: GrantRow, window: Window) -> bool:
        """Whether a new grant would be no other than the one there is, by the rules of this law's verbs."""
        law = dialects.get(self.root.kind)
        if law.by_text:
            return row[3] in (window, (None, None))
        return row[3] == window or (bool(law.grantees) and window == (None, None))

    @apply.register
    def _revoke(self, change: proposals.RevokeAccess) -> None:
        holder = self._number(change.holder)
        removed = [
            row
            for row in self._direct(holder)
            if row[0] == change.target.key and row[1] in change.privileges and row[2]
        ]
        self._end_rows(holder, removed)

    def _direct(self, holder: int) -> list[GrantRow]:
        role = self.personal.get(holder)
        return [*self.loaded.direct.get(holder, ()), *(self.loaded.grants.get(role, ()) if role else ())]

    def _end_rows(self, holder: int, removed: list[GrantRow]) -> None:
        role = self.personal.get(holder)
        _drop(self.loaded.direct, holder, lambda row: row in removed)
        if role is not None:
            _drop(self.loaded.grants, role, lambda row: row in removed)
            if not self.loaded.grants.get(role) and not self.loaded.direct.get(holder):
                _drop(self.loaded.roles, holder, lambda row: row[0] == role)

    # roles

    @apply.register
    def _add_to_role(self, change: proposals.AddToRole) -> None:
        self._check(change.target, change.privileges)
        window, allow = _seconds(change.window), change.effect == Effect.ALLOW
        rows = self.loaded.grants[change.role.id]
        for code in change.privileges:
            same = [row for row in rows if row[:2] == (change.target.key, code)]
            if any(row[2] != allow for row in same):
                raise Invalid(
                    gettext("%(code)s cannot be both allowed and denied on one object in one role.")
                    % {"code": code}
                )
            if not any(row[3] == window or (self._by_text and row[3] == (None, None)) for row in same):
                rows.append(self._row(change.target, code, allow, window))

    @apply.register
    def _remove_from_role(self, change: proposals.RemoveFromRole) -> None:
        allow = change.effect == Effect.ALLOW
        wanted = {(change.target.key, code, allow) for code in change.privileges}
        _drop(self.loaded.grants, change.role.id, lambda row: row[:3] in wanted)

    @apply.register
    def _assign(self, change: proposals.AssignRole) -> None:
        self._must_be_member(change.holder)
        row = (change.role.id, change.role.name, _seconds(change.window))
        rows = self.loaded.roles[self._number(change.holder)]
        if row not in rows:
            rows.append(row)

    @apply.register
    def _unassign(self, change: proposals.UnassignRole) -> None:
        _drop(self.loaded.roles, self._number(change.holder), lambda row: row[0] == change.role.id)

    @apply.register
    def _delete_role(self, change: proposals.DeleteRole) -> None:
        role = change.role.id
        self.gone.add(role)
        self.loaded.grants.pop(role, None)
        for holder in list(self.loaded.roles):
            _drop(self.loaded.roles, holder, lambda row: row[0] == role)
        self._disown({role})

    # groups and members

    @apply.register
    def _join(self, change: proposals.JoinGroup) -> None:
        member = self._number(change.member)
        row = (change.group.pk, change.group.name, (None, None))
        if any(held[0] == change.group.pk for held in self.loaded.groups[member]):
            return
        if dialects.get(self.root.kind).open_to_all or change.group.pk in self.loaded.admitted:
            self.loaded.groups[member].append(row)
        else:
            self.loaded.outside[member].append(change.group.pk)

    @apply.register
    def _leave(self, change: proposals.LeaveGroup) -> None:
        member = self._number(change.member)
        _drop(self.loaded.groups, member, lambda row: row[0] == change.group.pk)
        _drop(self.loaded.outside, member, lambda group: group == change.group.pk)

    @apply.register
    def _add_member(self, change: proposals.AddMember) -> None:
        key = self._number(change.member)
        self.loaded.admitted.add(key)
        self.loaded.members.add(key)
        for member, groups in self.loaded.outside.items():
            if key in groups and (member, key) in self.joined:
                name, window = self.joined[member, key]
                self.loaded.groups[member].append((key, name, window))
                groups.remove(key)

    @apply.register
    def _remove_member(self, change: proposals.RemoveMember) -> None:
        key = change.member.pk
        if any(row[0] == self.root.id for row in self.loaded.owned.get(key, ())):
            raise Invalid(
                gettext("%(member)s owns %(realm)s and cannot be removed from it.")
                % {"member": change.member.label, "realm": self.root.name}
            )
        self.loaded.admitted.discard(key)
        self.loaded.members.discard(key)
        for name in ("roles", "owned"):
            getattr(self.loaded, name).pop(key, None)
        if not dialects.get(self.root.kind).grantees:
            self.loaded.direct.pop(key, None)
        if not dialects.get(self.root.kind).open_to_all:
            for member, groups in self.loaded.groups.items():
                if any(row[0] == key for row in groups):
                    groups[:] = [row for row in groups if row[0] != key]
                    self.loaded.outside[member].append(key)

    @apply.register
    def _set_mode(self, change: proposals.SetMode) -> None:
        self.loaded.mode = change.mode

    # objects

    @apply.register
    def _set_owner(self, change: proposals.SetOwner) -> None:
        self._must_be_member(change.owner)
        self._disown({change.node.id})
        owned = (change.node.id, (None, None), 0, self._next())
        self.loaded.owned[self._number(change.owner)].append(owned)

    @apply.register
    def _clear_owner(self, change: proposals.ClearOwner) -> None:
        self._disown({change.node.id})

    @apply.register
    def _close_account(self, change: proposals.CloseAccount) -> None:
        self.closed.add(self._number(change.member))

    def _disown(self, keys: set[int]) -> None:
        for owner in list(self.loaded.owned):
            _drop(self.loaded.owned, owner, lambda row: row[0] in keys)

    @apply.register
    def _move(self, change: proposals.MoveObject) -> None:
        node, parent = change.node, self.lineage(change.parent)
        if self._by_text or parent is None or len(node.levels) < 2 or parent[-1].type != node.levels[-2].type:
            raise Invalid(
                gettext("%(object)s cannot be placed in %(parent)s.")
                % {"object": node.ref.full_name, "parent": change.parent.name}
            )
        if parent != node.levels[:-1] and all_below(node.id).exists():
            raise Invalid(
                gettext("%(object)s holds other objects, so it stays where it is.")
                % {"object": node.ref.full_name}
            )
        self.moved[node.id] = (*parent, node.levels[-1])
        self._places[node.id] = (change.parent.id, node.type, change.name)

    def _check_places(self) -> None:
        """See that no two objects of a type bear one name in a parent, once all were moved, as they may swap.

        One query.  Raises Invalid.
        """
        if not self._places:
            return
        wanted = Counter(self._places.values())
        others = Placement.objects.open().filter(
            scope__in={parent for parent, _, _ in wanted}, name__in={name for _, _, name in wanted}
        )
        others = others.exclude(securable__in={*self.gone, *self.moved})
        wanted.update(place for place in others.values_list("scope", "type", "name") if place in wanted)
        for (_, type_, name), many in wanted.items():
            if many > 1:
                text = gettext("%(type)s %(name)s already exists.")
                raise Invalid(text % {"type": type_.capitalize(), "name": name})

    @apply.register
    def _drop_object(self, change: proposals.DropObject) -> None:
        if not change.node.path:
            raise Invalid(gettext("A whole realm is not dropped in a simulation."))
        self.gone.add(change.node.id)
        if dialects.get(self.root.kind).by_text and "ALL" in dialects.get(self.root.kind).privileges:
            # up to generation 3.5 rights on an entity, and on what is in it, end with it
            entity = entities.entity_of(change.node)
            for rows in (*self.loaded.grants.values(), *self.loaded.direct.values()):
                rows[:] = [row for row in rows if not entities.is_in(str(row[0]), entity)]

    # what all of them need

    @property
    def _by_text(self) -> bool:
        return dialects.get(self.root.kind).by_text

    def _check(self, target: Target, privileges: Iterable[str], holder: Principal | None = None) -> None:
        law = dialects.get(self.root.kind)
        for code in privileges:
            if target.entity is None:
                # what kind of catalog an object stands in; looked up once for each catalog
                above = next((level.key for level in target.node.levels if level.type == "catalog"), None)
                if above not in self._kinds:
                    self._kinds[above] = roles.catalog_kind(target.node)
                catalog_kind = self._kinds[above]
                roles.check_binding(target.node, code, kind=catalog_kind)
            elif code not in law.privileges:
                raise Invalid(
                    gettext("%(code)s is not an action; known are %(privileges)s")
                    % {"code": code, "privileges": ", ".join(law.privileges)}
                )
        if holder is None:
            return
        if law.grantees and holder.kind not in law.grantees:
            raise Invalid(
                gettext("In %(realm)s nothing can be granted to a %(kind)s.")
                % {"realm": self.root.name, "kind": holder.get_kind_display()}
            )
        self._must_be_member(holder)

    def _must_be_member(self, holder: Principal) -> None:
        if dialects.get(self.root.kind).open_to_all or self._number(holder) in self.loaded.admitted:
            return
        raise Invalid(
            gettext("%(kind)s %(name)s is not a member of %(realm)s.")
            % {"kind": holder.kind.capitalize(), "name": holder.name, "realm": self.root.name}
        )

    def _number(self, holder: Principal) -> int:
        """What the facts know somebody by; who is not known yet has a number below zero."""
        if holder.pk:
            return holder.pk
        name = (holder.kind, holder.name)
        if name not in self._numbers:
            # beyond the numbers of strangers
            unused = -1 - len(self._strangers) - len(self._numbers)
            self._numbers[name] = self._strangers.get(name, unused)
            self._speaks_of(holder, self._numbers[name])
        return self._numbers[name]

    @cached_property
    def _strangers(self) -> dict[tuple[str, str], int]:
        return {(person.kind, person.name): pk for pk, person in self.people.items() if pk < 0}

    def _speaks_of(self, holder: Principal, key: int) -> None:
        """Where names count in any case, a new name or pattern is that of people who are known already."""
        if not dialects.get(self.root.kind).ignores_case:
            return
        name = in_capitals(holder.name)
        others = (person for person in self.people.values() if person.pk != key)
        for person in others:
            same = holder.kind == Principal.Kind.USER and in_capitals(person.name) == name
            like = holder.kind == Principal.Kind.PATTERN and in_capitals(person.name).endswith(name[1:])
            if same or like:
                self.loaded.aliases[person.pk].append((key, holder.kind, holder.name))

    def _row(self, target: Target, code: str, allow: bool, window: Window) -> GrantRow:
        return (target.key, code, allow, window, 0, self._next())

    def _next(self) -> int:
        key = -1 - len(self._added)
        self._added.add(key)
        return key


def _seconds(window: tuple[datetime | None, datetime | None]) -> Window:
    start, end = window
    return (start.timestamp() if start else None, end.timestamp() if end else None)


def _drop(rows: dict[int, list[Any]], key: int, is_gone: Callable[[Any], bool]) -> None:
    if key in rows:
        rows[key] = [row for row in rows[key] if not is_gone(row)]
