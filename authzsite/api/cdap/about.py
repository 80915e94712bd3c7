"""Whether a CDAP answers, and which: what its clients ask before anything else."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.cdap.call import TEXT, CdapCall
from authzsite.api.surface import respond


class Ping(CdapCall):
    """`GET /ping`; without credentials 401 with `auth_uri`, as from any of CDAP's calls."""

    http_method_names = ["get"]

    def get(self, request: Request) -> HttpResponse:
        return HttpResponse("OK.\n", content_type=TEXT)


class Version(CdapCall):
    """`GET /v3/version`: the generation of the realm."""

    http_method_names = ["get"]

    def get(self, request: Request) -> HttpResponse:
        return respond({"version": self.policy})
