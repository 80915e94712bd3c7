"""Granting, revoking and listing privileges."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.cdap import bodies
from authzsite.api.cdap.call import VIA, SecurityCall
from authzsite.api.cdap.problems import holder_of
from authzsite.api.surface import respond
from lakewarden.cdap.wire import write_authorizable, write_entity
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from policies.record import access_log


class Grant(SecurityCall):
    """`POST /privileges/grant`"""

    http_method_names = ["post"]

    def post(self, request: Request) -> HttpResponse:
        self.require_scope("manage")
        change = bodies.read_grant(request._request, self.actions)
        with self.administering(str(change.target)) as instance:
            instance.grant(change.target, change.holder, change.actions)
        return self.done()


class Revoke(SecurityCall):
    """`POST /privileges/revoke`"""

    http_method_names = ["post"]

    def post(self, request: Request) -> HttpResponse:
        self.require_scope("manage")
        change = bodies.read_revoke(request._request, self.actions)
        with self.administering(str(change.target)) as instance:
            instance.revoke(change.target, change.holder, change.actions)
        return self.done()


class Privileges(SecurityCall):
    """`GET /{principal-type}/{principal-name}/privileges`"""

    http_method_names = ["get"]

    def get(self, request: Request, kind: str, name: str) -> HttpResponse:
        holder = bodies.holder_named(kind, name)
        with self.administering(self.own_entity) as instance:
            privileges = instance.privileges(holder)
        if holder != holder_of(self.caller.principal):
            access_log.looked(self.caller.principal, f"review access of {holder}", self.root, via=VIA)
        return respond([self._wire(target, action) for target, action in privileges])

    def _wire(self, target: Authorizable, action: str) -> dict[str, Any]:
        if self.policy.startswith("3."):
            return {"entity": write_entity(target), "action": action}
        return {"authorizable": write_authorizable(target), "action": action}
