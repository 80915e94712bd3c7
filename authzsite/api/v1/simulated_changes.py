"""Proposed changes as they are sent: names are read as the caller knows them, hidden ones as absent ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts import people
from accounts.models import Principal
from accounts.text import holdable
from authzsite.api.strictjson import BadBody
from authzsite.api.v1 import named
from authzsite.api.v1.describing import TEXT
from authzsite.api.v1.fields import MAYBE, Body, Listed, Moment, OptionalText, PrincipalName, Reference, Text
from authzsite.api.v1.query_serializers import REFERENCE
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from catalog.nodes import Node
from catalog.resolve import find_all, spelled
from lakewarden.law import dialects
from lakewarden.law.facts import Slice
from lakewarden.law.objects import BadName, ObjectRef
from policies.decisions import ask, slices
from policies.errors import Invalid, NotFound
from policies.services import patterns
from policies.simulation import changes as proposals
from policies.simulation.changes import Change, Target, Window

MOST = 1000
ABSENT = "there is no {what}, or you may not see it"


@extend_schema_field({"anyOf": [REFERENCE, TEXT, {"type": "null"}]})
class ResourceName(serializers.Field[Any, Any, Any, Any]):
    """An object as `table:realm/name` or as type and id; in a CDAP realm an entity, `dataset:ns1.*`."""

    default_error_messages = {"invalid": "must be an object's type and id"}
    reference = Reference()

    def to_internal_value(self, data: Any) -> tuple[str, str]:
        if isinstance(data, dict):
            read = self.reference.run_validation(data)
            return read["type"], read["id"]
        if not isinstance(data, str) or ":" not in data:
            self.fail("invalid")
        type_, _, id_ = data.partition(":")
        return type_, id_


class ProposedChange(Body):
    """One change; which of the other fields it needs depends on `change`.

    `grant` and `revoke`: principal, resource, privileges.  `add_to_role` and `remove_from_role`: role,
    resource, privileges, effect.  `assign_role` and `unassign_role`: role, principal.  `delete_role`: role.
    `join_group` and `leave_group`: group, principal.  `set_owner`: resource, principal.  `move`: resource,
    and `to` or `name`.  `drop`: resource.  `add_member` and `remove_member`: principal.
    """

    change = Text(help_text="grant, revoke, add_to_role and so on")
    principal = PrincipalName(**MAYBE)
    resource = ResourceName(**MAYBE)
    privileges = Listed(child=Text(), required=False, default=list, max_length=MOST)
    role = OptionalText()
    effect = OptionalText(help_text="allow or deny; default: allow")
    group = OptionalText()
    to = ResourceName(**MAYBE)
    name = OptionalText()
    valid_from = Moment(**MAYBE)
    valid_until = Moment(**MAYBE)


class Reader:
    """Reads what a caller sent about one realm, each name once.  Raises BadBody, Invalid, NotFound."""

    def __init__(self, caller: Principal, root: Node) -> None:
        self.caller, self.root, self.now = caller, root, timezone.now()
        self._objects: dict[tuple[str, str], Node | None] = {}
        self._principals: dict[str, Principal | None] = {}

    @cached_property
    def slice(self) -> Slice:
        """What is true of the caller in the realm."""
        return slices.current(self.caller, self.root, now=self.now)

    @cached_property
    def visible(self) -> VisiblePrincipals:
        return VisiblePrincipals(self.caller)

    def changes(self, sent: Sequence[Mapping[str, Any]]) -> list[Change]:
        return [self._change(each) for each in sent]

    def _change(self, sent: Mapping[str, Any]) -> Change:
        kind = sent["change"]
        if kind not in KINDS:
            raise BadBody(f"change must be one of {', '.join(KINDS)}")
        needed, make = KINDS[kind]
        for name in needed:
            if not sent.get(name):
                raise BadBody(f"{kind} needs {name}")
        return make(self, sent)

    def target(self, sent: Mapping[str, Any]) -> Target:
        if not dialects.get(self.root.kind).by_text:
            return Target(self.object(sent["resource"]))
        type_, id_ = sent["resource"]
        # an entity may be written as everywhere else, with the realm before its name
        text = id_.removeprefix(f"{self.root.name}/")
        return Target.of_text(self.root, patterns.named(self.root, f"{type_}:{text}"))

    def object(self, reference: tuple[str, str]) -> Node:
        """An object of the realm that the caller sees.  Raises NotFound."""
        if reference not in self._objects:
            self._objects[reference] = self._object(*reference)
        node = self._objects[reference]
        if node is None:
            raise NotFound(ABSENT.format(what=" ".join(reference)))
        return node

    def _object(self, type_: str, id_: str) -> Node | None:
        try:
            refs = spelled([ObjectRef.parse(type_, id_)]) if holdable(id_) else []
        except BadName:
            return None
        [node] = find_all(refs) if refs else [None]
        if node is None or node.realm_id != self.root.realm_id:
            return None
        return node if ask.may_see(self.slice, node, now=self.now) else None

    def role(self, name: str) -> Node:
        return self.object(("role", f"{self.root.name}/{name}"))

    def principal(self, text: str) -> Principal:
        """Somebody whom the caller may look up.  Raises NotFound.

        Where anybody may be named, as in a Herd, who is not known yet is nobody else's secret.
        """
        if text not in self._principals:
            self._principals[text] = self._principal(text)
        principal = self._principals[text]
        if principal is None:
            raise NotFound(ABSENT.format(what=text))
        return principal

    def _principal(self, text: str) -> Principal | None:
        principal = named.somebody(text)
        if dialects.get(self.root.kind).open_to_all:
            return principal or self._new(text)
        return principal if principal and self.visible.people().filter(pk=principal.pk).exists() else None

    def _new(self, text: str) -> Principal:
        kind, colon, name = text.partition(":")
        if not colon or kind not in Principal.Kind.values:
            kind, name = Principal.Kind.USER, text
        try:
            return Principal(kind=kind, name=people.checked_name(name))
        except people.BadName as problem:
            raise Invalid(f"{str(problem).capitalize()}.") from None

    def group(self, name: str) -> Principal:
        return self.principal(f"{Principal.Kind.GROUP}:{name.removeprefix('group:')}")


def _window(sent: Mapping[str, Any]) -> Window:
    start: datetime | None = sent["valid_from"]
    end: datetime | None = sent["valid_until"]
    if start and end and end <= start:
        raise Invalid("The end is before the beginning.")
    return start, end


def _effect(sent: Mapping[str, Any]) -> str:
    effect = sent["effect"] or "allow"
    if effect not in ("allow", "deny"):
        raise BadBody("effect must be allow or deny")
    return str(effect)


def _grant(reader: Reader, sent: Mapping[str, Any]) -> Change:
    holder = reader.principal(sent["principal"])
    return proposals.GrantAccess(reader.target(sent), holder, tuple(sent["privileges"]), _window(sent))


def _revoke(reader: Reader, sent: Mapping[str, Any]) -> Change:
    holder = reader.principal(sent["principal"])
    return proposals.RevokeAccess(reader.target(sent), holder, tuple(sent["privileges"]))


def _add_to_role(reader: Reader, sent: Mapping[str, Any]) -> Change:
    role, target = reader.role(sent["role"]), reader.target(sent)
    return proposals.AddToRole(role, target, tuple(sent["privileges"]), _effect(sent), _window(sent))


def _remove_from_role(reader: Reader, sent: Mapping[str, Any]) -> Change:
    role, target = reader.role(sent["role"]), reader.target(sent)
    return proposals.RemoveFromRole(role, target, tuple(sent["privileges"]), _effect(sent))


def _move(reader: Reader, sent: Mapping[str, Any]) -> Change:
    node = reader.object(sent["resource"])
    above = [*node.above()]
    if not above:
        raise Invalid("A realm cannot be moved.")
    parent = reader.object(sent["to"]) if sent["to"] else above[-1]
    return proposals.MoveObject(node, parent, sent["name"] or node.name)


Make = Callable[[Reader, Mapping[str, Any]], Change]
KINDS: dict[str, tuple[tuple[str, ...], Make]] = {
    "grant": (("principal", "resource", "privileges"), _grant),
    "revoke": (("principal", "resource", "privileges"), _revoke),
    "add_to_role": (("role", "resource", "privileges"), _add_to_role),
    "remove_from_role": (("role", "resource", "privileges"), _remove_from_role),
    "assign_role": (
        ("role", "principal"),
        lambda reader, sent: proposals.AssignRole(
            reader.role(sent["role"]), reader.principal(sent["principal"]), _window(sent)
        ),
    ),
    "unassign_role": (
        ("role", "principal"),
        lambda reader, sent: proposals.UnassignRole(
            reader.role(sent["role"]), reader.principal(sent["principal"])
        ),
    ),
    "delete_role": (("role",), lambda reader, sent: proposals.DeleteRole(reader.role(sent["role"]))),
    "join_group": (
        ("group", "principal"),
        lambda reader, sent: proposals.JoinGroup(
            reader.group(sent["group"]), reader.principal(sent["principal"])
        ),
    ),
    "leave_group": (
        ("group", "principal"),
        lambda reader, sent: proposals.LeaveGroup(
            reader.group(sent["group"]), reader.principal(sent["principal"])
        ),
    ),
    "set_owner": (
        ("resource", "principal"),
        lambda reader, sent: proposals.SetOwner(
            reader.object(sent["resource"]), reader.principal(sent["principal"])
        ),
    ),
    "move": (("resource",), _move),
    "drop": (
        ("resource",),
        lambda reader, sent: proposals.DropObject(reader.object(sent["resource"])),
    ),
    "add_member": (
        ("principal",),
        lambda reader, sent: proposals.AddMember(reader.principal(sent["principal"])),
    ),
    "remove_member": (
        ("principal",),
        lambda reader, sent: proposals.RemoveMember(reader.principal(sent["principal"])),
    ),
}
