"""Arrays in PostgreSQL: everybody's roles and what each object gives, denormalized, asked by one query."""

from __future__ import annotations

from typing import Any

from bench.peers import CODES, Peer, Question, World

TABLES = """
DROP SCHEMA IF EXISTS bench CASCADE;
CREATE SCHEMA bench;
CREATE TABLE bench.subject (id int PRIMARY KEY, roles int[], holders int[]);
CREATE TABLE bench.held (role int, person int, PRIMARY KEY (role, person));
CREATE TABLE bench.holding (holder int, person int, PRIMARY KEY (holder, person));
CREATE TABLE bench.object (id int PRIMARY KEY, parent int, way int[]);
CREATE INDEX ON bench.object (parent);
CREATE TABLE bench.given (object int, code int, allow boolean, role int,
                          PRIMARY KEY (object, code, allow, role));
CREATE TABLE bench.owner (object int PRIMARY KEY, owner int);
"""

_HAS = """
(EXISTS (SELECT FROM bench.given g WHERE g.object = ANY(o.way) AND g.code = {code} AND g.allow
            AND g.role = ANY(s.roles))
 AND NOT EXISTS (SELECT FROM bench.given g WHERE g.object = ANY(o.way) AND g.code = {code} AND NOT g.allow
            AND g.role = ANY(s.roles)))"""
_OWNS = "EXISTS (SELECT FROM bench.owner w WHERE w.object = {object} AND w.owner = ANY(s.holders))"
_MAY = """
({owns_above} OR ({use_catalog} AND ({owns_schema} OR (
  {use_schema} AND ({owns_table} OR {select} OR {modify})))))
""".format(
    owns_above=_OWNS.format(object="ANY(o.way[1:2])"),
    owns_schema=_OWNS.format(object="o.way[3]"),
    owns_table=_OWNS.format(object="o.way[4]"),
    **{
        name: _HAS.format(code=CODES.index(code))
        for name, code in zip(("use_catalog", "use_schema", "select", "modify"), CODES, strict=True)
    },
)
_ONE = f"SELECT {_MAY} FROM bench.subject s, bench.object o WHERE s.id = %s AND o.id = %s"
_MANY = f"""
SELECT q.n, {_MAY} FROM unnest(%s::int[], %s::int[]) WITH ORDINALITY q(person, object, n)
  JOIN bench.subject s ON s.id = q.person JOIN bench.object o ON o.id = q.object ORDER BY q.n"""
