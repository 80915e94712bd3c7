"""Cedar and Casbin, where their packages are there: `pip install cedarpy casbin` into the environment.

Both are given what one question turns on, made ready before the clock starts: what they hold in a program
that has loaded somebody's rights.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bench.peers import READING, Peer, Question, World

_CEDAR = """
permit (principal, action == Action::"read", resource) when {
  principal.holders.containsAny(resource.above) ||
  (principal.roles.containsAny(resource.USE_CATALOG) &&
   !principal.roles.containsAny(resource.no_USE_CATALOG) &&
   (principal.holders.containsAny(resource.schema) ||
    (principal.roles.containsAny(resource.USE_SCHEMA) &&
     !principal.roles.containsAny(resource.no_USE_SCHEMA) &&
     (principal.holders.containsAny(resource.own) ||
      (principal.roles.containsAny(resource.SELECT_TABLE) &&
       !principal.roles.containsAny(resource.no_SELECT_TABLE)) ||
      (principal.roles.containsAny(resource.MODIFY_TABLE) &&
       !principal.roles.containsAny(resource.no_MODIFY_TABLE))))))
};
"""
_CASBIN = """
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act, eft
[role_definition]
g = _, _
g2 = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.act == p.act && g2(r.obj, p.obj) && g(r.sub, p.sub)
"""


def _package(name: str) -> Any:
    return import_module(name) if find_spec(name) else None


def cedar(world: World, questions: list[Question]) -> Peer | None:
    """One policy, and for each question what it turns on, read before the clock starts."""
    cedarpy = _package("cedarpy")
    if cedarpy is None:
        return None
    policies = cedarpy.PolicySet.from_str(_CEDAR)
    asked = {
        question: (
            {
                "principal": f'U::"{question[0]}"',
                "action": 'Action::"read"',
                "resource": f'T::"{question[1]}"',
            },
            cedarpy.Entities.from_json_str(json.dumps(list(_entities(world, *question)))),
        )
        for question in questions
    }

    def one(question: Question) -> bool:
        request, entities = asked[question]
        return bool(cedarpy.is_authorized({**request, "context": {}}, policies, entities).allowed)

    return Peer("Cedar", one)


def _entities(world: World, person: int, table: int) -> Iterator[dict[str, Any]]:
    way, roles = world.way[table], world.roles[person]

    def owners(*keys: int) -> list[int]:
        return [world.owner[key] for key in keys if key in world.owner]

    told: dict[str, list[int]] = {"above": owners(*way[:2]), "schema": owners(way[2]), "own": owners(way[3])}
    for code in ("USE_CATALOG", "USE_SCHEMA", *READING):
        for prefix, allow in (("", True), ("no_", False)):
            found = (world.given.get((key, code, allow), set()) & roles for key in way)
            told[prefix + code] = sorted(set[int]().union(*found))
    mine = {"roles": sorted(roles), "holders": sorted(world.holders[person])}
    yield {"uid": {"type": "U", "id": str(person)}, "attrs": mine, "parents": []}
    yield {"uid": {"type": "T", "id": str(table)}, "attrs": told, "parents": []}


def casbin(world: World, questions: list[Question]) -> Peer | None:
    """For each question an enforcer with what the person's roles give on the way to the table."""
    package = _package("casbin")
    if package is None:
        return None
    logging.getLogger("casbin").setLevel(logging.WARNING)
    enforcers = {}
    for person, table in questions:
        model = package.Model()
        model.load_model_from_text(_CASBIN)
        enforcer = enforcers[person, table] = package.Enforcer(model)
        roles, way = world.roles[person], world.way[table]
        enforcer.add_named_grouping_policies("g", [(str(person), f"r{role}") for role in roles])
        enforcer.add_named_grouping_policies("g2", [(str(table), f"o{key}") for key in way])
        enforcer.add_policies(
            [
                (f"r{role}", f"o{key}", code, "allow" if allow else "deny")
                for key in way
                for code in ("USE_CATALOG", "USE_SCHEMA", *READING)
                for allow in (True, False)
                for role in world.given.get((key, code, allow), set()) & roles
            ]
        )

    def one(question: Question) -> bool:
        person, table = question
        enforcer, way = enforcers[question], world.way[table]
        holders = world.holders[person]

        def has(code: str) -> bool:
            return bool(enforcer.enforce(str(person), str(table), code))

        if world.owner.get(way[0]) in holders or world.owner.get(way[1]) in holders:
            return True
        if not has("USE_CATALOG"):
            return False
        if world.owner.get(way[2]) in holders:
            return True
        return has("USE_SCHEMA") and (world.owner.get(table) in holders or any(map(has, READING)))

    return Peer("Casbin", one)
