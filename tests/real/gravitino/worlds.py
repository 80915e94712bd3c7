"""Random metalakes as calls of their managers, and questions as calls of ordinary people.

Kinds of catalogs that need no other system: `model` and `fileset`.  A question is asked so that it changes
nothing when it is let in: what is to be made is there already, what is to be altered is altered by nothing,
what is to be dropped is in use.  A few change the world all the same, in both systems alike.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from tests.api_gravitino.world import ADMIN
from tests.real.differential.compare import LAKE, Call

PEOPLE = ("ana", "bo", "cy", "di", "eve")
STRANGER = "zoe"
GROUPS = ("staff", "crew")
KINDS = {"lab": ("model", "model", "model"), "files": ("fileset", "fileset", "fileset")}
"""Catalogs: the type, the provider, and what lies in their schemas."""
EVERYWHERE = ("USE_CATALOG", "USE_SCHEMA", "CREATE_SCHEMA", "MANAGE_GRANTS")
FUNCTIONS = ("REGISTER_FUNCTION", "EXECUTE_FUNCTION", "MODIFY_FUNCTION")
OF_KIND = {
    "model": ("USE_MODEL", "LINK_MODEL_VERSION", "REGISTER_MODEL", *FUNCTIONS),
    "fileset": ("READ_FILESET", "WRITE_FILESET", "CREATE_FILESET", *FUNCTIONS),
}
OF_LAKE = (
    *("CREATE_CATALOG", "MANAGE_USERS", "MANAGE_GROUPS", "CREATE_ROLE", "CREATE_TAG", "CREATE_POLICY"),
    *("REGISTER_JOB_TEMPLATE", "RUN_JOB", "APPLY_TAG", "APPLY_POLICY", "USE_JOB_TEMPLATE"),
)
ON_LEAF = {
    "model": ("USE_MODEL", "LINK_MODEL_VERSION", "MANAGE_GRANTS"),
    "fileset": ("READ_FILESET", "WRITE_FILESET", "MANAGE_GRANTS"),
    "function": ("EXECUTE_FUNCTION", "MODIFY_FUNCTION", "MANAGE_GRANTS"),
    "tag": ("APPLY_TAG",),
    "policy": ("APPLY_POLICY",),
    "job_template": ("USE_JOB_TEMPLATE",),
}
RULES = {
    "customRules": {},
    "supportedObjectTypes": ["MODEL", "FILESET", "SCHEMA", "CATALOG"],
    "properties": {},
}


def policy(name: str) -> dict[str, Any]:
    return {"name": name, "comment": "", "policyType": "custom", "enabled": True, "content": RULES}


def template(name: str) -> dict[str, Any]:
    shell = {"jobType": "shell", "name": name, "executable": "/bin/true", "comment": "", "arguments": []}
    return {"jobTemplate": {**shell, "environments": {}, "customFields": {}, "scripts": []}}


def function(name: str) -> dict[str, Any]:
    sql = {"language": "SQL", "runtime": "SPARK", "sql": "x + 1"}
    body = {
        "parameters": [{"name": "x", "dataType": "integer"}],
        "returnType": "integer",
        "impls": [sql],
    }
    return {
        "name": name,
        "functionType": "SCALAR",
        "deterministic": True,
        "comment": "",
        "definitions": [body],
    }


@dataclass(frozen=True)
class Object:
    """Something of the metalake, as paths of the interface name it."""

    type: str
    full: str

    @property
    def parts(self) -> list[str]:
        return self.full.split(".")

    @property
    def path(self) -> str:
        names, way = self.parts, "/api/metalakes/{lake}"
        if self.type == "metalake":
            return way
        if self.type in ("tag", "role", "user", "group"):
            return f"{way}/{self.type}s/{self.full}"
        if self.type == "policy":
            return f"{way}/policies/{self.full}"
        if self.type == "job_template":
            return f"{way}/jobs/templates/{self.full}"
        for plural, name in zip(("catalogs", "schemas", f"{self.type}s"), names, strict=False):
            way += f"/{plural}/{name}"
        return way


@dataclass
class World:
    """What was made, by name and type."""

    rng: random.Random
    calls: list[Call] = field(default_factory=list)
    objects: list[Object] = field(default_factory=list)

    def do(self, method: str, path: str, body: Any = None, *, operation: str = "") -> None:
        self.calls.append(Call(ADMIN, method, f"/api/metalakes/{LAKE}{path}", body, operation))

    def of(self, *types: str) -> list[Object]:
        return [object_ for object_ in self.objects if object_.type in types]

    def add(self, type: str, full: str) -> Object:
        self.objects.append(Object(type, full))
        return self.objects[-1]


def world(seed: int) -> World:
    """A metalake with its people, objects, roles and owners."""
    made = World(random.Random(seed))
    made.calls.append(
        Call(ADMIN, "POST", "/api/metalakes", {"name": LAKE, "comment": "", "properties": {}}, "made")
    )
    made.add("metalake", LAKE)
    for name in PEOPLE:
        made.do("POST", "/users", {"name": name})
        made.add("user", name)
    for name in GROUPS:
        made.do("POST", "/groups", {"name": name})
        made.add("group", name)
    _grow(made)
    _aside(made)
    _roles(made)
    _owners(made)
    return made


def _grow(made: World) -> None:
    for catalog, (type, provider, leaf) in KINDS.items():
        body = {"name": catalog, "type": type, "provider": provider, "comment": "", "properties": {}}
        if type == "fileset":
            body["properties"] = {"location": f"file:///tmp/lakewarden-real/{LAKE}"}
        made.do("POST", "/catalogs", body)
        made.add("catalog", catalog)
        for schema in ("raw", "fine")[: made.rng.choice((1, 2))]:
            made.do("POST", f"/catalogs/{catalog}/schemas", {"name": schema, "comment": "", "properties": {}})
            made.add("schema", f"{catalog}.{schema}")
            for name in ("a", "b")[: made.rng.choice((1, 2))]:
                _leaf(made, catalog, schema, leaf, name)
            if made.rng.random() < 0.5:
                made.do("POST", f"/catalogs/{catalog}/schemas/{schema}/functions", function("f"))
                made.add("function", f"{catalog}.{schema}.f")


def _leaf(made: World, catalog: str, schema: str, leaf: str, name: str) -> None:
    path = f"/catalogs/{catalog}/schemas/{schema}/{leaf}s"
    made.do("POST", path, new(leaf, name))
    made.add(leaf, f"{catalog}.{schema}.{name}")
    if leaf == "model" and made.rng.random() < 0.5:
        made.do("POST", f"{path}/{name}/versions", version())


def version() -> dict[str, Any]:
    return {"uris": {"unknown": "file:///tmp/x"}, "comment": "", "aliases": [], "properties": {}}


def new(type: str, name: str) -> dict[str, Any]:
    """The body that makes a leaf."""
    if type == "fileset":
        return {"name": name, "type": "managed", "comment": "", "properties": {}}
    return function(name) if type == "function" else {"name": name, "comment": "", "properties": {}}


def _aside(made: World) -> None:
    for name in ("pii", "gold"):
        made.do("POST", "/tags", {"name": name, "comment": "", "properties": {}})
        made.add("tag", name)
    made.do("POST", "/policies", policy("keep"))
    made.add("policy", "keep")
    made.do("POST", "/jobs/templates", template("nightly"))
    made.add("job_template", "nightly")
    for object_ in made.of("catalog", "schema", "model", "fileset"):
        if made.rng.random() < 0.25:
            tags = {"tagsToAdd": [made.rng.choice(("pii", "gold"))], "tagsToRemove": []}
            made.do("POST", f"/objects/{object_.type}/{object_.full}/tags", tags)


def fitting(one: Object) -> tuple[str, ...]:
    """The privileges that can be given on an object."""
    if one.type in ON_LEAF:
        return ON_LEAF[one.type]
    kinds = OF_KIND.values() if one.type == "metalake" else [OF_KIND[KINDS[one.parts[0]][0]]]
    of_kind = tuple({name for kind in kinds for name in kind})
    use = tuple(name for name in EVERYWHERE if one.type != "schema" or name != "USE_CATALOG")
    return (*use, *use, *sorted(of_kind), *(OF_LAKE if one.type == "metalake" else ()))


def _roles(made: World) -> None:
    rng = made.rng
    for name in ("clerk", "chief", "guest", "odd")[: rng.randint(2, 4)]:
        objects: dict[Object, dict[str, str]] = {}
        for _ in range(rng.randint(1, 7)):
            target = rng.choice(made.of("metalake", "catalog", "schema", *ON_LEAF))
            given = objects.setdefault(target, {})
            given.setdefault(rng.choice(fitting(target)), "DENY" if rng.random() < 0.2 else "ALLOW")
        if rng.random() < 0.7:
            high = rng.choice(made.of("metalake", "catalog"))
            objects.setdefault(high, {}).update({"USE_CATALOG": "ALLOW", "USE_SCHEMA": "ALLOW"})
        made.do("POST", "/roles", {"name": name, "properties": {}, "securableObjects": securables(objects)})
        made.add("role", name)
        for holder in rng.sample(PEOPLE, rng.randint(1, 3)):
            made.do("PUT", f"/permissions/users/{holder}/grant", {"roleNames": [name]})
        if rng.random() < 0.3:
            made.do("PUT", f"/permissions/groups/{rng.choice(GROUPS)}/grant", {"roleNames": [name]})


def securables(objects: dict[Object, dict[str, str]]) -> list[dict[str, Any]]:
    return [
        {
            "type": object_.type.upper(),
            "fullName": object_.full,
            "privileges": [{"name": name, "condition": how} for name, how in given.items()],
        }
        for object_, given in objects.items()
    ]


def _owners(made: World) -> None:
    for object_ in made.of("catalog", "schema", "role", *ON_LEAF):
        if made.rng.random() < 0.3:
            made.do("PUT", f"/owners/{object_.type}/{object_.full}", _somebody(made.rng))
    if made.rng.random() < 0.1:
        made.do("PUT", f"/owners/metalake/{LAKE}", {"name": made.rng.choice(PEOPLE), "type": "USER"})


def _somebody(rng: random.Random) -> dict[str, str]:
    if rng.random() < 0.1:
        return {"name": rng.choice(GROUPS), "type": "GROUP"}
    return {"name": rng.choice(PEOPLE), "type": "USER"}
