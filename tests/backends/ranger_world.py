"""A service in the stand-in of Ranger, what people do there by hand, and a plugin that answers who may."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden.backends.base import Backend, Desired, Foreign, Right
from lakewarden.backends.testing.kit import Crash, settle, wanted
from policies.sync.backends.ranger import kind as ranger
from policies.sync.backends.ranger.client import Session
from policies.sync.backends.ranger.names import Identity
from policies.sync.backends.ranger.types import HIVE, Type
from policies.sync.connections.destinations import network
from tests.standins.ranger.process import Plugin, Process

_numbers = count(1)
PUSHER, SECRET = "lakewarden", "p@ss/word"
LONG_AGO = "2020/01/01 00:00:00"
WORDS = {
    "hive": {"SELECT": "select", "INSERT": "update", "UPDATE": "alter", "DELETE": "drop"},
    "trino": {"SELECT": "select", "INSERT": "insert", "UPDATE": "alter", "DELETE": "delete"},
}
"""The kinds of access for the words that the contract uses."""
SELECT = Right("table", ("sales", "orders"), "select")
READ, WRITE = frozenset({SELECT}), frozenset({SELECT, Right("table", ("sales", "orders"), "update")})
SETTLED = wanted({"r": READ}, r={"ana"})


def table(database: str, name: str, column: str = "*") -> dict[str, Any]:
    return {
        "database": {"values": [database]},
        "table": {"values": [name]},
        "column": {"values": [column]},
    }


def item(access: str, **holders: list[str]) -> dict[str, Any]:
    return {"accesses": [{"type": word, "isAllowed": True} for word in access.split()], **holders}


class RangerSite:
    """One service of its own; the stand-in forgets everything else when a site begins."""

    def __init__(self, server: Process, type_: Type = HIVE, *, fixed: str = "") -> None:
        self.server, self.type, self.fixed = server, type_, fixed
        self.service, self.realm = f"cl{next(_numbers)}_{type_.code}", "shop realm"
        server.fresh()
        server.by_hand("account", login=PUSHER, password=SECRET, roles=["ROLE_SYS_ADMIN"])
        server.by_hand("service", name=self.service, type=type_.code)
        self.identity = Identity(self.realm, "shop", self.service)

    @property
    def url(self) -> str:
        who = f"{PUSHER}:{quote(SECRET, safe='')}"
        more = f"?{self.type.fixed}={quote(self.fixed)}" if self.fixed else ""
        return f"ranger+http://{who}@127.0.0.1:{self.server.port}/{self.service}{more}"

    def backend(self) -> Backend:
        return ranger.open(self.url, realm=self.realm, mark="shop", type_=self.type, network=network())

    def schema(self, name: str) -> None:
        """Ranger knows nothing of it."""

    def table(self, schema: str, name: str) -> None:
        """Ranger knows nothing of it."""

    def drop(self, schema: str, name: str) -> None:
        """Ranger knows nothing of it, and its policies stay."""

    def rename(self, schema: str, name: str, new: str) -> None:
        """Ranger knows nothing of it, and its policies stay."""

    def person(self, name: str, *groups: str) -> str:
        self.server.by_hand("user", name=name, groups=list(groups))
        return name

    def policy(
        self, name: str, resources: dict[str, Any], *items: dict[str, Any], **more: Any
    ) -> dict[str, Any]:
        """A policy that somebody makes by hand."""
        body = {"service": self.service, "name": name, "resources": resources, "policyItems": list(items)}
        return self.server.make_policy({**body, **more})

    def policies(self) -> dict[str, dict[str, Any]]:
        return {policy["name"]: policy for policy in self.server.policies(self.service)}

    def our_policy(self, schema: str, name: str) -> dict[str, Any]:
        return self.policies()[self.identity.policy_name(self.values(schema, name))]

    def our_role(self, key: str) -> dict[str, Any]:
        name = self.identity.role_name(key)
        return next(role for role in self.server.roles() if role["name"] == name)

    def give_by_hand(self, right: Right, holder: str) -> None:
        """In one policy for each table; its validity makes it another resource than our own policy has."""
        name = f"by hand {'.'.join(right.path)}"
        given = item(right.right, users=[holder])
        there = self.policies().get(name)
        if there:
            self.server.put_policy({**there, "policyItems": [*there["policyItems"], given]})
        else:
            self.policy(name, self.on(*right.path), given, validitySchedules=[{"startTime": LONG_AGO}])

    def on(self, schema: str, name: str) -> dict[str, Any]:
        """The resources of a table."""
        values = self.values(schema, name)
        return {level: {"values": [value]} for level, value in values.items()}

    def values(self, schema: str, name: str, column: str = "*") -> dict[str, str]:
        if self.type is HIVE:
            return {"database": schema, "table": name, "column": column}
        return {"catalog": self.fixed, "schema": schema, "table": name, "column": column}

    def foreign(self) -> set[Foreign]:
        """What stands in policies that do not bear our label, read past the backend."""
        schema = "database" if self.type is HIVE else "schema"
        rights = set()
        for policy in self.server.policies(self.service):
            if not policy["policyLabels"]:
                path = policy["resources"][schema]["values"][0], policy["resources"]["table"]["values"][0]
                for given in policy["policyItems"]:
                    rights |= {
                        Foreign(Right("table", path, access["type"]), user, f"policy {policy['name']}")
                        for user in given.get("users", ())
                        for access in given["accesses"]
                    }
        return rights

    def spoil(self, key: str, *, taken: Right | None = None, given: Right | None = None) -> None:
        name = self.identity.role_name(key)
        policy = self.our_policy(*(taken or given).path)
        items = list(policy["policyItems"])
        if taken:
            for accessor in items:
                if name in accessor["roles"]:
                    accessor["accesses"] = [has for has in accessor["accesses"] if has["type"] != taken.right]
            items = [item for item in items if item["accesses"]]
        if given:
            items.append(item(given.right, roles=[name]))
        self.server.put_policy({**policy, "policyItems": items})

    def spoil_member(self, key: str, person: str, *, joins: bool) -> None:
        role = self.our_role(key)
        others = [user for user in role["users"] if user["name"] != person]
        self.server.put_role({**role, "users": [*others, {"name": person}] if joins else others})

    def may(self, person: str, word: str, schema: str, name: str) -> bool:
        """As a plugin says that has just loaded everything."""
        plugin = Plugin(self.server, self.service).load()
        return plugin.allows(person, WORDS[self.type.code][word], self.values(schema, name, "x"))

    def calls(self) -> list[dict[str, str]]:
        requests: list[dict[str, str]] = self.server.by_hand("calls")
        return requests

    def fail(self, how: str, method: str = "*", path: str = "/service/", **more: Any) -> None:
        self.server.by_hand("fail", how=how, method=method, path=path, **more)

    @contextmanager
    def dying(self, change: int) -> Iterator[None]:
        """Every other time the server has done the call and only its answer is not heard any more."""
        real, left = Session._call, [change]

        def dies(session: Session, method: str, *names: str, **more: Any) -> Any:
            left[0] -= method != "GET"
            if left[0] or method == "GET":
                return real(session, method, *names, **more)
            if not change % 2:
                real(session, method, *names, **more)
            raise Crash

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Session, "_call", dies)
            yield

    @contextmanager
    def blinded(self) -> Iterator[None]:
        """The account is no administrator any more, and sees what it may administer: nothing."""
        self.server.by_hand("account", login=PUSHER, password=SECRET, roles=["ROLE_USER"])
        yield
        self.server.by_hand("account", login=PUSHER, password=SECRET, roles=["ROLE_SYS_ADMIN"])

    def close(self) -> None:
        self.server.by_hand("mend")


def errors_of(site: RangerSite, desired: Desired) -> list[Exception]:
    """What goes wrong when something is made true."""
    return [outcome.error for outcome in settle(site, desired) if outcome.error]
