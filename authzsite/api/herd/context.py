"""The Herd that the un-prefixed paths speak for, as one caller meets it: their rights, its namespaces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from django.conf import settings
from django.utils import timezone

from accounts.models import Principal
from accounts.text import holdable, in_capitals
from authzsite.api.herd.problems import Denied, Problem, no_permission
from catalog.nodes import Node
from catalog.queries import realm_named, root
from catalog.resolve import find_in_any_case
from lakewarden.law.facts import Level, Slice
from policies.authority import Actor, Authority, require
from policies.decisions import ask, slices
from policies.decisions.lookups.entries import Entry, bearers, entries
from policies.record.access_log import Refusal

KINDS = (Principal.Kind.USER, Principal.Kind.SERVICE, Principal.Kind.PATTERN)
ROLE_CHECK = "account_permissions_mapping"
NO_ACCESS = "Access is denied"


def the_herd() -> Node:
    """The realm's root.  Raises Problem when no Herd of the configured name has been made."""
    realm = realm_named(settings.LAKEWARDEN_HERD_REALM)
    if realm is None or realm.kind != "herd":
        raise Problem(404, f"There is no Herd named {settings.LAKEWARDEN_HERD_REALM} here.")
    return root(realm)


@dataclass(frozen=True)
class Need:
    """A permission and the namespace on which it is needed; `node` is None where there is none."""

    permission: str
    name: str
    node: Node | None


class Office:
    """One caller before a Herd.  Made inside a change, it judges on the state under the lock."""

    def __init__(self, herd: Node, actor: Actor, caller: Principal):
        self.herd, self.actor, self.caller, self.now = herd, actor, caller, timezone.now()

    @cached_property
    def slice(self) -> Slice:
        return slices.current(self.caller, self.herd, now=self.now)

    def may(self, operation: str, node: Node) -> bool:
        return bool(ask.answer(self.slice, operation, node, now=self.now))

    def may_at(self, permission: str, node: Node | None) -> bool:
        """The same where the namespace may be gone: then it is the administrator's alone."""
        return self.may(permission, node) if node else self.administers

    @property
    def administers(self) -> bool:
        return self.may("Role.assignRole", self.herd)

    def authority(self, operation: str, node: Node) -> Authority:
        """The right to do it, for the services.  Raises Denied."""
        answer = ask.answer(self.slice, operation, node, now=self.now)
        if not answer:
            raise Denied([NO_ACCESS], [Refusal(self.caller, operation, node)])
        return require(answer.decision, self.actor, otherwise=NO_ACCESS)

    def need_role(self) -> None:
        """Raise Denied unless the caller is a data owner at all."""
        self.authority(ROLE_CHECK, self.herd)

    def need(self, permission: str, code: str | None) -> Node | None:
        """The namespace of that code, if the caller has the permission on it; None if it is blank.

        Raises Denied.  Only the administrator learns, by None, that there is none of that name.
        """
        need = self.needed(permission, code)
        self.need_each([need])
        return need.node

    def needed(self, permission: str, code: str | None) -> Need:
        """A permission on the namespace that bears a code now."""
        name = (code or "").strip()
        return Need(permission, name, self.namespace(name) if name else None)

    def need_each(self, needs: Iterable[Need]) -> None:
        """Raise Denied, naming every permission that is lacking; administrators pass where nothing is."""
        lacking: dict[str, Refusal] = {}
        for need in needs:
            name, node = need.name, need.node
            if name and not self.may_at(need.permission, node):
                refusal = Refusal(self.caller, need.permission, node, f"{self.herd.name}/{name}")
                lacking[no_permission(self.caller.name, need.permission, name)] = refusal
        if lacking:
            raise Denied(list(lacking), list(lacking.values()))

    def need_on_all(self, permission: str, found: Iterable[Entry]) -> None:
        """Raise Denied, naming every namespace of the entries on which the permission is lacking."""
        lacking = [self.place_of(item) for item in found if not self.may(permission, self.place_of(item))]
        if lacking:
            lines = [no_permission(self.caller.name, permission, node.name) for node in lacking]
            raise Denied(lines, [Refusal(self.caller, permission, node) for node in lacking])

    def namespace(self, code: str) -> Node | None:
        """The namespace of that code, in any case of its letters."""
        return find_in_any_case(self.herd, "namespace", (code,))

    def job(self, namespace: Node, name: str) -> Node | None:
        """The job definition of that name in a namespace, in any case of its letters."""
        return self.within(namespace, "job_definition", name)

    def within(self, namespace: Node, type_: str, name: str) -> Node | None:
        """What of that type and name is in a namespace, in any case of its letters."""
        return find_in_any_case(self.herd, type_, (namespace.name, name))

    def place_of(self, entry: Entry) -> Node:
        herd = self.herd
        levels = (*herd.levels, Level("namespace", entry.object))
        return Node(entry.object, herd.realm_id, herd.kind, levels, (herd.name, entry.object_name))

    def entries_of(self, user: str, node: Node | None = None) -> list[Entry]:
        """What was given to a user id, in any case of its letters, everywhere or on one namespace."""
        holder_ids = [bearer.pk for bearer in bearers(user, KINDS)] if holdable(user) else []
        objects = [node.id] if node else None
        return entries(self.herd, holders=holder_ids, objects=objects, now=self.now) if holder_ids else []

    def is_caller(self, user: str) -> bool:
        return in_capitals(user) == in_capitals(self.caller.name)
