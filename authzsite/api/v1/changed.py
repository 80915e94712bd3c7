"""`POST /authz/v1/backends/{id}/changed`: something was changed in the backend; look now."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.strictjson import BadBody, read_object
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1.call import Call
from catalog.nodes import node
from policies.models import Backend
from policies.record import access_log, outbox
from policies.sync.actions import operations

MOST = 1000
NOT_YOURS = "only a service account with the duty operate_sync on this backend's catalog may say so"


class Changed(Call):
    http_method_names = ["post"]

    def post(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("report")
        _check(read_object(request._request).get("objects", []) if request._request.body else [])
        row = Backend.objects.filter(pk=id).first()
        catalog = node(row.catalog_id) if row else None
        service = caller.principal.kind == Principal.Kind.SERVICE
        may = service and catalog is not None and operations.may_operate(caller.actor(), catalog)
        # one answer for what is not there and for what is not the caller's
        if row is None or not may:
            access_log.refused(
                caller.principal, operations.DUTY, catalog, name=f"backend {id}", via="changed"
            )
            raise Forbidden(NOT_YOURS)
        outbox.look(row)
        return respond({"backend": row.pk, "state": row.state}, 202)


def _check(objects: object) -> None:
    named = isinstance(objects, list) and all(isinstance(one, str) for one in objects)
    if not isinstance(objects, list) or not named or len(objects) > MOST:
        raise BadBody(f"objects must be a list of at most {MOST} names")
