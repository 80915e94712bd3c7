"""Starting the stand-in, doing things to it by hand, and a plugin that enforces what it loads from it."""

from __future__ import annotations

import base64
import json
import time
from typing import Any
from urllib.parse import quote, urlencode

from tests.standins import process
from tests.standins.ranger.matching import Asker, Policies, roles_of

OPERATOR, PASSWORD = "operator", "operator's own"
_PUBLIC = "/service/public/v2/api"


class Process(process.Process):
    """The stand-in, with what is done to it."""

    def __init__(self) -> None:
        super().__init__("ranger.server")

    def by_hand(self, what: str, **body: Any) -> Any:
        return self._ask("POST", f"/standin/{what}", body, {})

    def fresh(self) -> None:
        """Forget everything but how to sign in as the operator, who does things by hand."""
        self.by_hand("reset")
        self.by_hand("account", login=OPERATOR, password=PASSWORD, roles=["ROLE_SYS_ADMIN"])

    def call(self, method: str, path: str, body: Any = None, **asked: Any) -> Any:
        """A call of Ranger's own as the operator; fails the test when it is refused."""
        secret = base64.b64encode(f"{OPERATOR}:{PASSWORD}".encode()).decode()
        query = f"?{urlencode(asked)}" if asked else ""
        return self._ask(method, path + query, body, {"Authorization": f"Basic {secret}"})

    def policies(self, service: str) -> list[dict[str, Any]]:
        policies: list[dict[str, Any]] = self.call(
            "GET", f"{_PUBLIC}/policy", serviceName=service, pageSize=100_000
        )
        return policies

    def make_policy(self, policy: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = self.call("POST", f"{_PUBLIC}/policy", policy)
        return made

    def put_policy(self, policy: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = self.call("PUT", f"{_PUBLIC}/policy/{policy['id']}", policy)
        return made

    def roles(self) -> list[dict[str, Any]]:
        roles: list[dict[str, Any]] = self.call("GET", f"{_PUBLIC}/roles", pageSize=100_000)
        return roles

    def put_role(self, role: dict[str, Any]) -> None:
        self.call("PUT", f"{_PUBLIC}/roles/{role['id']}", role)

    def _ask(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
        content = None if body is None else json.dumps(body)
        self._line.request(method, path, content, {"Content-Type": "application/json", **headers})
        answer = self._line.getresponse()
        text = answer.read().decode()
        assert answer.status < 300 or answer.status == 304, (answer.status, text)
        return json.loads(text) if text else None


class Plugin:
    """Enforces one service, as HiveServer2 and Trino do: loads now and then, and tells what it has."""

    def __init__(self, ranger: Process, service: str, name: str = "host1@hiveServer2") -> None:
        self._ranger, self._service, self._name = ranger, service, name
        self.version, self._loaded, self._roles = -1, Policies("hive", ()), list[dict[str, Any]]()

    def load(self) -> Plugin:
        """Ask twice: with the second it tells that the first is in force."""
        for _ in range(2):
            document = self._ranger.call(
                "GET",
                f"/service/plugins/policies/download/{quote(self._service)}",
                lastKnownVersion=self.version,
                lastActivationTime=int(time.time() * 1000),
                pluginId=self._name,
            )
            if document is not None:
                definition = document["serviceDef"]
                denies = definition["options"]["enableDenyAndExceptionsInPolicies"] == "true"
                self._loaded = Policies(definition["name"], document["policies"], denies)
                self.version = document["policyVersion"]
        about = self._ranger.call("GET", f"/service/roles/download/{quote(self._service)}")
        self._roles = about["rangerRoles"]
        return self

    def allows(self, user: str, access: str, resource: dict[str, str], *groups: str) -> bool:
        asker = Asker(user, frozenset(groups), roles_of(user, groups, self._roles))
        return self._loaded.allows(asker, access, resource)
