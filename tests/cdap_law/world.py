"""CDAP realms of each generation, people with privileges in them, and callers who ask."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from accounts import people, tokens
from accounts.models import Principal
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import Authorizable, parse
from policies.authority import OPERATOR, Actor, of_operator
from policies.services import entities, patterns, realms
from tests.admitted import admitted_service

BY: Any = {"by": OPERATOR, "authority": of_operator(OPERATOR)}
GENERATIONS = ("3.4", "3.5", "4.3")


def a_cdap(name: str = "c43", policy: str = "4.3", owner: str = "admin", **settings: str) -> Node:
    owning = people.ensure("user", owner)
    return realms.create("cdap", name, owner=owning, settings={"policy": policy, **settings}, **BY)


def text(entity: str) -> Authorizable:
    return parse(entity, others=True)


def make(root: Node, *names: str, by: Actor = OPERATOR, principal: str = "") -> None:
    for name in names:
        entities.create(root, text(name), by=by, principal=principal)


def user(name: str) -> Principal:
    kind, _, bare = name.rpartition(":")
    return people.ensure(kind or "user", bare)


def acting(name: str) -> Actor:
    return Actor(user(name), "console")


def give(root: Node, name: str, *privileges: str) -> None:
    """Let somebody have privileges, written as `READ,WRITE on dataset:ns1.*`."""
    for privilege in privileges:
        codes, _, target = privilege.partition(" on ")
        patterns.grant(root, text(target), user(name), codes.split(","), by=OPERATOR)


def held_by(root: Node, name: str) -> set[tuple[str, str]]:
    """What somebody has, through roles and groups too: `{("READ", "dataset:ns1.orders")}`."""
    return {(code, str(target)) for target, code in patterns.privileges(root, user(name))}


class Caller(Client):
    """A service account that asks AuthZEN about others."""

    def __init__(self, name: str = "asker", kind: str = "service", *scopes: str) -> None:
        self.name = name
        token = tokens.create(
            admitted_service(name) if kind == "service" else people.ensure(kind, name), scopes=scopes
        )
        super().__init__(headers={"Authorization": f"Bearer {token}"})

    def send(self, path: str, body: object) -> Any:
        answer = self.generic("POST", path, json.dumps(body), content_type="application/json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    def ask(self, who: str, action: str, realm: str, entity: str, **properties: object) -> Any:
        return self.send("/access/v1/evaluation", question(who, action, realm, entity, properties))

    def may(self, who: str, action: str, realm: str, entity: str, **properties: object) -> bool:
        return bool(self.ask(who, action, realm, entity, **properties)["decision"])


def question(
    who: str, action: str, realm: str, entity: str, properties: dict[str, object] | None = None
) -> dict[str, Any]:
    kind, _, name = who.rpartition(":")
    type_, _, id_ = entity.partition(":")
    return {
        "subject": {"type": kind or "user", "id": name},
        "action": {"name": action, "properties": properties or {}},
        "resource": {"type": type_, "id": realm if type_ == "instance" else f"{realm}/{id_}"},
    }
