"""A random history of all three laws: at every revision of it the past is what the present was then."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pytest
from django.apps import apps
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from accounts.record import Fact
from catalog.models import Realm
from catalog.nodes import Node
from policies.decisions.lookups.access import AccessMap
from policies.errors import PolicyError
from policies.models import Change, Counter, Event
from policies.record import compare
from policies.record.revisions import Past
from policies.record.verify import verify
from policies.services import entries, members, owners, patterns, realms, roles
from policies.services.roles import Privilege
from tests.cdap_law.world import a_cdap, make, text
from tests.factories import AUTHORITY, BY, a_person, a_role, a_shop, admit, the
from tests.herd.world import a_herd, namespaces

pytestmark = pytest.mark.django_db
NAMES, GROUPS = ("p0", "p1", "p2", "p3"), ("g0", "g1")
FACTS = [model for model in apps.get_models() if issubclass(model, Fact)]
RIGHTS = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE")
TEXTS = ("dataset:ns1.orders", "dataset:ns1.*", "dataset:*.ord*", "dataset:ns1.items", "namespace:ns1")
Abilities = dict[int, frozenset[str]]


@dataclass
class World:
    """A realm of each law, an object of each that is looked at, and what was so right after each change."""

    chance: random.Random
    roots: tuple[Node, ...]
    looked_at: tuple[Node, ...]
    roles: dict[int, list[Node]]
    then: dict[tuple[int, int], tuple[Past, Abilities]] = field(default_factory=dict)

    def somebody(self, *, groups: bool = True) -> Principal:
        names = [f"user:{name}" for name in NAMES] + [f"group:{group}" for group in GROUPS if groups]
        return people.ensure(*self.chance.choice(names).split(":"))

    def role(self, at: int) -> Node:
        return self.chance.choice(self.roles[self.roots[at].id])


def make_world(seed: int) -> World:
    shop = a_shop()
    for name in NAMES:
        a_person(name)
    admit(shop, *NAMES, *(f"group:{group}" for group in GROUPS))
    herd, cdap = a_herd(), a_cdap()
    [sales] = namespaces(herd, "SALES")
    make(cdap, "namespace:ns1", "dataset:ns1.orders")
    looked_at = (the("table", "shop.sales.orders"), sales, the("dataset", "ns1.orders", cdap.realm))
    made = {root.id: [a_role(root, f"r{number}") for number in range(3)] for root in (shop, cdap)}
    return World(random.Random(seed), (shop, herd, cdap), looked_at, made)


def a_rule(world: World) -> None:
    code, effect = world.chance.choice(RIGHTS), world.chance.choice(("allow", "allow", "deny"))
    place = world.chance.choice([*list(world.looked_at[0].above())[1:], world.looked_at[0]])
    act = world.chance.choice((roles.add_privileges, roles.add_privileges, roles.remove_privileges))
    act(world.role(0), place, [Privilege(code, effect)], by=BY, authority=AUTHORITY)


def a_role_held(world: World) -> None:
    act = world.chance.choice((roles.assign, roles.assign, roles.unassign))
    act(world.role(world.chance.choice((0, 2))), world.somebody(), by=BY, authority=AUTHORITY)


def an_owner(world: World) -> None:
    place = world.chance.choice((world.looked_at[0], *list(world.looked_at[0].above())[1:]))
    owners.set_owner(place, world.somebody(), by=BY, authority=AUTHORITY)


def a_member(world: World) -> None:
    act = world.chance.choice((members.add, members.remove))
    act(world.roots[0], world.somebody(), by=BY, authority=AUTHORITY)


def a_mode(world: World) -> None:
    at, mode = world.chance.randrange(3), world.chance.choice(("on", "on", "off", "pass-through"))
    realms.set_mode(Realm.objects.get(pk=world.roots[at].realm_id), mode, by=BY, authority=AUTHORITY)


def a_group(world: World) -> None:
    act = world.chance.choice((members.join_group, members.join_group, members.leave_group))
    group = people.ensure("group", world.chance.choice(GROUPS))
    act(group, world.somebody(groups=False), by=BY, authority=AUTHORITY)


def an_entry(world: World) -> None:
    who = world.chance.choice(("user:p0", "user:P1", "user:p2", "pattern:*", "pattern:*3"))
    rights = world.chance.sample(("READ", "WRITE", "EXECUTE", "GRANT"), world.chance.randrange(3))
    entries.replace(world.looked_at[1], people.ensure(*who.split(":")), rights, by=BY, authority=AUTHORITY)


def a_text(world: World) -> None:
    act = world.chance.choice((patterns.grant, patterns.grant, patterns.revoke))
    holder = world.chance.choice((world.somebody(), world.role(2)))
    act(
        world.roots[2],
        text(world.chance.choice(TEXTS)),
        holder,
        [world.chance.choice(("READ", "WRITE"))],
        by=BY,
    )


DEEDS: tuple[Callable[[World], None], ...] = (
    *(a_rule, a_rule, a_role_held, a_role_held, an_owner, a_member),
    *(a_mode, a_group, an_entry, an_entry, a_text, a_text, a_text),
)


def revision() -> int:
    return Counter.objects.get().revision


def happens(world: World, many: int) -> None:
    """So many changes, one after the other; after each it is kept who could do what."""
    looks(world, world.looked_at)
    end = revision() + many
    while revision() < end:
        before = revision()
        try:
            world.chance.choice(DEEDS)(world)
        except PolicyError:  # nobody may be without what the law asks for
            continue
        if revision() > before:
            touched = Change.objects.get(revision=revision()).realm  # of groups, every realm
            looks(world, [item for item in world.looked_at if touched in (None, item.realm_id)])


def looks(world: World, nodes: Iterable[Node]) -> None:
    now = Past(revision(), timezone.now())
    for node in nodes:
        world.then[node.id, now.revision] = now, abilities(AccessMap(node, now=now.moment, whole=True))


def abilities(access: AccessMap) -> Abilities:
    could = {
        key: access.access_of(principal).can for key, principal in (access.holders | access.people).items()
    }
    return {key: can for key, can in could.items() if can}


def replayed() -> Iterator[tuple[int, dict[str, object]]]:
    """After each change, all that facts state, by the record alone."""
    states: dict[str, object] = {}
    last = 0
    for event in Event.objects.order_by("change", "number"):
        if event.change_id != last and last:
            yield last, states
        last = event.change_id
        if "state" in event.data:
            states[event.data["fact"]] = event.data["state"]
        elif "fact" in event.data:
            del states[event.data["fact"]]
    yield last, states


def is_what_it_was(world: World) -> None:
    for (id_, at), (past, could) in world.then.items():
        node = next(item for item in world.looked_at if item.id == id_)
        assert abilities(AccessMap(node, now=past.moment, as_of=at, whole=True)) == could, (node.ref, at)


def is_what_the_record_says() -> None:
    for at, state in replayed():
        held = {
            f"{model._meta.model_name}:{pk}"
            for model in FACTS
            for pk in model._default_manager.as_of(at).values_list("pk", flat=True)  # type: ignore[attr-defined]
        }
        assert held == state.keys(), at


def applied_to_the_one_gives_the_other(world: World, many: int) -> None:
    for node in world.looked_at:
        states = [fact for (id_, _), fact in world.then.items() if id_ == node.id]
        for _ in range(many):
            (a, before), (b, after) = sorted(
                world.chance.sample(states, 2), key=lambda state: state[0].revision
            )
            abilities_then = {key: can for key, can in before.items() if key in people_of(node, a)}
            abilities_then |= {row.principal.pk: row.after for row in compare.differences(node.id, a, b)}
            wanted = {key: can for key, can in after.items() if key in people_of(node, b)}
            assert {key: can for key, can in abilities_then.items() if can} == wanted


def people_of(node: Node, past: Past) -> set[int]:
    return set(AccessMap(node, now=past.moment, as_of=past.revision, whole=True).people)


@pytest.mark.parametrize(
    ("seed", "changes"), [(1, 60), pytest.param(2, 300, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_at_every_revision_the_past_is_what_it_was(db: None, seed: int, changes: int) -> None:
    world = make_world(seed)
    happens(world, changes)
    is_what_it_was(world)
    is_what_the_record_says()
    verdict = verify()
    assert verdict and verdict.facts > changes, verdict.differing
    applied_to_the_one_gives_the_other(world, changes // 20)
    # a world in which nothing happened would prove nothing
    for node in world.looked_at:
        seen = {tuple(sorted(could.items())) for (id_, _), (_, could) in world.then.items() if id_ == node.id}
        assert len(seen) > 5, node.ref
