"""The contract on a real MariaDB, and what is special there: patterns, orphans, hosts, default roles."""

from __future__ import annotations

from itertools import islice

import pymysql
import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Desired, Order, Right, Step
from lakewarden.backends.errors import Misconfigured, Rejected, Transient
from lakewarden.backends.testing.contract import Contract, assert_settled
from lakewarden.backends.testing.kit import look, plan_of, settle, wanted
from lakewarden.backends.testing.suite import ODD_NAMES
from policies.sync.backends.mariadb import kind as mariadb
from policies.sync.connections.destinations import network
from tests.backends.mariadb_world import MariaSite
from tests.backends.tries import findings, try_step
from tests.backends.worlds import ROUNDS

SELECT = Right("table", ("sales", "orders"), "SELECT")


def on(schema: str, table: str, *words: str) -> frozenset[Right]:
    """Rights on a table; the way to it needs none here."""
    return frozenset(Right("table", (schema, table), word) for word in words)


READ, COSTS = on("sales", "orders", "SELECT"), on("sales", "costs", "SELECT")
WRITE = on("sales", "orders", "SELECT", "INSERT", "UPDATE", "DELETE")
NAMES = tuple(name for name in ODD_NAMES if max(name) < "\U00010000")
"""MariaDB has no names beyond the basic plane."""


@pytest.fixture
def site(mariadb_server):
    there = MariaSite(mariadb_server)
    yield there
    there.close()


@pytest.fixture
def ana(site):
    site.schema("sales")
    site.table("sales", "orders")
    site.table("sales", "costs")
    return site.person("ana")


def id_of(site, table):
    return {object_.path: object_.id for object_ in look(site).objects}["sales", table]


class TestMariaDB(Contract):
    READ, WRITE, COSTS = READ, WRITE, COSTS
    on = staticmethod(on)

    blinds = True
    refuses = True
    rights_follow = "names"
    odd_names = NAMES
    seeds = ROUNDS

    @pytest.fixture
    def site(self, site):
        return site


def test_two_workers_on_the_same_person_never_leave_two_sets(site, ana):
    from concurrent.futures import ThreadPoolExecutor

    roles = {"r": READ, "c": COSTS}
    settle(site, wanted(roles, r={ana}))

    def move(key):
        backend = site.backend()
        try:
            return list(backend.apply(planning.plan(wanted(roles, **{key: {ana}}), backend.observe())))
        finally:
            backend.close()

    with ThreadPoolExecutor(2) as pool:
        for _ in range(10):
            list(pool.map(move, ("r", "c")))
            assert sum(ana in people for people in look(site).members.values()) == 1


def test_an_underscore_in_a_databases_name_is_no_pattern(site):
    for name in ("shop_1", "shopX1", "per%cent"):
        site.schema(name)
        site.table(name, "t")
    ana = site.person("ana")
    create = frozenset({Right("schema", ("shop_1",), "CREATE"), Right("schema", ("per%cent",), "CREATE")})
    settle(site, desired := wanted({"r": create}, r={ana}))
    assert_settled(site, desired)
    connection = site.server.connect(ana)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE shop_1.mine (id int)")
        with pytest.raises(pymysql.err.OperationalError):
            cursor.execute("CREATE TABLE shopX1.mine (id int)")
    connection.close()


def test_a_pattern_that_others_granted_is_shown_as_one_and_can_be_taken(site, ana):
    site.do(f"GRANT SELECT ON `sal__`.* TO {site.account(ana)}")
    [foreign] = look(site).foreign
    assert (foreign.right.kind, foreign.right.right) == ("catalog", "SELECT ON sal__.*")
    settle(site, wanted({}), orders=[Order(foreign)])
    assert look(site).foreign == ()


def test_rights_that_a_dropped_table_left_are_extra_and_taken(site, ana):
    settle(site, wanted({"r": READ | COSTS}, r={ana}))
    site.drop("sales", "orders")
    plan = plan_of(site, desired := wanted({"r": COSTS}, r={ana}))
    assert plan.extra == 1
    settle(site, desired)
    assert_settled(site, desired)
    site.table("sales", "orders")
    assert not site.may(ana, "SELECT", "sales", "orders")


def test_nothing_is_granted_on_a_database_that_is_not_there(site, ana):
    waiting = frozenset({Right("schema", ("later",), "CREATE")})
    errors = [item.error for item in settle(site, wanted({"r": waiting}, r={ana})) if item.error]
    assert "later does not exist" in str(errors[0])
    assert site.do("SELECT COUNT(*) FROM mysql.db WHERE Db = 'later'") == [(0,)]


