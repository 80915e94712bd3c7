"""SQLite in the memory of the process: no network, no other process, tables by their keys."""

from __future__ import annotations

import sqlite3
from typing import Any

from bench.peers import CODES, Peer, Question, World

_TABLES = """
CREATE TABLE held (person INTEGER, role INTEGER, PRIMARY KEY (person, role)) WITHOUT ROWID;
CREATE TABLE holding (person INTEGER, holder INTEGER, PRIMARY KEY (person, holder)) WITHOUT ROWID;
CREATE TABLE way (object INTEGER, depth INTEGER, above INTEGER, PRIMARY KEY (object, depth)) WITHOUT ROWID;
CREATE TABLE given (object INTEGER, code INTEGER, allow INTEGER, role INTEGER,
                    PRIMARY KEY (object, code, allow, role)) WITHOUT ROWID;
CREATE TABLE owner (object INTEGER PRIMARY KEY, owner INTEGER);
CREATE INDEX holders ON held (role);
CREATE INDEX members ON holding (holder);
"""
_FOUND = """EXISTS (SELECT 1 FROM way w CROSS JOIN held h CROSS JOIN given g WHERE w.object = :table
    AND h.person = :person AND g.object = w.above AND g.code = {code} AND g.allow = {allow}
    AND g.role = h.role)"""
_HAS = f"({_FOUND.format(code='{code}', allow=1)} AND NOT {_FOUND.format(code='{code}', allow=0)})"
_OWNS = """EXISTS (SELECT 1 FROM way w JOIN owner o ON o.object = w.above JOIN holding h
    ON h.holder = o.owner AND h.person = :person WHERE w.object = :table AND w.depth {depth})"""
_ONE = "SELECT {above} OR ({c} AND ({schema} OR ({s} AND ({own} OR {sel} OR {mod}))))".format(
    above=_OWNS.format(depth="<= 1"),
    schema=_OWNS.format(depth="= 2"),
    own=_OWNS.format(depth="= 3"),
    **{name: _HAS.format(code=at) for at, name in enumerate(("c", "s", "sel", "mod"))},
)
_READERS = """
WITH told AS (
    SELECT h.person, g.code, g.allow, NULL AS depth FROM way w JOIN given g ON g.object = w.above
      JOIN held h ON h.role = g.role WHERE w.object = :table
    UNION ALL
    SELECT h.person, NULL, NULL, w.depth FROM way w JOIN owner o ON o.object = w.above
      JOIN holding h ON h.holder = o.owner WHERE w.object = :table)
SELECT person FROM (
    SELECT person, {c} AS c, {s} AS s, {sel} AS sel, {mod} AS mod, max(coalesce(depth <= 1, 0)) AS above,
           max(coalesce(depth = 2, 0)) AS schema, max(coalesce(depth = 3, 0)) AS own
      FROM told GROUP BY person)
 WHERE above OR (c AND (schema OR (s AND (own OR sel OR mod))))
""".format(
    **{
        name: f"(max(coalesce(code = {at} AND allow = 1, 0))"
        f" AND NOT max(coalesce(code = {at} AND allow = 0, 0)))"
        for at, name in enumerate(("c", "s", "sel", "mod"))
    }
)


def peer(world: World) -> Peer:
    base = sqlite3.connect(":memory:", isolation_level=None)
    base.executescript(_TABLES)
    tables: dict[str, list[tuple[Any, ...]]] = {
        "held": [(one, role) for one, roles in world.roles.items() for role in roles],
        "holding": [(one, holder) for one, holders in world.holders.items() for holder in holders],
        "way": [(key, depth, above) for key, way in world.way.items() for depth, above in enumerate(way)],
        "given": [
            (key, CODES.index(code), int(allow), role)
            for (key, code, allow), roles in world.given.items()
            for role in roles
        ],
        "owner": list(world.owner.items()),
    }
    for table, rows in tables.items():
        base.execute("BEGIN")
        base.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
        base.execute("COMMIT")
    base.execute("ANALYZE")

    def one(question: Question) -> bool:
        person, table = question
        return bool(base.execute(_ONE, {"person": person, "table": table}).fetchone()[0])

    def readers(table: int) -> set[int]:
        return {person for (person,) in base.execute(_READERS, {"table": table})}

    return Peer("SQLite in memory", one, None, readers)
