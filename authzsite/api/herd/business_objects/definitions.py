"""Business object definitions: what a namespace's data are about."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.herd import checks
from authzsite.api.herd.business_objects import shapes
from authzsite.api.herd.call import HerdCall
from authzsite.api.herd.context import Office
from authzsite.api.herd.problems import Problem, no_namespace
from catalog.models import Detail, Placement
from catalog.nodes import Node, nodes
from catalog.queries import below
from policies.decisions.lookups import visible_objects
from policies.events import OBJECT_ALTERED, OBJECT_DROPPED, OBJECT_REGISTERED
from policies.services import object_details, objects
from policies.services.objects import NewObject

TYPE, FORMAT_TYPE = "data_definition", "business_object_format"
MOST_ATTRIBUTES = 100


def named(value: str | None) -> str:
    """The trimmed name of a definition.  Raises Problem."""
    return checks.named(value, "A business object definition name", "Business object definition name")


def kept(body: dict[str, Any], *fields: str) -> dict[str, Any]:
    """What is kept of a body beside its names.  Raises Problem."""
    content = {field: body[field] for field in fields if body[field] is not None}
    for attribute in content.get("attributes", ()):
        attribute["name"] = checks.named(attribute["name"], "An attribute name", "Attribute name")
    if len(content.get("attributes", ())) > MOST_ATTRIBUTES:
        raise Problem(400, f"At most {MOST_ATTRIBUTES} attributes are kept.")
    checks.check_keepable(content, "A description has")
    return content


def existing(office: Office, permission: str, code: str, name: str) -> Node:
    """The definition, for callers who have the permission.  Raises Problem."""
    namespace, wanted = office.need(permission, code), named(name)
    definition = office.within(namespace, TYPE, wanted) if namespace else None
    if definition is None:
        where = checks.namespace(code)
        raise Problem(
            404, f'Business object definition with name "{wanted}" doesn\'t exist for namespace "{where}".'
        )
    return definition


def wire(definition: Node) -> dict[str, Any]:
    content = Detail.objects.get(pk=definition.id).content
    return {
        "id": definition.id,
        "namespace": definition.names[-2],
        "businessObjectDefinitionName": definition.name,
        "attributes": [],
        **content,
    }


class Definitions(HerdCall):
    """GET and POST of `/businessObjectDefinitions`"""

    http_method_names = ["get", "post"]

    def get(self, request: Request) -> HttpResponse:
        office = self.looking()
        readable = visible_objects.children(
            office.slice, office.herd, "namespace", now=office.now, listing="readable_namespace"
        )
        keys = _keys(dict(readable.values_list("securable", "name")))
        return self.respond(shapes.DEFINITION_KEYS, {"businessObjectDefinitionKeys": keys})

    def post(self, request: Request) -> HttpResponse:
        with self.changing(OBJECT_REGISTERED) as office:
            body = self.read(shapes.DEFINITION_CREATE)
            namespace = office.need("WRITE", body["namespace"])
            code, name = checks.namespace(body["namespace"]), named(body["businessObjectDefinitionName"])
            provider = checks.named(body["dataProviderName"], "A data provider name", "Data provider name")
            content = kept(body, "description", "displayName", "attributes")
            content |= {"dataProviderName": provider, "createdByUserId": office.caller.name}
            if namespace is None:
                raise no_namespace(code)
            if office.within(namespace, TYPE, name):
                raise Problem(
                    409,
                    f'Unable to create business object definition with name "{name}" because it already '
                    f'exists for namespace "{namespace.name}".',
                )
            authority = office.authority("BusinessObjectDefinition.createBusinessObjectDefinition", namespace)
            new = NewObject(TYPE, name, content=content)
            [made] = objects.register(
                namespace, [new], by=office.actor, authority=authority, owner=office.caller
            )
        return self.respond(shapes.DEFINITION, wire(made))


def _keys(codes: dict[int, str]) -> list[dict[str, Any]]:
    """The keys of all definitions in these namespaces, in order.  One query."""
    rows = Placement.objects.open().filter(type=TYPE, parent__in=codes)
    keys = sorted((codes[parent], name) for parent, name in rows.values_list("parent", "name"))
    return [{"namespace": code, "businessObjectDefinitionName": name} for code, name in keys]


class DefinitionsOfNamespace(HerdCall):
    """`GET /businessObjectDefinitions/namespaces/{namespace}`"""

    http_method_names = ["get"]

    def get(self, request: Request, namespace: str) -> HttpResponse:
        node = self.looking().need("READ", namespace)
        if node is None:
            raise no_namespace(checks.namespace(namespace))
        return self.respond(
            shapes.DEFINITION_KEYS, {"businessObjectDefinitionKeys": _keys({node.id: node.name})}
        )


class Definition(HerdCall):
    """GET, PUT and DELETE of `/businessObjectDefinitions/namespaces/{namespace}/…Names/{name}`"""

    http_method_names = ["get", "put", "delete"]

    def get(self, request: Request, namespace: str, name: str) -> HttpResponse:
        return self.respond(shapes.DEFINITION, wire(existing(self.looking(), "READ", namespace, name)))

    def put(self, request: Request, namespace: str, name: str) -> HttpResponse:
        with self.changing(OBJECT_ALTERED) as office:
            definition = existing(office, "WRITE", namespace, name)
            described = kept(self.read(shapes.DEFINITION_UPDATE), "description", "displayName", "attributes")
            before = Detail.objects.get(pk=definition.id).content
            fixed = {field: before[field] for field in ("dataProviderName", "createdByUserId")}
            object_details.describe(
                definition,
                by=office.actor,
                authority=office.authority(
                    "BusinessObjectDefinition.updateBusinessObjectDefinition", _namespace(office, definition)
                ),
                what="description",
                content={**described, **fixed},
            )
        return self.respond(shapes.DEFINITION, wire(definition))

    def delete(self, request: Request, namespace: str, name: str) -> HttpResponse:
        with self.changing(OBJECT_DROPPED) as office:
            definition = existing(office, "WRITE", namespace, name)
            place = _namespace(office, definition)
            stands = f"{definition.name}/"
            if below(place, FORMAT_TYPE).filter(name__istartswith=stands).exists():
                raise Problem(
                    400, "Can not delete a business object definition that has business object formats."
                )
            shown = wire(definition)
            authority = office.authority("BusinessObjectDefinition.deleteBusinessObjectDefinition", place)
            objects.drop(definition, by=office.actor, authority=authority)
        return self.respond(shapes.DEFINITION, shown)


def _namespace(office: Office, below_it: Node) -> Node:
    return nodes([below_it.lineage[-2]])[below_it.lineage[-2]]
