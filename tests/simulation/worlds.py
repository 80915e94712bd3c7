"""Random worlds of the three laws, random changes in them, and who can do what, asked one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from accounts import people
from accounts.models import Principal
from catalog.models import Placement
from catalog.nodes import Node, nodes
from catalog.queries import all_below
from lakewarden.law import dialects, engine
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.authority import OPERATOR
from policies.decisions import facts
from policies.services import entities, entries, grants, patterns
from policies.services.entries import Turn
from policies.services.grants import GrantRequest
from policies.simulation import changes as proposals
from policies.simulation.changes import Change, Target
from policies.simulation.simulation import Simulation
from tests.cdap import world as cdap
from tests.factories import AUTHORITY, BY, a_person, a_role, the
from tests.herd import world as herd
from tests.policies.test_agreement import GROUPS, NAMES, PRIVILEGES, a_random_world

Access = dict[tuple[str, str], frozenset[str]]


@dataclass(frozen=True)
class World:
    """A realm, the people in it, and what makes one more change in it."""

    root: Node
    propose: Callable[[random.Random, World], Change]

    def places(self) -> list[Node]:
        return [self.root, *nodes(all_below(self.root.id).values_list("securable", flat=True)).values()]

    def roles(self) -> list[Node]:
        return [node for node in self.places() if node.type == "role" and not node.name.startswith("~")]


def user(name: str) -> Principal:
    return people.ensure("user", name)


def access(root: Node, now: datetime) -> Access:
    """Who can do what to which object, asked one by one; not of personal roles."""
    who = Principal.objects.filter(kind__in=("user", "service"))
    realm = Simulation(root, (), at=now).before.realm
    keys = Placement.objects.open().filter(securable__realm=root.realm_id).values_list("securable", flat=True)
    access_ = {}
    for person in who:
        slice_ = facts.load(realm, root.realm, [person.pk], now=now).slice_of(person)
        for node in nodes(keys).values():
            if not node.name.startswith("~"):
                able = engine.abilities(slice_, node.levels, now=now.timestamp())
                access_[str(person), f"{node.type} {node.id}"] = able
    return access_


def differing(before: Access, after: Access) -> dict[tuple[str, str], tuple[frozenset[str], frozenset[str]]]:
    nothing: frozenset[str] = frozenset()
    pairs = {key: (before.get(key, nothing), after.get(key, nothing)) for key in before | after}
    return {key: (will - was, was - will) for key, (was, will) in pairs.items() if was != will}


# Gravitino


def a_metalake_world(chance: random.Random) -> World:
    root = a_random_world(chance)
    places = [node for node in World(root, _in_metalake).places() if node.type in ("schema", "table")]
    for _ in range(3):
        node, holder = chance.choice(places), user(chance.choice(NAMES))
        code = _code(chance, node)
        if code:
            wish = GrantRequest(node, (holder,), (code,), way=False)
            grants.add(wish, by=BY, authority=AUTHORITY)
    return World(root, _in_metalake)


def _code(chance: random.Random, node: Node) -> str:
    fitting = [code for code in PRIVILEGES if node.type in dialects.get("gravitino").privileges[code].binds]
    return chance.choice(fitting) if fitting else ""


def _in_metalake(chance: random.Random, world: World) -> Change:
    places = [node for node in world.places() if node.type not in ("metalake", "role")]
    node, role = chance.choice(places), chance.choice(world.roles())
    holder = chance.choice([user(chance.choice(NAMES)), people.ensure("group", chance.choice(GROUPS))])
    group, member = people.ensure("group", chance.choice(GROUPS)), user(chance.choice(NAMES))
    codes = (_code(chance, node) or "USE_CATALOG",)
    target = Target(node)
    schemas = [place for place in places if place.type == "schema"]
    tables = [place for place in places if place.type == "table"]
    return chance.choice(
        [
            lambda: proposals.GrantAccess(target, holder, codes),
            lambda: proposals.RevokeAccess(target, holder, codes),
            lambda: proposals.AddToRole(role, target, codes, chance.choice(("allow", "deny"))),
            lambda: proposals.RemoveFromRole(role, target, codes, chance.choice(("allow", "deny"))),
            lambda: proposals.AssignRole(role, holder),
            lambda: proposals.UnassignRole(role, holder),
            lambda: proposals.DeleteRole(role),
            lambda: proposals.JoinGroup(group, member),
            lambda: proposals.LeaveGroup(group, member),
            lambda: proposals.SetOwner(chance.choice((node, role)), holder),
            lambda: proposals.MoveObject(chance.choice(tables), chance.choice(schemas), "moved"),
            lambda: proposals.DropObject(node),
            lambda: proposals.AddMember(holder),
            lambda: proposals.RemoveMember(holder),
        ]
    )()


# Herd

USER_IDS = ("ana", "bo@shop.example", "cy@shop.example", "ANA", "*@shop.example")
PERMISSIONS = ("READ", "WRITE", "EXECUTE", "GRANT")


def a_herd_world(chance: random.Random) -> World:
    root = herd.a_herd()
    herd.namespaces(root, "SALES", "STOCK", "HR")
    for name in USER_IDS:
        who = herd.principal(name)
        for code in ("SALES", "STOCK", "HR"):
            some = frozenset(item for item in PERMISSIONS if chance.random() < 0.3)
            if some:
                node = herd.the_namespace(code)
                entries.turn(node, [Turn(who, gives=some)], by=BY, authority=AUTHORITY)
    herd.role("ana")
    return World(root, _in_herd)


def _in_herd(chance: random.Random, world: World) -> Change:
    spaces = [node for node in world.places() if node.type == "namespace"]
    node, role = chance.choice(spaces), chance.choice(world.roles())
    holder, codes = herd.principal(chance.choice(USER_IDS)), (chance.choice(PERMISSIONS),)
    person = user(chance.choice(("ana", "bo@shop.example")))
    return chance.choice(
        [
            lambda: proposals.GrantAccess(Target(node), holder, codes),
            lambda: proposals.RevokeAccess(Target(node), holder, codes),
            lambda: proposals.AssignRole(role, person),
            lambda: proposals.UnassignRole(role, person),
            *([lambda: proposals.DropObject(node)] if len(spaces) > 1 else []),
        ]
    )()


# CDAP

TEXTS = ("namespace:ns1", "dataset:ns1.*", "dataset:ns1.orders", "application:ns?.app", "dataset:ns2.orders")


def a_cdap_world(chance: random.Random, policy: str = "") -> World:
    root = cdap.a_cdap(policy or chance.choice(("3.4", "3.5", "4.3")))
    for name in ("namespace:ns1", "namespace:ns2", "dataset:ns1.orders", "dataset:ns2.orders"):
        entities.create(root, parse(name), by=OPERATOR)
    for name in NAMES[:3]:
        a_person(name, *(group for group in GROUPS if chance.random() < 0.4))
    for number in range(2):
        cdap.a_role(root, f"r{number}", *(name for name in NAMES[:3] if chance.random() < 0.5))
    world = World(root, _in_cdap)
    for _ in range(6):
        target, holder, codes = _text(chance, world), _bearer(chance, world), _actions(chance, world)
        if patterns.must_exist(root) and not patterns.exists(root, target):
            continue
        patterns.grant(root, target, holder, codes, by=OPERATOR)
    return world


def _text(chance: random.Random, world: World):
    return parse(chance.choice(TEXTS))


def _bearer(chance: random.Random, world: World):
    group = people.ensure("group", chance.choice(GROUPS))
    return chance.choice([user(chance.choice(NAMES[:3])), group, *world.roles()])


def _actions(chance: random.Random, world: World) -> tuple[str, ...]:
    return (chance.choice(list(dialects.get(world.root.kind).privileges)),)


def _in_cdap(chance: random.Random, world: World) -> Change:
    target = Target.of_text(world.root, _text(chance, world))
    role, codes = chance.choice(world.roles()), _actions(chance, world)
    group, member = people.ensure("group", chance.choice(GROUPS)), user(chance.choice(NAMES[:3]))
    holder = chance.choice((group, member))
    spaces = [node for node in world.places() if node.type in ("namespace", "dataset")]
    return chance.choice(
        [
            lambda: proposals.GrantAccess(target, holder, codes),
            lambda: proposals.RevokeAccess(target, holder, codes),
            lambda: proposals.AddToRole(role, target, codes),
            lambda: proposals.RemoveFromRole(role, target, codes),
            lambda: proposals.AssignRole(role, holder),
            lambda: proposals.UnassignRole(role, holder),
            lambda: proposals.JoinGroup(group, member),
            lambda: proposals.LeaveGroup(group, member),
            *([lambda: proposals.DropObject(chance.choice(spaces))] if spaces else []),
        ]
    )()


WORLDS = {"gravitino": a_metalake_world, "herd": a_herd_world, "cdap": a_cdap_world}

__all__ = ["WORLDS", "World", "a_role", "access", "differing", "the"]
