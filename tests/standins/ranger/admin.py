"""The stand-in's memory and its rules: services, policies, roles, users, and who may see what."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.standins.ranger import checks
from tests.standins.ranger.checks import NoGo
from tests.standins.ranger.definitions import definition

ADMIN = "ROLE_SYS_ADMIN"
KEPT = ("id", "guid", "version", "createdBy", "createTime")
_LISTS = (
    *("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions"),
    *("dataMaskPolicyItems", "rowFilterPolicyItems", "validitySchedules", "policyLabels", "conditions"),
)


@dataclass
class Account:
    """Who signs in to Ranger Admin itself; `sees` names the policies that a delegated one may administer."""

    password: str
    roles: tuple[str, ...] = ("ROLE_USER",)
    sees: frozenset[str] = frozenset()


@dataclass
class Admin:
    """Everything the server keeps."""

    services: dict[str, dict[str, Any]] = field(default_factory=dict)
    policies: dict[int, dict[str, Any]] = field(default_factory=dict)
    roles: dict[int, dict[str, Any]] = field(default_factory=dict)
    users: dict[str, set[str]] = field(default_factory=dict)
    groups: set[str] = field(default_factory=lambda: {"public"})
    accounts: dict[str, Account] = field(default_factory=dict)
    plugins: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    definitions: dict[str, dict[str, Any]] = field(default_factory=dict)
    page: int = 200_000
    role_version: int = 1
    _ids: count[int] = field(default_factory=lambda: count(1))

    # set up by hand, as an operator and the user synchronization do

    def add_service(self, name: str, type_: str) -> dict[str, Any]:
        made = {
            "id": next(self._ids),
            "guid": str(uuid.uuid4()),
            "name": name,
            "type": type_,
            "isEnabled": True,
            "policyVersion": 1,
            "tagService": "",
            "configs": {},
        }
        self.definitions.setdefault(type_, definition(type_))
        return self.services.setdefault(name, made)

    def add_user(self, name: str, groups: Iterable[str] = ()) -> None:
        self.users[name] = set(groups)
        self.groups |= set(groups)

    def add_account(self, login: str, password: str, **more: Any) -> None:
        self.accounts[login] = Account(password, **more)
        self.users.setdefault(login, set())

    # what is asked over HTTP

    def is_admin(self, login: str) -> bool:
        return ADMIN in self.accounts[login].roles

    def service(self, name: str) -> dict[str, Any]:
        if name not in self.services:
            raise NoGo(404, "Not found")
        return self.services[name]

    def list_policies(self, login: str, asked: Mapping[str, str]) -> list[dict[str, Any]]:
        """A page of what the account may see, by id; nothing says how many there are."""
        matching = [
            policy
            for policy in sorted(self.policies.values(), key=lambda policy: policy["id"])
            if self._sees(login, policy) and _asked_for(policy, asked)
        ]
        start = int(asked.get("startIndex") or 0)
        return matching[start : start + self.size_of_page(asked)]

    def size_of_page(self, asked: Mapping[str, str]) -> int:
        """As many as asked for, but no more than the server lets anybody have."""
        return min(int(asked.get("pageSize") or self.page), self.page)

    def _sees(self, login: str, policy: Mapping[str, Any]) -> bool:
        return self.is_admin(login) or policy["name"] in self.accounts[login].sees

    def policy_by_name(self, login: str, service: str, name: str) -> dict[str, Any]:
        self.service(service)
        for policy in self.policies.values():
            if (policy["service"], policy["name"]) == (service, name):
                return self._shown(login, policy)
        raise NoGo(404, "Not found")

    def policy(self, login: str, id_: int) -> dict[str, Any]:
        if id_ not in self.policies:
            raise checks.not_found("RangerPolicy", id_)
        return self._shown(login, self.policies[id_])

    def _shown(self, login: str, policy: dict[str, Any]) -> dict[str, Any]:
        if not self._sees(login, policy):
            raise NoGo(403, f"User '{login}' does not have delegated-admin privilege on given resources")
        return policy

    def create_policy(self, login: str, body: dict[str, Any]) -> dict[str, Any]:
        self._may_change(login, body)
        id_ = next(self._ids)
        made = self._normal({**body, "id": id_, "guid": body.get("guid") or str(uuid.uuid4())})
        made |= {"version": 1, "createdBy": login, "updatedBy": login}
        made |= {"createTime": _now(), "updateTime": _now()}
        checks.check_policy(self, made, creating=True)
        self.policies[id_] = made
        self._bump(made["service"])
        return made

    def update_policy(self, login: str, id_: int, body: dict[str, Any]) -> dict[str, Any]:
        """The body replaces all there is, labels too; the version is the server's own."""
        if body.get("id") not in (None, id_):
            raise NoGo(400, "policyId mismatch!!")
        before = self.policy(login, id_)
        self._may_change(login, body)
        if body.get("service") != before["service"]:
            raise checks.invalid(3027, "attempt to change the service of a policy", "service name")
        made = self._normal(
            {**body, **{name: before[name] for name in KEPT}, "guid": body.get("guid") or before["guid"]}
        )
        made |= {"version": before["version"] + 1, "updatedBy": login, "updateTime": _now()}
        checks.check_policy(self, made, creating=False)
        self.policies[id_] = made
        self._bump(made["service"])
        return made

    def delete_policy(self, login: str, id_: int) -> None:
        policy = self.policy(login, id_)
        self._may_change(login, policy)
        del self.policies[id_]
        self._bump(policy["service"])

    def _may_change(self, login: str, policy: Mapping[str, Any]) -> None:
        if not self.is_admin(login) and policy.get("name") not in self.accounts[login].sees:
            raise NoGo(403, f"User '{login}' does not have delegated-admin privilege on given resources")

    def _normal(self, body: dict[str, Any]) -> dict[str, Any]:
        made = {"isEnabled": True, "isAuditEnabled": True, "policyType": 0, "policyPriority": 0}
        made |= {"zoneName": "", "isDenyAllElse": False, "description": "", "options": {}}
        made |= {name: [] for name in _LISTS} | {
            key: value for key, value in body.items() if value is not None
        }
        made["resourceSignature"] = signature(made)
        service = self.services.get(str(made.get("service")))
        return made | {"serviceType": service["type"] if service else ""}

    def _bump(self, service: str) -> None:
        self.services[service]["policyVersion"] += 1

    # roles

    def role_named(self, name: str) -> dict[str, Any]:
        for role in self.roles.values():
            if role["name"] == name:
                return role
        raise NoGo(400, f"Role with name: {name} does not exist")

    def create_role(self, login: str, body: dict[str, Any]) -> dict[str, Any]:
        self.only_admins(login)
        if any(role["name"] == body.get("name") for role in self.roles.values()):
            raise NoGo(400, f"Role with name: {body['name']} already exists")
        id_ = next(self._ids)
        made = {**_empty_role(), **body, "id": id_, "guid": str(uuid.uuid4()), "version": 1}
        made |= {"createdByUser": login, "updatedBy": login}
        checks.check_members(self, made)
        self.roles[id_] = made
        self.role_version += 1
        return made

    def update_role(self, login: str, id_: int, body: dict[str, Any]) -> dict[str, Any]:
        """The body replaces all there is."""
        self.only_admins(login)
        if body.get("id") not in (None, id_):
            raise NoGo(400, "roleId mismatch!!")
        before = self._role(id_)
        if body.get("name") != before["name"] and checks.used_in(self, before["name"]):
            raise NoGo(400, f"Rolename for '{before['name']}' can not be updated as it is referenced")
        made = {**_empty_role(), **body, "id": id_, "guid": before["guid"], "updatedBy": login}
        made["version"] = before["version"] + 1
        checks.check_members(self, made)
        self.roles[id_] = made
        self.role_version += 1
        return made

    def delete_role(self, login: str, id_: int) -> None:
        self.only_admins(login)
        role = self._role(id_)
        users = checks.used_in(self, role["name"])
        if users:
            raise NoGo(400, f"Role '{role['name']}' can not be deleted as it is referenced in {users}")
        del self.roles[id_]
        self.role_version += 1

    def _role(self, id_: int) -> dict[str, Any]:
        if id_ not in self.roles:
            raise checks.not_found("RangerRole", id_)
        return self.roles[id_]

    def only_admins(self, login: str) -> None:
        if not self.is_admin(login):
            raise NoGo(400, f"User {login} does not have permission for this operation")

    # plugins

    def download(self, service: str, asked: Mapping[str, str]) -> dict[str, Any] | None:
        """What a plugin loads, None when it has that already; and it tells what it has in force."""
        row, known = self.service(service), int(asked.get("lastKnownVersion") or -1)
        plugin = asked.get("pluginId", "")
        host, _, app = plugin.partition("@")
        status = self.plugins.setdefault((service, plugin), {})
        status["policyActiveVersion"] = str(known)
        status["policyActivationTime"] = asked.get("lastActivationTime", "0")
        status |= {"hostName": host, "appType": app}
        status["policyDownloadedVersion"] = str(row["policyVersion"])
        if known == row["policyVersion"]:
            return None
        return {
            "serviceName": service,
            "policyVersion": row["policyVersion"],
            "policies": [policy for policy in self.policies.values() if policy["service"] == service],
            "serviceDef": self.definitions[row["type"]],
        }

    def plugin_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "serviceName": service,
                "hostName": status["hostName"],
                "appType": status["appType"],
                "info": {key: status[key] for key in status if key.startswith("policy")},
            }
            for (service, _), status in self.plugins.items()
        ]


def _empty_role() -> dict[str, Any]:
    return {"description": "", "options": {}, "users": [], "groups": [], "roles": []}


def _asked_for(policy: Mapping[str, Any], asked: Mapping[str, str]) -> bool:
    service, label = asked.get("serviceName"), asked.get("policyLabelsPartial", "").lower()
    fits = not service or policy["service"] == service
    return fits and (not label or any(label in item.lower() for item in policy["policyLabels"]))


def _now() -> int:
    return int(time.time() * 1000)


def signature(policy: Mapping[str, Any]) -> str:
    """What makes two policies to be about the same: their resources, times, rank, zone and conditions."""
    resources = {
        level: [sorted(wanted["values"]), bool(wanted.get("isExcludes")), bool(wanted.get("isRecursive"))]
        for level, wanted in (policy.get("resources") or {}).items()
    }
    parts = [
        *(policy["policyType"], resources, policy["validitySchedules"], policy["policyPriority"]),
        *(policy["zoneName"], policy["conditions"], "" if policy["isEnabled"] else policy["guid"]),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