_LIST = """
WITH s AS MATERIALIZED (SELECT * FROM bench.subject WHERE id = %(person)s),
w AS MATERIALIZED (SELECT way FROM bench.object WHERE id = %(schema)s),
above AS MATERIALIZED (
    SELECT {flags}, bool_or(code = 0 AND allow) AND NOT bool_or(code = 0 AND NOT allow) AS c,
           bool_or(code = 1 AND allow) AND NOT bool_or(code = 1 AND NOT allow) AS u
      FROM s, w JOIN bench.given g ON g.object = ANY(w.way) WHERE g.role = ANY(s.roles)),
owns AS MATERIALIZED (
    SELECT bool_or(k.depth <= 2) AS above, bool_or(k.depth = 3) AS schema
      FROM s, w, unnest(w.way) WITH ORDINALITY k(id, depth) JOIN bench.owner o ON o.object = k.id
     WHERE o.owner = ANY(s.holders)),
own AS (
    SELECT g.object, {flags} FROM s, bench.object t JOIN bench.given g ON g.object = t.id
     WHERE t.parent = %(schema)s AND g.code IN (2, 3) AND g.role = ANY(s.roles) GROUP BY g.object)
SELECT t.id FROM bench.object t LEFT JOIN own ON own.object = t.id
  LEFT JOIN bench.owner w ON w.object = t.id, s, above a, owns o
 WHERE t.parent = %(schema)s AND (o.above OR (a.c AND (o.schema OR (a.u AND (
       w.owner = ANY(s.holders)
       OR ((a.s OR own.s) AND NOT coalesce(a.no_s, false) AND NOT coalesce(own.no_s, false))
       OR ((a.m OR own.m) AND NOT coalesce(a.no_m, false) AND NOT coalesce(own.no_m, false)))))))
""".format(
    flags=", ".join(
        f"bool_or(code = {code} AND {allow}) AS {name}"
        for code, allow, name in (
            (2, "allow", "s"),
            (2, "NOT allow", "no_s"),
            (3, "allow", "m"),
            (3, "NOT allow", "no_m"),
        )
    )
)
_READERS = """
WITH way AS (SELECT way FROM bench.object WHERE id = %s),
given AS (
    SELECT g.role, g.code, g.allow FROM way, unnest(way.way) k(id) JOIN bench.given g ON g.object = k.id),
owners AS (
    SELECT h.person, k.depth FROM way, unnest(way.way) WITH ORDINALITY k(id, depth)
      JOIN bench.owner w ON w.object = k.id JOIN bench.holding h ON h.holder = w.owner),
candidate AS (
    SELECT h.person FROM given JOIN bench.held h USING (role) WHERE code IN (2, 3) AND allow
    UNION SELECT person FROM owners),
told AS (
    SELECT h.person,
           bool_or(code = 0 AND allow) AND NOT bool_or(code = 0 AND NOT allow) AS use_catalog,
           bool_or(code = 1 AND allow) AND NOT bool_or(code = 1 AND NOT allow) AS use_schema,
           bool_or(code = 2 AND allow) AND NOT bool_or(code = 2 AND NOT allow) AS sel,
           bool_or(code = 3 AND allow) AND NOT bool_or(code = 3 AND NOT allow) AS modify
      FROM given JOIN bench.held h USING (role) WHERE h.person IN (SELECT person FROM candidate)
     GROUP BY h.person)
SELECT c.person FROM candidate c LEFT JOIN told USING (person)
  LEFT JOIN (SELECT person, bool_or(depth <= 2) AS above, bool_or(depth = 3) AS schema,
                    bool_or(depth = 4) AS own FROM owners GROUP BY person) o USING (person)
 WHERE o.above OR (use_catalog AND (o.schema OR (use_schema AND (coalesce(o.own, false) OR sel OR modify))))
"""


def peer(world: World) -> Peer:
    """Fill the tables in the database that Django is connected to."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        _fill(cursor, world)
        cursor.execute(
            "ANALYZE bench.subject, bench.held, bench.holding, bench.object, bench.given, bench.owner"
        )
    return asking()


def asking() -> Peer:
    """Who asks the tables as they are filled."""
    from django.db import connection

    def asked(statement: str, values: Any) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())

    def one(question: Question) -> bool:
        return bool(asked(_ONE, list(question))[0][0])

    def many(questions: list[Question]) -> list[bool]:
        people, tables = zip(*questions, strict=True)
        return [may for _, may in asked(_MANY, [list(people), list(tables)])]

    def readers(table: int) -> set[int]:
        return {person for (person,) in asked(_READERS, [table])}

    def list_(person: int, schema: int) -> set[int]:
        return {table for (table,) in asked(_LIST, {"person": person, "schema": schema})}

    return Peer("array SQL", one, many, readers, list_)


def _fill(cursor: Any, world: World) -> None:
    held = [(role, person) for person, roles in world.roles.items() for role in roles]
    given = [
        (key, CODES.index(code), allow, role)
        for (key, code, allow), roles in world.given.items()
        for role in roles
    ]
    tables: dict[str, list[tuple[Any, ...]]] = {
        "subject": [(one, list(world.roles[one]), list(world.holders[one])) for one in world.people],
        "held": held,
        "holding": [(holder, one) for one in world.people for holder in world.holders[one]],
        "object": [(key, way[-2] if len(way) > 1 else None, list(way)) for key, way in world.way.items()],
        "given": given,
        "owner": list(world.owner.items()),
    }
    for table, rows in tables.items():
        with cursor.copy(f"COPY bench.{table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
