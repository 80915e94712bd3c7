"""What exists in a CDAP: namespaces and what is in them, made, listed, read and deleted as CDAP's clients do.

Nothing runs and no data is kept here: jars, what is in keys, and an application's own configuration are read
and let go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.cdap.call import TEXT, CdapCall
from authzsite.api.cdap.entity_bodies import (
    KINDS,
    NAMESPACE,
    PROGRAM,
    PROGRAMS,
    SNAPSHOT,
    Kind,
    Shown,
    namespace_named,
)
from authzsite.api.cdap.problems import Denied, Problem
from authzsite.api.strictjson import BadBody, read_content
from authzsite.api.surface import respond
from catalog.models import Detail
from lakewarden.law.dialects.cdap.authorizable import Authorizable, of
from policies.authority import Actor
from policies.decisions import ask
from policies.errors import AlreadyExists, NotFound, PolicyError, Refused
from policies.services import entities

KEPT_ELSEWHERE = "The data of secure keys is in CDAP's own secure store; the console does not hold it."


class EntityCall(CdapCall):
    """A call about entities; what goes wrong is said in plain text, as CDAP does."""

    @property
    def actor(self) -> Actor:
        return self.caller.actor(self._request_id)

    @contextmanager
    def doing(self, what: str, entity: Authorizable) -> Iterator[None]:
        try:
            yield
        except Refused as refusal:
            raise Denied(str(refusal), what, str(entity)) from None
        except NotFound as problem:
            raise Problem(404, str(problem)) from None
        except AlreadyExists as problem:
            raise Problem(409, str(problem)) from None
        except PolicyError as problem:
            raise Problem(400, str(problem)) from None

    def body(self) -> Mapping[str, Any]:
        """What was sent; nothing sent says nothing.  Raises Problem."""
        try:
            value = read_content(self.request._request)
        except BadBody as error:
            raise Problem(400, f"Could not read the request: {error}.") from None
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise Problem(400, "Could not read the request: the body must be a JSON object.")
        return value

    def text(self, text: str = "") -> HttpResponse:
        return HttpResponse(text, status=200, content_type=TEXT)

    # each verb once, whatever the kind

    def make(self, kind: Kind, entity: Authorizable, body: Mapping[str, Any]) -> None:
        """Register an entity.  Raises Problem; AlreadyExists is the caller's to answer."""
        self.require_scope("manage")
        described = kind.read(entity.parts[0], body)
        try:
            self._must_be_there(described.made_with)
            entities.create(
                self.root,
                entity,
                by=self.actor,
                principal=described.principal,
                made_with=described.made_with,
                comment=described.comment or "",
                content=described.kept({}),
            )
        except AlreadyExists:
            raise
        except PolicyError as problem:
            with self.doing(f"create_{entity.type}", entity):
                raise problem from None

    def _must_be_there(self, made_with: Authorizable | None) -> None:
        """What the maker may see and is not there, is said not to be; else the law answers first."""
        if made_with is None or made_with.type != "artifact" or made_with.parts[0] == "system":
            return
        place = ask.entity_node(self.root, made_with)
        if ask.ask(self.caller.principal, "use", place) and self.row(made_with) is None:
            raise NotFound(f"'{made_with}' was not found.")

    def change(self, kind: Kind, entity: Authorizable, body: Mapping[str, Any]) -> None:
        """Change what is said of an entity; who owns it or whom it runs as stays.  Raises Problem."""
        self.require_scope("manage")
        described = kind.read(entity.parts[0], body)
        with self.doing("alter", entity):
            node = entities.require_may(self.root, entity, "alter", by=self.actor)
            row = Detail.objects.filter(securable=node.id).first()
            before = row.content if row else {}
            if described.principal not in ("", before.get(entities.PRINCIPAL, "")):
                raise Problem(403, f"The principal of '{entity}' cannot be changed.")
            content = described.kept(before)
            entities.update(self.root, entity, by=self.actor, comment=described.comment, content=content)

    def delete_one(self, entity: Authorizable) -> HttpResponse:
        self.require_scope("manage")
        with self.doing("drop", entity):
            entities.delete(self.root, entity, by=self.actor)
        return self.text()

    def delete_like(self, pattern: Authorizable) -> HttpResponse:
        """Delete all that is like the pattern; what was left is told, with why, as far as it may be seen."""
        self.require_scope("manage")
        with self.doing("delete_all", pattern):
            cleared = entities.delete_all(self.root, pattern, by=self.actor)
        if not cleared.left:
            return self.text()
        why = dict(cleared.left)
        seen = ask.visible_entities(self.caller.principal, self.root, why)
        lines = [f"deleted {entity}" for entity in cleared.gone]
        lines += [f"left {entity}: {why[entity]}" for entity in seen]
        lines += ["left more that you may not see"] if len(seen) < len(why) else []
        raise Denied("\n".join(lines), "delete_all", str(pattern))

    def read_one(self, entity: Authorizable) -> Shown:
        with self.doing("read", entity):
            node = entities.get(self.root, entity, by=self.actor)
        return Shown(entity, Detail.objects.filter(securable=node.id).first())

    def seen(self, pattern: Authorizable) -> list[Shown]:
        """Those of the entities like the pattern that lists show to the caller, by name."""
        there = entities.registered(self.root, pattern)
        visible = ask.visible_entities(self.caller.principal, self.root, there)
        ids = [there[entity].id for entity in visible]
        rows = {row.securable_id: row for row in Detail.objects.filter(securable__in=ids)}
        return [Shown(entity, rows.get(there[entity].id)) for entity in visible]

    def row(self, entity: Authorizable) -> Detail | None:
        node = entities.found(self.root, entity)
        return Detail.objects.filter(securable=node.id).first() if node else None


