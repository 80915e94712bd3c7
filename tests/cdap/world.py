"""A small CDAP, people with privileges in it, and callers of its API."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from accounts import people, tokens
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.authority import OPERATOR, of_operator
from policies.services import patterns, realms, roles
from tests.admitted import admitted_service

BY: Any = {"by": OPERATOR, "authority": of_operator(OPERATOR)}
BASE = "/v3/security/authorization"
EMPTY = b""


def a_cdap(policy: str = "4.3", *, owner: str = "admin", mode: str = "on", **settings: str) -> Node:
    chosen = {"policy": policy, "authentication": "on", "master_user": "cdap", **settings}
    return realms.create("cdap", "cdap", owner=people.ensure("user", owner), settings=chosen, mode=mode, **BY)


def give(root: Node, target: str, holder: str, *actions: str) -> None:
    """Let `alice`, `group:analysts` or a role have privileges on a text."""
    kind, _, name = holder.rpartition(":")
    bearer: Any = the_role(root, name) if kind == "role" else people.ensure(kind or "user", name)
    patterns.grant(root, parse(target), bearer, actions, by=OPERATOR)


def the_role(root: Node, name: str) -> Node:
    from catalog.queries import find
    from lakewarden.law.objects import ObjectRef

    node = find(ObjectRef("role", root.name, (name,)))
    assert node is not None, name
    return node


def a_role(root: Node, name: str, *holders: str) -> Node:
    role = roles.create(root, name, **BY)
    for holder in holders:
        kind, _, called = holder.rpartition(":")
        roles.assign(role, people.ensure(kind or "user", called), **BY)
    return role


class Caller(Client):
    """Somebody with a token of that name who speaks as CDAP's Java client does."""

    def __init__(self, name: str, *scopes: str, kind: str = "user") -> None:
        self.name = name
        who = admitted_service(name) if kind == "service" else people.ensure(kind, name)
        token = tokens.create(who, scopes=scopes)
        super().__init__(headers={"Authorization": f"Bearer {token}"})

    def send(self, verb: str, path: str, body: object = None) -> Any:
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        # no content type is named, so the sending library names its own
        return self.generic(verb, path, content, content_type="application/x-www-form-urlencoded")

    def change(self, verb: str, body: object) -> Any:
        return self.send("POST", f"{BASE}//privileges/{verb}", body)

    def listed(self, kind: str, name: str) -> Any:
        return self.get(f"{BASE}/{kind}/{name}/privileges")

    def may(self, name: str, action: str, entity: dict[str, Any], kind: str = "USER") -> bool:
        asked = {"principal": {"name": name, "type": kind}, "entityId": entity, "action": action}
        answer = self.send("POST", "/v1/execute/enforce", asked)
        assert answer.status_code in (200, 403), answer.content
        return bool(answer.status_code == 200)
