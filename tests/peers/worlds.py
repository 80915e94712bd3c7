"""A metalake of the second console as the contract suite sees it: people change it by hand over its API.

The suite speaks of schemas, tables and the rights of a database.  Here a schema lies in the catalog `shop`,
SELECT is SELECT_TABLE, and whatever writes is MODIFY_TABLE.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote

from lakewarden.backends.base import Backend, Foreign, Observation, Plan, Right
from policies.sync.backends import gravitino
from policies.sync.backends.gravitino_names import rights_of
from tests.peers.site import ADMIN, Peer, new_name

CATALOG = "shop"
BACK = {
    "SELECT_TABLE": "SELECT",
    "MODIFY_TABLE": "DELETE",
    "USE_SCHEMA": "USAGE",
    "USE_CATALOG": "CONNECT",
}
WORDS = {here: there for there, here in BACK.items()} | {"INSERT": "MODIFY_TABLE"}


def there(right: Right) -> Right:
    """A right of the suite as the metalake has it."""
    if right.kind == "role":
        return right
    return Right(right.kind, (CATALOG, *right.path), WORDS.get(right.right, right.right))


def here(right: Right) -> Right:
    if right.path[:1] != (CATALOG,):
        return right
    return Right(right.kind, right.path[1:], BACK.get(right.right, right.right))


def _rights(mapping: Any, turned: Any) -> Any:
    return {key: frozenset(map(turned, rights)) for key, rights in mapping.items()}


class Told:
    """A backend for the whole realm, told to the suite as one for the catalog `shop`."""

    def __init__(self, backend: Backend) -> None:
        self.real = backend

    def observe(self) -> Observation:
        seen = self.real.observe()
        objects = tuple(replace(one, path=one.path[1:]) for one in seen.objects if one.path[:1] == (CATALOG,))
        foreign = tuple(replace(one, right=here(one.right)) for one in seen.foreign)
        return replace(seen, objects=objects, roles=_rights(seen.roles, here), foreign=foreign)

    def apply(self, plan: Plan) -> Any:
        steps = {replace(one, rights=tuple(map(there, one.rights))): one for one in plan.steps}
        for outcome in self.real.apply(replace(plan, steps=tuple(steps))):
            yield replace(outcome, step=steps[outcome.step])

    def check(self) -> Any:
        return self.real.check()

    def close(self) -> None:
        self.real.close()


class Lake:
    """A metalake over there with one catalog, of which the account of this side is the owner."""

    def __init__(self, peer: Peer, realm: str = "here", mark: str = "") -> None:
        self.peer, self.name = peer, new_name("lake")
        self.realm, self.mark = realm, mark or new_name("contract-")
        self.do("POST", "/api/metalakes", {"name": self.name, "comment": "", "properties": {}})
        self.make("/catalogs", name=CATALOG, type="relational", provider="hive")

    @property
    def url(self) -> str:
        return f"gravitino+http://{ADMIN}:dummy@127.0.0.1:{self.peer.port}/{self.name}"

    def raw(self) -> Backend:
        return gravitino.open(self.url, realm=self.realm, mark=self.mark)

    def backend(self) -> Backend:
        return Told(self.raw())

    def do(self, method: str, path: str, body: Any = None, who: str = ADMIN) -> Any:
        said = self.peer.send(method, path, body, who=who)
        assert said.status == 200, said
        return said.body

    def make(self, path: str, **body: Any) -> Any:
        return self.on("POST", path, {"comment": "", "properties": {}, **body})

    def on(self, method: str, path: str, body: Any = None, who: str = ADMIN) -> Any:
        return self.do(method, f"/api/metalakes/{self.name}{path}", body, who)

    def schema(self, name: str) -> None:
        self.make(f"/catalogs/{CATALOG}/schemas", name=name)

    def table(self, schema: str, name: str, *, serial: bool = False) -> None:
        columns = [{"name": "x", "type": "integer", "nullable": True, "autoIncrement": False}]
        self.make(self._tables(schema), name=name, columns=columns)

    def drop(self, schema: str, name: str) -> None:
        self.on("DELETE", f"{self._tables(schema)}/{name}")

    def rename(self, schema: str, name: str, new: str) -> None:
        self.on("PUT", f"{self._tables(schema)}/{name}", {"updates": [{"@type": "rename", "newName": new}]})

    def person(self, name: str) -> str:
        unique = new_name(name)
        self.on("POST", "/users", {"name": unique})
        return unique

    def give_by_hand(self, right: Right, holder: str) -> None:
        """A role of his own, as a person over there would make one."""
        role, given = new_name("hand"), there(right)
        wanted = {
            "fullName": ".".join(given.path),
            "type": given.kind,
            "privileges": [{"name": given.right, "condition": "allow"}],
        }
        self.on("POST", "/roles", {"name": role, "properties": {}, "securableObjects": [wanted]})
        self.on("PUT", f"/permissions/users/{holder}/grant", {"roleNames": [role]})

    def foreign(self) -> set[Foreign]:
        """What is in roles without our mark, read past the backend."""
        found = set()
        for row in self.on("GET", "/users?details=true")["users"]:
            for name in row["roles"]:
                role = self.on("GET", f"/roles/{name}")["role"]
                if "lakewarden" not in (role["properties"] or {}):
                    rights = rights_of(role["securableObjects"])
                    found |= {Foreign(here(right), row["name"], f"role {name}") for right in rights}
        return found

    def spoil(self, key: str, *, taken: Right | None = None, given: Right | None = None) -> None:
        for right, verb in ((taken, "revoke"), (given, "grant")):
            if right is not None:
                there_ = there(right)
                path = f"/permissions/roles/{self.role(key)}/{there_.kind}/{'.'.join(there_.path)}/{verb}"
                self.on("PUT", path, {"privileges": [{"name": there_.right, "condition": "allow"}]})

    def spoil_member(self, key: str, person: str, *, joins: bool) -> None:
        verb = "grant" if joins else "revoke"
        self.on("PUT", f"/permissions/users/{person}/{verb}", {"roleNames": [self.role(key)]})

    def role(self, key: str) -> str:
        return gravitino.Marks(self.realm, self.mark).role_name(key)

    def may(self, person: str, word: str, schema: str, table: str) -> bool:
        """Ask over there, as that person."""
        privileges = "?privileges=MODIFY_TABLE" if WORDS.get(word) == "MODIFY_TABLE" else ""
        path = f"/api/metalakes/{self.name}{self._tables(schema)}/{quote(table, safe='')}{privileges}"
        said = self.peer.send("GET", path, who=person)
        assert said.status in (200, 403), said
        return said.status == 200

    def _tables(self, schema: str) -> str:
        return f"/catalogs/{CATALOG}/schemas/{quote(schema, safe='')}/tables"
