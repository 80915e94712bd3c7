"""Roles: making, dropping and listing them, and who holds them."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.cdap.bodies import holder_named
from authzsite.api.cdap.call import SecurityCall
from authzsite.api.surface import respond


def wire(names: Iterable[str]) -> list[dict[str, str]]:
    return [{"name": name, "type": "ROLE"} for name in names]


class Roles(SecurityCall):
    """`GET /roles`"""

    http_method_names = ["get"]

    def get(self, request: Request) -> HttpResponse:
        with self.administering(self.own_entity) as instance:
            return respond(wire(instance.roles(None)))


class Role(SecurityCall):
    """PUT and DELETE of `/roles/{role-name}`"""

    http_method_names = ["put", "delete"]

    def put(self, request: Request, role: str) -> HttpResponse:
        self.require_scope("manage")
        name = holder_named("role", role).name
        with self.administering(self.own_entity, name) as instance:
            instance.create_role(name)
        return self.done()

    def delete(self, request: Request, role: str) -> HttpResponse:
        self.require_scope("manage")
        with self.administering(self.own_entity) as instance:
            instance.drop_role(role)
        return self.done()


class HeldRoles(SecurityCall):
    """`GET /{principal-type}/{principal-name}/roles`"""

    http_method_names = ["get"]

    def get(self, request: Request, kind: str, name: str) -> HttpResponse:
        holder = holder_named(kind, name)
        with self.administering(self.own_entity) as instance:
            return respond(wire(instance.roles(holder)))


class HeldRole(SecurityCall):
    """PUT and DELETE of `/{principal-type}/{principal-name}/roles/{role-name}`"""

    http_method_names = ["put", "delete"]

    def put(self, request: Request, kind: str, name: str, role: str) -> HttpResponse:
        self.require_scope("manage")
        holder = holder_named(kind, name)
        with self.administering(self.own_entity) as instance:
            instance.add_role(role, holder)
        return self.done()

    def delete(self, request: Request, kind: str, name: str, role: str) -> HttpResponse:
        self.require_scope("manage")
        holder = holder_named(kind, name)
        with self.administering(self.own_entity) as instance:
            instance.remove_role(role, holder)
        return self.done()
