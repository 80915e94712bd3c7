"""Rights in PostgreSQL: owners, grantors, views, sequences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakewarden.backends.base import Column, Desired, Foreign, Right, Step
from lakewarden.backends.errors import Gone, Misconfigured, Rejected
from lakewarden.backends.testing.contract import assert_settled
from lakewarden.backends.testing.kit import look, plan_of, settle, wanted
from lakewarden.backends.testing.suite import on
from tests.backends.tries import SELECT, errors_of, newest_only, try_step
from tests.backends.worlds import COSTS, READ, WRITE, PostgresSite

# objects


def test_everything_that_holds_rows_is_found_with_its_columns(shop, ana):
    shop.do("COMMENT ON TABLE sales.orders IS 'what was sold'")
    shop.do("COMMENT ON COLUMN sales.orders.x IS 'how many'")
    shop.do("CREATE VIEW sales.v AS SELECT x FROM sales.orders")
    shop.do("CREATE MATERIALIZED VIEW sales.m AS SELECT 1 AS one")
    shop.do("CREATE TABLE sales.p (day date NOT NULL) PARTITION BY RANGE (day)")
    shop.do("CREATE TABLE sales.p1 PARTITION OF sales.p FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')")
    shop.do("CREATE TEMPORARY TABLE passing (x int)")
    by_path = {item.path: item for item in look(shop).objects}
    assert {
        path[1]: (item.kind, item.detail["form"]) for path, item in by_path.items() if len(path) == 2
    } == {
        "orders": ("table", "table"),
        "costs": ("table", "table"),
        "v": ("view", "view"),
        "m": ("view", "materialized view"),
        "p": ("table", "partitioned table"),
        "p1": ("table", "table"),
    }
    orders = by_path["sales", "orders"]
    assert (orders.owner, orders.comment) == (shop.owner, "what was sold")
    assert orders.columns == (
        Column("id", "integer", nullable=False),
        Column("x", "integer", comment="how many"),
    )
    assert by_path["sales", "p1"].detail["partition_of"] == ["sales", "p"]
    assert by_path["sales",].owner == by_path[()].owner == shop.owner
    assert len({item.id for item in by_path.values()}) == len(by_path)


def test_a_view_is_granted_as_a_view(shop, ana):
    shop.do("CREATE VIEW sales.v AS SELECT x FROM sales.orders")
    shop.do("ALTER VIEW sales.v OWNER TO {}", shop.owner)
    rights = COSTS - {Right("table", ("sales", "costs"), "SELECT")} | {
        Right("view", ("sales", "v"), "SELECT")
    }
    settle(shop, desired := wanted({"r": rights}, r={ana}))
    assert_settled(shop, desired)
    assert shop.may(ana, "SELECT", "sales", "v")
    assert not shop.may(ana, "SELECT", "sales", "orders")
    wrong = Step("give", role="r", rights=(Right("table", ("sales", "v"), "SELECT"),))
    assert isinstance(try_step(shop, wrong), Gone)


# owners and grantors


def test_every_grant_is_the_owners(shop, ana):
    shop.table("sales", "others", owner=shop.other)
    shop.do("GRANT USAGE ON SCHEMA sales TO {}", shop.other)
    settle(shop, desired := wanted({"r": READ | on("sales", "others", "SELECT")}, r={ana}))
    assert_settled(shop, desired)
    rows = shop.admin.execute("""
        SELECT DISTINCT c.relowner = a.grantor FROM pg_class c, aclexplode(c.relacl) a
         WHERE c.relnamespace = 'sales'::regnamespace
    """).fetchall()
    assert rows == [(True,)]


@newest_only
def test_an_owner_out_of_reach_is_said_and_the_others_are_served(shop, ana):
    shop.table("sales", "others", owner=shop.other)
    shop.do("REVOKE {} FROM {}", shop.other, shop.pusher)
    desired = wanted({"r": READ | on("sales", "others", "SELECT")}, r={ana})
    [error] = errors_of(settle(shop, desired))
    assert isinstance(error, Misconfigured)
    assert shop.other in str(error)
    assert plan_of(shop, desired).missing == 1
    assert shop.may(ana, "SELECT", "sales", "orders")


@pytest.mark.parametrize("silenced", [False, True])
def test_a_grant_that_only_warns_is_a_failure_and_leaves_nothing(shop, ana, monkeypatch, silenced):
    """Not acting as the owner, the account is given a warning and a friendly `GRANT`."""
    if silenced:
        shop.do("ALTER DATABASE {} SET client_min_messages TO error", shop.database)
    settle(shop, wanted({"r": frozenset(COSTS)}, r={ana}))
    shop.do("GRANT SELECT ON sales.orders TO {}", shop.other)
    shop.do("GRANT USAGE ON SCHEMA sales TO {}", shop.other)
    monkeypatch.setattr(
        "policies.sync.backends.postgresql.rights._owners", lambda *_: {("table", SELECT.path): shop.other}
    )
    error = try_step(shop, Step("give", role="r", rights=(SELECT,)))
    assert isinstance(error, Misconfigured)
    assert "no privileges were granted" in str(error)
    assert SELECT not in look(shop).roles["r"]


def test_a_right_given_to_our_role_by_another_than_the_owner_is_foreign(shop, ana):
    bo = shop.person("bo")
    settle(shop, wanted({"r": COSTS}, r={ana}))
    shop.do("GRANT USAGE ON SCHEMA sales TO {}", bo)
    shop.do("GRANT SELECT ON sales.orders TO {} WITH GRANT OPTION", bo)
    with shop.acting_as(bo):
        shop.do("GRANT SELECT ON sales.orders TO {}", shop.role("r"))
    foreign = Foreign(SELECT, shop.role("r"), bo)
    assert foreign in look(shop).foreign
    settle(shop, desired := wanted({"r": READ | COSTS}, r={ana}))
    settle(shop, wanted({"r": COSTS}, r={ana}))
    assert foreign in look(shop).foreign
    [error] = errors_of(settle(shop, Desired({}, {})))
    assert isinstance(error, Rejected)
    assert foreign in look(shop).foreign
    assert desired.roles["r"] > COSTS


@newest_only
def test_options_and_columns_added_by_hand_are_taken_back(shop, ana):
    settle(shop, desired := wanted({"r": READ}, r={ana}))
    with shop.acting_as(shop.owner):
        shop.do("GRANT SELECT ON sales.orders TO {} WITH GRANT OPTION", shop.role("r"))
        shop.do("GRANT SELECT (x), UPDATE (x, id) ON sales.costs TO {}", shop.role("r"))
        shop.do("GRANT TRUNCATE ON sales.costs TO {}", shop.role("r"))
        shop.do("GRANT USAGE ON SEQUENCE sales.orders_id_seq TO {}", shop.role("r"))
    plan = plan_of(shop, desired)
    assert {right.right for step in plan.steps for right in step.rights} == {
        "SELECT WITH GRANT OPTION",
        "SELECT(x)",
        "UPDATE(x)",
        "UPDATE(id)",
        "TRUNCATE",
        "USAGE",
    }
    assert errors_of(settle(shop, desired)) == []
    assert_settled(shop, desired)
    assert shop.may(ana, "SELECT", "sales", "orders")


@newest_only
@pytest.mark.parametrize(
    "word", ["SELECT; DROP TABLE x", "select", "", "ALL ON x TO y", "SELECT(x", "SELECT()"]
)
def test_a_right_is_a_word_and_not_a_program(shop, ana, word):
    settle(shop, wanted({"r": READ}))
    step = Step("give", role="r", rights=(Right("table", ("sales", "orders"), word),))
    assert isinstance(try_step(shop, step), Rejected)


@pytest.mark.parametrize("superuser", [False, True])
def test_a_superuser_as_account_does_the_same(server_url, superuser):
    shop = PostgresSite(server_url, pusher_is_superuser=superuser)
    shop.schema("sales")
    shop.table("sales", "orders", serial=True)
    shop.do("GRANT USAGE ON SCHEMA public TO PUBLIC")
    ana = shop.person("ana")
    public = Right("schema", ("public",), "USAGE")
    settle(shop, desired := wanted({"r": WRITE | {public}}, r={ana}))
    assert_settled(shop, desired)
    shop.do("ALTER SCHEMA public OWNER TO pg_database_owner")
    assert_settled(shop, desired)
    settle(shop, desired := wanted({"w": READ | {public}}, w={ana}))
    assert_settled(shop, desired)
    assert not shop.may(ana, "DELETE", "sales", "orders")
    shop.close()


# sequences


def test_inserting_needs_the_sequence_and_gets_it(shop, ana):
    settle(shop, desired := wanted({"r": WRITE}, r={ana}))
    assert_settled(shop, desired)
    assert shop.may(ana, "INSERT", "sales", "orders")
    with shop.acting_as(shop.owner):
        shop.do("REVOKE USAGE ON SEQUENCE sales.orders_id_seq FROM {}", shop.role("r"))
    assert not shop.may(ana, "INSERT", "sales", "orders")
    assert plan_of(shop, desired).missing == 1
    settle(shop, desired)
    assert_settled(shop, desired)
    assert shop.may(ana, "INSERT", "sales", "orders")


@pytest.mark.parametrize("lost_first", [False, True])
def test_the_sequence_goes_with_the_insert(shop, ana, lost_first):
    settle(shop, wanted({"r": WRITE}, r={ana}))
    if lost_first:
        with shop.acting_as(shop.owner):
            shop.do("REVOKE USAGE ON SEQUENCE sales.orders_id_seq FROM {}", shop.role("r"))
    settle(shop, desired := wanted({"r": READ}, r={ana}))
    assert_settled(shop, desired)
    [(held,)] = shop.admin.execute(
        "SELECT relacl::text FROM pg_class WHERE relname = 'orders_id_seq'"
    ).fetchall()
    assert shop.role("r") not in held


def test_a_foreign_right_is_taken_in_its_givers_name(shop, ana):
    """A second giver's grant of the same right to the same person is another one, and stays."""
    giver = shop.person("giver")
    shop.do("GRANT USAGE ON SCHEMA sales TO {}", giver)
    shop.do("GRANT SELECT ON sales.orders TO {} WITH GRANT OPTION", giver)
    with shop.acting_as(giver):
        shop.do("GRANT SELECT ON sales.orders TO {}", ana)
    shop.give_by_hand(SELECT, ana)
    step = Step("take_foreign", person=ana, rights=(SELECT,), grantor=giver)
    assert "permission denied" in str(try_step(shop, step))
    assert len([item for item in shop.foreign() if item.holder == ana]) == 2
    shop.do("GRANT {} TO {}", giver, shop.pusher)
    assert try_step(shop, step) is None
    assert [item.grantor for item in shop.foreign() if item.holder == ana] == [shop.owner]