class Namespaces(EntityCall):
    """`GET /v3/namespaces`"""

    http_method_names = ["get"]

    def get(self, request: Request) -> HttpResponse:
        return respond([NAMESPACE.brief(item) for item in self.seen(of("namespace", "*"))])


class Namespace(EntityCall):
    """PUT, GET and DELETE of `/v3/namespaces/{ns}`; DELETE of `/v3/unrecoverable/namespaces/{ns}` too."""

    http_method_names = ["get", "put", "delete"]

    def put(self, request: Request, ns: str) -> HttpResponse:
        try:
            self.make(NAMESPACE, namespace_named(ns), self.body())
        except AlreadyExists:
            return self.text(f"Namespace '{ns}' already exists.")
        return self.text(f"Namespace '{ns}' created successfully.")

    def get(self, request: Request, ns: str) -> HttpResponse:
        return respond(NAMESPACE.whole(self.read_one(namespace_named(ns))))

    def delete(self, request: Request, ns: str) -> HttpResponse:
        return self.delete_one(namespace_named(ns))


class UnrecoverableNamespace(Namespace):
    http_method_names = ["delete"]


class NamespaceProperties(EntityCall):
    """`PUT /v3/namespaces/{ns}/properties`"""

    http_method_names = ["put"]

    def put(self, request: Request, ns: str) -> HttpResponse:
        self.change(NAMESPACE, namespace_named(ns), self.body())
        return self.text(f"Updated properties for namespace '{ns}'.")


class Entities(EntityCall):
    """GET and DELETE of `/v3/namespaces/{ns}/apps` and of the other places."""

    http_method_names = ["get", "delete"]

    def get(self, request: Request, ns: str, place: str) -> HttpResponse:
        kind = kind_at(place)
        found = self.seen(kind.all_in(ns))
        if kind.type == "securekey":
            return respond({item.name: item.description for item in found})
        return respond([kind.brief(item) for item in found])

    def delete(self, request: Request, ns: str, place: str) -> HttpResponse:
        return self.delete_like(kind_at(place).all_in(ns))


class AllDatasets(EntityCall):
    """`DELETE /v3/unrecoverable/namespaces/{ns}/datasets`"""

    http_method_names = ["delete"]

    def delete(self, request: Request, ns: str) -> HttpResponse:
        return self.delete_like(KINDS["data/datasets"].all_in(ns))