def test_every_account_of_a_name_gets_the_same(site, ana):
    site.do(f"CREATE USER {site.account(ana, 'localhost')}")
    settle(site, desired := wanted({"r": READ}, r={ana}))
    assert_settled(site, desired)
    assert site.may(ana, "SELECT", "sales", "orders")  # as the account of localhost, which is the nearer
    site.do(f"CREATE USER {site.account(ana, '10.0.0.1')}")
    assert plan_of(site, desired).missing == 1
    settle(site, desired)
    assert_settled(site, desired)


def test_what_each_account_of_a_name_was_given_by_others_is_told_apart(site, ana):
    site.do(f"CREATE USER {site.account(ana, 'localhost')}")
    site.do(f"GRANT SELECT ON sales.orders TO {site.account(ana, 'localhost')}")
    [foreign] = look(site).foreign
    assert foreign.holder == f"{ana}@localhost"
    settle(site, wanted({}), orders=[Order(foreign)])
    assert look(site).foreign == ()


def test_a_default_role_of_others_is_not_replaced(site, ana):
    site.do("CREATE ROLE theirs; ".rstrip("; "))
    site.do(f"GRANT theirs TO {site.account(ana)}")
    site.do(f"SET DEFAULT ROLE theirs FOR {site.account(ana)}")
    errors = [item.error for item in settle(site, wanted({"r": READ}, r={ana})) if item.error]
    assert [type(error) for error in errors] == [Rejected]
    assert "theirs by default" in str(errors[0])
    assert not site.may(ana, "SELECT", "sales", "orders")


def test_an_open_session_loses_on_its_next_statement(site, ana):
    settle(site, wanted({"r": READ | COSTS}, r={ana}))
    connection = site.server.connect(ana)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM sales.orders")
        settle(site, wanted({"c": COSTS}, c={ana}))
        cursor.execute("SELECT * FROM sales.costs")
        with pytest.raises(pymysql.err.OperationalError):
            cursor.execute("SELECT * FROM sales.orders")
    connection.close()


def test_who_has_no_role_any_more_keeps_no_empty_default(site, ana):
    settle(site, wanted({"r": READ}, r={ana}))
    settle(site, wanted({}))
    about = site.do(f"SELECT JSON_VALUE(Priv, '$.default_role') FROM mysql.global_priv WHERE User = '{ana}'")
    assert about in ([("",)], [(None,)])
    assert site.do("SELECT User FROM mysql.global_priv WHERE User LIKE 'lw\\\\_%'") == []


def test_a_role_of_ours_in_anothers_hands_is_foreign(site, ana):
    bo = site.person("bo")
    settle(site, wanted({"r": READ}, r={ana}))
    own = site.identity.person_role(ana)
    connection = site.server.connect(site.pusher, "secret")
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT `{own}` TO {site.account(bo)}")
    connection.close()
    [foreign] = look(site).foreign
    assert (foreign.right.kind, foreign.holder) == ("role", bo)
    settle(site, wanted({"r": READ}, r={ana}), orders=[Order(foreign)])
    assert look(site).foreign == ()


@pytest.mark.parametrize("own", [False, True])
def test_a_role_that_others_gave_to_one_of_ours_is_foreign(site, ana, own):
    settle(site, desired := wanted({"r": COSTS}, r={ana}))
    ours = site.identity.person_role(ana) if own else site.identity.role_name("r")
    site.do("CREATE ROLE theirs")
    site.do("GRANT SELECT ON sales.orders TO theirs")
    site.do(f"GRANT theirs TO `{ours}`")
    assert site.may(ana, "SELECT", "sales", "orders")
    [foreign] = [item for item in look(site).foreign if item.holder == ours]
    assert foreign.right == Right("role", ("theirs",), "MEMBER")
    settle(site, desired)
    assert foreign in look(site).foreign
    site.do(f"GRANT theirs TO {site.signs_in_as} WITH ADMIN OPTION")
    assert [item.error for item in settle(site, desired, orders=[Order(foreign)])] == [None]
    assert not site.may(ana, "SELECT", "sales", "orders")
    assert_settled(site, desired)


