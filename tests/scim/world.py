"""The company's directory as it calls the console, in front of a shop with people in it."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from accounts import people, tokens
from accounts.models import Principal
from policies.services import accounts
from tests.factories import AUTHORITY, BY

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


class Directory:
    """A directory with its token."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.client = Client(headers={"Authorization": f"Bearer {token}"})

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        sent = "" if body is None else json.dumps(body)
        named = {f"HTTP_{name.upper()}": value for name, value in headers.items()}
        return self.client.generic(
            method, f"/scim/v2{path}", sent, content_type="application/scim+json", **named
        )

    def person(self, user_name: str, /, **more: Any) -> dict[str, Any]:
        answer = self.call("POST", "/Users", {"schemas": [USER], "userName": user_name, **more})
        assert answer.status_code == 201, answer.content
        return dict(answer.json())

    def group(self, name: str, *members: dict[str, Any], **more: Any) -> dict[str, Any]:
        inside = [{"value": item["id"]} for item in members]
        answer = self.call(
            "POST", "/Groups", {"schemas": [GROUP], "displayName": name, "members": inside, **more}
        )
        assert answer.status_code == 201, answer.content
        return dict(answer.json())

    def patch(self, resource: dict[str, Any], *operations: dict[str, Any], **headers: str) -> Any:
        path = resource["meta"]["location"].partition("/scim/v2")[2]
        return self.call("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)}, **headers)

    def read(self, resource: dict[str, Any]) -> dict[str, Any]:
        return dict(self.call("GET", resource["meta"]["location"].partition("/scim/v2")[2]).json())

    def names(self, path: str) -> list[str]:
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.content
        return [item.get("userName") or item["displayName"] for item in answer.json()["Resources"]]


def a_directory(settings: Any, name: str = "okta") -> Directory:
    settings.LAKEWARDEN_DIRECTORIES = frozenset({name})
    keeper = people.ensure("user", "sam")
    service = people.find("service", name) or accounts.make_service(name, keeper, by=BY, authority=AUTHORITY)
    return Directory(tokens.create(service, scopes=("directory",)))


def person(name: str) -> Principal:
    principal = people.find("user", name)
    assert principal is not None
    return principal
