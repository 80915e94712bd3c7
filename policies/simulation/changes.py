"""What can be proposed: each kind of change as data, in the order in which it would be made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from accounts.models import Principal
from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from lakewarden.law.facts import Level
from policies.decisions import ask
from policies.models.grants import Effect

Window = tuple[datetime | None, datetime | None]
ALWAYS: Window = (None, None)


def new_role(root: Node, name: str, number: int = -1) -> Node:
    """A role that is not there yet, by a number below zero."""
    levels = (root.levels[0], Level("role", number))
    return Node(number, root.realm_id, root.kind, levels, (root.name, name))


@dataclass(frozen=True)
class Target:
    """What a right is given on: an object, or in a CDAP realm a text, which names what may not exist."""

    node: Node
    entity: Authorizable | None = None

    @classmethod
    def of_text(cls, root: Node, entity: Authorizable) -> Target:
        return cls(ask.entity_node(root, entity), entity)

    @property
    def key(self) -> int | str:
        """What rules know it by."""
        return str(self.entity) if self.entity else self.node.id

    def __str__(self) -> str:
        return str(self.entity) if self.entity else f"{self.node.type}:{self.node.ref.id}"


class Change:
    """One proposed change.  `people` are those whose facts it touches, groups and patterns among them."""

    @property
    def people(self) -> tuple[Principal, ...]:
        return ()

    @property
    def role_nodes(self) -> tuple[Node, ...]:
        return ()

    @property
    def begins(self) -> datetime | None:
        """When it begins to count; None for at once."""
        return None


@dataclass(frozen=True)
class GrantAccess(Change):
    """Give privileges to somebody directly."""

    target: Target
    holder: Principal
    privileges: tuple[str, ...]
    window: Window = ALWAYS

    @property
    def people(self) -> tuple[Principal, ...]:
        return (self.holder,)

    @property
    def begins(self) -> datetime | None:
        return self.window[0]


@dataclass(frozen=True)
class RevokeAccess(Change):
    """Take direct grants of privileges back."""

    target: Target
    holder: Principal
    privileges: tuple[str, ...]

    @property
    def people(self) -> tuple[Principal, ...]:
        return (self.holder,)


@dataclass(frozen=True)
class AddToRole(Change):
    """Let a role allow or deny privileges."""

    role: Node
    target: Target
    privileges: tuple[str, ...]
    effect: str = Effect.ALLOW
    window: Window = ALWAYS

    @property
    def role_nodes(self) -> tuple[Node, ...]:
        return (self.role,)

    @property
    def begins(self) -> datetime | None:
        return self.window[0]


@dataclass(frozen=True)
class RemoveFromRole(Change):
    """Let a role no longer allow or deny privileges."""

    role: Node
    target: Target
    privileges: tuple[str, ...]
    effect: str = Effect.ALLOW

    @property
    def role_nodes(self) -> tuple[Node, ...]:
        return (self.role,)


@dataclass(frozen=True)
class AssignRole(Change):
    """Give a role to somebody, besides what they hold already."""

    role: Node
    holder: Principal
    window: Window = ALWAYS

    @property
    def people(self) -> tuple[Principal, ...]:
        return (self.holder,)

    @property
    def role_nodes(self) -> tuple[Node, ...]:
        return (self.role,)

    @property
    def begins(self) -> datetime | None:
        return self.window[0]


@dataclass(frozen=True)
class UnassignRole(Change):
    """Take a role from somebody."""

    role: Node
    holder: Principal

    @property
    def people(self) -> tuple[Principal, ...]:
        return (self.holder,)

    @property
    def role_nodes(self) -> tuple[Node, ...]:
        return (self.role,)


@dataclass(frozen=True)
class DeleteRole(Change):
    """Delete a role with all that it gives."""

    role: Node

    @property
    def role_nodes(self) -> tuple[Node, ...]:
        return (self.role,)


@dataclass(frozen=True)
class JoinGroup(Change):
    """Put somebody into a group."""

    group: Principal
    member: Principal

    @property
    def people(self) -> tuple[Principal, ...]:
        return (self.member,)


@dataclass(frozen=True)
class LeaveGroup(Change):
    """Take somebody out of a group."""

    group: Principal
    member: Principal

    @property
    def people(self) -> tuple[Principal, ...]:
        return (self.member,)


@dataclass(frozen=True)
class SetOwner(Change):
    """Make somebody the owner of an object, in the place of who is."""

    node: Node
    owner: Principal

    @property
    def people(self) -> tuple[Principal, ...]:
        return (self.owner,)


@dataclass(frozen=True)
class ClearOwner(Change):
    """Leave an object to the owner of what it is in."""

    node: Node


@dataclass(frozen=True)
class MoveObject(Change):
    """Give an object another parent or another name."""

    node: Node
    parent: Node
    name: str


@dataclass(frozen=True)
class DropObject(Change):
    """Drop an object with everything below it."""

    node: Node


@dataclass(frozen=True)
class AddMember(Change):
    """Admit somebody to the realm."""

    member: Principal

    @property
    def people(self) -> tuple[Principal, ...]:
        return (self.member,)


@dataclass(frozen=True)
class RemoveMember(Change):
    """Remove somebody from the realm, with all that they have in it."""

    member: Principal

    @property
    def people(self) -> tuple[Principal, ...]:
        return (self.member,)


@dataclass(frozen=True)
class CloseAccount(Change):
    """Let somebody no longer sign in; no token of theirs opens anything."""

    member: Principal

    @property
    def people(self) -> tuple[Principal, ...]:
        return (self.member,)


@dataclass(frozen=True)
class SetMode(Change):
    """Enforce the law in the realm, or let its members do what they like."""

    mode: str


PLACED = SetOwner | ClearOwner | MoveObject | DropObject


def places_of(changes: Iterable[Change]) -> list[Node]:
    """The objects that themselves change: their owner, their place, or that they are there."""
    return [change.node for change in changes if isinstance(change, PLACED)]


def by_text(root: Node) -> bool:
    return dialects.get(root.kind).by_text
