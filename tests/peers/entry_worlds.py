"""A Herd and a CDAP of the second console as the contract suite sees them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote

from lakewarden.backends.base import Backend, Foreign, Right
from lakewarden.backends.testing.kit import WRITES
from policies.models import Written
from policies.sync.backends.cdap import kind as cdap
from policies.sync.backends.entries.backend import ByPerson
from policies.sync.backends.herd import kind as herd
from policies.sync.connections.needs import needed
from tests.peers.site import Peer, new_name
from tests.peers.worlds import Told, dying

HERD = "/herd-app/rest"
ENTRIES = f"{HERD}/userNamespaceAuthorizations"
CDAP = "/v3/security/authorization"
SET_UP = """
from accounts import people, tokens
from accounts.models import Principal
from policies.authority import OPERATOR, of_operator
from policies.services import realms, roles
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.sync.connections.needs import needed
by = {"by": OPERATOR, "authority": of_operator(OPERATOR)}
owner = people.ensure("service", "keeper")
realms.create("herd", "herd", owner=owner, **by)
roles.assign(find(ObjectRef("role", "herd", ("DATA_OWNER",))), owner, **by)
settings = {"policy": "4.3", "authentication": "on", "master_user": "cdap"}
realms.create("cdap", "cdap", owner=owner, settings=settings, mode="on", **by)
print(tokens.create(owner, scopes=("manage", "check", "audit")))
"""


def _entry(user: str, code: str) -> str:
    return f"{ENTRIES}/userIds/{quote(user, safe='')}/namespaces/{quote(code, safe='')}"


class Entered:
    """What both have in common: `people` are those known on this side, `token` the account's."""

    dying = staticmethod(dying)
    path = ""
    kind: Any

    def __init__(self, peer: Peer, token: str) -> None:
        self.peer, self.token = peer, token
        self.mark, self.people = new_name("contract-"), set[str]()

    def backend(self) -> Backend:
        real = self.kind.open(
            self.url, realm="here", mark=self.mark, **needed(self.kind.KIND, None, self.mark)
        )
        assert isinstance(real, ByPerson)
        # the realm of the suite is none of this console's, so it says itself who is known in it
        real._admits = lambda: self.people
        return Told(real, there=self.there, here=self.here)

    @property
    def url(self) -> str:
        token = quote(self.token, safe="")  # one of a CDAP has signs that end the name in an address
        return f"{self.kind.KIND.code}+http://:{token}@127.0.0.1:{self.peer.port}{self.path}"

    def on(self, method: str, path: str, body: Any = None) -> Any:
        response = self.peer.send(method, path, body, token=self.token)
        assert response.status == 200, response
        return response.body

    def schema(self, name: str) -> None:
        """Nothing lies between the realm and what stands for tables here."""

    def person(self, name: str) -> str:
        self.people.add(unique := new_name(name))
        return unique

    def foreign(self) -> set[Foreign]:
        """All that is there, without what this side gave and nobody else did."""
        alone = Written.objects.filter(mark=self.mark).exclude(state="shared")
        ours = {(row.holder, row.type, tuple(row.path), row.right) for row in alone}
        return {
            Foreign(self.here(right), holder)
            for holder in self.people
            for right in self.held(holder)
            if (holder, right.kind, right.path, right.right) not in ours
        }

    def spoil(self, key: str, *, taken: Right | None = None, given: Right | None = None) -> None:
        holder = key.removeprefix("person:")
        if taken is not None:
            self.take_by_hand(self.there(taken), holder)
        if given is not None:
            # nothing tells there who gave it; what is more than we gave is ours when we wrote it down
            self.give_by_hand(given, holder)
            right = self.there(given)
            row = Written.objects.filter(mark=self.mark, holder=holder).first()
            assert row is not None
            Written.objects.create(
                mark=self.mark, holder=holder, type=right.kind, path=list(right.path),
                right=right.right, state="there", at=row.at,
            )  # fmt: skip

    def spoil_member(self, key: str, person: str, *, joins: bool) -> None:
        raise NotImplementedError("there are no roles")


