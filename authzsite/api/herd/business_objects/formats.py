"""Business object formats: of a definition, by usage and file type, one version after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.herd import checks
from authzsite.api.herd.body_schemas import Whole
from authzsite.api.herd.business_objects import definitions, shapes
from authzsite.api.herd.business_objects.definitions import kept, named
from authzsite.api.herd.call import HerdCall
from authzsite.api.herd.context import Office
from authzsite.api.herd.problems import Problem
from authzsite.api.strictjson import BadBody
from catalog.models import Detail
from catalog.nodes import Node, nodes
from catalog.queries import below
from policies.events import OBJECT_ALTERED, OBJECT_DROPPED, OBJECT_REGISTERED
from policies.services import object_details, objects
from policies.services.objects import NewObject

TYPE, DATA_TYPE = "business_object_format", "business_object_data"
_FIELDS = ("description", "documentSchema", "documentSchemaUrl", "attributes", "schema")
MOST_COLUMNS = 5000


@dataclass(frozen=True)
class FormatKey:
    """Which format, its version left out where the latest is meant."""

    definition: str
    usage: str
    file_type: str
    version: int | None = None

    @property
    def series(self) -> str:
        """What all versions of it are called by; no part of it has a slash."""
        return "/".join((self.definition, self.usage, self.file_type))

    def wire(self, namespace: str) -> dict[str, Any]:
        return {
            "namespace": namespace,
            "businessObjectDefinitionName": self.definition,
            "businessObjectFormatUsage": self.usage,
            "businessObjectFormatFileType": self.file_type,
        }


@dataclass(frozen=True)
class StoredFormat:
    """A format as it was when it was found; `latest` is the highest version there is of it."""

    node: Node
    namespace: Node
    key: FormatKey
    content: dict[str, Any]
    latest: int

    def wire(self) -> dict[str, Any]:
        version = self.key.version
        key = {**self.key.wire(self.namespace.name), "businessObjectFormatVersion": version}
        named = {"id": self.node.id, **key, "latestVersion": version == self.latest}
        return {**named, "attributes": [], **self.content}


def key_of(definition: str | None, usage: str | None, file_type: str | None) -> FormatKey:
    """The key that names give.  Raises Problem."""
    return FormatKey(
        named(definition),
        checks.named(usage, "A business object format usage", "Business object format usage"),
        checks.named(file_type, "A business object format file type", "Business object format file type"),
    )


def versions(namespace: Node, key: FormatKey) -> list[int]:
    """The versions that there are of a format, in order."""
    rows = below(namespace, TYPE).filter(name__istartswith=f"{key.series}/").values_list("name", flat=True)
    parts = [name.rpartition("/") for name in rows]
    return sorted(int(version) for series, _, version in parts if series.upper() == key.series.upper())


class FormatCall(HerdCall):
    """A call about a format that is there."""

    def existing(self, office: Office, permission: str) -> StoredFormat:
        """The format that is asked for, for callers who have the permission.  Raises Problem."""
        code = self.kwargs["namespace"]
        namespace = office.need(permission, code)
        wanted = key_of(*(self.kwargs[name] for name in ("definition", "usage", "file_type")))
        version = self._version()
        versions_ = versions(namespace, wanted) if namespace else []
        if namespace is not None and versions_ and (version is None or version in versions_):
            number = versions_[-1] if version is None else version
            node = office.within(namespace, TYPE, f"{wanted.series}/{number}")
            if node is not None:
                definition, usage, file_type, _ = node.name.split("/")
                key = FormatKey(definition, usage, file_type, number)
                return StoredFormat(
                    node, namespace, key, Detail.objects.get(pk=node.id).content, versions_[-1]
                )
        where = checks.namespace(code)
        raise Problem(
            404, f'Business object format "{wanted.series}" doesn\'t exist for namespace "{where}".'
        )

    def _version(self) -> int | None:
        text = self.kwargs.get("format_version") or self.request.query_params.get(
            "businessObjectFormatVersion", ""
        )
        try:
            return Whole().from_text(text) if text else None
        except BadBody:
            problem = "A business object format version must be specified as a whole number."
            raise Problem(400, problem) from None


class Formats(HerdCall):
    """`POST /businessObjectFormats`"""

    http_method_names = ["post"]

    def post(self, request: Request) -> HttpResponse:
        with self.changing(OBJECT_REGISTERED) as office:
            body = self.read(shapes.FORMAT_CREATE)
            office.need("WRITE", body["namespace"])
            format_key = key_of(
                body["businessObjectDefinitionName"],
                body["businessObjectFormatUsage"],
                body["businessObjectFormatFileType"],
            )
            partition = checks.named(body["partitionKey"], "A partition key", "Partition key")
            content = {**_described(body), "partitionKey": partition}
            definition = definitions.existing(office, "WRITE", body["namespace"], format_key.definition)
            namespace = nodes([definition.lineage[-2]])[definition.lineage[-2]]
            version = max(versions(namespace, format_key), default=-1) + 1
            key = FormatKey(definition.name, format_key.usage, format_key.file_type, version)
            authority = office.authority("BusinessObjectFormat.createBusinessObjectFormat", namespace)
            new = NewObject(TYPE, f"{key.series}/{version}", content=content)
            [made] = objects.register(
                namespace, [new], by=office.actor, authority=authority, owner=office.caller
            )
        stored = StoredFormat(made, namespace, key, content, version)
        return self.respond(shapes.FORMAT, stored.wire())


def _described(body: dict[str, Any]) -> dict[str, Any]:
    content = kept(body, *_FIELDS)
    schema = content.get("schema") or {}
    columns = [*(schema.get("columns") or ()), *(schema.get("partitions") or ())]
    if len(columns) > MOST_COLUMNS:
        raise Problem(400, f"A schema has at most {MOST_COLUMNS} columns.")
    for column in columns:
        checks.named(column["name"], "A schema column name", "Schema column name")
    return content


class Format(FormatCall):
    """GET without a version in the path; PUT and DELETE with one."""

    def get(self, request: Request, **_: str) -> HttpResponse:
        return self.respond(shapes.FORMAT, self.existing(self.looking(), "READ").wire())

    def put(self, request: Request, **_: str) -> HttpResponse:
        with self.changing(OBJECT_ALTERED) as office:
            stored = self.existing(office, "WRITE")
            content = {
                **_described(self.read(shapes.FORMAT_UPDATE)),
                "partitionKey": stored.content["partitionKey"],
            }
            authority = office.authority("BusinessObjectFormat.updateBusinessObjectFormat", stored.namespace)
            object_details.describe(
                stored.node, by=office.actor, authority=authority, what="format", content=content
            )
        changed = StoredFormat(stored.node, stored.namespace, stored.key, content, stored.latest)
        return self.respond(shapes.FORMAT, changed.wire())

    def delete(self, request: Request, **_: str) -> HttpResponse:
        with self.changing(OBJECT_DROPPED) as office:
            stored = self.existing(office, "WRITE")
            if below(stored.namespace, DATA_TYPE).filter(name__istartswith=f"{stored.node.name}/").exists():
                what = "a business object format that has business object data associated with it"
                raise Problem(400, f"Can not delete {what}.")
            authority = office.authority("BusinessObjectFormat.deleteBusinessObjectFormat", stored.namespace)
            objects.drop(stored.node, by=office.actor, authority=authority)
        return self.respond(shapes.FORMAT, stored.wire())


class FormatsOfDefinition(HerdCall):
    """`GET /businessObjectFormats/namespaces/{namespace}/…Names/{name}`, of one usage where it is named"""

    http_method_names = ["get"]

    def get(self, request: Request, namespace: str, definition: str, usage: str = "") -> HttpResponse:
        office = self.looking()
        stored = definitions.existing(office, "READ", namespace, definition)
        place = nodes([stored.lineage[-2]])[stored.lineage[-2]]
        rows = below(place, TYPE).filter(name__istartswith=f"{stored.name}/").values_list("name", flat=True)
        parts = [name.split("/") for name in rows]
        keys = [
            FormatKey(stands_in, used, file_type, int(version))
            for stands_in, used, file_type, version in parts
        ]
        if usage:
            keys = [key for key in keys if key.usage.upper() == usage.strip().upper()]
        if request.query_params.get("latestBusinessObjectFormatVersion", "").lower() == "true":
            keys = list({key.series.upper(): key for key in sorted(keys, key=_order)}.values())
        wires = [
            {**key.wire(place.name), "businessObjectFormatVersion": key.version}
            for key in sorted(keys, key=_order)
        ]
        return self.respond(shapes.FORMAT_KEYS, {"businessObjectFormatKeys": wires})


def _order(key: FormatKey) -> tuple[str, int]:
    return key.series.upper(), key.version or 0
