"""The seven calls on what users may do in namespaces.

Each checks in one order: the role, the permission on the namespace, the request, and only then what exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from accounts import people
from accounts.models import Principal
from authzsite.api.herd import bodies, checks
from authzsite.api.herd.call import VIA, HerdCall
from authzsite.api.herd.context import Office
from authzsite.api.herd.problems import OWN_GRANT, Problem, entry_exists, no_entry, no_namespace
from catalog.nodes import Node
from lakewarden.law.dialects.herd.permissions import ON_NAMESPACE
from policies.decisions.lookups.entries import Entry, each_on
from policies.events import GRANT_ADDED, GRANT_REMOVED
from policies.record import access_log
from policies.services import entries

GRANTING = "account_permissions_mapping.post_put_delete"


def ordered(privileges: Iterable[str]) -> list[str]:
    """Permissions in Herd's own order, whatever order they came in."""
    held = set(privileges)
    return [code for code in ON_NAMESPACE if code in held]


def wire(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.number,
        "userNamespaceAuthorizationKey": {"userId": entry.name, "namespace": entry.object_name},
        "namespacePermissions": ordered(entry.privileges),
    }


def holder_of(user: str) -> Principal:
    """The principal that a user id means, made when absent: `*@suffix` is a pattern, all else a user."""
    return people.ensure("pattern" if user.startswith("*") else "user", user)


class Authorizations(HerdCall):
    """`POST /userNamespaceAuthorizations`"""

    def post(self, request: Request) -> HttpResponse:
        with self.changing(GRANT_ADDED) as office:
            office.need_role()
            body = self.read(bodies.CREATE)
            key = body["userNamespaceAuthorizationKey"]
            node = office.need("GRANT", (key or {}).get("namespace"))
            if key is None:
                raise Problem(400, "A user namespace authorization key must be specified.")
            namespace, user = checks.namespace(key["namespace"]), checks.user_id(key["userId"])
            codes = checks.permissions(body["namespacePermissions"])
            if node is None:
                raise no_namespace(namespace)
            if office.entries_of(user, node):
                raise entry_exists(user, node.name)
            authority = office.authority(GRANTING, node)
            entries.replace(node, holder_of(user), codes, by=office.actor, authority=authority)
            entry = office.entries_of(user, node)[0]
        return self.respond(bodies.ENTRY, wire(entry))


class Authorization(HerdCall):
    """GET, PUT and DELETE of `/userNamespaceAuthorizations/userIds/{userId}/namespaces/{namespace}`"""

    def get(self, request: Request, user_id: str, namespace: str) -> HttpResponse:
        office = self.looking()
        node, entry = _existing(office, *_named(office, "READ", user_id, namespace))
        if not office.is_caller(entry[0].name):
            access_log.looked(office.caller, "review access", node, via=VIA)
        return self.respond(bodies.ENTRY, wire(entry[0]))

    def put(self, request: Request, user_id: str, namespace: str) -> HttpResponse:
        with self.changing(GRANT_ADDED) as office:
            named = _named(office, "GRANT", user_id, namespace)
            codes = checks.permissions(self.read(bodies.UPDATE)["namespacePermissions"])
            node, own_entries = _existing(office, *named)
            held = {code for item in own_entries for code in item.privileges}
            if entries.drops_own_grant(office.actor, named[-1], held, codes):
                raise Problem(400, OWN_GRANT)
            authority = office.authority(GRANTING, node)
            _take(office, own_entries[1:])
            holder = Principal.objects.get(pk=own_entries[0].holder)
            entries.replace(node, holder, codes, by=office.actor, authority=authority)
            entry = office.entries_of(holder.name, node)[0]
        return self.respond(bodies.ENTRY, wire(entry))

    def delete(self, request: Request, user_id: str, namespace: str) -> HttpResponse:
        with self.changing(GRANT_REMOVED) as office:
            _, entry = _existing(office, *_named(office, "GRANT", user_id, namespace))
            _take(office, entry)
        return self.respond(bodies.ENTRY, wire(entry[0]))


def _named(office: Office, permission: str, user_id: str, namespace: str) -> tuple[Node | None, str, str]:
    """The namespace, its code and the user id of a path, once role and permission are shown."""
    office.need_role()
    node = office.need(permission, namespace)
    code = checks.namespace(namespace)
    return node, node.name if node else code, checks.user_id(user_id)


def _existing(office: Office, node: Node | None, code: str, user: str) -> tuple[Node, list[Entry]]:
    """The user's entries on the namespace, of which there is one at least.  Raises Problem."""
    own_entries = office.entries_of(user, node) if node else []
    if node is None or not own_entries:
        raise no_entry(user, code)
    return node, own_entries


def _take(office: Office, own_entries: Iterable[Entry]) -> None:
    for item in own_entries:
        node = office.place_of(item)
        holder = Principal.objects.get(pk=item.holder)
        entries.take(node, holder, by=office.actor, authority=office.authority(GRANTING, node))


class OfUser(HerdCall):
    """GET and DELETE of `/userNamespaceAuthorizations/userIds/{userId}`"""

    def get(self, request: Request, user_id: str) -> HttpResponse:
        office = self.looking()
        office.need_role()
        user = checks.user_id(user_id)
        mine, own_entries = office.is_caller(user), office.entries_of(user)
        shown = [item for item in own_entries if mine or office.may("READ", office.place_of(item))]
        if shown and not mine:
            access_log.looked(office.caller, f"review access of a user on {len(shown)}", office.herd, via=VIA)
        return self.respond(bodies.ENTRIES, {"userNamespaceAuthorizations": _by_namespace(shown)})

    def delete(self, request: Request, user_id: str) -> HttpResponse:
        with self.changing(GRANT_REMOVED) as office:
            office.need_role()
            own_entries = office.entries_of(checks.user_id(user_id))
            office.need_on_all("GRANT", own_entries)
            _take(office, own_entries)
        return self.respond(bodies.ENTRIES, {"userNamespaceAuthorizations": _by_namespace(own_entries)})


def _by_namespace(own_entries: Iterable[Entry]) -> list[dict[str, Any]]:
    return [wire(entry) for entry in sorted(own_entries, key=lambda item: (item.object_name, item.name))]


class OfNamespace(HerdCall):
    """`GET /userNamespaceAuthorizations/namespaces/{namespace}`"""

    def get(self, request: Request, namespace: str) -> HttpResponse:
        office = self.looking()
        office.need_role()
        node = office.need("READ", namespace)
        code = checks.namespace(namespace)
        if node is None:
            raise no_namespace(code)
        access_log.looked(office.caller, "review access", node, via=VIA)
        return self.respond_each(bodies.ENTRIES, map(wire, each_on(node, now=office.now)))
