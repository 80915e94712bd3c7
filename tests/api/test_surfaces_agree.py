"""One question, asked on every surface: in a random world all of them give one answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from accounts import people, tokens
from catalog.nodes import Node
from lakewarden.client.snapshot import Snapshot
from lakewarden.law.objects import ObjectRef
from policies.services import members, objects, owners, roles
from policies.services.objects import NewObject
from policies.services.roles import Privilege
from tests.admitted import admitted_service
from tests.api.world import BY, EVALUATIONS, Caller, make_shop, question, token, user

SEEDS = (0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20)))
PEOPLE = ("marek", "olivia", "ana", "ada", "bob", "nobody")
OBJECTS = [
    ("sales", "table", name) for name in ("orders", "items", "odd.name", "naïve 店 😀", "Orders", "50%2F50")
]
OBJECTS += [("secret", "table", "plans"), ("secret", "view", "seen"), ("Sales", "table", "orders")]
PRIVILEGES = {
    "catalog": ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE", "SELECT_VIEW", "CREATE_TABLE"),
    "schema": ("USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE", "SELECT_VIEW", "CREATE_TABLE"),
    "table": ("SELECT_TABLE", "MODIFY_TABLE"),
    "view": ("SELECT_VIEW",),
}


def a_world(chance: random.Random) -> list[Node]:
    """The shop with more in it, roles, groups, denials and owners by chance; answers the leaves."""
    shop = make_shop()
    [other] = objects.register(shop.catalog, [NewObject("schema", "Sales")], **BY)
    schemas = {"sales": shop.sales, "secret": shop.secret, "Sales": other}
    leaves = []
    for schema, type_, name in OBJECTS:
        if (schema == "secret" and type_ == "table") or (name in shop.tables and schema == "sales"):
            leaves.append(shop.tables[name])
        else:
            leaves += objects.register(schemas[schema], [NewObject(type_, name)], **BY)
    crew = people.ensure("group", "crew")
    for name in chance.sample(PEOPLE[:-1], 2):
        members.join_group(crew, user(name), **BY)
    members.add(shop.realm, crew, **BY)
    places = [shop.catalog, *schemas.values(), *leaves]
    for number in range(4):
        role = roles.create(shop.realm, f"r{number}", **BY)
        for holder in chance.sample([user(name) for name in PEOPLE[:-1]] + [crew], 2):
            roles.assign(role, holder, **BY)
        told: set[tuple[int, str]] = set()
        for _ in range(7):
            place = chance.choice(places)
            code = chance.choice(PRIVILEGES[place.type])
            if (place.id, code) not in told:
                told.add((place.id, code))
                effect = "deny" if chance.random() < 0.2 else "allow"
                roles.add_privileges(role, place, [Privilege(code, effect)], **BY)
    for place in chance.sample(places, 2):
        owners.set_owner(place, user(chance.choice(PEOPLE[1:-1])), **BY)
    return leaves


class Surfaces:
    """What each says about the same leaves; what does not depend on who is asked about is asked once."""

    def __init__(self, leaves: list[Node]) -> None:
        self.service = Caller(tokens.create(admitted_service("etl"), scopes=("check",)))
        self.refs = [leaf.ref for leaf in leaves]
        self._names = [f"{ref.type}:{ref.id}" for ref in self.refs]
        marek = Caller(token("user", "marek"))
        access = [marek.get("/authz/v1/access", {"resource": each}).json()["results"] for each in self._names]
        self._rows = [{row["principal"]: row["actions"] for row in rows} for rows in access]
        self._subjects = {action: self._who(action) for action in ("read", "write")}

    def _who(self, action: str) -> list[set[str]]:
        sent = [_without("subject", question("user:", action, each)) for each in self._names]
        return [self._found("subject", each) for each in sent]

    def _found(self, kind: str, body: dict[str, Any]) -> set[str]:
        answer = self.service.send(f"/access/v1/search/{kind}", {**body, "page": {"limit": 100}})
        return {one["id"] for one in answer.json()["results"]}

    def said(self, person: str, action: str) -> Iterator[tuple[str, list[bool]]]:
        """Each surface's name, and its answers in the order of the leaves."""
        own, who = Caller(token("user", person)), f"user:{person}"
        body = {"evaluations": [question(who, action, each) for each in self._names]}
        for name, caller, asked in (("own", own, {}), ("service", self.service, {"for": who})):
            answers = caller.send(EVALUATIONS, body).json()["evaluations"]
            yield f"evaluations, {name}", [answer["decision"] for answer in answers]
            taken = caller.get("/authz/v1/snapshot", {"realm": "demo", **asked})
            held = Snapshot.read(taken.content) if taken.status_code == 200 else None  # of no member
            yield f"snapshot, {name}", [bool(held and held.decide(action, ref)) for ref in self.refs]
        yield "evaluation", [own.decide(who, action, each)["decision"] for each in self._names]
        explained = [
            own.get("/authz/v1/explain", {"action": action, "resource": each}) for each in self._names
        ]
        yield "explain", [answer.json()["decision"] for answer in explained]
        types = sorted({ref.type for ref in self.refs})
        sent = {type_: _without("resource", question(who, action, f"{type_}:")) for type_ in types}
        found = {type_: self._found("resource", sent[type_]) for type_ in types}
        yield "search for objects", [ref.id in found[ref.type] for ref in self.refs]
        yield "search for people", [person in names for names in self._subjects[action]]
        yield "who has access", [action in rows.get(who, ()) for rows in self._rows]
        yield "trino", [_trino(self.service, person, action, ref) for ref in self.refs]
        if action == "read":
            yield "load", [own.get(_address(ref)).status_code == 200 for ref in self.refs]
            yield "list", [_listed(own, ref) for ref in self.refs]


def _without(part: str, sent: dict[str, Any]) -> dict[str, Any]:
    del sent[part]["id"]
    return sent


def _address(ref: ObjectRef, *, whole: bool = True) -> str:
    catalog, schema, name = (quote(part, safe="") for part in ref.path)
    start = f"/api/metalakes/demo/catalogs/{catalog}/schemas/{schema}/{ref.type}s"
    return f"{start}/{name}" if whole else start


def _listed(caller: Caller, ref: ObjectRef) -> bool:
    answer = caller.get(_address(ref, whole=False))
    names = [one["name"] for one in answer.json().get("identifiers", [])]
    return ref.path[-1] in names


def _trino(caller: Caller, person: str, action: str, ref: ObjectRef) -> bool:
    operation = {"read": "SelectFromColumns", "write": "InsertIntoTable"}[action]
    catalog, schema, name = ref.path
    table = {"catalogName": catalog, "schemaName": schema, "tableName": name, "columns": ["a"]}
    sent = {
        "input": {
            "context": {"identity": {"user": person, "groups": []}},
            "action": {"operation": operation, "resource": {"table": table}},
        }
    }
    return bool(caller.send("/v1/data/trino/allow", sent).json()["result"])


@pytest.mark.parametrize("seed", SEEDS)
def test_every_surface_gives_one_answer(db: None, seed: int) -> None:
    surfaces = Surfaces(a_world(random.Random(seed)))
    wrong, yes = [], 0
    for person in PEOPLE:
        for action in ("read", "write"):
            (_, first), *others = surfaces.said(person, action)
            yes += sum(first)
            for surface, answers in others:
                told = zip(surfaces.refs, first, answers, strict=True)
                wrong += [
                    (person, action, str(ref), surface, answer)
                    for ref, right, answer in told
                    # nobody writes into a view, though its owner may alter it
                    if answer is not right and (action == "read" or ref.type == "table")
                ]
    assert wrong == []
    assert yes > 5
