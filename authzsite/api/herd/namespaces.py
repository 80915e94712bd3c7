"""The six calls on namespaces.  Anybody signed in may make and see them; that gives nothing in them."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.herd import bodies, checks
from authzsite.api.herd.call import HerdCall
from authzsite.api.herd.context import Office
from authzsite.api.herd.problems import Problem, in_use, namespace_exists, no_namespace
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import below
from policies.decisions.lookups import entries
from policies.events import OBJECT_ALTERED, OBJECT_DROPPED, OBJECT_REGISTERED
from policies.services import object_details, objects
from policies.services.objects import NewObject

CHARGE_CODE = "chargeCode"
KEPT = "charge_code"
FIELDS = {"chargecode": CHARGE_CODE, "s3keyprefix": "s3KeyPrefix"}


def wire(code: str, charge_code: str | None) -> dict[str, Any]:
    prefix = code.lower().replace("_", "-")
    return {"namespaceCode": code, CHARGE_CODE: charge_code, "s3KeyPrefix": prefix}


def _shown(node: Node) -> dict[str, Any]:
    detail = Detail.objects.filter(securable=node.id).first()
    return wire(node.name, detail.content.get(KEPT) if detail else None)


def _codes(office: Office) -> list[tuple[str, str | None]]:
    """Every namespace with its charge code, by code."""
    rows = below(office.herd, "namespace").values_list("name", "securable__detail__content")
    return sorted((name, (content or {}).get(KEPT)) for name, content in rows)


class Namespaces(HerdCall):
    """GET and POST of `/namespaces`"""

    def get(self, request: Request) -> HttpResponse:
        keys = [{"namespaceCode": code} for code, _ in _codes(self.looking())]
        return self.respond(bodies.NAMESPACE_KEYS, {"namespaceKeys": keys})

    def post(self, request: Request) -> HttpResponse:
        self.require_scope("manage")
        body = self.read(bodies.NAMESPACE_CREATE)
        code, charge = checks.namespace(body["namespaceCode"]), checks.charge_code(body[CHARGE_CODE])
        with self.changing(OBJECT_REGISTERED) as office:
            authority = office.authority("Namespace.createNamespace", office.herd)
            if office.namespace(code):
                raise namespace_exists(code)
            new = NewObject("namespace", code, content={KEPT: charge} if charge else {})
            [made] = objects.register(office.herd, [new], by=office.actor, authority=authority)
        return self.respond(bodies.NAMESPACE, wire(made.name, charge))


class Namespace(HerdCall):
    """GET, PUT and DELETE of `/namespaces/{code}`"""

    def get(self, request: Request, code: str) -> HttpResponse:
        name = checks.namespace(code)
        node = self.looking().namespace(name)
        if node is None:
            raise no_namespace(name)
        return self.respond(bodies.NAMESPACE, _shown(node))

    def put(self, request: Request, code: str) -> HttpResponse:
        with self.changing(OBJECT_ALTERED) as office:
            node = office.need("WRITE", code)
            body = self.read(bodies.NAMESPACE_UPDATE)
            name, charge = checks.namespace(code), checks.charge_code(body[CHARGE_CODE])
            if node is None:
                raise no_namespace(name)
            authority = office.authority("Namespace.updateNamespaces", node)
            content = {KEPT: charge} if charge else {}
            object_details.describe(
                node, by=office.actor, authority=authority, what="charge code", content=content
            )
        return self.respond(bodies.NAMESPACE, wire(node.name, charge))

    def delete(self, request: Request, code: str) -> HttpResponse:
        with self.changing(OBJECT_DROPPED) as office:
            office.need_role()
            node = office.need("GRANT", code)
            name = checks.namespace(code)
            if node is None:
                raise no_namespace(name)
            authority = office.authority("Namespace.deleteNamespace", node)
            if entries.in_use(node, apart_from=office.caller):
                raise in_use(node.name)
            shown = _shown(node)
            objects.drop(node, by=office.actor, authority=authority)
        return self.respond(bodies.NAMESPACE, shown)


class NamespaceSearch(Namespace):
    """`POST /namespaces/search`; the other verbs are about a namespace of that name."""

    def post(self, request: Request, code: str) -> HttpResponse:
        body = self.read(bodies.SEARCH)
        key = _key(body["namespaceSearchFilters"])
        field_names = [
            item.strip() for item in request.query_params.get("fields", "").split(",") if item.strip()
        ]
        for item in field_names:
            if item.lower() not in FIELDS:
                raise Problem(400, f'Search response field "{item}" is not supported.')
        fields = {FIELDS[item.lower()] for item in field_names}
        charge, must = checks.charge_code(key[CHARGE_CODE]), bool(key["mustHaveChargeCode"])
        namespaces = [
            {**dict.fromkeys(FIELDS.values()), **_narrowed(wire(name, own), fields)}
            for name, own in _codes(self.looking())
            if (own or not must) and (charge is None or (own or "").upper() == charge.upper())
        ]
        return self.respond(bodies.FOUND, {"namespaces": namespaces})


def _key(filters: list[dict[str, Any]] | None) -> dict[str, Any]:
    if not filters:
        return {CHARGE_CODE: None, "mustHaveChargeCode": None}
    if len(filters) > 1:
        raise Problem(400, "At most one namespace search filter must be specified.")
    keys: list[dict[str, Any]] = filters[0]["namespaceSearchKeys"] or []
    if len(keys) != 1:
        raise Problem(400, "Exactly one namespace search key must be specified.")
    return keys[0]


def _narrowed(whole: dict[str, Any], fields: set[str]) -> dict[str, Any]:
    return {name: value for name, value in whole.items() if name == "namespaceCode" or name in fields}
