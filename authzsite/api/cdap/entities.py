"""What exists in a CDAP: namespaces and what is in them, made, listed, read and deleted as CDAP's clients do.

Nothing runs and no data is kept here: jars, what is in keys, and an application's own configuration are read
and let go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.cdap.call import TEXT, CdapCall
from authzsite.api.cdap.entity_bodies import (
    APP_VERSION,
    KINDS,
    NAMESPACE,
    PROGRAM,
    PROGRAMS,
    SNAPSHOT,
    SYSTEM,
    Kind,
    Shown,
    artifact_of,
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
ONLY_IN_CDAP = (
    "You may do this, but nothing was done: programs run and data is kept in CDAP, not in the console."
)


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

    def decide_only(self, entity: Authorizable, words: Sequence[str]) -> Problem:
        """Decide what is done in CDAP alone: the answer to people who may.  Raises Problem for others.

        `words` are what the operation is called in the generations; the first that this one knows is asked.
        """
        self.read_jar()
        operation = entities.operation_named(self.root, entity, words)
        with self.doing(operation, entity):
            entities.require_may(self.root, entity, operation, by=self.actor)
        return Problem(501, ONLY_IN_CDAP)

    def read_jar(self) -> None:
        """Read what was sent to its end, keeping nothing."""
        while self.request._request.read(1 << 16):
            pass

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

    def deploy(self, entity: Authorizable, version: str) -> HttpResponse:
        """Make an application, or deploy it over the one that is there.  Raises Problem."""
        kind, body = KINDS["apps"], {**self.body(), APP_VERSION: version}
        try:
            self.make(kind, entity, body)
        except AlreadyExists:
            self.change(kind, entity, body)
        return self.text("Deploy Complete")

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
            after = {**before, **content} if kind.type == "application" else {}
            self._must_be_there(described.made_with)
            entities.update(
                self.root,
                entity,
                by=self.actor,
                made_with=artifact_of(entity.parts[0], after),
                comment=described.comment,
                content=content,
            )

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
        if (
            entity.type == "artifact"
            and entity.parts[0] == SYSTEM
            and entities.found(self.root, entity) is None
        ):
            # CDAP's client looks for a system artifact first, and only after a 404 for the caller's own
            raise Problem(404, f"'{entity}' was not found.")
        with self.doing("read", entity):
            node = entities.get(self.root, entity, by=self.actor)
        return Shown(entity, Detail.objects.filter(securable=node.id).first())

    def whole(self, kind: Kind, shown: Shown) -> dict[str, Any]:
        """All that is told of an entity; of an application its programs, as far as the caller sees them."""
        if kind.type != "application":
            return kind.whole(shown)
        programs = self.seen(of("program", *shown.entity.parts, "*"))
        return {**kind.whole(shown), "programs": [PROGRAM.brief(item) for item in programs]}

    def require_version(self, entity: Authorizable, version: str) -> Shown:
        """The entity as it is kept, which is in that version.  Raises Problem; asks no rights."""
        shown = Shown(entity, self.row(entity))
        if shown.version != version:
            raise Problem(404, f"'{entity}.{version}' was not found.")
        return shown

    def home(self, place: str, ns: str) -> str:
        """The namespace that is meant: artifacts of the scope SYSTEM are in one of their own."""
        scope = self.request.GET.get("scope", "")
        return SYSTEM if place == "artifacts" and scope.upper() == "SYSTEM" else ns

    def seen(self, pattern: Authorizable) -> list[Shown]:
        """Those of the entities like the pattern that lists show to the caller, by name."""
        registered = entities.registered(self.root, pattern)
        visible = ask.visible_entities(self.caller.principal, self.root, registered)
        ids = [registered[entity].id for entity in visible]
        rows = {row.securable_id: row for row in Detail.objects.filter(securable__in=ids)}
        return [Shown(entity, rows.get(registered[entity].id)) for entity in visible]

    def seen_in(self, ns: str, pattern: Authorizable) -> list[Shown]:
        """What a list of a namespace shows; in 4.3 only people who see it get one.  Raises Problem."""
        if self.policy == "4.3" and ns != SYSTEM:
            self.read_one(namespace_named(ns))
        return self.seen(pattern)

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
        items = self.seen_in(ns, kind.all_in(self.home(place, ns)))
        if kind.type == "securekey":
            return respond({item.name: item.description for item in items})
        if kind.type == "application":
            items = [item for item in items if self._made_of_these(item)]
        return respond([kind.brief(item) for item in items])

    def delete(self, request: Request, ns: str, place: str) -> HttpResponse:
        return self.delete_like(kind_at(place).all_in(ns))

    def _made_of_these(self, application: Shown) -> bool:
        """Whether it is of an artifact that `artifactName` (by commas) and `artifactVersion` ask for."""
        artifact, query = application.value("artifact", {}), self.request.GET
        names, version = query.get("artifactName", ""), query.get("artifactVersion", "")
        if names and artifact.get("name") not in names.split(","):
            return False
        return not version or artifact.get("version") == version


class AllDatasets(EntityCall):
    """`DELETE /v3/unrecoverable/namespaces/{ns}/datasets`"""

    http_method_names = ["delete"]

    def delete(self, request: Request, ns: str) -> HttpResponse:
        return self.delete_like(KINDS["data/datasets"].all_in(ns))


class Entity(EntityCall):
    """PUT, GET, DELETE of `…/apps/{name}` and the other places; POST of an artifact, to a stream."""

    def put(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        kind = kind_at(place)
        if kind.type in ("artifact", "dataset_type"):
            raise Problem(405, f"A {kind.type.replace('_', ' ')} is not made by PUT.")
        entity = kind.entity(ns, name)
        if kind.type == "application":
            return self.deploy(entity, SNAPSHOT)
        body = self._module() if kind.type == "dataset_module" else self.body()
        try:
            self.make(kind, entity, body)
        except AlreadyExists as problem:
            # keys are written over, streams left; all else is a conflict
            if kind.type == "securekey":
                self.change(kind, entity, body)
            elif kind.type != "stream":
                raise Problem(409, str(problem)) from None
        return self.text()

    def post(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        kind = kind_at(place)
        if kind.type == "stream":
            raise self.decide_only(kind.entity(ns, name), ("send_events", "enqueue"))
        if kind.type != "artifact":
            raise Problem(405, "Only an artifact is made by POST.")
        self.read_jar()
        version = str(request.META.get("HTTP_ARTIFACT_VERSION", ""))[:100]
        entity, body = kind.entity(ns, name), {"version": version or SNAPSHOT}
        try:
            self.make(kind, entity, body)
        except AlreadyExists as problem:
            if Shown(entity, self.row(entity)).version == body["version"]:
                raise Problem(409, str(problem)) from None
            self.change(kind, entity, body)
        return self.text("Artifact added successfully")

    def get(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        kind = kind_at(place)
        entity = kind.entity(self.home(place, ns), name)
        if kind.type == "securekey":
            with self.doing("read", entity):
                entities.require_may(self.root, entity, self._reading_key, by=self.actor)
            raise Problem(501, KEPT_ELSEWHERE)
        shown = self.read_one(entity)
        if kind.type == "artifact":
            return respond([kind.brief(shown)])
        return respond(self.whole(kind, shown))

    def delete(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        return self.delete_one(kind_at(place).entity(ns, name))

    @property
    def _reading_key(self) -> str:
        return "securekey.read_data" if self.policy == "4.3" else "read"

    def _module(self) -> Mapping[str, Any]:
        self.read_jar()
        return {"className": str(self.request.META.get("HTTP_X_CLASS_NAME", ""))[:255]}


class EntityProperties(EntityCall):
    """GET and PUT of `…/datasets/{name}/properties`; PUT of a stream's; POST of `…/apps/{name}/update`."""

    http_method_names = ["get", "put", "post"]

    def get(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        return respond(self.read_one(kind_at(place).entity(ns, name)).properties)

    def put(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        kind, body = kind_at(place), self.body()
        self.change(kind, kind.entity(ns, name), {"properties": body} if kind.type == "dataset" else body)
        return self.text()

    def post(self, request: Request, ns: str, place: str, name: str) -> HttpResponse:
        kind = kind_at(place)
        self.change(kind, kind.entity(ns, name), self.body())
        return self.text("Update complete.")


class KeyMetadata(EntityCall):
    """`GET …/securekeys/{name}/metadata`"""

    http_method_names = ["get"]

    def get(self, request: Request, ns: str, name: str) -> HttpResponse:
        kind = KINDS["securekeys"]
        entity = kind.entity(ns, name)
        if self.policy == "4.3":  # what is said of a key takes what reading it takes
            with self.doing("read", entity):
                entities.require_may(self.root, entity, "securekey.read_data", by=self.actor)
        return respond(kind.whole(self.read_one(entity)))


class Programs(EntityCall):
    """`GET /v3/namespaces/{ns}/{program-type}`: the programs of a namespace, of all its applications."""

    http_method_names = ["get"]

    def get(self, request: Request, ns: str, kind: str) -> HttpResponse:
        pattern = of("program", *namespace_named(ns).parts, "*", PROGRAMS[kind], "*")
        programs = self.seen_in(ns, pattern)
        return respond([PROGRAM.brief(item) for item in programs])


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
