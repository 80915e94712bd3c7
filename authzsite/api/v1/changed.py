"""`POST /authz/v1/backends/{id}/changed`: something was changed in the backend; look now."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import described
from authzsite.api.v1.fields import Answer, Body, Listed, Text, Whole
from catalog.nodes import node
from policies.models import Backend
from policies.record import access_log, outbox
from policies.sync.actions import operations

MOST = 1000
NOT_YOURS = "only a service account with the duty operate_sync on this backend's catalog can report changes"


class ChangedObjects(Body):
    """What was changed, as far as it is known; all of the backend is looked at."""

    objects = Listed(child=Text(allow_blank=True), max_length=MOST, default=list)


class LookSerializer(Answer):
    backend = Whole(source="pk")
    state = Text()


class Changed(Call):
    http_method_names = ["post"]

    @described(
        "Report a change in a backend, to read it now",
        "report",
        LookSerializer,
        body=ChangedObjects,
        status=202,
    )
    def post(self, request: Request, id: int) -> HttpResponse:
        caller = self.require_scope("report")
        ChangedObjects.read(request, optional=True)
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
        return respond(LookSerializer(row).data, 202)
