"""Workers that die, collide or race on a real PostgreSQL."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import psycopg
import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Desired, Right
from lakewarden.backends.errors import BackendError, Transient
from lakewarden.backends.testing.contract import assert_settled
from lakewarden.backends.testing.kit import look, settle, wanted
from tests.backends.worlds import COSTS, READ, WRITE, before_statement

SWITCHES = 300


def test_a_lost_connection_costs_one_step(shop, ana):
    with before_statement(3, shop.kill_workers):
        outcomes = settle(shop, desired := wanted({"r": READ}, r={ana}))
    failed = [outcome for outcome in outcomes if outcome.error]
    assert [(item.step.kind, type(item.error)) for item in failed] == [("give", Transient)]
    settle(shop, desired)
    assert_settled(shop, desired)


def test_nobody_has_neither_or_both_while_being_moved(shop, ana):
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
            assert [(item.step.kind, item.error) for item in backend.apply(plan)] == [("switch", None)]
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
            errors += [item.error for item in backend.apply(plan) if item.error]
        backend.close()
        return errors

    with ThreadPoolExecutor(2) as pool:
        errors = [error for errors in pool.map(work, range(2)) for error in errors]
    assert errors, "they never met: the test shows nothing"
    assert {type(error) for error in errors} == {Transient}
    assert sum(ana in people for people in look(shop).members.values()) == 1


def test_two_workers_that_grant_at_once_both_arrive(shop, ana):
    """The same objects in two sessions without our lock would fail with `tuple concurrently updated`."""
    bo = shop.person("bo")

    def work(key):
        return [item.error for item in settle(shop, desired, rounds=3) if item.error]

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
        errors = [item.error for item in settle(shop, desired) if item.error]
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