def test_every_right_on_everything_that_a_role_of_ours_was_given_is_extra_and_taken(site, ana):
    settle(site, desired := wanted({"r": READ}, r={ana}))
    site.do(f"GRANT ALL ON *.* TO {site.role('r')} WITH GRANT OPTION")
    assert site.may(ana, "SELECT", "sales", "costs")
    assert plan_of(site, desired).extra > 35
    # what the account lacks itself it cannot take; that keeps nothing else
    assert [type(item.error) for item in settle(site, desired)] == [Misconfigured]
    assert not site.may(ana, "SELECT", "sales", "costs")
    site.do(f"GRANT ALL ON *.* TO {site.signs_in_as} WITH GRANT OPTION")
    settle(site, desired)
    assert_settled(site, desired)


def test_what_others_gave_on_columns_is_not_taken_with_what_they_gave_on_the_table(site, ana):
    site.do(f"GRANT SELECT, SELECT (x), UPDATE (x) ON sales.orders TO {site.account(ana)}")
    by_word = {item.right.right: item for item in look(site).foreign}
    assert {*by_word} == {"SELECT", "SELECT(x)", "UPDATE(x)"}
    [outcome] = settle(site, wanted({}), orders=[Order(by_word["SELECT"])])
    assert type(outcome.error) is Rejected
    assert {item.right.right for item in look(site).foreign} == {"SELECT", "SELECT(x)", "UPDATE(x)"}
    for word in ("SELECT(x)", "SELECT"):
        outcomes = settle(site, wanted({}), orders=[Order(by_word[word])])
        assert [item.error for item in outcomes] == [None]
    assert {item.right.right for item in look(site).foreign} == {"UPDATE(x)"}


def test_a_name_that_may_be_two_accounts_is_not_taken_from(site, ana):
    site.schema("more")
    for host in ("%", "here"):
        site.do(
            f"CREATE USER {site.account(ana + '@here', '%')}"
            if host == "%"
            else f"CREATE USER {site.account(ana, 'here')}"
        )
    site._people.append(f"{ana}@here")
    site.do(f"GRANT SELECT ON sales.orders TO {site.account(ana + '@here')}")
    [foreign] = look(site).foreign
    [outcome] = settle(site, wanted({}), orders=[Order(foreign)])
    assert "may be" in str(outcome.error)
    assert look(site).foreign == (foreign,)


def test_a_role_and_an_account_of_one_name_are_told_apart(site, ana):
    site.do(f"CREATE ROLE `{ana}`")
    for holder in (f"`{ana}`", site.account(ana)):
        site.do(f"GRANT SELECT ON sales.orders TO {holder}")
    assert {item.holder for item in look(site).foreign} == {ana, f"{ana}@%"}
    [ordered] = [item for item in look(site).foreign if item.holder != ana]
    settle(site, wanted({}), orders=[Order(ordered)])
    assert {item.holder for item in look(site).foreign} == {ana}


def test_what_cannot_be_taken_is_an_error_and_the_rest_is_taken(site, ana):
    settle(site, wanted({"r": WRITE}, r={ana}))
    odd = Right("catalog", (), "RIGHTS FROM BIT 99 ON")
    assert type(try_step(site, Step("take", role="r", rights=(odd, *WRITE)))) is Rejected
    assert look(site).roles["r"] == frozenset()


def test_a_role_that_is_only_called_like_ours_is_left_alone(site, ana):
    site.do("CREATE ROLE lw_0123456789ab_r")
    site.do("GRANT SELECT ON sales.orders TO lw_0123456789ab_r")
    settle(site, Desired({}, {}))
    assert site.do("SELECT COUNT(*) FROM mysql.tables_priv WHERE User = 'lw_0123456789ab_r'") == [(1,)]


def test_power_over_everything_is_told_as_a_bypass(site, ana):
    site.do(f"GRANT SELECT ON *.* TO {site.account(ana)}")
    assert "holds SELECT on every database" in {
        bypass.what for bypass in look(site).bypasses if bypass.holder == ana
    }


def bypasses(site):
    return {(item.holder, item.what, item.path) for item in look(site).bypasses}


def test_what_the_account_without_a_name_has_everybody_has(site, ana):
    """A row of a database without a user matches every user, and who has no account signs in as it."""
    site.do("CREATE USER ''@'%'")
    site.do("GRANT SELECT ON sales.* TO ''@'%'")
    site.do("GRANT INSERT ON sales.orders TO ''@'%'")
    site.do("GRANT PROCESS ON *.* TO ''@'%'")
    site.do(f"GRANT PROXY ON {site.account(ana)} TO ''@'%'")
    assert site.may(ana, "SELECT", "sales", "orders")
    assert {
        ("PUBLIC", "SELECT", ("sales",)),
        ("PUBLIC", "INSERT", ("sales", "orders")),
        ("PUBLIC", "holds PROCESS on every database", None),
        ("PUBLIC", f"may act as {ana}", None),
    } <= bypasses(site)


