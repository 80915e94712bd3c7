"""Workers that die, collide or race on a real PostgreSQL."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event

import psycopg
import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Desired, Right
from lakewarden.backends.errors import BackendError, Transient
from policies.sync.backends.postgresql_session import Transaction
from tests.backends.contract import COSTS, READ, WRITE, assert_settled, random_desired
from tests.backends.worlds import PostgresSite, look, settle, wanted

SWITCHES = 300


class Crash(BaseException):
    """The worker's process ends here."""


@pytest.fixture
def at_statement(monkeypatch):
    """Make something happen once, just before the n-th statement that changes something."""

    def arrange(number, happens):
        run, left = Transaction.run, [number]

        def counted(self, statement):
            left[0] -= 1
            if left[0] == 0:
                happens()
            run(self, statement)

        monkeypatch.setattr(Transaction, "run", counted)

    return arrange


@pytest.mark.parametrize("seed", range(20))
def test_a_worker_that_dies_anywhere_is_made_good(server_url, at_statement, seed):
    rng = random.Random(seed)
    shop = PostgresSite(server_url)
    shop.schema("sales")
    shop.table("sales", "orders", serial=True)
    shop.table("sales", "costs")
    people = [shop.person(name) for name in ("ana", "bo", "cy")]
    shop.give_by_hand(Right("table", ("sales", "orders"), "SELECT"), people[0])
    before = shop.foreign()
    settle(shop, random_desired(rng, people))

    def die():
        shop.kill_workers()
        if seed % 2:  # the odd ones lose only their connection and go on
            raise Crash

    at_statement(rng.randint(1, 25), die)
    desired = random_desired(rng, people)
    with suppress(Crash):
        settle(shop, desired)
    settle(shop, desired)
    assert_settled(shop, desired)
    assert shop.foreign() == before
    shop.close()


def test_a_lost_connection_costs_one_step(shop, ana, at_statement):
    at_statement(3, shop.kill_workers)
    outcomes = settle(shop, desired := wanted({"r": READ}, r={ana}))
    failed = [one for one in outcomes if one.error]
    assert [(one.step.kind, type(one.error)) for one in failed] == [("give", Transient)]
    settle(shop, desired)
    assert_settled(shop, desired)


def test_nobody_has_neither_or_both_while_he_is_moved(shop, ana):
    """Another session looks in a tight loop; each person in exactly one role at every moment."""
    roles = {"r": READ, "c": COSTS}
    settle(shop, wanted(roles, r={ana}))
    done, seen = Event(), []

    def watch():
        with psycopg.connect(shop.url(), autocommit=True) as connection:
            while not done.is_set():
                seen.append(connection.execute(MEMBERSHIPS, (ana,)).fetchone()[0])

    with ThreadPoolExecutor(1) as pool:
        watcher = pool.submit(watch)
        backend = shop.backend()
        there = planning.plan(wanted(roles, c={ana}), look(shop))
        list(backend.apply(there))
        back = planning.plan(wanted(roles, r={ana}), look(shop))
        for plan in [back, there] * (SWITCHES // 2):
            assert [(one.step.kind, one.error) for one in backend.apply(plan)] == [("switch", None)]
        backend.close()
        done.set()
        watcher.result()
    assert len(seen) > SWITCHES
    assert set(seen) == {1}


MEMBERSHIPS = (
    "SELECT count(*) FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member WHERE r.rolname = %s"
)


def test_two_workers_on_one_person_never_leave_two_sets(shop, ana):
    roles = {"r": READ, "c": COSTS, "w": WRITE}
    settle(shop, wanted(roles, r={ana}))

    def work(seed):
        rng, backend, errors = random.Random(seed), shop.backend(), []
        for _ in range(40):
            plan = planning.plan(wanted(roles, **{rng.choice("rcw"): {ana}}), backend.observe())
            errors += [one.error for one in backend.apply(plan) if one.error]
        backend.close()
        return errors

    with ThreadPoolExecutor(2) as pool:
        errors = [error for found in pool.map(work, range(2)) for error in found]
    assert errors, "they never met: the test shows nothing"
    assert {type(error) for error in errors} == {Transient}
    assert sum(ana in people for people in look(shop).members.values()) == 1


def test_two_workers_that_grant_at_once_both_arrive(shop, ana):
    """The same objects in two sessions without our lock would fail with `tuple concurrently updated`."""
    bo = shop.person("bo")

    def work(key):
        return [one.error for one in settle(shop, desired, rounds=3) if one.error]

    desired = wanted({f"k{n}": WRITE for n in range(8)}, k0={ana}, k1={bo})
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, range(2))) == [[], []]
    assert_settled(shop, desired)


def test_somebody_else_who_grants_on_the_same_table_meanwhile_only_costs_a_retry(shop, ana):
    stop, desired = Event(), wanted({"r": READ}, r={ana})
    bo = shop.person("bo")

    def meddle():
        with psycopg.connect(shop.url(), autocommit=True) as connection:
            while not stop.is_set():
                connection.execute(f'GRANT SELECT ON sales.orders TO "{bo}"')
                connection.execute(f'REVOKE SELECT ON sales.orders FROM "{bo}"')

    with ThreadPoolExecutor(1) as pool:
        meddler = pool.submit(meddle)
        try:
            for _ in range(10):
                settle(shop, Desired({}, {}))
                settle(shop, desired, rounds=5)
        finally:
            stop.set()
    # the other one is not so careful and may have stumbled over us
    assert isinstance(meddler.exception(), psycopg.errors.InternalError_ | type(None))
    assert_settled(shop, desired)


def test_a_busy_table_does_not_hold_up_the_others(shop, ana):
    for number in range(4):
        shop.table("sales", f"t{number}")
    rights = {right for number in range(4) for right in (Right("table", ("sales", f"t{number}"), "SELECT"),)}
    desired = wanted({"r": READ | rights}, r={ana})
    with psycopg.connect(shop.url()) as busy:
        busy.execute("LOCK TABLE sales.t2 IN ACCESS EXCLUSIVE MODE")
        busy.execute(f"GRANT UPDATE ON sales.t2 TO {shop.other}")
        errors = [one.error for one in settle(shop, desired) if one.error]
        assert [type(error) for error in errors] == [Transient]
        assert planning.plan(desired, look(shop)).missing == 1
        busy.rollback()
    settle(shop, desired)
    assert_settled(shop, desired)


def test_a_server_that_is_down_stops_the_plan_at_once(shop, ana):
    plan = planning.plan(wanted({"r": READ}, r={ana}), look(shop))
    backend = shop.backend()
    shop.do("ALTER ROLE {} NOLOGIN", shop.pusher)
    with pytest.raises(BackendError) as failed:
        list(backend.apply(plan))
    assert "not permitted to log in" in str(failed.value)
    assert [finding.blocks for finding in backend.check()] == [True]
