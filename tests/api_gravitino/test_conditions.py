"""The seed's table of calls over HTTP: each alternative opens a call, nothing less does, refused is 403/1008.

A body without what it needs is read only after the right was there, so 400 means that the right was enough.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from authzsite.api.gravitino import call_table
from tests.api_gravitino.world import ADMIN, FORBIDDEN, OK, Lake, Site, service_admin

TABLE = tomllib.loads((Path(__file__).parents[1] / "law" / "seed_calls.toml").read_text())
ROUTES = {route.operation: route for route in call_table.every()}
KINDS = {"table": "rel", "topic": "msg", "fileset": "fs", "model": "md"}
WHO = "tina"
OWNERS = {type: f"owner_of_{type}" for type in ("metalake", "catalog", "schema", "leaf", "role")}
"""Who owns what, each of them with the use of all catalogs and schemas."""
PEOPLE = {"user": "bob", "group": "analysts", "role": "clerk"}
Level = tuple[str, str]


class Town(Lake):
    """A metalake with one object of each kind, whose rights and owners tests turn round."""

    @cached_property
    def lake_level(self) -> Level:
        return "metalake", self.name

    rules: tuple[tuple[str, Level], ...] | None = None

    def furnish(self) -> None:
        for kind, type_ in (("rel", "relational"), ("msg", "messaging"), ("fs", "fileset"), ("md", "model")):
            providers = {"rel": "hive", "msg": "kafka"}
            body = {"name": kind, "type": type_, "provider": providers.get(kind)}
            self.make("/catalogs", body)
            self.make(f"/catalogs/{kind}/schemas", {"name": "s"})
        for name in (WHO, "bob", *OWNERS.values()):
            self.make("/users", {"name": name})
        self.make("/groups", {"name": "analysts"})
        self.make("/roles", {"name": "rights"})
        assert self.send("PUT", f"/permissions/users/{WHO}/grant", {"roleNames": ["rights"]}).told == OK
        self.role(
            "usage",
            f"allow USE_CATALOG metalake {self.name}",
            f"allow USE_SCHEMA metalake {self.name}",
            to=tuple(OWNERS.values()),
        )
        self.remake("role")
        for kind, catalog in KINDS.items():
            self.own(("catalog", catalog), OWNERS["catalog"])
            self.own(("schema", f"{catalog}.s"), OWNERS["schema"])
            self.remake(kind, "one")
            self.remake(kind, "two")
        self.own(self.lake_level, OWNERS["metalake"])

    def remake(self, type: str, name: str = "one") -> None:
        more = {"fileset": {"storageLocations": {"unknown": "file:/x"}}, "table": {"columns": []}}
        if type in KINDS:
            many = f"/catalogs/{KINDS[type]}/schemas/s/{type}s"
            self.make(many, {"name": name, **more.get(type, {})}, who=self.ruler)
            self.own((type, f"{KINDS[type]}.s.{name}"), OWNERS["leaf"])
            return
        self.make(f"/{type}s", {"name": PEOPLE[type]}, who=self.ruler)
        if type == "role":
            self.own(("role", PEOPLE[type]), OWNERS["role"])

    @cached_property
    def _owned(self) -> set[Level]:
        return set()

    @property
    def ruler(self) -> str:
        return OWNERS["metalake"] if self.lake_level in self._owned else ADMIN

    def give(self, *rules: tuple[str, Level]) -> None:
        """Let Tina have exactly these privileges."""
        if rules == self.rules:
            return
        objects: dict[Level, list[dict[str, str]]] = {}
        for privilege, level in rules:
            condition, _, code = privilege.rpartition(" ")
            objects.setdefault(level, []).append({"name": code, "condition": condition or "allow"})
        wanted = [{"type": t, "fullName": n, "privileges": p} for (t, n), p in objects.items()]
        reply = self.send("PUT", "/permissions/roles/rights", {"overrides": wanted}, who=self.ruler)
        assert reply.told == OK, reply.body
        self.rules = rules

    def own(self, level: Level, who: str) -> None:
        body = {"name": who, "type": "user"}
        reply = self.send("PUT", f"/owners/{level[0]}/{level[1]}", body, who=self.ruler)
        assert reply.told == OK, reply.body
        self._owned.add(level)


@pytest.fixture(scope="module")
def town(site: Site) -> Town:
    made = Town(site, service_admin(site).create_metalake("town", "", {}).name())
    made.furnish()
    return made


class Asked:
    """A row of the table: how it is called, and which levels its words mean."""

    def __init__(self, town: Town, row: dict[str, Any]):
        self.town, self.row = town, row
        operation = row.get("operation", "")
        self.route = ROUTES.get(operation)
        noun = row.get("children") or operation.partition(".")[0].lower()
        self.leaf = noun if noun in KINDS else "table"
        kind = KINDS[self.leaf]
        self.levels: dict[str, Level] = {
            "metalake": town.lake_level,
            "catalog": ("catalog", kind),
            "schema": ("schema", f"{kind}.s"),
            self.leaf: (self.leaf, f"{kind}.s.one"),
            "role": ("role", "clerk"),
        }

    def before(self, *, without: str = "") -> list[tuple[str, Level]]:
        rules = self.row.get("before", [])
        return [(code, self.levels["metalake"]) for code in rules if code != without]

    def named(self, what: str) -> list[Level]:
        return [self.levels[name] for name in self.row.get(what, [])]

    def rules(self) -> list[tuple[str, Level]]:
        return [(code, level) for level in self.named("on") for code in self.row["privileges"]]

    @cached_property
    def path(self) -> str:
        assert self.route is not None
        kind = KINDS[self.leaf]
        words = {"metalake": self.town.name, "catalog": kind, "schema": "s", self.leaf: "one"}
        words |= {"role": "clerk", "user": "bob", "group": "analysts", "version": "9", "alias": "none"}
        return "/api/" + self.route.path.format(**words, type="table", full_name="rel.s.one")

    def answer(self, who: str) -> Any:
        assert self.route is not None
        body = {} if self.route.body is not None else None
        return self.town.site.send(self.route.method, self.path, body, who=who)

    def refused(self, *rules: tuple[str, Level], who: str = WHO) -> bool:
        self.town.give(*rules)
        reply = self.answer(who)
        assert reply.status != 403 or reply.told == FORBIDDEN
        assert reply.status < 500
        return bool(reply.status == 403)

    def opens(self, *rules: tuple[str, Level]) -> bool:
        self.town.give(*rules)
        return self.opens_to(WHO)

    def opens_to(self, who: str) -> bool:
        """Whether the call is not refused; what it drops is made again."""
        assert self.route is not None
        reply = self.answer(who)
        assert reply.status < 500
        gone = self.route.path.rpartition("/")[2].strip("{}")
        if reply.status == 200 and self.route.method == "DELETE" and gone in (*KINDS, *PEOPLE):
            self.town.remake(gone)
            self.town.rules = None
        return bool(reply.status != 403)


def rows(kind: str, row: str) -> list[Any]:
    return [*_rows(kind, row)]


def _rows(kind: str, row: str) -> Iterator[Any]:
    for item in TABLE[kind]:
        if row in item["rows"] and ("owners" in item or "on" in item):
            yield pytest.param(item, marks=pytest.mark.seed(item["rows"][row]), id=item["name"])


def by_privilege(kind: str) -> list[Any]:
    return [*_by_privilege(kind)]


def _by_privilege(kind: str) -> Iterator[Any]:
    for item in TABLE[kind]:
        for code in item.get("privileges", ()):
            mark = pytest.mark.seed(item["rows"].get(code, item["rows"]["whole"]))
            yield pytest.param(item, code, marks=mark, id=f"{item['name']} by {code}")


@pytest.mark.seed("S4-016")
@pytest.mark.parametrize("row", rows("call", "whole"))
def test_without_its_own_right_a_call_is_refused(town: Town, row: dict[str, Any]) -> None:
    asked = Asked(town, row)
    assert asked.refused(*asked.before())
    assert asked.refused(*asked.before(), *asked.rules(), who="stranger")


@pytest.mark.parametrize(("row", "code"), by_privilege("call"))
def test_a_privilege_counts_at_each_level_and_a_denial_ends_it(
    town: Town, row: dict[str, Any], code: str
) -> None:
    asked = Asked(town, row)
    levels = asked.named("on")
    for level in levels:
        assert asked.opens(*asked.before(), (code, level)), level
    both = [(code, levels[0]), (f"deny {code}", levels[-1])]
    if len(levels) > 1:
        assert asked.refused(*asked.before(), *both)
        assert asked.refused(*asked.before(), (f"deny {code}", levels[0]), (code, levels[-1]))


@pytest.mark.parametrize("row", rows("call", "owner"))
def test_the_owner_of_each_level_may(town: Town, row: dict[str, Any]) -> None:
    asked = Asked(town, row)
    for type_ in row["owners"]:
        assert asked.opens_to(OWNERS.get(type_, OWNERS["leaf"])), type_


@pytest.mark.parametrize("row", rows("call", "precondition"))
def test_what_comes_before_is_needed(town: Town, row: dict[str, Any]) -> None:
    asked = Asked(town, row)
    for lost in row["before"]:
        assert asked.refused(*asked.before(without=lost), *asked.rules()), lost


# lists


def names(town: Town, asked: Asked, who: str = WHO) -> list[str] | None:
    """What the list shows to somebody; None when it is refused."""
    type_ = asked.row["children"]
    kind = KINDS.get(type_, "rel")
    path = {
        "catalog": "/catalogs",
        "schema": "/catalogs/rel/schemas",
        "user": "/users",
        "group": "/groups",
        "role": "/roles",
    }.get(type_, f"/catalogs/{kind}/schemas/s/{type_}s")
    reply = town.send("GET", path, who=who)
    if reply.status == 403:
        return None
    assert reply.told == OK
    names_: list[str] = reply.body.get("names", [])
    return names_ or [item["name"] for item in reply.body.get("identifiers", [])]


ALL = {
    "catalog": ["fs", "md", "msg", "rel"],
    "schema": ["s"],
    "user": sorted(["bob", ADMIN, WHO, *OWNERS.values()]),
    "group": ["analysts"],
    "role": ["clerk", "rights", "usage"],
}
OWN = {
    "catalog": ("USE_CATALOG", ("catalog", "fs"), ["fs"]),
    "schema": ("USE_SCHEMA", ("schema", "rel.s"), ["s"]),
    "table": ("SELECT_TABLE", ("table", "rel.s.two"), ["two"]),
    "topic": ("CONSUME_TOPIC", ("topic", "msg.s.two"), ["two"]),
    "fileset": ("READ_FILESET", ("fileset", "fs.s.two"), ["two"]),
    "model": ("USE_MODEL", ("model", "md.s.two"), ["two"]),
}
SELF = {"user": [WHO], "group": [], "role": ["rights"]}


@pytest.mark.parametrize("row", rows("list", "whole"))
def test_a_list_shows_what_one_can_load(town: Town, row: dict[str, Any]) -> None:
    asked, type_ = Asked(town, row), row["children"]
    town.give(*asked.before())
    shown = names(town, asked)
    if type_ in SELF:
        assert shown == SELF[type_]
        return
    # to reach the tables of a schema, or the schemas of a catalog, shows these and not yet what is in them
    assert shown == []
    code, level, expected = OWN[type_]
    town.give(*asked.before(), (code, level))
    assert names(town, asked) == expected


@pytest.mark.parametrize("row", rows("list", "owner"))
def test_a_list_shows_everything_to_owners(town: Town, row: dict[str, Any]) -> None:
    asked = Asked(town, row)
    for type_ in row["owners"]:
        shown = names(town, asked, OWNERS[type_])
        assert shown == ALL.get(row["children"], ["one", "two"]), type_


@pytest.mark.parametrize(("row", "code"), by_privilege("list"))
def test_a_list_shows_everything_to_a_manager(town: Town, row: dict[str, Any], code: str) -> None:
    asked = Asked(town, row)
    town.give((code, asked.levels["metalake"]))
    assert names(town, asked) == ALL[row["children"]]


@pytest.mark.parametrize("row", rows("list", "precondition"))
def test_a_list_is_refused_without_what_comes_before(town: Town, row: dict[str, Any]) -> None:
    asked = Asked(town, row)
    for lost in row["before"]:
        town.give(*asked.before(without=lost))
        assert names(town, asked) is None, lost


# the own


@pytest.mark.seed("S4-409", "S4-410", "S4-411")
def test_one_sees_oneself(town: Town) -> None:
    town.give()
    assert town.send("GET", f"/users/{WHO}", who=WHO).told == OK
    assert town.send("GET", "/users/bob", who=WHO).told == FORBIDDEN
    assert town.send("GET", "/groups/analysts", who=WHO).told == FORBIDDEN
    assert town.send("GET", "/roles/rights", who=WHO).told == OK
    assert town.send("GET", "/roles/clerk", who=WHO).told == FORBIDDEN


@pytest.mark.seed("S4-225", "S4-226")
def test_metalakes_are_made_by_service_admins_and_opened_by_members(town: Town) -> None:
    town.give()
    assert town.site.send("POST", "/api/metalakes", {"name": "mine"}, who=WHO).told == FORBIDDEN
    assert town.send("GET", "", who=WHO).told == OK
    assert town.send("GET", "", who="stranger").told == FORBIDDEN
    listed = town.site.send("GET", "/api/metalakes", who="stranger").body["metalakes"]
    assert listed == []