@pytest.mark.parametrize("way", ["routine", "schema", "role"])
def test_who_runs_a_routine_with_the_rights_of_its_definer_is_told(site, ana, way):
    site.do("CREATE PROCEDURE sales.leak() SQL SECURITY DEFINER SELECT * FROM sales.costs")
    site.do("CREATE PROCEDURE sales.plain() SQL SECURITY INVOKER SELECT 1")
    holder = site.account(ana)
    if way == "role":
        site.do("CREATE ROLE runners")
        site.do(f"GRANT runners TO {holder}")
        holder = "runners"
    site.do(f"GRANT EXECUTE ON {'sales.*' if way == 'schema' else 'PROCEDURE sales.leak'} TO {holder}")
    site.do(f"GRANT EXECUTE ON PROCEDURE sales.plain TO {holder}")
    runners = {item for item in bypasses(site) if "runs" in item[1]}
    name = "runners" if way == "role" else ana
    assert runners == {(name, "runs 1 routine with the rights of root@localhost", ("sales",))}


def test_who_may_write_the_tables_of_rights_is_told(site, ana):
    site.do(f"GRANT UPDATE ON mysql.db TO {site.account(ana)}")
    assert (ana, "holds UPDATE on the server's own tables", None) in bypasses(site)


def test_who_may_act_as_another_is_told_as_a_bypass(site, ana):
    bo = site.person("bo")
    site.do(f"GRANT PROXY ON {site.account(bo)} TO {site.account(ana)}")
    assert [bypass.what for bypass in look(site).bypasses if bypass.holder == ana] == [f"may act as {bo}"]


def test_tables_whose_names_differ_in_case_alone_keep_each_its_number(site, ana):
    site.table("sales", "Orders")
    before = id_of(site, "orders"), id_of(site, "Orders")
    site.rename("sales", "Orders", "were")
    assert (id_of(site, "orders"), id_of(site, "were")) == before


def test_the_check_says_what_the_account_lacks(site, ana):
    assert all(finding.ok for finding in findings(site))
    site.do(f"REVOKE CREATE USER ON *.* FROM {site.signs_in_as}")
    assert "the account lacks CREATE USER on *.*" in {item.text for item in findings(site) if item.blocks}


def test_a_wrong_password_stops_the_backend(site):
    backend = mariadb.open(site.server.url(site.pusher, "wrong"), realm="r", mark="m", network=network())
    with pytest.raises(Misconfigured, match="Access denied"):
        backend.observe()
    assert [finding.blocks for finding in backend.check()] == [True]


@pytest.mark.parametrize(
    "url",
    ["mariadb://", "http://u:secret@h/", "mariadb://u:secret@h:port/", "mariadb://u:secret@h/?charset=x"],
)
def test_a_url_that_is_none_is_refused_without_being_told(url):
    with pytest.raises(Misconfigured) as refused:
        mariadb.open(url, realm="r", mark="m", network=network())
    assert "secret" not in str(refused.value)


def test_a_server_that_is_away_is_tried_again():
    backend = mariadb.open("mariadb://u:p@127.0.0.1:1/", realm="r", mark="m", network=network())
    with pytest.raises(Transient):
        backend.observe()


@pytest.mark.parametrize("name", ["back`tick", "a'b", 'a"b', "a\\b", "x' OR '1'='1"])
def test_names_do_not_break_out_of_statements(site, name):
    site.schema(name)
    site.table(name, name)
    person = site.person(name)
    desired = wanted(
        {name: on(name, name, "SELECT") | {Right("schema", (name,), "CREATE")}}, **{name: {person}}
    )
    assert [item.error for item in settle(site, desired) if item.error] == []
    assert_settled(site, desired)
    assert site.may(person, "SELECT", name, name)


def test_a_name_with_a_nul_is_rejected(site, ana):
    assert type(try_step(site, Step("make_role", role="a\0b"))) is Rejected
    assert (
        type(
            try_step(
                site, Step("take_foreign", person=ana, rights=(Right("table", ("a\0b", "c"), "SELECT"),))
            )
        )
        is Rejected
    )


def test_stopping_between_two_statements_of_a_switch_goes_on(site, ana):
    roles = {"r": READ, "c": COSTS}
    settle(site, wanted(roles, r={ana}))
    backend = site.backend()
    plan = planning.plan(desired := wanted(roles, c={ana}), backend.observe())
    list(islice(backend.apply(plan), 0))
    backend.close()
    settle(site, desired)
    assert_settled(site, desired)
