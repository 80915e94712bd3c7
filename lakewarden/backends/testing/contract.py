"""What every backend does, whatever it is: a suite for pytest that a backend is run through.

from lakewarden.backends.testing.contract import Contract

class TestMine(Contract):
    @pytest.fixture
    def site(self): ...     # a `lakewarden.backends.testing.kit.Site`
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from lakewarden.backends.base import Desired, Order, Plan, Right, Step
from lakewarden.backends.errors import Gone, Transient
from lakewarden.backends.testing.kit import (
    READS,
    WRITES,
    Site,
    die_halfway,
    held,
    look,
    opened,
    plan_of,
    random_desired,
    settle,
    wanted,
)
from lakewarden.backends.testing.suite import ORDERS, Suite, needs


def assert_settled(site: Site, desired: Desired) -> None:
    """Read again, nothing is left to do."""
    plan = plan_of(site, desired)
    assert plan.steps == ()
    assert (plan.missing, plan.extra) == (0, 0)


class Contract(Suite):
    """Subclasses give the fixture `site` and say in the words of `Suite` what they cannot do."""

    @pytest.fixture
    def ana(self, site: Site) -> str:
        site.schema("sales")
        site.table("sales", "orders")
        site.table("sales", "costs")
        return site.person("ana")

    # empty

    def test_nothing_wanted_of_a_fresh_source_is_nothing_to_do(self, site: Site, ana: str) -> None:
        assert_settled(site, Desired({}, {}))
        seen = look(site)
        assert seen.complete
        assert ana in seen.people

    def test_the_connection_is_told_of_in_words(self, site: Site, ana: str) -> None:
        with opened(site) as backend:
            messages = list(backend.check())
            assert list(backend.check()) == messages
        assert messages
        assert all(finding.text for finding in messages)
        assert not [finding.text for finding in messages if finding.blocks]

    def test_a_system_that_has_an_identity_says_the_same_each_time(self, site: Site, ana: str) -> None:
        with opened(site) as first, opened(site) as other:
            tells, again = getattr(first, "source", None), getattr(other, "source", None)
            if tells is None or again is None:
                return
            assert tells() == again()
            assert tells().key.strip()
            assert tells().overlaps(again())

    @needs("sees_objects")
    def test_what_is_there_is_seen(self, site: Site, ana: str) -> None:
        assert {item.path for item in look(site).objects} >= {("sales",), ORDERS, ("sales", "costs")}

    # grant

    def test_a_grant_is_there_and_nothing_more(self, site: Site, ana: str) -> None:
        desired = self.wanted({"r": self.READ}, r={ana})
        assert plan_of(site, desired).missing == len(self.READ) + 1
        assert all(outcome.error is None for outcome in settle(site, desired))
        assert_settled(site, desired)
        assert plan_of(site, desired).in_sync == len(self.READ) + 1
        assert site.may(ana, READS, *ORDERS)
        assert not site.may(ana, WRITES, *ORDERS)
        assert not site.may(ana, READS, "sales", "costs")

    def test_a_second_time_changes_nothing(self, site: Site, ana: str) -> None:
        desired = self.wanted({"r": self.READ}, r={ana})
        plan = plan_of(site, desired)
        with opened(site) as backend:
            for _ in range(3):
                assert [outcome.error for outcome in backend.apply(plan)] == [None] * len(plan.steps)
        assert_settled(site, desired)

    def test_people_the_source_does_not_know_are_left_out(self, site: Site, ana: str) -> None:
        desired = self.wanted({"r": self.READ}, r={ana, "nobody"} if self.has_roles else {ana})
        assert all(outcome.error is None for outcome in settle(site, desired))
        assert_settled(site, desired)

    @needs("has_roles")
    def test_a_role_may_wait_for_its_people(self, site: Site, ana: str) -> None:
        settle(site, desired := wanted({"r": self.READ}))
        assert_settled(site, desired)
        assert look(site).roles["r"] == self.READ

    @needs("has_roles")
    def test_giving_to_a_role_that_is_not_there_is_an_error(self, site: Site, ana: str) -> None:
        step = Step("give", role="nobody made me", rights=tuple(self.READ))
        with opened(site) as backend:
            assert [type(outcome.error) for outcome in backend.apply(Plan((step,), 0, 0, 0))] == [Gone]

    def test_any_name_is_just_a_name(self, site: Site, odd_name: str) -> None:
        site.schema(odd_name)
        site.table(odd_name, odd_name)
        person, key = site.person(odd_name[:20]), f"role {odd_name}"
        rights = {key: self.on(odd_name, odd_name, READS)}
        desired = self.as_told(Desired(rights, {key: frozenset({person})}, {key: f"for {odd_name}"}))
        assert [outcome.error for outcome in settle(site, desired) if outcome.error] == []
        assert_settled(site, desired)
        assert site.may(person, READS, odd_name, odd_name)
        settle(site, Desired({}, {}))
        assert look(site).roles == {}

    # drift

    @pytest.mark.parametrize("change", ["taken", "given"])
    def test_a_right_changed_by_hand_is_seen_and_repaired(self, site: Site, ana: str, change: str) -> None:
        settle(site, desired := self.wanted({"r": self.READ}, r={ana}))
        key = "r" if self.has_roles else f"person:{ana}"
        site.spoil(key, **{change: {"taken": self.one, "given": self.more}[change]})
        plan = plan_of(site, desired)
        assert (plan.missing, plan.extra) == {"taken": (1, 0), "given": (0, 1)}[change]
        settle(site, desired)
        assert_settled(site, desired)
        assert site.may(ana, READS, *ORDERS)
        assert not site.may(ana, WRITES, *ORDERS)

    @needs("has_roles")
    @pytest.mark.parametrize("joins", [True, False])
    def test_a_membership_changed_by_hand_is_seen_and_repaired(
        self, site: Site, ana: str, joins: bool
    ) -> None:
        settle(site, desired := wanted({"r": self.READ}, r=set() if joins else {ana}))
        site.spoil_member("r", ana, joins=joins)
        assert plan_of(site, desired).steps
        settle(site, desired)
        assert_settled(site, desired)
        assert site.may(ana, READS, *ORDERS) is not joins

    @needs("blinds")
    def test_nothing_is_removed_when_not_all_could_be_read(self, site: Any, ana: str) -> None:
        settle(site, self.wanted({"r": self.READ}, r={ana}))
        with site.blinded():
            assert not look(site).complete
            assert [step for step in plan_of(site, Desired({}, {})).steps if step.removes] == []

    # foreign

    @needs("others_grant")
    def test_what_others_gave_is_shown_and_left(self, site: Site, ana: str) -> None:
        bo = site.person("bo")
        for holder in (bo, ana):
            site.give_by_hand(self.one, holder)
        before = site.foreign()
        assert {(foreign.holder, foreign.right) for foreign in before} >= {(ana, self.one), (bo, self.one)}
        settle(site, self.wanted({"r": self.WRITE}, r={ana, bo}))
        assert before <= {*look(site).foreign}
        settle(site, Desired({}, {}))
        assert_settled(site, Desired({}, {}))
        assert site.foreign() == before

    @needs("others_grant")
    def test_what_others_gave_is_taken_on_an_order_and_nothing_else_is(self, site: Site, ana: str) -> None:
        bo = site.person("bo")
        for holder in (ana, bo):
            site.give_by_hand(self.one, holder)
        before = site.foreign()
        ordered = next(
            foreign
            for foreign in sorted(before, key=repr)
            if (foreign.holder, foreign.right) == (ana, self.one)
        )
        plan = plan_of(site, self.wanted({"r": self.READ}, r={bo}), [Order(ordered)])
        assert plan.steps[0].kind == "take_foreign"
        with opened(site) as backend:
            for _ in range(2):  # once more does no harm
                assert [outcome.error for outcome in backend.apply(plan) if outcome.error] == []
        assert site.foreign() == before - {ordered}
        assert not site.may(ana, READS, *ORDERS)
        assert site.may(bo, READS, *ORDERS)

    @needs("others_grant")
    def test_what_is_replaced_is_taken_only_after_our_own_stands(self, site: Site, ana: str) -> None:
        site.give_by_hand(self.one, ana)
        theirs = next(grant for grant in sorted(site.foreign(), key=repr) if grant.right == self.one)
        orders, desired = [Order(theirs, replaced=True)], self.wanted({"r": self.READ}, r={ana})
        assert "take_foreign" not in {step.kind for step in plan_of(site, desired, orders).steps}
        settle(site, desired)
        [then] = plan_of(site, desired, orders).steps
        assert then.kind == "take_foreign"
        settle(site, desired, orders=orders)
        assert theirs not in site.foreign()
        assert site.may(ana, READS, *ORDERS)

    # DENY, moves, expiry

    def test_who_is_denied_a_part_keeps_the_rest_and_the_others_keep_all(self, site: Site, ana: str) -> None:
        bo, both = site.person("bo"), self.READ | self.COSTS
        settle(site, self.wanted({"r": both}, r={ana, bo}))
        settle(
            site, desired := self.wanted({"r": both, "rights:1": self.READ}, r={bo}, **{"rights:1": {ana}})
        )
        assert_settled(site, desired)
        assert site.may(ana, READS, *ORDERS)
        assert not site.may(ana, READS, "sales", "costs")
        assert site.may(bo, READS, "sales", "costs")

    @needs("denies")
    def test_a_denial_beats_what_is_given(self, site: Site, ana: str) -> None:
        bo, denial = site.person("bo"), self.denial(*ORDERS)
        roles = {"r": self.READ | self.COSTS, "d": denial}
        settle(site, desired := self.wanted(roles, r={ana, bo}, d={ana}))
        assert_settled(site, desired)
        assert not site.may(ana, READS, *ORDERS)
        assert site.may(ana, READS, "sales", "costs")
        assert site.may(bo, READS, *ORDERS)
        settle(site, desired := self.wanted(roles, r={ana, bo}))
        assert_settled(site, desired)
        assert site.may(ana, READS, *ORDERS)

    def denial(self, schema: str, table: str) -> frozenset[Right]:
        """The rights that forbid reading a table, where there are such."""
        raise NotImplementedError

    def test_what_ends_for_one_stays_for_the_others(self, site: Site, ana: str) -> None:
        bo = site.person("bo")
        settle(site, self.wanted({"r": self.READ}, r={ana, bo}))
        settle(site, desired := self.wanted({"r": self.READ}, r={bo}))
        assert_settled(site, desired)
        assert not site.may(ana, READS, *ORDERS)
        assert site.may(bo, READS, *ORDERS)

    def test_a_switch_leaves_one_role_for_the_other(self, site: Site, ana: str) -> None:
        roles = {"r": self.READ, "c": self.COSTS}
        settle(site, self.wanted(roles, r={ana}))
        settle(site, desired := self.wanted(roles, c={ana}))
        assert_settled(site, desired)
        assert site.may(ana, READS, "sales", "costs")
        assert not site.may(ana, READS, *ORDERS)

    @needs("has_roles")
    def test_a_stale_switch_is_refused(self, site: Site, ana: str) -> None:
        """Two workers saw the same; the second to come does not add a second role."""
        roles = {"r": self.READ, "c": self.COSTS, "w": self.WRITE}
        settle(site, wanted(roles, r={ana}))
        stale = plan_of(site, wanted(roles, c={ana}))
        settle(site, wanted(roles, w={ana}))
        with opened(site) as backend:
            assert [type(outcome.error) for outcome in backend.apply(stale)] == [Transient]
        assert_settled(site, wanted(roles, w={ana}))

    # what cannot be filled

    @needs("refuses")
    def test_nobody_is_moved_before_where_they_go_is_filled(self, site: Site, ana: str) -> None:
        settle(site, wanted({"r": self.READ}, r={ana}))
        filled = self.READ | self.COSTS
        errors = settle(site, wanted({"n": filled | {self.never}}, n={ana}))
        assert "give" in {outcome.step.kind for outcome in errors if outcome.error}
        assert look(site).members["r"] == {ana}
        assert site.may(ana, READS, *ORDERS)
        settle(site, desired := wanted({"n": filled}, n={ana}))
        assert_settled(site, desired)
        assert {*look(site).roles} == {"n"}

    @needs("refuses")
    def test_who_has_to_lose_something_does_not_wait_for_what_cannot_be_filled(
        self, site: Site, ana: str
    ) -> None:
        settle(site, wanted({"w": self.WRITE}, w={ana}))
        settle(site, wanted({"n": self.READ | {self.never}}, n={ana}))
        assert not site.may(ana, WRITES, *ORDERS)
        assert site.may(ana, READS, *ORDERS)

    # revoke

    def test_a_revocation_takes_effect(self, site: Site, ana: str) -> None:
        settle(site, self.wanted({"r": self.WRITE}, r={ana}))
        settle(site, desired := self.wanted({"r": self.READ}, r={ana}))
        assert_settled(site, desired)
        assert site.may(ana, READS, *ORDERS)
        assert not site.may(ana, WRITES, *ORDERS)
        settle(site, desired := self.wanted({"r": self.READ}))
        assert_settled(site, desired)
        assert not site.may(ana, READS, *ORDERS)

    @needs("has_roles")
    def test_a_role_no_longer_wanted_goes(self, site: Site, ana: str) -> None:
        settle(site, wanted({"r": self.READ, "c": self.COSTS}, r={ana}, c={ana}))
        settle(site, desired := wanted({"r": self.READ}, r={ana}))
        assert_settled(site, desired)
        assert {*look(site).roles} == {"r"}

    # drop, make again, rename

    @needs("sees_objects")
    def test_a_vanished_object_is_an_error_of_its_own_and_the_rest_is_done(
        self, site: Site, ana: str
    ) -> None:
        desired = self.wanted({"r": self.READ | self.COSTS}, r={ana})
        site.drop("sales", "costs")
        errors = [outcome.error for outcome in settle(site, desired) if outcome.error]
        assert [type(error) for error in errors] == [Gone]
        assert "costs" in str(errors[0])
        assert site.may(ana, READS, *ORDERS)

    @needs("sees_objects")
    def test_an_object_that_is_made_again_is_another(self, site: Site, ana: str) -> None:
        settle(site, desired := self.wanted({"r": self.WRITE}, r={ana}))
        old = self._ids(site)
        site.drop(*ORDERS)
        site.table(*ORDERS)
        assert self._ids(site)[ORDERS] != old[ORDERS] or not self.has_ids
        kept = self.rights_follow == "names"
        assert site.may(ana, READS, *ORDERS) is kept
        lost = [right for right in self.WRITE if right.path == ORDERS]
        plan = plan_of(site, desired)
        assert (plan.missing, plan.extra) == ((0, 0) if kept else (len(lost), 0))
        settle(site, desired)
        assert_settled(site, desired)
        settle(site, Desired({}, {}))
        assert not site.may(ana, READS, *ORDERS)

    @needs("sees_objects")
    def test_a_renamed_object_is_the_same_under_its_new_name(self, site: Site, ana: str) -> None:
        settle(site, self.wanted({"r": self.READ}, r={ana}))
        old = self._ids(site)
        site.rename(*ORDERS, "sold")
        assert self._ids(site)["sales", "sold"] == old[ORDERS] or not self.has_ids
        desired = self.wanted({"r": self.on("sales", "sold", READS)}, r={ana})
        if self.rights_follow == "objects":
            assert_settled(site, desired)
        else:
            # missing under the new name, extra under the old
            plan = plan_of(site, desired)
            assert plan.missing == plan.extra > 0
            settle(site, desired)
            assert_settled(site, desired)
        assert site.may(ana, READS, "sales", "sold")

    def _ids(self, site: Site) -> dict[tuple[str, ...], str]:
        return {item.path: item.id for item in look(site).objects}

    # crash

    def test_a_worker_that_dies_anywhere_is_made_good(self, site: Site, ana: str, seed: int) -> None:
        rng, people = random.Random(seed), [ana, site.person("bo"), site.person("cy")]
        if self.others_grant:
            site.give_by_hand(self.one, ana)
        foreign = site.foreign()
        denial = (self.denial(*ORDERS),) if self.denies else ()
        rights = (self.READ, self.WRITE, *denial, self.COSTS)
        states = [self.as_told(random_desired(rng, people, rights)) for _ in range(3)]
        settle(site, states[0])
        for before, after in (states[:2], states[1:]):
            die_halfway(site, after, rng)
            seen = look(site)
            for person in people:
                # stopped anywhere, nobody has more than was decided for them before or after
                decided = [held(world.roles, world.members, person) for world in (before, after)]
                assert held(seen.roles, seen.members, person) <= decided[0] | decided[1]
            settle(site, after)
            settle(site, after)  # what waited for what failed
            assert_settled(site, after)
            assert site.foreign() == foreign
