"""Facts of checks are read from a replica while it has the last change; one that has not never says yes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from psycopg import sql

from authzsite.management import examination
from policies.decisions import ask, replica, slices
from policies.models import UnsealedFact
from policies.services import members, roles
from tests.api.test_two_processes import database_url
from tests.api.world import BY, Shop, make_shop, user

# a database is copied only while nobody else is in it, so these run by themselves
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
COPY = "lakewarden_test_replica"


class Replica:
    """A copy of the tests' database as it was when it followed last; it can be forged."""

    def __init__(self) -> None:
        self.url = database_url()
        self.name = f"{COPY}_{connection.settings_dict['NAME']}"[:63]

    def follow(self) -> None:
        """Have all that the primary has by now."""
        self.end()
        source = str(connection.settings_dict["NAME"])
        connection.close()
        self._run(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*map(sql.Identifier, (self.name, source))))

    def end(self) -> None:
        connections[replica.ALIAS].close()
        self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(self.name)))

    def forge(self, statement: str, *values: Any) -> None:
        """Change the copy past every trigger."""
        values_of = psycopg.conninfo.conninfo_to_dict(self.url) | {"dbname": self.name}
        with psycopg.connect(**values_of, autocommit=True) as there:
            for table in ("policies_change", "policies_grant"):
                there.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(sql.Identifier(table)))
            assert there.execute(statement, values).rowcount == 1

    def asked_for(self, question: Callable[[], bool]) -> tuple[bool, bool]:
        """The answer, from facts that nobody holds, and whether facts were read here for it."""
        slices.forget_all()
        with CaptureQueriesContext(connections[replica.ALIAS]) as queries:
            answer = question()
        return answer, any("policies_ownership" in query["sql"] for query in queries)

    def _run(self, statement: sql.Composed) -> None:
        values = psycopg.conninfo.conninfo_to_dict(self.url) | {"dbname": "postgres"}
        with psycopg.connect(**values, autocommit=True) as server:
            server.execute(statement)


@pytest.fixture
def shop() -> Shop:
    shop = make_shop()
    shop.allow(shop.sales, "SELECT_TABLE")
    return shop


@pytest.fixture
def copy(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replica]:
    copy = Replica()
    monkeypatch.setitem(connections.settings, replica.ALIAS, {**connection.settings_dict, "NAME": copy.name})
    # Django's guard of its test databases knows this one alone
    connections[replica.ALIAS].alias = "default"
    replica.forget_rest()
    copy.follow()
    yield copy
    copy.end()
    del connections[replica.ALIAS]
    replica.forget_rest()


def reads(shop: Shop) -> Callable[[], bool]:
    return lambda: bool(ask.ask(user("ana"), "read", shop.tables["orders"]))


def test_it_is_read_while_it_has_the_last_change(shop: Shop, copy: Replica) -> None:
    assert copy.asked_for(reads(shop)) == (True, True)


def test_one_that_lags_says_nothing(shop: Shop, copy: Replica) -> None:
    orders, ana = shop.tables["orders"], user("ana")
    for change, gives in (
        (lambda: shop.allow(orders, "SELECT_TABLE", effect="deny"), False),
        (lambda: shop.take(orders, "SELECT_TABLE", effect="deny"), True),
        (lambda: roles.unassign(shop.readers, ana, **BY), False),
        (lambda: roles.assign(shop.readers, ana, **BY), True),
        (lambda: members.remove(shop.realm, ana, **BY), False),
    ):
        change()
        assert copy.asked_for(reads(shop)) == (gives, False)
    copy.follow()
    assert copy.asked_for(reads(shop)) == (False, True)


def test_one_of_another_history_says_nothing(shop: Shop, copy: Replica) -> None:
    copy.forge(
        "UPDATE policies_change SET digest = repeat('0', 64)"
        " WHERE revision = (SELECT max(revision) FROM policies_change)"
    )
    assert copy.asked_for(reads(shop)) == (True, False)


def test_what_has_no_good_seal_there_is_asked_of_the_primary_and_accuses_nobody(
    shop: Shop, copy: Replica
) -> None:
    copy.forge(
        "UPDATE policies_grant SET privilege = 'MODIFY_TABLE'"
        " WHERE privilege = 'SELECT_TABLE' AND closed IS NULL"
    )
    assert copy.asked_for(reads(shop)) == (True, True)
    assert not UnsealedFact.objects.exists()


def test_it_is_not_asked_while_a_fact_waits_that_no_change_made(shop: Shop, copy: Replica) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE policies_grant DISABLE TRIGGER USER")
        cursor.execute("UPDATE policies_grant SET effect = 'deny' WHERE privilege = 'SELECT_TABLE'")
        cursor.execute("ALTER TABLE policies_grant ENABLE TRIGGER USER")
    connections[replica.ALIAS].close()
    copy.follow()
    assert copy.asked_for(reads(shop)) == (False, True)
    assert UnsealedFact.objects.exists()
    assert copy.asked_for(reads(shop)) == (False, False)


def test_one_that_is_gone_costs_no_answer_and_is_left_alone_for_a_while(shop: Shop, copy: Replica) -> None:
    copy.end()
    slices.forget_all()
    assert reads(shop)()
    copy.follow()
    assert copy.asked_for(reads(shop)) == (True, False)
    replica.forget_rest()
    assert copy.asked_for(reads(shop)) == (True, True)


def test_the_doctor_says_whether_it_follows(shop: Shop, copy: Replica) -> None:
    def said() -> list[str]:
        return [str(item) for item in examination._replica()]

    assert "not a standby" in said()[0]
    shop.take(shop.sales, "SELECT_TABLE")
    copy.end()
    assert "does not answer" in said()[0]
