"""Realms of the second console as the contract suite sees them: people change them by hand over their APIs.

The suite speaks of schemas and tables.  In a metalake a schema lies in the catalog `shop`; in a Herd a table
is a namespace of its own, in a CDAP a dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden.backends.base import Backend, Foreign, Observation, Plan, Right
from lakewarden.backends.testing.kit import WRITES, Crash
from policies.sync.backends.gravitino import kind as gravitino
from policies.sync.backends.gravitino.names import rights_of
from policies.sync.backends.shared.rest import Rest
from policies.sync.connections.needs import needed
from tests.peers.site import ADMIN, Peer, new_name

CATALOG = "shop"
Turn = Callable[[Right], Right]


class Told:
    """A backend for a whole realm, told to the suite in its own paths."""

    def __init__(self, backend: Backend, *, there: Turn, here: Turn) -> None:
        self.real, self._there, self._here = backend, there, here

    def observe(self) -> Observation:
        seen = self.real.observe()
        pairs = [(item, self._here(Right(item.kind, item.path, ""))) for item in seen.objects]
        return replace(
            seen,
            objects=tuple(replace(item, path=at.path) for item, at in pairs),
            roles={key: frozenset(map(self._here, rights)) for key, rights in seen.roles.items()},
            foreign=tuple(replace(item, right=self._here(item.right)) for item in seen.foreign),
        )

    def apply(self, plan: Plan) -> Any:
        steps = {replace(step, rights=tuple(map(self._there, step.rights))): step for step in plan.steps}
        for outcome in self.real.apply(replace(plan, steps=tuple(steps))):
            yield replace(outcome, step=steps[outcome.step])

    def check(self) -> Any:
        return self.real.check()

    def rights_for(self, privilege: str, kind: str) -> tuple[str, ...]:
        return self.real.rights_for(privilege, kind)

    def close(self) -> None:
        self.real.close()


@contextmanager
def dying(number: int) -> Iterator[None]:
    """The worker ends before its n-th call that changes something, or after it before it is noted."""
    send, left = Rest._send, [number]

    def counted(self: Rest, method: str, *args: Any) -> Any:
        if method == "GET":
            return send(self, method, *args)
        for before in (True, False):
            left[0] -= 1
            reply = None if before else send(self, method, *args)
            if left[0] == 0:
                raise Crash
        return reply

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rest, "_send", counted)
        yield


class Lake:
    """A metalake over there with one catalog, of which the account of this side is the owner."""

    dying = staticmethod(dying)

    def __init__(self, peer: Peer, realm: str = "here", mark: str = "") -> None:
        self.peer, self.name = peer, new_name("lake")
        self.realm, self.mark = realm, mark or new_name("contract-")
        self.do("POST", "/api/metalakes", {"name": self.name, "comment": "", "properties": {}})
        self.make("/catalogs", name=CATALOG, type="relational", provider="hive")

    @property
    def url(self) -> str:
        return f"gravitino+http://{ADMIN}:dummy@127.0.0.1:{self.peer.port}/{self.name}"

    def backend(self) -> Backend:
        real = gravitino.open(
            self.url, realm=self.realm, mark=self.mark, **needed(gravitino.KIND, None, self.mark)
        )
        return Told(real, there=self.there, here=self.here)

    @staticmethod
    def there(right: Right) -> Right:
        return right if right.kind == "role" else replace(right, path=(CATALOG, *right.path))

    @staticmethod
    def here(right: Right) -> Right:
        return replace(right, path=right.path[1:]) if right.path[:1] == (CATALOG,) else right

    @contextmanager
    def blinded(self) -> Iterator[None]:
        """The metalake and its catalog are somebody else's for a while: our account sees no object."""
        other = self.person("other")
        paths = f"/owners/catalog/{CATALOG}", f"/owners/metalake/{self.name}"
        for path in paths:
            self.on("PUT", path, {"name": other, "type": "USER"})
        yield
        for path in paths:
            self.on("PUT", path, {"name": ADMIN, "type": "USER"}, other)

    def do(self, method: str, path: str, body: Any = None, who: str = ADMIN) -> Any:
        response = self.peer.send(method, path, body, who=who)
        assert response.status == 200, response
        return response.body

    def make(self, path: str, **body: Any) -> Any:
        return self.on("POST", path, {"comment": "", "properties": {}, **body})

    def on(self, method: str, path: str, body: Any = None, who: str = ADMIN) -> Any:
        return self.do(method, f"/api/metalakes/{self.name}{path}", body, who)

    def schema(self, name: str) -> None:
        self.make(f"/catalogs/{CATALOG}/schemas", name=name)

    def table(self, schema: str, name: str) -> None:
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
        """A role of the holder's own, as a person over there would make one."""
        role, given = new_name("hand"), self.there(right)
        wanted = {
            "fullName": ".".join(given.path),
            "type": given.kind,
            "privileges": [{"name": given.right, "condition": "allow"}],
        }
        self.on("POST", "/roles", {"name": role, "properties": {}, "securableObjects": [wanted]})
        self.on("PUT", f"/permissions/users/{holder}/grant", {"roleNames": [role]})

    def foreign(self) -> set[Foreign]:
        """What is in roles without our mark, read past the backend."""
        foreign_rights = set()
        for row in self.on("GET", "/users?details=true")["users"]:
            for name in row["roles"]:
                role = self.on("GET", f"/roles/{name}")["role"]
                if "lakewarden" not in (role["properties"] or {}):
                    rights = rights_of(role["securableObjects"])
                    foreign_rights |= {
                        Foreign(self.here(right), row["name"], f"role {name}") for right in rights
                    }
        return foreign_rights

    def spoil(self, key: str, *, taken: Right | None = None, given: Right | None = None) -> None:
        for right, verb in ((taken, "revoke"), (given, "grant")):
            if right is not None:
                at = self.there(right)
                path = f"/permissions/roles/{self.role(key)}/{at.kind}/{'.'.join(at.path)}/{verb}"
                self.on("PUT", path, {"privileges": [{"name": at.right, "condition": "allow"}]})

    def spoil_member(self, key: str, person: str, *, joins: bool) -> None:
        verb = "grant" if joins else "revoke"
        self.on("PUT", f"/permissions/users/{person}/{verb}", {"roleNames": [self.role(key)]})

    def role(self, key: str) -> str:
        return gravitino.Marks(self.realm, self.mark).role_name(key)

    def may(self, person: str, deed: str, schema: str, table: str) -> bool:
        """Ask over there, as that person."""
        privileges = "?privileges=MODIFY_TABLE" if deed == WRITES else ""
        path = f"{self._tables(schema)}/{quote(table, safe='')}{privileges}"
        response = self.peer.send("GET", f"/api/metalakes/{self.name}{path}", who=person)
        assert response.status in (200, 403), response
        return response.status == 200

    def _tables(self, schema: str) -> str:
        return f"/catalogs/{CATALOG}/schemas/{quote(schema, safe='')}/tables"
