"""2,000 times a person is moved from one set of rights to another while others look in tight loops."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import psycopg
import pytest

from lakewarden.backends import planning
from lakewarden.backends.testing.kit import look, settle, wanted
from tests.backends.worlds import COSTS, READ

SWITCHES = 2000
READS = "has_table_privilege(r.oid, 'sales.{}', 'SELECT')"
LOOKS = (
    f"SELECT {READS.format('orders')}, {READS.format('costs')} FROM pg_roles r WHERE r.rolname = %s",
    "SELECT bool_or(shobj_description(m.roleid, 'pg_authid') LIKE '%%\"key\": \"r\"%%'),"
    " bool_or(shobj_description(m.roleid, 'pg_authid') LIKE '%%\"key\": \"c\"%%')"
    "  FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member WHERE r.rolname = %s",
)
"""What somebody may read, as the server decides it and as the memberships say: the one, and the other."""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_nobody_has_neither_or_both_in_two_thousand_switches(shop, ana):
    roles = {"r": READ, "c": COSTS}
    settle(shop, wanted(roles, r={ana}))
    done = Event()

    def watch(question):
        seen, many = set(), 0
        with psycopg.connect(shop.url(), autocommit=True) as connection:
            while not done.is_set():
                seen.add(connection.execute(question, (ana,)).fetchone())
                many += 1
        return seen, many

    with ThreadPoolExecutor(len(LOOKS)) as pool:
        watchers = [pool.submit(watch, question) for question in LOOKS]
        try:
            move(shop, ana, roles)
        finally:
            done.set()
        results = [watcher.result() for watcher in watchers]
    for seen, many in results:
        assert many > SWITCHES
        assert seen == {(True, False), (False, True)}


def move(shop, ana, roles):
    backend = shop.backend()
    there = planning.plan(wanted(roles, c={ana}), look(shop))
    list(backend.apply(there))
    back = planning.plan(wanted(roles, r={ana}), look(shop))
    for plan in [back, there] * (SWITCHES // 2):
        assert [(item.step.kind, item.error) for item in backend.apply(plan)] == [("switch", None)]
    backend.close()
