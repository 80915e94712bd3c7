"""Whoever can reach rows in PostgreSQL, by that server's own word, is told by what we observe."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from lakewarden.backends.base import Observation
from lakewarden.backends.testing.kit import look, settle, wanted
from tests.backends.worlds import READ, PostgresSite

SEEDS = (*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 25)))
OLD = "Long" * 15 + 'é"x'
"""A name as long as the server lets it be, with what has to be quoted in it."""
CAN = """
SELECT r.rolname, n.nspname, c.relname
  FROM pg_roles r, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE r.rolcanlogin AND r.rolname = ANY(%s) AND c.relkind IN ('r', 'p', 'f', 'v', 'm')
   AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
   AND EXISTS (SELECT 1 FROM pg_roles b
                WHERE (pg_has_role(r.oid, b.oid, '{becomes}') OR pg_has_role(r.oid, b.oid, 'USAGE'))
                  AND has_any_column_privilege(b.oid, c.oid, 'SELECT'))
"""
CAN_RUN = """
SELECT r.rolname, n.nspname
  FROM pg_roles r, pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
 WHERE r.rolname = ANY(%s) AND p.prosecdef AND NOT pg_has_role(r.oid, p.proowner, 'MEMBER')
   AND EXISTS (SELECT 1 FROM pg_roles b
                WHERE (pg_has_role(r.oid, b.oid, '{becomes}') OR pg_has_role(r.oid, b.oid, 'USAGE'))
                  AND has_function_privilege(b.oid, p.oid, 'EXECUTE'))
"""
"""Who runs a routine with the rights of another."""
LEAK = "CREATE OR REPLACE FUNCTION sales.leak() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'"


def deeds(
    chance: random.Random, shop: PostgresSite, people: list[str], groups: list[str]
) -> Iterator[tuple[Any, ...]]:
    """What somebody does there by hand: a statement and the names in it."""
    tables = [
        ("sales", "orders"),
        ("sales", "costs"),
        ("sales", "parted"),
        ("sales", "part"),
        ("sales", "seen"),
        (OLD, OLD),
    ]
    anybody = [*people, *groups]
    at_least_16 = shop.admin.info.server_version >= 160000

    for _ in range(chance.randint(2, 7)):
        kind = chance.randrange(12)
        table, who, group = chance.choice(tables), chance.choice(anybody), chance.choice(groups)
        options = chance.choice(
            [
                "INHERIT FALSE",
                "SET FALSE",
                "ADMIN TRUE, INHERIT FALSE, SET FALSE",
                "ADMIN TRUE",
                "INHERIT TRUE",
            ]
        )
        option = f" WITH {options}" if at_least_16 else chance.choice(["", " WITH ADMIN OPTION"])
        yield [
            ("GRANT SELECT ON {} TO {}", table, who),
            ("GRANT SELECT (x) ON {} TO {}", table, who),
            ("GRANT SELECT ON {} TO {} WITH GRANT OPTION", table, who),
            ("GRANT {} TO {}" + option, group, who),
            ("GRANT {} TO {}" + option, shop.owner, who),
            ("ALTER TABLE {} OWNER TO {}", table, who) if table[1] in ("orders", "costs") else ("SELECT",),
            ("GRANT {} TO {}" + option, "pg_read_all_data", who),
            (
                "ALTER DEFAULT PRIVILEGES FOR ROLE {} IN SCHEMA sales GRANT SELECT ON TABLES TO {}",
                shop.owner,
                who,
            ),
            ("GRANT {} TO {}" + option, shop.role("r"), who),
            ("REVOKE EXECUTE ON FUNCTION sales.leak() FROM PUBLIC",),
            ("GRANT EXECUTE ON FUNCTION sales.leak() TO {}", who),
            ("ALTER FUNCTION sales.leak() OWNER TO {}", who),
        ][kind]


def told(seen: Observation, person: str, path: tuple[str, ...], readers: set[str]) -> bool:
    holders, before = {person, "PUBLIC"}, {""}
    while holders != before:
        before = set(holders)
        holders |= {name for name, members in seen.groups.items() if members & holders}
    if person in readers and path == ("sales", "orders"):
        return True
    by_hand = any(
        (found.holder in holders and found.right.path == path and found.right.right.startswith("SELECT"))
        or (found.holder in holders and found.right.kind == "role")
        for found in seen.foreign
    )
    return by_hand or any(
        bypass.holder in (person, "PUBLIC") and path[: len(bypass.path or ())] == (bypass.path or ())
        for bypass in seen.bypasses
        if bypass.what not in ("CONNECT", "USAGE", "TEMPORARY")
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_reads_unseen(shop: PostgresSite, seed: int) -> None:
    chance = random.Random(seed)
    shop.schema("sales")
    shop.schema(OLD)
    shop.table("sales", "orders")
    shop.table("sales", "costs")
    shop.table(OLD, OLD)
    shop.do("CREATE TABLE sales.parted (id int, x int) PARTITION BY LIST (id)")
    shop.do("CREATE TABLE sales.part PARTITION OF sales.parted FOR VALUES IN (1)")
    shop.do("CREATE VIEW sales.seen AS SELECT * FROM sales.costs")
    for name in ("parted", "part", "seen"):
        shop.do("ALTER TABLE {} OWNER TO {}", ("sales", name), shop.owner)
    people = [shop.person(name) for name in ("ana", "bo", "cy")]
    groups = [f"g{number} {people[0]}" for number in range(2)]
    for group in groups:
        shop.do("CREATE ROLE {} NOLOGIN", group)
    settle(shop, wanted({"r": READ}, r={people[0]}))
    shop.do(LEAK)
    for statement, *names in deeds(chance, shop, people, groups):
        with suppress(psycopg.Error):  # in a circle, or to itself
            shop.do(statement, *names)
    shop.do("CREATE TABLE sales.later (id int, x int)")
    shop.do("ALTER TABLE sales.later OWNER TO {}", shop.owner)
    seen = look(shop)
    readers = {name for members in seen.members.values() for name in members}
    becomes = "SET" if shop.admin.info.server_version >= 160000 else "MEMBER"
    can = shop.admin.execute(CAN.format(becomes=becomes), (people,)).fetchall()
    unseen = [(person, path) for person, *path in can if not told(seen, person, tuple(path), readers)]
    assert unseen == []
    runners = {(item.holder, *(item.path or ())) for item in seen.bypasses if item.what.startswith("runs")}
    can_run = shop.admin.execute(CAN_RUN.format(becomes=becomes), (people,)).fetchall()
    assert [row for row in can_run if row not in runners and ("PUBLIC", row[1]) not in runners] == []
