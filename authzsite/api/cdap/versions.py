"""Artifacts and applications by their versions.  Rights do not know versions, and one is kept, the last."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.cdap.entities import EntityCall
from authzsite.api.cdap.entity_bodies import KINDS, Shown
from authzsite.api.cdap.problems import Problem
from authzsite.api.surface import respond
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from policies.services import entities

_VERSION = re.compile(r"[.a-zA-Z0-9_-]{1,100}")
_LONGEST_VALUE = 10_000
"""In bytes; a value of a property."""


class VersionCall(EntityCall):
    """A call about one version; `place` says of what."""

    place = "artifacts"

    def entity(self, ns: str, name: str) -> Authorizable:
        return KINDS[self.place].entity(self.home(self.place, ns), name)

    def require_may(self, ns: str, name: str, version: str, action: str) -> Shown:
        """The entity, for callers who may do this to it and know its version.  Raises Problem."""
        entity = self.entity(ns, name)
        with self.doing(action, entity):
            entities.require_may(self.root, entity, action, by=self.actor)
        return self.require_version(entity, version)


class Versions(VersionCall):
    """`GET …/apps/{app}/versions`"""

    http_method_names = ["get"]

    def get(self, request: Request, ns: str, name: str) -> HttpResponse:
        return respond([self.read_one(self.entity(ns, name)).version])


class Version(VersionCall):
    """GET and DELETE of `…/artifacts/{name}/versions/{version}` and of `…/apps/{app}/versions/{version}`"""

    http_method_names = ["get", "delete"]

    def get(self, request: Request, ns: str, name: str, version: str) -> HttpResponse:
        shown = self.read_one(self.entity(ns, name))
        self.require_version(shown.entity, version)
        return respond(self.whole(KINDS[self.place], shown))

    def delete(self, request: Request, ns: str, name: str, version: str) -> HttpResponse:
        return self.delete_one(self.require_may(ns, name, version, "drop").entity)


class NewVersion(VersionCall):
    """`POST …/apps/{app}/versions/{version}/create`"""

    http_method_names = ["post"]
    place = "apps"

    def post(self, request: Request, ns: str, name: str, version: str) -> HttpResponse:
        if not _VERSION.fullmatch(version):
            raise Problem(400, f"Invalid application version '{version}'.")
        return self.deploy(self.entity(ns, name), version)


class ArtifactProperties(VersionCall):
    """GET, PUT and DELETE of `…/artifacts/{name}/versions/{version}/properties`"""

    http_method_names = ["get", "put", "delete"]

    def get(self, request: Request, ns: str, name: str, version: str) -> HttpResponse:
        shown = self.read_one(self.entity(ns, name))
        return respond(self.require_version(shown.entity, version).properties)

    def put(self, request: Request, ns: str, name: str, version: str) -> HttpResponse:
        return self.write(ns, name, version, dict(self.body()))

    def delete(self, request: Request, ns: str, name: str, version: str) -> HttpResponse:
        return self.write(ns, name, version, {})

    def write(self, ns: str, name: str, version: str, properties: dict[str, Any]) -> HttpResponse:
        entity = self.require_may(ns, name, version, "alter").entity
        self.change(KINDS["artifacts"], entity, {"properties": properties})
        return self.text()


class ArtifactProperty(ArtifactProperties):
    """PUT and DELETE of `…/artifacts/{name}/versions/{version}/properties/{key}`; the body is the value."""

    http_method_names = ["put", "delete"]

    def put(self, request: Request, ns: str, name: str, version: str, key: str = "") -> HttpResponse:
        try:
            value = request._request.read(_LONGEST_VALUE + 1).decode()
        except UnicodeDecodeError:
            raise Problem(400, "The value of a property must be UTF-8.") from None
        if len(value) > _LONGEST_VALUE:
            raise Problem(400, f"The value of a property has at most {_LONGEST_VALUE} bytes.")
        others = self._others(ns, name, version, key)
        return self.write(ns, name, version, {**others, key: value})

    def delete(self, request: Request, ns: str, name: str, version: str, key: str = "") -> HttpResponse:
        return self.write(ns, name, version, self._others(ns, name, version, key))

    def _others(self, ns: str, name: str, version: str, key: str) -> dict[str, Any]:
        properties = self.require_may(ns, name, version, "alter").properties
        return {other: value for other, value in properties.items() if other != key}