class Entity(EntityCall):
    """PUT, GET and DELETE of `/v3/namespaces/{ns}/apps/{name}` and the other places; POST of an artifact."""

    def put(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        kind = kind_at(place)
        if kind.type in ("artifact", "dataset_type"):
            raise Problem(405, f"A {kind.type.replace('_', ' ')} is not made by PUT.")
        entity = kind.entity(ns, name)
        body = self._module() if kind.type == "dataset_module" else self.body()
        try:
            self.make(kind, entity, body)
        except AlreadyExists as problem:
            # applications are deployed over, keys written over, streams left; all else is a conflict
            if kind.type in ("application", "securekey"):
                self.change(kind, entity, body)
            elif kind.type != "stream":
                raise Problem(409, str(problem)) from None
        return self.text("Deploy Complete" if kind.type == "application" else "")

    def post(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        kind = kind_at(place)
        if kind.type != "artifact":
            raise Problem(405, "Only an artifact is made by POST.")
        self._jar()
        version = str(request.META.get("HTTP_ARTIFACT_VERSION", ""))[:100]
        entity, body = kind.entity(ns, name), {"version": version or SNAPSHOT}
        try:
            self.make(kind, entity, body)
        except AlreadyExists as problem:
            if Shown(entity, self.row(entity)).value("version", SNAPSHOT) == body["version"]:
                raise Problem(409, str(problem)) from None
            self.change(kind, entity, body)
        return self.text("Artifact added successfully")

    def get(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        kind = kind_at(place)
        entity = kind.entity(ns, name)
        if kind.type == "securekey":
            with self.doing("read", entity):
                entities.require_may(self.root, entity, self._reading_key, by=self.actor)
            raise Problem(501, KEPT_ELSEWHERE)
        shown = self.read_one(entity)
        if kind.type == "artifact":
            return respond([kind.brief(shown)])
        programs = [PROGRAM.brief(item) for item in self.seen(of("program", *entity.parts, "*"))]
        return respond(
            {**kind.whole(shown), **({"programs": programs} if kind.type == "application" else {})}
        )

    def delete(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        return self.delete_one(kind_at(place).entity(ns, name))

    @property
    def _reading_key(self) -> str:
        return "securekey.read_data" if self.policy == "4.3" else "read"

    def _module(self) -> Mapping[str, Any]:
        self._jar()
        return {"className": str(self.request.META.get("HTTP_X_CLASS_NAME", ""))[:255]}

    def _jar(self) -> None:
        """Read a jar to its end, keeping nothing."""
        while self.request._request.read(1 << 16):
            pass


class EntityProperties(EntityCall):
    """PUT of `…/data/datasets/{name}/properties` and the like; POST of `…/apps/{name}/update`."""

    http_method_names = ["put", "post"]

    def put(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        kind, body = kind_at(place), self.body()
        described = {"properties": body} if kind.type in ("dataset", "artifact") else body
        self.change(kind, kind.entity(ns, name), described)
        return self.text()

    def post(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        kind = kind_at(place)
        self.change(kind, kind.entity(ns, name), self.body())
        return self.text("Update complete.")


class ArtifactVersion(EntityCall):
    """GET and DELETE of `…/artifacts/{name}/versions/{version}`; rights do not know versions."""

    http_method_names = ["get", "delete"]

    def get(self, request: Request, ns: str, name: str, version: str) -> HttpResponse:
        kind = KINDS["artifacts"]
        entity = kind.entity(ns, name)
        shown = self.read_one(entity)
        if shown.value("version", SNAPSHOT) != version:
            raise Problem(404, f"'{entity}.{version}' was not found.")
        return respond(kind.whole(shown))

    def delete(self, request: Request, ns: str, name: str, version: str) -> HttpResponse:
        entity = KINDS["artifacts"].entity(ns, name)
        with self.doing("drop", entity):
            entities.require_may(self.root, entity, "drop", by=self.actor)
        if Shown(entity, self.row(entity)).value("version", SNAPSHOT) != version:
            raise Problem(404, f"'{entity}.{version}' was not found.")
        return self.delete_one(entity)


class KeyMetadata(EntityCall):
    """`GET …/securekeys/{name}/metadata`"""

    http_method_names = ["get"]

    def get(self, request: Request, ns: str, name: str) -> HttpResponse:
        kind = KINDS["securekeys"]
        return respond(kind.whole(self.read_one(kind.entity(ns, name))))


class Programs(EntityCall):
    """`GET /v3/namespaces/{ns}/{program-type}`: the programs of a namespace, of all its applications."""

    http_method_names = ["get"]

    def get(self, request: Request, ns: str, kind: str) -> HttpResponse:
        found = self.seen(of("program", *namespace_named(ns).parts, "*", PROGRAMS[kind], "*"))
        return respond([PROGRAM.brief(item) for item in found])


class Program(EntityCall):
    """GET of a program as CDAP has it; PUT and DELETE, because no jar is read here that would name it."""

    http_method_names = ["get", "put", "delete"]

    def _entity(self, ns: str, app: str, kind: str, name: str) -> Authorizable:
        if not PROGRAM.legal.fullmatch(name):
            raise Problem(400, f"Invalid program name '{name}'.")
        return of("program", ns, app, PROGRAMS[kind], name)

    def get(self, request: Request, ns: str, app: str, kind: str, name: str) -> HttpResponse:
        return respond(PROGRAM.whole(self.read_one(self._entity(ns, app, kind, name))))

    def put(self, request: Request, ns: str, app: str, kind: str, name: str) -> HttpResponse:
        entity = self._entity(ns, app, kind, name)
        try:
            self.make(PROGRAM, entity, self.body())
        except AlreadyExists as problem:
            raise Problem(409, str(problem)) from None
        return self.text()

    def delete(self, request: Request, ns: str, app: str, kind: str, name: str) -> HttpResponse:
        return self.delete_one(self._entity(ns, app, kind, name))


def kind_at(place: str) -> Kind:
    """The kind at a place of the paths, however many slashes it was written with."""
    return KINDS[re.sub("/+", "/", place)]
