"""What every backend does, whatever it is: the suite runs on the twin in memory and on each real server."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Desired, Order, Plan, Right, Step
from lakewarden.backends.errors import Gone, Transient
from tests.backends.worlds import Site, look, on, settle, wanted

READ = on("sales", "orders", "SELECT")
WRITE = on("sales", "orders", "SELECT", "INSERT", "UPDATE", "DELETE")
COSTS = on("sales", "costs", "SELECT")
ODD_NAMES = (
    "with.dot",
    'with "quotes"',
    "with space",
    "Größe",
    "表",
    "🙂",
    "semi;colon -- x",
    "%s{}",
    "back\\slash",
    "ü" * 31 + "x",  # 63 bytes
)


def plan_of(site: Site, desired: Desired) -> Plan:
    return planning.plan(desired, look(site))


def assert_settled(site: Site, desired: Desired) -> None:
    plan = plan_of(site, desired)
    assert plan.steps == ()
    assert (plan.missing, plan.extra) == (0, 0)


class Contract:
    """Subclasses give the fixture `site`, and the rights that reading and writing a table take there."""

    READ, WRITE, COSTS = READ, WRITE, COSTS
    on = staticmethod(on)

    @pytest.fixture
    def ana(self, site: Site) -> str:
        site.schema("sales")
        site.table("sales", "orders")
        site.table("sales", "costs")
        return site.person("ana")

    def test_nothing_wanted_of_a_fresh_source_is_nothing_to_do(self, site, ana):
        assert_settled(site, Desired({}, {}))
        seen = look(site)
        assert seen.complete
        assert ana in seen.people
        assert ("table", ("sales", "orders")) in {(found.kind, found.path) for found in seen.objects}

    def test_a_grant_is_there_and_nothing_more(self, site, ana):
        desired = wanted({"r": self.READ}, r={ana})
        assert plan_of(site, desired).missing == len(self.READ) + 1
        assert all(one.error is None for one in settle(site, desired))
        assert_settled(site, desired)
        assert plan_of(site, desired).in_sync == len(self.READ) + 1
        assert site.may(ana, "SELECT", "sales", "orders")
        assert not site.may(ana, "INSERT", "sales", "orders")
        assert not site.may(ana, "SELECT", "sales", "costs")

    def test_a_second_time_changes_nothing(self, site, ana):
        desired = wanted({"r": self.READ}, r={ana})
        plan = plan_of(site, desired)
        backend = site.backend()
        for _ in range(3):
            assert [one.error for one in backend.apply(plan)] == [None] * len(plan.steps)
        backend.close()
        assert_settled(site, desired)

    @pytest.mark.parametrize("change", ["taken", "given"])
    def test_a_right_changed_by_hand_is_seen_and_repaired(self, site, ana, change):
        desired = wanted({"r": self.READ}, r={ana})
        settle(site, desired)
        word = {"taken": "SELECT", "given": "DELETE"}[change]
        site.spoil("r", **{change: Right("table", ("sales", "orders"), word)})
        plan = plan_of(site, desired)
        assert (plan.missing, plan.extra) == {"taken": (1, 0), "given": (0, 1)}[change]
        settle(site, desired)
        assert_settled(site, desired)
        assert site.may(ana, "SELECT", "sales", "orders")

    @pytest.mark.parametrize("joins", [True, False])
    def test_a_membership_changed_by_hand_is_seen_and_repaired(self, site, ana, joins):
        desired = wanted({"r": self.READ}, r=set() if joins else {ana})
        settle(site, desired)
        site.spoil_member("r", ana, joins=joins)
        assert plan_of(site, desired).steps
        settle(site, desired)
        assert_settled(site, desired)
        assert site.may(ana, "SELECT", "sales", "orders") is not joins

    def test_what_others_gave_is_shown_and_left(self, site, ana):
        bo = site.person("bo")
        right = Right("table", ("sales", "orders"), "SELECT")
        site.give_by_hand(right, bo)
        site.give_by_hand(right, ana)
        before = site.foreign()
        assert len(before) == 2
        settle(site, wanted({"r": self.WRITE}, r={ana, bo}))
        assert before <= set(look(site).foreign)
        settle(site, Desired({}, {}))
        assert_settled(site, Desired({}, {}))
        assert site.foreign() == before
        assert {one for one in look(site).foreign if one.right.kind == "table"} == before

    def test_what_others_gave_is_taken_on_an_order_and_nothing_else_is(self, site, ana):
        bo = site.person("bo")
        right = Right("table", ("sales", "orders"), "SELECT")
        for holder in (ana, bo):
            site.give_by_hand(right, holder)
        before = site.foreign()
        ordered = next(one for one in before if one.holder == ana)
        seen = look(site)
        plan = planning.plan(wanted({"r": self.READ}, r={bo}), seen, [Order(ordered)])
        assert plan.steps[0].kind == "take_foreign"
        backend = site.backend()
        for _ in range(2):  # once more does no harm
            assert [one.error for one in backend.apply(plan) if one.error] == []
        backend.close()
        assert site.foreign() == before - {ordered}
        assert not site.may(ana, "SELECT", "sales", "orders")
        assert site.may(bo, "SELECT", "sales", "orders")

    def test_what_is_replaced_is_taken_only_after_our_own_stands(self, site, ana):
        site.give_by_hand(Right("table", ("sales", "orders"), "SELECT"), ana)
        [theirs] = site.foreign()
        orders, desired = [Order(theirs, replaced=True)], wanted({"r": self.READ}, r={ana})
        first = planning.plan(desired, look(site), orders)
        assert "take_foreign" not in {step.kind for step in first.steps}
        settle(site, desired)
        [then] = planning.plan(desired, look(site), orders).steps
        assert then.kind == "take_foreign"
        settle(site, desired, orders=orders)
        assert site.foreign() == set()
        assert site.may(ana, "SELECT", "sales", "orders")

    def test_a_switch_leaves_one_role_for_the_other(self, site, ana):
        settle(site, wanted({"r": self.READ, "c": self.COSTS}, r={ana}))
        settle(site, desired := wanted({"r": self.READ, "c": self.COSTS}, c={ana}))
        assert_settled(site, desired)
        assert site.may(ana, "SELECT", "sales", "costs")
        assert not site.may(ana, "SELECT", "sales", "orders")

    def test_a_stale_switch_is_refused(self, site, ana):
        """Two workers saw the same; the second to come does not add a second role."""
        roles = {"r": self.READ, "c": self.COSTS, "w": self.WRITE}
        settle(site, wanted(roles, r={ana}))
        stale = plan_of(site, wanted(roles, c={ana}))
        settle(site, wanted(roles, w={ana}))
        backend = site.backend()
        outcomes = list(backend.apply(stale))
        backend.close()
        assert [type(one.error) for one in outcomes] == [Transient]
        assert_settled(site, wanted(roles, w={ana}))

    def test_a_revocation_takes_effect(self, site, ana):
        settle(site, wanted({"r": self.WRITE}, r={ana}))
        settle(site, desired := wanted({"r": self.READ}, r={ana}))
        assert_settled(site, desired)
        assert site.may(ana, "SELECT", "sales", "orders")
        assert not site.may(ana, "DELETE", "sales", "orders")
        settle(site, desired := wanted({"r": self.READ}))
        assert_settled(site, desired)
        assert not site.may(ana, "SELECT", "sales", "orders")

    def test_a_role_no_longer_wanted_goes(self, site, ana):
        settle(site, wanted({"r": self.READ, "c": self.COSTS}, r={ana}, c={ana}))
        settle(site, desired := wanted({"r": self.READ}, r={ana}))
        assert_settled(site, desired)
        assert set(look(site).roles) == {"r"}

    def test_a_recreated_object_has_lost_its_rights(self, site, ana):
        desired = wanted({"r": self.WRITE}, r={ana})
        settle(site, desired)
        old = {found.path: found.id for found in look(site).objects}
        site.drop("sales", "orders")
        site.table("sales", "orders")
        plan = plan_of(site, desired)
        assert (plan.missing, plan.extra) == (4, 0)
        assert {found.path: found.id for found in look(site).objects}["sales", "orders"] != old[
            "sales", "orders"
        ]
        settle(site, desired)
        assert_settled(site, desired)

    def test_a_renamed_object_keeps_its_rights_under_the_new_name(self, site, ana):
        settle(site, wanted({"r": self.READ}, r={ana}))
        old = {found.path: found.id for found in look(site).objects}
        site.rename("sales", "orders", "sold")
        assert {found.path: found.id for found in look(site).objects}["sales", "sold"] == old[
            "sales", "orders"
        ]
        assert_settled(site, wanted({"r": self.on("sales", "sold", "SELECT")}, r={ana}))

    def test_a_vanished_object_is_an_error_of_its_own_and_the_rest_is_done(self, site, ana):
        desired = wanted({"r": self.READ | self.COSTS}, r={ana})
        site.drop("sales", "costs")
        errors = [one.error for one in settle(site, desired) if one.error]
        assert [type(error) for error in errors] == [Gone]
        assert "costs" in str(errors[0])
        assert site.may(ana, "SELECT", "sales", "orders")

    def test_giving_to_a_role_that_is_not_there_is_an_error(self, site, ana):
        step = Step("give", role="nobody made me", rights=tuple(self.READ))
        backend = site.backend()
        assert [type(one.error) for one in backend.apply(Plan((step,), 0, 0, 0))] == [Gone]
        backend.close()

    def test_people_the_source_does_not_know_are_left_out(self, site, ana):
        desired = wanted({"r": self.READ}, r={ana, "nobody"})
        assert all(one.error is None for one in settle(site, desired))
        assert_settled(site, desired)

    def test_a_role_may_wait_for_its_people(self, site, ana):
        desired = wanted({"r": self.READ})
        settle(site, desired)
        assert_settled(site, desired)
        assert look(site).roles["r"] == self.READ

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_any_name_is_just_a_name(self, site, name):
        site.schema(name)
        site.table(name, name)
        person = site.person(name[:20])
        key = f"role {name}"
        desired = Desired(
            {key: self.on(name, name, "SELECT")}, {key: frozenset({person})}, {key: f"for {name}"}
        )
        assert [one.error for one in settle(site, desired) if one.error] == []
        assert_settled(site, desired)
        assert site.may(person, "SELECT", name, name)
        settle(site, Desired({}, {}))
        assert look(site).roles == {}

    @pytest.mark.parametrize("seed", range(5))
    def test_stopping_anywhere_and_starting_again_ends_in_the_same(self, site, ana, seed):
        rng = random.Random(seed)
        people = [ana, site.person("bo"), site.person("cy")]
        site.give_by_hand(Right("table", ("sales", "orders"), "SELECT"), ana)
        before = site.foreign()
        for _ in range(4):
            desired = random_desired(rng, people, (self.READ, self.WRITE, self.COSTS))
            backend = site.backend()
            plan = planning.plan(desired, backend.observe())
            list(islice(backend.apply(plan), rng.randint(0, len(plan.steps))))
            backend.close()
        settle(site, desired)
        assert_settled(site, desired)
        assert site.foreign() == before


def random_desired(
    rng: random.Random, people: list[str], rights: tuple[frozenset[Right], ...] = (READ, WRITE, COSTS)
) -> Desired:
    """A world of up to four roles over two tables; each person in at most two."""
    sets = [*rights, rights[0] | rights[-1], frozenset()]
    roles = {f"k{n}": rng.choice(sets) for n in rng.sample(range(6), rng.randint(0, 4))}
    members: dict[str, set[str]] = {key: set() for key in roles}
    for person in people:
        for key in rng.sample(sorted(roles), min(len(roles), rng.randint(0, 2))):
            members[key].add(person)
    return Desired(roles, {key: frozenset(who) for key, who in members.items()})