class Herd(Entered):
    """Each table is a namespace, whose code both names make."""

    path, kind = HERD, herd

    def __init__(self, peer: Peer, token: str) -> None:
        super().__init__(peer, token)
        self.prefix, self._tables = new_name("N"), set[tuple[str, str]]()
        self.code = f"{self.prefix}--sales--orders"

    def there(self, right: Right) -> Right:
        return right if len(right.path) < 2 else replace(right, path=("--".join((self.prefix, *right.path)),))

    def here(self, right: Right) -> Right:
        prefix, *names = right.path[0].split("--")
        return replace(right, path=tuple(names)) if prefix == self.prefix else right

    def table(self, schema: str, name: str) -> None:
        code = f"{self.prefix}--{schema}--{name}"
        self.on("POST", f"{HERD}/namespaces", {"namespaceCode": code})
        self._tables.add((schema, name))

    def close(self) -> None:
        """Each look asks for every namespace there is, so none is left for the next test."""
        for schema, name in sorted(self._tables):
            self.drop(schema, name)

    def drop(self, schema: str, name: str) -> None:
        code = f"{self.prefix}--{schema}--{name}"
        for row in self.on("GET", f"{ENTRIES}/namespaces/{quote(code, safe='')}")[
            "userNamespaceAuthorizations"
        ]:
            user = row["userNamespaceAuthorizationKey"]["userId"]
            self.on("DELETE", _entry(user, code))
        self.on("DELETE", f"{HERD}/namespaces/{quote(code, safe='')}")

    def rename(self, schema: str, name: str, new: str) -> None:
        raise NotImplementedError("a namespace keeps its name")

    def held(self, holder: str) -> set[Right]:
        rows = self.on("GET", f"{ENTRIES}/userIds/{quote(holder, safe='')}")["userNamespaceAuthorizations"]
        return {
            Right("namespace", (row["userNamespaceAuthorizationKey"]["namespace"],), word)
            for row in rows
            for word in row["namespacePermissions"]
        }

    def give_by_hand(self, right: Right, holder: str) -> None:
        at = self.there(right)
        before = {item.right for item in self.held(holder) if item.path == at.path}
        self._set(holder, at.path[0], before, before | {at.right})

    def take_by_hand(self, right: Right, holder: str) -> None:
        before = {item.right for item in self.held(holder) if item.path == right.path}
        self._set(holder, right.path[0], before, before - {right.right})

    def _set(self, holder: str, code: str, before: set[str], after: set[str]) -> None:
        at, body = _entry(holder, code), {"namespacePermissions": sorted(after)}
        if not after:
            self.on("DELETE", at)
        elif before:
            self.on("PUT", at, body)
        else:
            key = {"userId": holder, "namespace": code}
            self.on("POST", ENTRIES, {"userNamespaceAuthorizationKey": key, **body})

    def may(self, person: str, deed: str, schema: str, table: str) -> bool:
        """What the other console answers a service that asks: /currentUser needs that person's own token."""
        right = Right(
            "namespace", (f"{self.prefix}--{schema}--{table}",), "WRITE" if deed == WRITES else "READ"
        )
        return right in self.held(person)


class Cdap(Entered):
    """Each table is a dataset; what is granted on is a text, so nothing has to be made."""

    kind = cdap

    def there(self, right: Right) -> Right:
        return right

    here = there

    def table(self, schema: str, name: str) -> None:
        pass

    def drop(self, schema: str, name: str) -> None:
        raise NotImplementedError("texts are not dropped")

    def rename(self, schema: str, name: str, new: str) -> None:
        raise NotImplementedError("texts are not renamed")

    def held(self, holder: str) -> set[Right]:
        rows = self.on("GET", f"{CDAP}/user/{quote(holder, safe='')}/privileges")
        return {right for row in rows if (right := cdap._right(row)) is not None}

    def give_by_hand(self, right: Right, holder: str) -> None:
        self._change("grant", right, holder)

    def take_by_hand(self, right: Right, holder: str) -> None:
        self._change("revoke", right, holder)

    def _change(self, verb: str, right: Right, holder: str) -> None:
        namespace, dataset = right.path
        parts = {"NAMESPACE": namespace, "DATASET": dataset}
        body = {
            "authorizable": {"entityType": "DATASET", "entityParts": parts},
            "principal": {"name": holder, "type": "USER"},
            "actions": [right.right],
        }
        self.on("POST", f"{CDAP}/privileges/{verb}", body)

    def may(self, person: str, deed: str, schema: str, table: str) -> bool:
        """Ask over there, as its containers do."""
        action = "WRITE" if deed == WRITES else "READ"
        entity = {"namespace": schema, "dataset": table, "entity": "DATASET"}
        body = {"principal": {"name": person, "type": "USER"}, "entityId": entity, "action": action}
        response = self.peer.send("POST", "/v1/execute/enforce", body, token=self.token)
        assert response.status in (200, 403), response
        return response.status == 200
