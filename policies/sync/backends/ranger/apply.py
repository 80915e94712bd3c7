"""Change policies and roles in Ranger: read, look whose it is, write the whole, read again.

A PUT replaces all there is and nothing guards it, so each change is made on what was read a moment before,
and the version must then be the next one.  A call that may have been done though no answer came is never
just repeated: what is there is looked at first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lakewarden.backends.base import Right, Step
from lakewarden.backends.decisions import PERSON
from lakewarden.backends.errors import BackendError, Gone, Rejected, Transient, worst
from policies.sync.backends.ranger.client import Session
from policies.sync.backends.ranger.foreign import missing, policy_of, taken_from
from policies.sync.backends.ranger.names import OPTION, Identity, check_names
from policies.sync.backends.ranger.observe import GUESTS
from policies.sync.backends.ranger.policies import (
    Policy,
    as_made,
    has_items,
    new_policy,
    same,
    single_values,
    with_items,
    without_items,
)
from policies.sync.backends.ranger.state import contradiction, key_of
from policies.sync.backends.ranger.types import Type

Edit = Callable[[Policy], dict[str, Any]]
Wanted = list[tuple[str, str]]


@dataclass(frozen=True)
class Writer:
    """What a deed needs: the line, whose things are ours, and the type of the service."""

    session: Session
    identity: Identity
    type: Type
    fixed: str
    beside: bool = False

    # roles

    def make_role(self, step: Step) -> None:
        """A role of ours; one of that name that is not ours is left alone.  Raises Rejected."""
        name = self.identity.role_name(step.role)
        if self._own_role(name) is not None:
            return
        role = {"name": name, "description": step.label, "options": {OPTION: step.role}}
        empty: dict[str, list[str]] = {"users": [], "groups": [], "roles": []}
        try:
            self.session.make_role({**role, **empty})
        except Transient:
            if self._own_role(name) is None:
                raise

    def switch(self, step: Step) -> None:
        """Move somebody: first into what they join, then out of what they leave; nothing holds both together.

        Raises Transient when they are in other roles of ours than the plan saw.
        """
        which, member = _member(step.person)
        if which == "users":
            current = {name for name in self.session.roles_of(member) if self.identity.calls_role(name)}
            names = {self.identity.role_name(key) for key in (*step.joins, *step.leaves, *step.keeps)}
            if current - names:
                raise Transient(f"the memberships of {member} changed since they were read")
        joins = [self._needed(self.identity.role_name(key)) for key in step.joins]
        for role in joins:
            self._put_role(role, which, member, inside=True)
        for key in step.leaves:
            left = self._own_role(self.identity.role_name(key))
            if left is not None:
                self._put_role(left, which, member, inside=False)

    def drop_role(self, step: Step) -> None:
        """Drop an empty role.  Raises Rejected while a policy or role of others names it."""
        role = self._own_role(self.identity.role_name(step.role))
        if role is None:
            return
        if any(role.get(which) for which in ("users", *GUESTS)):
            raise Transient(f"role {role['name']} still has members")
        try:
            self.session.drop_role(role["id"])
        except Gone:
            return
        except Transient:
            if self._own_role(role["name"]) is not None:
                raise

    def _own_role(self, name: str) -> dict[str, Any] | None:
        role = self.session.role_named(name)
        if role is not None and key_of(self.identity, role) is None:
            raise Rejected(contradiction("role", name, ["its options"]))
        return role

    def _needed(self, name: str) -> dict[str, Any]:
        role = self._own_role(name)
        if role is None:
            raise Gone(f"role {name} does not exist")
        return role

    def _put_role(self, role: dict[str, Any], which: str, member: str, *, inside: bool) -> None:
        others = [holder for holder in role.get(which) or () if holder["name"] != member]
        wanted = {**role, which: [*others, {"name": member, "isAdmin": False}] if inside else others}
        if _members(role) == _members(wanted):
            return
        try:
            self.session.put_role(role["id"], wanted)
        except Transient:
            self.session.close()
        own_role = self._own_role(role["name"])
        if own_role is None or _members(own_role) != _members(wanted):
            raise Transient(f"role {role['name']} was changed by another hand, or not at all")

    # policies

    def change_rights(self, step: Step) -> None:
        """Give or take, one policy after the other; what can be done is done, the worst error is raised."""
        (which, holder), errors = self._holder(step.role), list[BackendError]()
        gives = step.kind == "give"
        for values, path, wanted in self._by_policy(step.rights):
            try:
                if gives:
                    check_names(values, path, patterns=self.type.patterns)
                self._change(values, _edit(which, holder, wanted, gives=gives))
            except (Gone, Rejected) as error:
                errors.append(error)
        if errors:
            raise worst(errors)

    def _holder(self, key: str) -> tuple[str, str]:
        """Which list of an item a role of ours stands in, and under which name."""
        if self.type.by_person:
            return "users", key[len(PERSON) :]
        return "roles", self.identity.role_name(key)

    def _by_policy(self, rights: Iterable[Right]) -> list[tuple[dict[str, str], tuple[str, ...], Wanted]]:
        wanted: defaultdict[str, Wanted] = defaultdict(list)
        places: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {}
        for right in rights:
            shape, items, access = self.type.shape_of(right)
            values = shape.resources(right.path, self.fixed)
            name = self.identity.policy_name(values)
            places[name] = values, right.path
            wanted[name].append((items, access))
        return [(*places[name], wanted[name]) for name in sorted(places)]

    def _change(self, values: dict[str, str], edit: Edit) -> None:
        """Change the policy on these resources: made when it is not there, dropped when nothing is left."""
        before = self.session.policy_named(self.identity.policy_name(values))
        if before is None:
            text = f"Kept by Lakewarden: {'.'.join(values.values())}"
            policy = edit(new_policy(self.identity, values, text, beside=self.beside))
            if has_items(policy):
                self._make(policy)
            return
        faults = self.identity.faults(before, single_values(before))
        if faults:
            raise Rejected(contradiction("policy", before["name"], faults))
        self._write(before, edit(before))

    def _make(self, policy: dict[str, Any]) -> None:
        try:
            made: dict[str, Any] | None = self.session.make_policy(policy)
        except Transient:
            # no answer is no proof that nothing was done
            self.session.close()
            made = self.session.policy_named(policy["name"])
            if made is None:
                raise
        if made is not None and made.get("guid") != policy["guid"]:
            self.session.drop_policy(made["id"])
            raise Rejected("this Ranger does not keep the guid of a policy, by which ours are known")
        self._proved(policy)

    def _write(self, before: Policy, after: dict[str, Any]) -> None:
        if same(before, after):
            return
        if not has_items(after):
            self._drop(before)
            return
        try:
            written = self.session.put_policy(before["id"], after)
        except Transient:
            self.session.close()
            self._proved(after)
            return
        if written.get("version") != (before.get("version") or 0) + 1:
            raise Transient(f"policy {before['name']} was changed by another hand at the same moment")
        self._proved(after)

    def _drop(self, policy: Policy) -> None:
        try:
            self.session.drop_policy(policy["id"])
        except Gone:
            return
        except Transient:
            self.session.close()
            if self.session.policy_named(policy["name"]) is not None:
                raise

    def _proved(self, policy: Policy) -> None:
        """Read again: what is there is what was sent, or somebody else was faster.  Raises Transient."""
        policy_read = self.session.policy_named(policy["name"])
        if policy_read is None or not same(policy_read, policy):
            raise Transient(f"policy {policy['name']} was changed by another hand, or not at all")

    # what others gave

    def take_foreign(self, step: Step) -> None:
        """Take exactly one holder's access out of the policy of somebody else, and nothing beside it."""
        before = self.session.policy_named(policy_of(step))
        if before is None:
            return
        after, left = taken_from(before, step, self.type, self.fixed)
        if not left and not self.identity.faults(before, single_values(before)):
            self._drop(before)
        elif not same(before, after):
            try:
                self.session.put_policy(before["id"], after)
            except Transient:
                self.session.close()
            except Gone:
                raise missing(Step("take_foreign", grantor=f"policy {before['name']}")) from None
            self._proved(after)


def _edit(which: str, holder: str, wanted: Wanted, *, gives: bool) -> Edit:
    def edit(policy: Policy) -> dict[str, Any]:
        if gives:
            return with_items(as_made(policy), which, holder, wanted)
        return without_items(as_made(policy), which, holder, wanted)

    return edit


def _member(person: str) -> tuple[str, str]:
    """Which list of a role somebody stands in, and under which name."""
    for which, begins in GUESTS.items():
        if person.startswith(begins):
            return which, person[len(begins) :]
    return "users", person


def _members(role: Mapping[str, Any]) -> set[tuple[str, str, bool]]:
    return {
        (which, member["name"], bool(member.get("isAdmin")))
        for which in ("users", *GUESTS)
        for member in role.get(which) or ()
    }
