"""What an ordinary person asks: every operation of the interface that a metalake without tables has."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.api_gravitino.world import ADMIN
from tests.real.differential.compare import LAKE, Call
from tests.real.gravitino import worlds
from tests.real.gravitino.worlds import PEOPLE, STRANGER, Object, World

NO_UPDATES: dict[str, Any] = {"updates": []}
NOBODY = {"name": "nobody at all", "type": "USER"}
LAKE_PATH = f"/api/metalakes/{LAKE}"
Asked = tuple[str, str, str, Any]
"""An operation of the table of bindings, and the method, path and body that ask for it."""


def questions(made: World, seed: int, number: int) -> Iterator[Call]:
    """So many calls of anybody; now and then a manager changes something in between."""
    rng = random.Random(seed)
    for _ in range(number):
        if rng.random() < 0.05:
            yield from _change(made, rng)
        operation, method, path, body = rng.choice(_on(rng.choice(made.objects), made, rng))
        yield Call(rng.choice((*PEOPLE, *PEOPLE, STRANGER)), method, path, body, operation)


def _on(object_: Object, made: World, rng: random.Random) -> list[Asked]:
    asked: list[Asked] = []
    if object_.type in ("metalake", "user", "group", "role", "tag", "policy", "job_template"):
        asked += BY_TYPE[object_.type](object_, rng)
    elif object_.type == "catalog":
        asked += _catalog(object_, rng)
    elif object_.type == "schema":
        asked += _schema(object_, rng)
    else:
        asked += _leaf(object_, rng)
    if object_.type not in ("user", "group"):
        asked += _about(object_, made, rng)
    return asked


def _metalake(one: Object, rng: random.Random) -> list[Asked]:
    at = LAKE_PATH
    return [
        ("Metalake.loadMetalake", "GET", at, None),
        ("Metalake.setMetalake", "PATCH", at, {"inUse": True}),
        ("Metalake.alterMetalake", "PUT", at, NO_UPDATES),
        ("Metalake.dropMetalake", "DELETE", f"{at}?force=false", None),
        ("Catalog.listCatalogs", "GET", f"{at}/catalogs", None),
        ("Catalog.createCatalog", "POST", f"{at}/catalogs", _catalog_body("lab")),
        ("Catalog.testConnection", "POST", f"{at}/catalogs/testConnection", _catalog_body("other")),
        ("User.listUsers", "GET", f"{at}/users", None),
        ("User.addUser", "POST", f"{at}/users", {"name": "ana"}),
        ("Group.listGroups", "GET", f"{at}/groups", None),
        ("Group.addGroup", "POST", f"{at}/groups", {"name": "staff"}),
        ("Role.listRoles", "GET", f"{at}/roles", None),
        (
            "Role.createRole",
            "POST",
            f"{at}/roles",
            {"name": "clerk", "properties": {}, "securableObjects": []},
        ),
        ("Tag.listTags", "GET", f"{at}/tags", None),
        ("Tag.createTag", "POST", f"{at}/tags", {"name": "pii", "comment": "", "properties": {}}),
        ("Policy.listPolicies", "GET", f"{at}/policies", None),
        ("Policy.createPolicy", "POST", f"{at}/policies", worlds.policy("keep")),
        ("Job.listJobTemplates", "GET", f"{at}/jobs/templates", None),
        ("Job.registerJobTemplate", "POST", f"{at}/jobs/templates", worlds.template("nightly")),
        ("Job.listJobs", "GET", f"{at}/jobs/runs", None),
    ]


def _catalog_body(name: str) -> dict[str, Any]:
    return {"name": name, "type": "model", "provider": "model", "comment": "", "properties": {}}


def _user(object_: Object, rng: random.Random) -> list[Asked]:
    grants = f"{LAKE_PATH}/permissions/users/{object_.full}"
    return [
        ("User.getUser", "GET", object_.path, None),
        ("Permission.grantRolesToUser", "PUT", f"{grants}/grant", {"roleNames": ["no such role"]}),
        (
            "Permission.revokeRolesFromUser",
            "PUT",
            f"{grants}/revoke",
            {"roleNames": [rng.choice(("odd", "guest"))]},
        ),
    ]


def _group(object_: Object, rng: random.Random) -> list[Asked]:
    grants = f"{LAKE_PATH}/permissions/groups/{object_.full}"
    return [
        ("Group.getGroup", "GET", object_.path, None),
        ("Permission.grantRolesToGroup", "PUT", f"{grants}/grant", {"roleNames": ["no such role"]}),
        ("Permission.revokeRolesFromGroup", "PUT", f"{grants}/revoke", {"roleNames": ["no such role"]}),
    ]


def _role(object_: Object, rng: random.Random) -> list[Asked]:
    override = {"overrides": [{"type": "CATALOG", "fullName": "none", "privileges": []}]}
    return [
        ("Role.getRole", "GET", object_.path, None),
        (
            "Permission.overrideRolePrivileges",
            "PUT",
            f"{LAKE_PATH}/permissions/roles/{object_.full}",
            override,
        ),
    ]


def _tag(object_: Object, rng: random.Random) -> list[Asked]:
    return [
        ("Tag.getTag", "GET", object_.path, None),
        ("Tag.alterTag", "PUT", object_.path, NO_UPDATES),
        ("Tag.listMetadataObjectsForTag", "GET", f"{object_.path}/objects", None),
    ]


def _policy(object_: Object, rng: random.Random) -> list[Asked]:
    return [
        ("Policy.getPolicy", "GET", object_.path, None),
        ("Policy.alterPolicy", "PUT", object_.path, NO_UPDATES),
        ("Policy.setPolicy", "PATCH", object_.path, {"enable": True}),
        ("Policy.listMetadataObjectsForPolicy", "GET", f"{object_.path}/objects", None),
    ]


def _job_template(object_: Object, rng: random.Random) -> list[Asked]:
    return [
        ("Job.getJobTemplate", "GET", object_.path, None),
        ("Job.alterJobTemplate", "PUT", object_.path, NO_UPDATES),
    ]


BY_TYPE: dict[str, Callable[[Object, random.Random], list[Asked]]] = {
    "metalake": _metalake,
    "user": _user,
    "group": _group,
    "role": _role,
    "tag": _tag,
    "policy": _policy,
    "job_template": _job_template,
}


def _catalog(object_: Object, rng: random.Random) -> list[Asked]:
    schema = {"name": "raw", "comment": "", "properties": {}}
    return [
        ("Catalog.loadCatalog", "GET", object_.path, None),
        ("Catalog.alterCatalog", "PUT", object_.path, NO_UPDATES),
        ("Catalog.dropCatalog", "DELETE", f"{object_.path}?force=false", None),
        ("Schema.listSchemas", "GET", f"{object_.path}/schemas", None),
        ("Schema.createSchema", "POST", f"{object_.path}/schemas", schema),
    ]


def _schema(object_: Object, rng: random.Random) -> list[Asked]:
    leaf = worlds.KINDS[object_.parts[0]][2]
    creates = {"model": "Model.registerModel", "fileset": "Fileset.createFileset"}
    return [
        ("Schema.loadSchema", "GET", object_.path, None),
        ("Schema.alterSchema", "PUT", object_.path, NO_UPDATES),
        ("Schema.dropSchema", "DELETE", f"{object_.path}?cascade=false", None),
        (f"{leaf.title()}.list{leaf.title()}s", "GET", f"{object_.path}/{leaf}s", None),
        (creates[leaf], "POST", f"{object_.path}/{leaf}s", worlds.new(leaf, "a")),
        ("Function.listFunctions", "GET", f"{object_.path}/functions", None),
        ("Function.registerFunction", "POST", f"{object_.path}/functions", worlds.function("f")),
    ]


def _leaf(object_: Object, rng: random.Random) -> list[Asked]:
    title, load = object_.type.title(), "load" if object_.type == "fileset" else "get"
    drop = "delete" if object_.type == "model" else "drop"
    asked: list[Asked] = [
        (f"{title}.{load}{title}", "GET", object_.path, None),
        (f"{title}.alter{title}", "PUT", object_.path, NO_UPDATES),
    ]
    if rng.random() < 0.2:
        asked.append((f"{title}.{drop}{title}", "DELETE", object_.path, None))
    if object_.type == "fileset":
        asked.append(("Fileset.getFileLocation", "GET", f"{object_.path}/location?sub_path=/x", None))
        asked.append(("Fileset.listFiles", "GET", f"{object_.path}/files?sub_path=/", None))
    if object_.type == "model":
        asked += _versions(object_)
    return asked


def _versions(object_: Object) -> list[Asked]:
    version, alias = f"{object_.path}/versions/0", f"{object_.path}/aliases/none"
    return [
        ("Model.listModelVersions", "GET", f"{object_.path}/versions", None),
        ("Model.getModelVersion", "GET", version, None),
        ("Model.getModelVersionByAlias", "GET", alias, None),
        ("Model.getModelVersionUri", "GET", f"{version}/uri", None),
        ("Model.getModelVersionUriByAlias", "GET", f"{alias}/uri", None),
        ("Model.linkModelVersion", "POST", f"{object_.path}/versions", worlds.version()),
        ("Model.alterModelVersion", "PUT", version, NO_UPDATES),
        ("Model.alterModelVersionByAlias", "PUT", alias, NO_UPDATES),
        ("Model.deleteModelVersionByAlias", "DELETE", alias, None),
    ]


def _about(object_: Object, made: World, rng: random.Random) -> list[Asked]:
    """What can be asked about any object: its owner, its roles, its tags, and rights on it."""
    of, role = f"{object_.type}/{object_.full}", rng.choice(made.of("role")).full
    asked: list[Asked] = [
        ("Owner.getOwnerForObject", "GET", f"{LAKE_PATH}/owners/{of}", None),
        ("Owner.setOwnerForObject", "PUT", f"{LAKE_PATH}/owners/{of}", NOBODY),
    ]
    if object_.type != "role":
        asked += [
            (
                f"Permission.{verb}Privilege{way}",
                "PUT",
                f"{LAKE_PATH}/permissions/roles/{role}/{of}/{verb}",
                _right(object_, rng),
            )
            for verb, way in (("grant", "ToRole"), ("revoke", "FromRole"))
        ]
    if object_.type in ("catalog", "schema", "model", "fileset"):
        asked += _marked(object_, rng)
    return asked


def _marked(object_: Object, rng: random.Random) -> list[Asked]:
    at, tag = f"{LAKE_PATH}/objects/{object_.type}/{object_.full}", rng.choice(("pii", "gold"))
    change = {"tagsToAdd": [tag], "tagsToRemove": []}
    policies = {"policiesToAdd": ["keep"], "policiesToRemove": []}
    return [
        ("MetadataObjectTag.listTagsForMetadataObject", "GET", f"{at}/tags", None),
        ("MetadataObjectTag.getTagForObject", "GET", f"{at}/tags/{tag}", None),
        ("MetadataObjectTag.associateTagsForObject", "POST", f"{at}/tags", change),
        ("MetadataObjectPolicy.listPoliciesForMetadataObject", "GET", f"{at}/policies", None),
        ("MetadataObjectPolicy.getPolicyForObject", "GET", f"{at}/policies/keep", None),
        ("MetadataObjectPolicy.associatePoliciesForObject", "POST", f"{at}/policies", policies),
        ("MetadataObjectRole.listRoles", "GET", f"{at}/roles", None),
    ]


def _right(object_: Object, rng: random.Random) -> dict[str, Any]:
    condition = "DENY" if rng.random() < 0.2 else "ALLOW"
    return {"privileges": [{"name": rng.choice(worlds.fitting(object_)), "condition": condition}]}


def _change(made: World, rng: random.Random) -> Iterator[Call]:
    """A manager gives, takes, hands over, renames, or drops and makes again."""
    target, role = (
        rng.choice(made.of("catalog", "schema", "model", "fileset", "function")),
        rng.choice(made.of("role")),
    )
    deeds = [
        (
            "PUT",
            f"/permissions/users/{rng.choice(PEOPLE)}/{rng.choice(('grant', 'revoke'))}",
            {"roleNames": [role.full]},
        ),
        ("PUT", f"/owners/{target.type}/{target.full}", {"name": rng.choice(PEOPLE), "type": "USER"}),
        ("PUT", f"/permissions/roles/{role.full}/{target.type}/{target.full}/grant", _right(target, rng)),
        ("DELETE", f"/users/{rng.choice(PEOPLE)}", None),
        ("POST", "/users", {"name": rng.choice(PEOPLE)}),
    ]
    method, path, body = rng.choice(deeds)
    yield Call(ADMIN, method, f"{LAKE_PATH}{path}", body, "changed")
    if target.type in ("model", "fileset") and rng.random() < 0.5:
        yield from _moved(target, rng)


def _moved(object_: Object, rng: random.Random) -> Iterator[Call]:
    """Rights stay with what is renamed, and go with what is dropped."""
    if rng.random() < 0.5:
        yield Call(
            ADMIN, "PUT", object_.path, {"updates": [{"@type": "rename", "newName": "moved"}]}, "renamed"
        )
        moved = object_.path.rpartition("/")[0] + "/moved"
        yield Call(rng.choice(PEOPLE), "GET", moved, None, "asked where it was moved to")
        name = object_.parts[-1]
        yield Call(ADMIN, "PUT", moved, {"updates": [{"@type": "rename", "newName": name}]}, "renamed back")
    else:
        yield Call(ADMIN, "DELETE", object_.path, None, "dropped")
        again = object_.path.rpartition("/")[0]
        yield Call(ADMIN, "POST", again, worlds.new(object_.type, object_.parts[-1]), "made again")
