"""What the stand-in refuses, in Ranger's words and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tests.standins.ranger.definitions import ACCESSES, HIERARCHIES, LEAVES

if TYPE_CHECKING:
    from tests.standins.ranger.admin import Admin

ITEMS = ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions")
_LONGEST = 255


class NoGo(Exception):
    """An answer that is no success: its status, and what it says."""

    def __init__(self, status: int, text: str, messages: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__(text)
        self.status, self.body = status, {"statusCode": 1, "msgDesc": text, "messageList": list(messages)}


def invalid(code: int, reason: str, about: str) -> NoGo:
    """A policy that is none, with the number of its fault."""
    words = f"error code[{code}], reason[{reason}], field[{about}], subfield[null], type[] "
    return NoGo(400, f"(0) Validation failure: {words}")


def not_found(what: str, id_: int) -> NoGo:
    message = {"name": "DATA_NOT_FOUND", "rbKey": "xa.error.data_not_found", "objectId": id_}
    return NoGo(400, f"{what} not found for id {id_}: Data not found", [message])


def check_policy(admin: Admin, policy: Mapping[str, Any], *, creating: bool) -> None:
    """Raise NoGo for what the server would not keep."""
    service = admin.services.get(str(policy.get("service")))
    if service is None:
        raise invalid(3007, f"no service found with name[{policy.get('service')}]", "service name")
    _check_name(admin, policy)
    if creating and any(policy["guid"] == other["guid"] for other in admin.policies.values()):
        raise invalid(3010, f"Another policy already exists with guid[{policy['guid']}]", "guid")
    _check_resources(service["type"], policy["resources"])
    _check_unique(admin, policy)
    for name in ITEMS:
        for item in policy[name]:
            _check_item(admin, service["type"], item)
    if policy["isDenyAllElse"] and (policy["denyPolicyItems"] or policy["denyExceptions"]):
        raise invalid(3049, "deny all else with deny items", "isDenyAllElse")
    for schedule in policy["validitySchedules"]:
        if not any(schedule.get(field) for field in ("startTime", "endTime", "recurrences")):
            raise invalid(3029, "a validity schedule says nothing", "validitySchedules")


def _check_name(admin: Admin, policy: Mapping[str, Any]) -> None:
    name = policy.get("name")
    if not name or len(name) > _LONGEST:
        raise NoGo(400, "Policy name is missing or longer than 255 characters")
    for other in admin.policies.values():
        if (other["service"], other["name"]) == (policy["service"], name) and other["id"] != policy["id"]:
            raise invalid(3006, f"policy name[{name}] is already used", "policy name")


def _check_resources(type_: str, resources: Mapping[str, Any]) -> None:
    for levels in HIERARCHIES[type_]:
        above = levels[
            : max((levels.index(resource) + 1 for resource in resources if resource in levels), default=0)
        ]
        if set(above) == set(resources) and above and above[-1] in LEAVES[type_]:
            return
    raise invalid(3012, f"resources {sorted(resources)} miss a level or end too early", "policy resources")


def _check_unique(admin: Admin, policy: Mapping[str, Any]) -> None:
    for other in admin.policies.values():
        same = (other["service"], other["resourceSignature"]) == (
            policy["service"],
            policy["resourceSignature"],
        )
        if same and other["id"] != policy["id"]:
            reason = (
                f"Another policy already exists for matching resource: policy-name=[{other['name']}], "
                f"service=[{other['service']}]"
            )
            raise invalid(3010, reason, "resources")


def _check_item(admin: Admin, type_: str, item: Mapping[str, Any]) -> None:
    for access in item.get("accesses") or ():
        if access["type"] not in ACCESSES[type_]:
            raise invalid(3022, f"access type[{access['type']}] is not among those of {type_}", "access")
    names = {which: item.get(which) or () for which in ("users", "groups", "roles")}
    if not any(names.values()):
        raise invalid(3020, "all of users, groups and roles of the policy item are missing", "policy item")
    known = {
        "users": {*admin.users, "{USER}", "{OWNER}"},
        "groups": admin.groups,
        "roles": {role["name"] for role in admin.roles.values()},
    }
    for which, word in (("users", "User"), ("groups", "Group"), ("roles", "Role")):
        _check_known(names[which], known[which], f"{word} name", "specified in policy")


def _check_known(names: Iterable[str], known: Iterable[str], word: str, where: str) -> None:
    for name in sorted(set(names) - set(known)):
        raise NoGo(400, f"Operation denied. {word}: {name} {where} does not exist in ranger admin.")


def check_members(admin: Admin, role: Mapping[str, Any]) -> None:
    """Everybody in a role must be known."""
    roles = {item["name"] for item in admin.roles.values()}
    for which, known in (("users", admin.users), ("groups", admin.groups), ("roles", roles)):
        names = [member["name"] for member in role[which]]
        _check_known(names, known, which[:-1], "specified in role")


def used_in(admin: Admin, role: str) -> list[str]:
    """The names of policies and roles that a role is in."""
    policies = [
        policy["name"]
        for policy in admin.policies.values()
        if any(role in (item.get("roles") or ()) for name in ITEMS for item in policy[name])
    ]
    held = [
        role_["name"]
        for role_ in admin.roles.values()
        if any(role == member["name"] for member in role_["roles"])
    ]
    return [*policies, *held]
