"""`GET /authz/v1/openapi.json`: the calls below `/authz/v1/`, as programs read about them."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts.models.tokens import SCOPES
from authzsite.api.surface import respond
from authzsite.api.v1.call import Call


@cache  # it takes seconds to make, and is the same as long as the process lives
def document() -> dict[str, Any]:
    """The whole description, OpenAPI 3.1, from the serializers that read bodies and write answers."""
    generator = SchemaGenerator(urlconf="authzsite.api.v1.urls")  # type: ignore[no-untyped-call]
    schema: dict[str, Any] = generator.get_schema(public=True)  # type: ignore[no-untyped-call]
    return {**schema, "info": {**schema["info"], "description": f"Scopes of a token: {', '.join(SCOPES)}."}}


class OpenApi(Call):
    """It says nothing about anybody, so it needs no sign-in."""

    authentication_classes = []
    permission_classes = []
    http_method_names = ["get"]

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return respond(document())
