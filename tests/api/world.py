"""A small shop with people who may and may not, and callers of the API."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

from accounts import people, tokens
from accounts.models import Principal
from catalog.nodes import Node
from policies.authority import OPERATOR, of_operator
from policies.services import members, objects, owners, realms, roles
from policies.services.objects import NewObject
from policies.services.roles import Privilege
from tests.api.described import check_exchange

BY: Any = {"by": OPERATOR, "authority": of_operator(OPERATOR)}
EVALUATION, EVALUATIONS = "/access/v1/evaluation", "/access/v1/evaluations"


@dataclass
class Shop:
    """Metalake `demo`: marek owns it and catalog shop, olivia owns schema shop.sales, ana may use both."""

    realm: Node
    catalog: Node
    sales: Node
    secret: Node
    tables: dict[str, Node]
    readers: Node

    def allow(self, node: Node, *codes: str, effect: str = "allow") -> None:
        roles.add_privileges(self.readers, node, [Privilege(code, effect) for code in codes], **BY)

    def take(self, node: Node, *codes: str, effect: str = "allow") -> None:
        roles.remove_privileges(self.readers, node, [Privilege(code, effect) for code in codes], **BY)


def user(name: str) -> Principal:
    return people.ensure("user", name)


def make_shop() -> Shop:
    realm = realms.create("gravitino", "demo", owner=user("marek"), **BY)
    for name in ("olivia", "ana", "ada", "bob"):
        members.add(realm, user(name), **BY)
    [catalog] = objects.register(realm, [NewObject("catalog", "shop")], owner=user("marek"), **BY)
    sales, secret = objects.register(
        catalog, [NewObject("schema", "sales"), NewObject("schema", "secret")], **BY
    )
    owners.set_owner(sales, user("olivia"), **BY)
    names = ("orders", "items", "odd.name", "naïve 店 😀")
    tables = objects.register(sales, [NewObject("table", name) for name in names], **BY)
    [plans] = objects.register(secret, [NewObject("table", "plans")], **BY)
    readers = roles.create(realm, "readers", **BY)
    roles.assign(readers, user("ana"), **BY)
    shop = Shop(
        realm, catalog, sales, secret, dict(zip((*names, "plans"), [*tables, plans], strict=True)), readers
    )
    shop.allow(catalog, "USE_CATALOG")
    shop.allow(sales, "USE_SCHEMA")
    return shop


def token(kind: str, name: str, *scopes: str) -> str:
    return tokens.create(people.ensure(kind, name), scopes=scopes)


class Caller(Client):
    """A program that holds a token and speaks JSON."""

    def __init__(self, token: str | None = None, **options: Any) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        super().__init__(headers=headers, raise_request_exception=True, **options)

    def request(self, **request: Any) -> Any:
        response = super().request(**request)
        path = request["PATH_INFO"]
        if path.startswith("/authz/v1/") and path != "/authz/v1/openapi.json":
            sent = response.wsgi_request.body if request["REQUEST_METHOD"] != "GET" else b""
            check_exchange(request["REQUEST_METHOD"], path, sent, response)
        return response

    def send(self, path: str, body: object, **headers: str) -> Any:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = headers.pop("content_type", "application/json")
        return self.post(path, content, content_type=kind, headers=headers or None)

    def decide(self, subject: str, action: str, resource: str) -> Any:
        response = self.send(EVALUATION, question(subject, action, resource))
        assert response.status_code == 200, response.content
        return response.json()


def question(subject: str, action: str, resource: str) -> dict[str, Any]:
    """`question("user:ana", "read", "table:demo/shop.sales.orders")`"""
    kind, _, name = subject.partition(":")
    type_, _, id_ = resource.partition(":")
    return {
        "subject": {"type": kind, "id": name},
        "action": {"name": action},
        "resource": {"type": type_, "id": id_},
    }
