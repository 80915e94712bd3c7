"""Entries in the Open Cybersecurity Schema Framework, category Identity & Access Management (3).

User Access Management (3005) was deprecated with 1.9 in favour of User Management (3007) and Role Management
(3008); so the version is chosen by who asks.  Refusals and looks are API Activity (6003).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

VERSIONS = {"1.8": "1.8.0", "1.9": "1.9.0"}

OTHER = 99
CLASSES = {
    3004: "Entity Management",
    3005: "User Access Management",
    3006: "Group Management",
    3007: "User Management",
    3008: "Role Management",
    6003: "API Activity",
}
_CATEGORIES = {3: "Identity & Access Management", 6: "Application Activity"}
_NAMES = {
    (3004, 1): "Create", (3004, 3): "Update", (3004, 4): "Delete", (3004, 5): "Move",
    (3005, 1): "Assign Privileges", (3005, 2): "Revoke Privileges", (3005, 3): "Assign Roles",
    (3005, 4): "Revoke Roles", (3006, 3): "Add User", (3006, 4): "Remove User",
    (3007, 14): "Assign Privileges", (3007, 15): "Remove Privileges", (3007, 16): "Assign Roles",
    (3007, 17): "Remove Roles", (3007, 18): "Assign Programmatic Credentials",
    (3007, 19): "Remove Programmatic Credentials", (3008, 1): "Create", (3008, 3): "Delete",
    (3008, 4): "Assign Privileges", (3008, 5): "Remove Privileges", (6003, 2): "Read",
}  # fmt: skip


class Activity(NamedTuple):
    class_uid: int
    activity: int


_SAME: dict[str, Activity] = {
    "realm.created": Activity(3004, 1),
    "object.registered": Activity(3004, 1),
    "object.renamed": Activity(3004, 3),
    "object.altered": Activity(3004, 3),
    "object.switched": Activity(3004, 3),
    "realm.mode": Activity(3004, 3),
    "owner.set": Activity(3004, 3),
    "owner.ended": Activity(3004, 3),
    "member.added": Activity(3004, 3),
    "member.removed": Activity(3004, 3),
    "object.left": Activity(3004, 5),
    "object.dropped": Activity(3004, 4),
    "group.joined": Activity(3006, 3),
    "group.left": Activity(3006, 4),
    "refused": Activity(6003, OTHER),
    "looked": Activity(6003, 2),
}
_OF_PEOPLE: dict[str, tuple[Activity, Activity]] = {
    "grant.added": (Activity(3005, 1), Activity(3007, 14)),
    "grant.removed": (Activity(3005, 2), Activity(3007, 15)),
    "denial.added": (Activity(3005, OTHER), Activity(3007, OTHER)),
    "denial.removed": (Activity(3005, OTHER), Activity(3007, OTHER)),
    "duty.given": (Activity(3005, 1), Activity(3007, 14)),
    "duty.taken": (Activity(3005, 2), Activity(3007, 15)),
    "role.assigned": (Activity(3005, 3), Activity(3007, 16)),
    "role.unassigned": (Activity(3005, 4), Activity(3007, 17)),
    "token.created": (Activity(3004, 1), Activity(3007, 18)),
    "token.rotated": (Activity(3004, 3), Activity(3007, OTHER)),
    "token.revoked": (Activity(3004, 4), Activity(3007, 19)),
}
_OF_ROLES: dict[str, tuple[Activity, Activity]] = {
    "role.created": (Activity(3004, 1), Activity(3008, 1)),
    "role.deleted": (Activity(3004, 4), Activity(3008, 3)),
    "grant.added": (Activity(3004, 3), Activity(3008, 4)),
    "grant.removed": (Activity(3004, 3), Activity(3008, 5)),
    "denial.added": (Activity(3004, 3), Activity(3008, OTHER)),
    "denial.removed": (Activity(3004, 3), Activity(3008, OTHER)),
}


def event(entry: dict[str, Any], version: str) -> dict[str, Any]:
    """One entry as an OCSF event of that version, a key of `VERSIONS`."""
    kind = _activity(entry, newer=version != "1.8")
    wire = {
        "class_uid": kind.class_uid,
        "class_name": CLASSES[kind.class_uid],
        "category_uid": kind.class_uid // 1000,
        "category_name": _CATEGORIES[kind.class_uid // 1000],
        "activity_id": kind.activity,
        "activity_name": _NAMES.get(kind, entry["kind"]),
        "type_uid": kind.class_uid * 100 + kind.activity,
        "severity_id": 1,
        "status_id": 2 if entry["kind"] == "refused" else 1,
        "time": round(datetime.fromisoformat(entry["at"]).timestamp() * 1000),
        "message": entry.get("text") or f"{entry['kind']}: {entry.get('operation', '')}",
        "metadata": _metadata(entry, version),
        "actor": {"user": _user(entry["actor"])},
        "unmapped": entry,
    }
    return wire | _about(entry, kind)


def _activity(entry: dict[str, Any], *, newer: bool) -> Activity:
    kind = entry["kind"]
    if kind in _SAME:
        return _SAME[kind]
    table = _OF_PEOPLE if entry.get("people") else _OF_ROLES
    return table.get(kind, (Activity(3004, OTHER),) * 2)[newer]


def _metadata(entry: dict[str, Any], version: str) -> dict[str, Any]:
    metadata = {
        "version": VERSIONS[version],
        "product": {"name": "Lakewarden", "vendor_name": "Lakewarden"},
        "uid": entry["id"],
        "event_code": entry["kind"],
    }
    return metadata | ({"correlation_uid": entry["request_id"]} if entry.get("request_id") else {})


def _about(entry: dict[str, Any], kind: Activity) -> dict[str, Any]:
    place = entry["object"] or {"type": "site", "id": "site"}
    resource = {"name": place["id"], "type": place["type"]}
    privileges = [entry[name] for name in ("privilege", "duty") if entry.get(name)]
    given = {"privileges": privileges, "resources": [resource]}
    user = _user(next(iter(entry.get("people", ())), None))
    if kind.class_uid == 3004:
        return {"entity": resource, "comment": entry.get("reason", "")}
    if kind.class_uid == 3006:
        return {"group": {"name": entry.get("group", "")}, "user": user}
    if kind.class_uid == 3008:
        return {"role": {"name": entry.get("role") or place["id"]}, **given}
    if kind.class_uid == 6003:
        return {"api": {"operation": entry["operation"]}, "src_endpoint": {"name": entry["via"]}, **given}
    roles = {"roles": [{"name": entry["role"]}]} if entry.get("role") else {}
    return {"user": user, **given, **roles}


def _user(name: str | None) -> dict[str, str]:
    return {"name": name or "", "uid": name or ""}