@pytest.mark.parametrize("word", ["SELECT", "SELECT WITH GRANT OPTION"])
def test_what_others_gave_on_columns_stays_when_what_they_gave_on_the_table_is_taken(shop, ana, word):
    with shop.acting_as(shop.owner):
        shop.do("GRANT SELECT ON sales.orders TO {} WITH GRANT OPTION", ana)
        shop.do("GRANT SELECT (x), UPDATE (id) ON sales.orders TO {}", ana)
        shop.do("GRANT SELECT (id) ON sales.orders TO {} WITH GRANT OPTION", ana)
    before = {*look(shop).foreign}
    right = Right("table", ("sales", "orders"), word)
    assert try_step(shop, Step("take_foreign", person=ana, rights=(right,), grantor=shop.owner)) is None
    gone = {item.right.right for item in before - {*look(shop).foreign}}
    assert gone == ({word} if "OPTION" in word else {"SELECT", "SELECT WITH GRANT OPTION"})
    assert {*look(shop).foreign} <= before


def test_a_foreign_right_that_was_granted_on_is_not_cut_through(shop, ana):
    bo = shop.person("bo")
    shop.do("GRANT USAGE ON SCHEMA sales TO {}", ana)
    with shop.acting_as(shop.owner):
        shop.do("GRANT SELECT ON sales.orders TO {} WITH GRANT OPTION", ana)
    with shop.acting_as(ana):
        shop.do("GRANT SELECT ON sales.orders TO {}", bo)
    error = try_step(shop, Step("take_foreign", person=ana, rights=(SELECT,), grantor=shop.owner))
    assert type(error) is Rejected
    assert "dependent privileges exist" in str(error)


