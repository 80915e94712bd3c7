"""Who may read which table: as was acknowledged, as each web server says, as the database's catalog says."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import psycopg

PEOPLE = ("ana", "mia", "carl", "zoe")
TABLES = ("orders", "customers", "refunds", "items")
ROLES = ("reading", "paying", "packing")
BARRED = "barred"
"""A role that denies all of the schema."""
Pair = tuple[str, str]
Matrix = dict[Pair, bool]
PAIRS: tuple[Pair, ...] = tuple((person, table) for person in PEOPLE for table in TABLES)


class Fact(NamedTuple):
    """That a person holds a role, or that a role lets its holders read a table."""

    kind: str
    role: str
    what: str


FACTS = (
    *(Fact("holds", role, person) for role in (*ROLES, BARRED) for person in PEOPLE),
    *(Fact("gives", role, table) for role in ROLES for table in TABLES),
)


class Ledger:
    """What was acknowledged; None is what was asked for and not answered, or not yet."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.facts: dict[Fact, bool | None] = dict.fromkeys(FACTS, False)
        self.changes = 0
        """How often anything was asked for or answered: who compares looks whether it moved meanwhile."""

    def put(self, fact: Fact, value: bool | None) -> None:
        with self.lock:
            self.facts[fact] = value
            self.changes += 1

    def bounds(self) -> tuple[int, Matrix, Matrix]:
        """The count of changes; what must be allowed; what may be."""
        with self.lock:
            facts, changes = dict(self.facts), self.changes
        surely = {pair: _reads(facts, pair, unknown=False) for pair in PAIRS}
        perhaps = {pair: _reads(facts, pair, unknown=True) for pair in PAIRS}
        return changes, surely, perhaps


def _reads(facts: Mapping[Fact, bool | None], pair: Pair, *, unknown: bool) -> bool:
    person, table = pair

    def so(fact: Fact, otherwise: bool) -> bool:
        value = facts[fact]
        return otherwise if value is None else value

    given = any(
        so(Fact("holds", role, person), unknown) and so(Fact("gives", role, table), unknown) for role in ROLES
    )
    return given and not so(Fact("holds", BARRED, person), not unknown)


class Tokens(NamedTuple):
    owner: str
    asker: str


class Caller:
    """Programs at one web server: of Marek, who owns the metalake, and of a service that asks."""

    def __init__(self, port: int, tokens: Tokens) -> None:
        self.port, self.tokens = port, tokens

    def call(
        self, method: str, path: str, body: Any = None, *, timeout: float = 15.0, token: str = ""
    ) -> Any:
        """What is answered with 200.  Raises OSError or HTTPException where nothing else came."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        bearer = token or self.tokens.owner
        headers = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"}
        try:
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            content = answer.read()
        finally:
            line.close()
        if answer.status != 200:
            raise Unanswered(answer.status, content[:300])
        return json.loads(content)

    def change(self, fact: Fact, value: bool) -> None:
        """Have a fact be so, or not."""
        verb, base = "grant" if value else "revoke", "/api/metalakes/demo/permissions"
        if fact.kind == "holds":
            self.call("PUT", f"{base}/users/{fact.what}/{verb}", {"roleNames": [fact.role]})
            return
        privileges = {"privileges": [{"name": "SELECT_TABLE", "condition": "allow"}]}
        self.call("PUT", f"{base}/roles/{fact.role}/table/shop.sales.{fact.what}/{verb}", privileges)

    def facts(self) -> dict[Fact, bool]:
        """All facts as they are read back."""
        there = set(self._read())
        return {fact: fact in there for fact in FACTS}

    def _read(self) -> Iterator[Fact]:
        for person in PEOPLE:
            user = self.call("GET", f"/api/metalakes/demo/users/{person}")["user"]
            yield from (Fact("holds", role, person) for role in user["roles"])
        for role in ROLES:
            for item in self.call("GET", f"/api/metalakes/demo/roles/{role}")["role"]["securableObjects"]:
                if item["type"].lower() == "table":
                    yield Fact("gives", role, item["fullName"].rpartition(".")[2])

    def decisions(self, timeout: float = 15.0) -> Matrix:
        """What AuthZEN says of every pair."""
        questions = [
            {
                "subject": {"type": "user", "id": person},
                "resource": {"type": "table", "id": f"demo/shop.sales.{table}"},
            }
            for person, table in PAIRS
        ]
        body = {"action": {"name": "read"}, "evaluations": questions}
        asked = {"timeout": timeout, "token": self.tokens.asker}
        answers = self.call("POST", "/access/v1/evaluations", body, **asked)["evaluations"]
        return {pair: bool(answer["decision"]) for pair, answer in zip(PAIRS, answers, strict=True)}


class Unanswered(OSError):
    """The status was another than 200."""


CATALOG = """
    SELECT r.rolname, c.relname, has_schema_privilege(r.oid, c.relnamespace, 'USAGE')
           AND has_table_privilege(r.oid, c.oid, 'SELECT')
      FROM pg_roles r CROSS JOIN pg_class c
     WHERE r.rolname = ANY(%s) AND c.relname = ANY(%s) AND c.relnamespace = 'sales'::regnamespace
"""


def out_there(url: str) -> Matrix:
    """What the governed database's own catalog says.  Raises psycopg.Error."""
    with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        rows = connection.execute(CATALOG, [list(PEOPLE), list(TABLES)]).fetchall()
    return {(person, table): allowed for person, table, allowed in rows}


# how it begins


def make(port: int, governed_url: str) -> tuple[Tokens, int]:
    """The metalake over the governed database, which a port leads to; tokens, and the backend's number.

    Django is set up.
    """
    from accounts import people
    from policies.services import accounts, roles, tokens
    from policies.sync.connections import registration
    from tests.factories import AUTHORITY, BY, a_metalake, a_role, acting, admit
    from tests.sync.conftest import discover_now

    with psycopg.connect(governed_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA sales")
        for table in TABLES:
            connection.execute(f"CREATE TABLE sales.{table} (id int PRIMARY KEY)")
        for person in PEOPLE:
            connection.execute(f"CREATE ROLE {person} LOGIN")
    root = a_metalake()
    for person in PEOPLE:
        people.ensure("user", person)
    admit(root, *PEOPLE)
    place = governed_url.partition("?")[0].replace("@/", f"@127.0.0.1:{port}/")
    row = registration.connect(root, "shop", "postgresql", place, policy="repair", by=BY, authority=AUTHORITY)
    discover_now(row)
    a_role(root, "browse", "allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales",
        held_by=PEOPLE)  # fmt: skip
    for role in ROLES:
        roles.create(root, role, by=BY, authority=AUTHORITY)
    a_role(root, BARRED, "deny SELECT_TABLE on schema shop.sales")
    marek = people.ensure("user", "marek")
    asker = accounts.make_service("asker", marek, by=BY, authority=AUTHORITY)
    admit(root, "service:asker")
    made = [tokens.make(holder, days=30, scopes=(), by=acting(marek)) for holder in (marek, asker)]
    return Tokens(*made), row.pk
