"""A CDAP instance as its own commands see it: privileges on texts, and roles, for one actor.

The same object carries out what comes by command and by REST.  Who may not is told so before it is looked up
whether there is such a role.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.utils import timezone

from accounts import people
from accounts.models import Principal
from catalog.models import Placement
from catalog.nodes import Node
from catalog.queries import below, find
from lakewarden.cdap.commands import Holder
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor, Authority
from policies.decisions import duties, slices
from policies.errors import Invalid, NotFound, PolicyError, Refused
from policies.events import ROLE_ASSIGNED, ROLE_CREATED, ROLE_DELETED, ROLE_UNASSIGNED
from policies.models import Assignment
from policies.record.change import change
from policies.services import patterns, realm_of, roles

REVIEW = "review_access"
LOOKING = "You may see your own privileges and roles, and those on what you may grant."

Privilege = tuple[Authorizable, str]


class NoRole(NotFound):
    """There is no role of that name."""

    def __init__(self, name: str, realm: str) -> None:
        super().__init__(f"there is no role {name} in {realm}")
        self.name = name


class Instance:
    """One actor before a CDAP: a `lakewarden.cdap.commands.Backend`.  Every call raises PolicyError."""

    def __init__(self, root: Node, *, by: Actor) -> None:
        self.root, self.by = root, by

    def grant(self, target: Authorizable, holder: Holder, actions: Sequence[str] | None) -> None:
        """Let somebody do these; None is everything there is to do."""
        patterns.grant(self.root, target, self._bearer(holder, target), actions, by=self.by)

    def revoke(self, target: Authorizable, holder: Holder | None, actions: Sequence[str] | None) -> None:
        """Take these, or everything, from somebody, or from everybody."""
        bearer = self._bearer(holder, target) if holder else None
        patterns.revoke(self.root, target, bearer, actions, by=self.by)

    def privileges(self, holder: Holder) -> list[Privilege]:
        """What somebody may, through roles and groups too, as far as the actor may know it."""
        whole = self._may_look(holder)
        bearer = self._find(holder.name) if holder.kind == "role" else known(holder)
        if bearer is None and holder.kind == "role" and whole:
            raise NoRole(holder.name, self.root.name)
        privileges = patterns.privileges(self.root, bearer) if bearer else []
        return privileges if whole else self._grantable(privileges)

    def create_role(self, name: str) -> None:
        """Make a role, which nobody owns."""
        with self._administering(ROLE_CREATED) as authority:
            roles.create(self.root, name, by=self.by, authority=authority)

    def drop_role(self, name: str) -> None:
        """Delete a role with its members and privileges."""
        with self._administering(ROLE_DELETED) as authority:
            roles.delete(self._role(name), by=self.by, authority=authority)

    def roles(self, holder: Holder | None) -> list[str]:
        """The names of all roles, or of those that somebody holds."""
        if not (self._may_look(holder) if holder else self._reviews()):
            raise Refused(LOOKING)
        if holder is None:
            return sorted(below(self.root, "role").values_list("name", flat=True))
        bearer = None if holder.kind == "role" else known(holder)
        held = Assignment.objects.open().within(timezone.now()).filter(holder=bearer).values("role")
        named = Placement.objects.open().filter(scope=self.root.id, type="role", securable__in=held)
        return sorted(named.values_list("name", flat=True)) if bearer else []

    def add_role(self, name: str, holder: Holder) -> None:
        """Let a user or group have a role."""
        with self._administering(ROLE_ASSIGNED) as authority:
            roles.assign(self._role(name), _person(holder), by=self.by, authority=authority)

    def remove_role(self, name: str, holder: Holder) -> None:
        """Take a role back."""
        with self._administering(ROLE_UNASSIGNED) as authority:
            roles.unassign(self._role(name), _person(holder), by=self.by, authority=authority)

    def may_grant(self, target: Authorizable | None = None) -> bool:
        """Whether the actor may say who may what on a target, or in the whole instance."""
        try:
            patterns.authority(self.root, target, by=self.by)
        except PolicyError:
            return False
        return True

    @contextmanager
    def _administering(self, kind: str) -> Iterator[Authority]:
        with change(kind, realm=realm_of(self.root), by=self.by):
            yield patterns.authority(self.root, None, by=self.by)

    def _find(self, role: str) -> Node | None:
        return find(ObjectRef("role", self.root.name, (role,)))

    def _role(self, name: str) -> Node:
        role = self._find(name)
        if role is None:
            raise NoRole(name, self.root.name)
        return role

    def _bearer(self, holder: Holder, target: Authorizable) -> Principal | Node:
        bearer = self._find(holder.name) if holder.kind == "role" else known(holder)
        if bearer is None:
            # who may not grant neither learns what roles there are nor makes people
            patterns.authority(self.root, target, by=self.by)
            bearer = self._role(holder.name) if holder.kind == "role" else _person(holder)
        return bearer

    # who may look

    def _may_look(self, holder: Holder) -> bool:
        """Whether the actor may know all of it: their own, or everything, if they review access."""
        me = self.by.decides_as
        if me is None:
            return True
        if holder.kind == "role":
            role = self._find(holder.name)
            own = role is not None and role.id in slices.current(me, self.root).selves
        elif holder.kind == "group":
            own = holder.name in people.groups_of(me, timezone.now())
        else:
            own = known(holder) == me
        return own or self._reviews()

    def _reviews(self) -> bool:
        me = self.by.decides_as
        return me is None or self.may_grant() or duties.has(me, REVIEW, self.root)

    def _grantable(self, privileges: Sequence[Privilege]) -> list[Privilege]:
        shown = [item for item in privileges if self.may_grant(item[0])]
        if not shown:
            raise Refused(LOOKING)
        return shown


def known(holder: Holder) -> Principal | None:
    """The user or group, if anybody has heard of it; a service account is the user of its name."""
    if holder.kind == "group":
        return people.find("group", holder.name)
    return people.find("user", holder.name) or people.find("service", holder.name)


def _person(holder: Holder) -> Principal:
    if holder.kind == "role":
        raise Invalid("roles are given to users and groups")
    return known(holder) or people.ensure(holder.kind, holder.name)