def test_roles_that_are_given_the_same_get_it_by_the_same_statements(shop, ana, monkeypatch):
    from policies.sync.backends.postgresql.client import Transaction

    statements, real = [], Transaction.run

    def heard(tx, statement):
        statements.append(statement.as_string(None))
        real(tx, statement)

    monkeypatch.setattr(Transaction, "run", heard)
    roles = {f"r{n:02}": READ for n in range(12)}
    settle(shop, desired := wanted(roles, r03={ana}))
    assert_settled(shop, desired)
    assert len([item for item in statements if item.startswith("GRANT SELECT ON TABLE")]) == 2
    assert shop.may(ana, "SELECT", "sales", "orders")


def test_one_role_that_cannot_be_given_it_does_not_keep_the_others(shop, ana):
    roles = {f"r{n}": READ for n in range(4)}
    backend = shop.backend()
    plan = plan_of(shop, wanted(roles, r1={ana}))
    steps = [step for step in plan.steps if (step.kind, step.role) != ("make_role", "r2")]
    outcomes = list(backend.apply(replace(plan, steps=tuple(steps))))
    backend.close()
    assert [(type(outcome.error), outcome.step.role) for outcome in outcomes if outcome.error] == [
        (Gone, "r2")
    ]
    assert shop.may(ana, "SELECT", "sales", "orders")
