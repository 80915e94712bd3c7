"""A small Herd, people with rights in it, and callers of its API."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from accounts import people, tokens
from accounts.models import Principal
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.authority import OPERATOR, of_operator
from policies.services import entries, objects, realms, roles
from policies.services.objects import NewObject
from tests.admitted import admitted_service

BY: Any = {"by": OPERATOR, "authority": of_operator(OPERATOR)}
REST = "/herd-app/rest"
ENTRIES = f"{REST}/userNamespaceAuthorizations"


def a_herd(name: str = "herd", owner: str = "admin") -> Node:
    return realms.create("herd", name, owner=people.ensure("user", owner), **BY)


def the_herd() -> Node:
    node = find(ObjectRef("herd", "herd"))
    assert node is not None
    return node


def namespaces(herd: Node, *codes: str) -> list[Node]:
    return objects.register(herd, [NewObject("namespace", code) for code in codes], **BY)


def the_namespace(code: str, herd: str = "herd") -> Node:
    node = find(ObjectRef("namespace", herd, (code,)))
    assert node is not None, code
    return node


def principal(user: str) -> Principal:
    return people.ensure("pattern" if user.startswith("*") else "user", user)


def give(user: str, code: str, *permissions: str) -> None:
    """Let a user id have exactly these permissions."""
    entries.replace(the_namespace(code), principal(user), permissions, **BY)


def take(user: str, code: str) -> None:
    entries.take(the_namespace(code), principal(user), **BY)


def role(user: str, name: str = "DATA_OWNER", *, remove: bool = False) -> None:
    node = find(ObjectRef("role", "herd", (name,)))
    assert node is not None
    (roles.unassign if remove else roles.assign)(node, principal(user), **BY)


def entry_path(user: str, code: str) -> str:
    return f"{ENTRIES}/userIds/{user}/namespaces/{code}"


class Caller(Client):
    """Somebody with a token of that name who speaks JSON."""

    def __init__(self, name: str, *scopes: str, kind: str = "user") -> None:
        self.name = name
        who = admitted_service(name) if kind == "service" else people.ensure(kind, name)
        token = tokens.create(who, scopes=scopes)
        super().__init__(headers={"Authorization": f"Bearer {token}"})

    def send(self, verb: str, path: str, body: object = None) -> Any:
        content = "" if body is None else json.dumps(body)
        return self.generic(verb, path, content, content_type="application/json")

    def create(self, user: Any, namespace: Any, *permissions: str) -> Any:
        key = {"userId": user, "namespace": namespace}
        body = {"userNamespaceAuthorizationKey": key, "namespacePermissions": list(permissions)}
        return self.send("POST", ENTRIES, body)

    def update(self, user: str, namespace: str, *permissions: str) -> Any:
        return self.send("PUT", entry_path(user, namespace), {"namespacePermissions": list(permissions)})

    def may(self, user: str, action: str, code: str, /, **properties: dict[str, Any]) -> bool:
        """Ask AuthZEN about a user and a namespace; a bare realm is asked about as `code` ""."""
        kind, _, name = user.rpartition(":")
        answer = self.send(
            "POST", "/access/v1/evaluation", question(kind or "user", name, action, code, properties)
        )
        assert answer.status_code == 200, answer.content
        return bool(answer.json()["decision"])


def question(kind: str, name: str, action: str, code: str, properties: dict[str, Any]) -> dict[str, Any]:
    resource = {"type": "namespace", "id": f"herd/{code}"} if code else {"type": "herd", "id": "herd"}
    return {
        "subject": {"type": kind, "id": name},
        "action": {"name": action, "properties": properties.get("action", {})},
        "resource": {**resource, "properties": properties.get("resource", {})},
    }
