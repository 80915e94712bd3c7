"""What MySQL has and MariaDB has not: accounts as roles, partial revokes, dynamic privileges, proxies."""

from __future__ import annotations

import pymysql
import pytest

from lakewarden.backends.base import Bypass, Order, Right
from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.testing.contract import assert_settled
from lakewarden.backends.testing.kit import look, plan_of, settle, wanted
from policies.sync.backends.mariadb.client import Session
from policies.sync.backends.mysql.kind import MYSQL
from policies.sync.connections.destinations import network
from tests.backends.test_mariadb import COSTS, READ
from tests.backends.tries import findings

CREATE = frozenset({Right("schema", ("shop_1",), "CREATE")})


def errors_of(site, desired, **more):
    return [item.error for item in settle(site, desired, **more) if item.error]


def makes_tables(site, person, schema):
    connection = site.server.connect(person)
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE `{schema}`.mine_{site.identity.mark} (id int)")
            cursor.execute("SELECT 1")
        site.do(f"DROP TABLE `{schema}`.mine_{site.identity.mark}")
    except pymysql.err.OperationalError as error:
        assert error.args[0] == 1142, error
        return False
    finally:
        connection.close()
    return True


def bypasses(site, holder):
    return {bypass.what for bypass in look(site).bypasses if bypass.holder == holder}


# objects


def ids(site):
    return {item.path: item.id for item in look(site).objects}


@pytest.mark.parametrize("schema", ["sales", "a/b#é"])
def test_every_table_has_a_number_that_it_keeps_when_it_is_renamed(site, schema):
    names = ["orders", "Orders", "or/ders", "or#p#ders", "Größe 表", "@0p", "@002f", "Ωя"]
    site.schema(schema)
    for name in names:
        site.table(schema, name)
    site.do(f"CREATE TABLE `{schema}`.`in #p# parts` (id int) PARTITION BY HASH (id) PARTITIONS 2")
    site.do(f"CREATE TABLE `{schema}`.elsewhere (id int) TABLESPACE innodb_system")
    before = {path: number for path, number in ids(site).items() if len(path) == 2}
    assert len({*before.values()}) == len(before) == len(names) + 2
    moved = {path: (schema, f"was {number}") for number, path in enumerate(before) if path[1] != "elsewhere"}
    for old, new in moved.items():
        site.rename(*old, new[1])
    after = ids(site)
    assert {old: after[new] for old, new in moved.items()} == {old: before[old] for old in moved}


# names of databases


def test_a_database_is_meant_by_the_letter_where_rights_can_be_revoked_in_part(site):
    for name in ("shop_1", "shopX1"):
        site.schema(name)
    ana = site.person("ana")
    desired = wanted({"r": CREATE}, r={ana})
    for setting in ("OFF", "ON"):
        with site.set("partial_revokes", setting):
            site.do("FLUSH PRIVILEGES")
            assert errors_of(site, desired) == []
            assert_settled(site, desired)
            assert makes_tables(site, ana, "shop_1")
            assert not makes_tables(site, ana, "shopX1")
    site.do("FLUSH PRIVILEGES")
    assert look(site).roles["r"] != CREATE  # the same row means many now
    assert errors_of(site, desired) == []
    assert_settled(site, desired)
    assert not makes_tables(site, ana, "shopX1")


def test_a_pattern_with_an_escaped_letter_is_shown_as_it_is_and_can_be_taken(site, ana):
    site.schema("sales_1")
    site.table("sales_1", "t")
    site.do(f"GRANT SELECT ON `sales\\_%`.* TO {site.account(ana)} WITH GRANT OPTION")
    assert site.may(ana, "SELECT", "sales_1", "t")
    assert {item.right.right for item in look(site).foreign} == {
        "SELECT ON sales\\_%.*",
        "GRANT OPTION ON sales\\_%.*",
    }
    assert errors_of(site, wanted({}), orders=[Order(item) for item in look(site).foreign]) == []
    assert look(site).foreign == ()
    assert not site.may(ana, "SELECT", "sales_1", "t")


# roles


def test_a_role_of_ours_that_was_given_the_right_to_grant_loses_it(site, ana):
    settle(site, desired := wanted({"r": READ}, r={ana}))
    site.do(f"GRANT SELECT ON sales.orders TO {site.role('r')} WITH GRANT OPTION")
    site.do(f"GRANT BACKUP_ADMIN ON *.* TO {site.role('r')} WITH GRANT OPTION")
    site.do(f"GRANT BACKUP_ADMIN ON *.* TO {site.signs_in_as} WITH GRANT OPTION")
    assert {right.right for right in look(site).roles["r"]} >= {"GRANT OPTION", "BACKUP_ADMIN"}
    assert errors_of(site, desired) == []
    assert_settled(site, desired)
    assert site.may(ana, "SELECT", "sales", "orders")


def test_a_role_that_became_somebodys_account_is_made_again(site, ana):
    settle(site, desired := wanted({"r": READ}, r={ana}))
    for key in ("r", f"person:{ana}"):
        site.do(f"ALTER USER {site.role(key)} IDENTIFIED BY 'sesame' ACCOUNT UNLOCK")
    intruder = site.server.connect(site.identity.role_name("r"), "sesame")
    for _ in range(2):
        assert errors_of(site, desired, rounds=2) == []
    assert_settled(site, desired)
    assert site.may(ana, "SELECT", "sales", "orders")
    with pytest.raises(pymysql.err.OperationalError, match=r"(?i)lost|gone|disconnected|killed"):
        intruder.ping(reconnect=False)
    for key in ("r", f"person:{ana}"):
        with pytest.raises(pymysql.err.OperationalError, match="denied"):
            site.server.connect(site.identity.role_name(key), "sesame")


def test_a_role_that_comes_from_one_host_is_no_role_of_that_name(site, ana):
    settle(site, desired := wanted({"r": COSTS}, r={ana}))
    name = site.identity.role_name("r")
    [(mark,)] = site.do(f"SELECT ATTRIBUTE FROM information_schema.USER_ATTRIBUTES WHERE USER = '{name}'")
    site.do(f"CREATE USER {site.role('r')}@here ACCOUNT LOCK ATTRIBUTE '{mark}'")
    site.do(f"GRANT SELECT ON sales.orders TO {site.role('r')}@here")
    bo = site.person("bo")
    site.do(f"GRANT {site.role('r')}@here TO {site.account(bo)}")
    assert look(site).roles["r"] == COSTS
    assert look(site).members["r"] == {ana}
    [foreign] = look(site).foreign
    assert foreign.right == Right("table", ("sales", "orders"), "SELECT")
    assert errors_of(site, desired, orders=[Order(foreign)]) == []
    assert_settled(site, desired)
    assert look(site).foreign == ()


def test_roles_that_others_gave_by_default_stay_beside_ours(site, ana):
    site.do("CREATE ROLE theirs")
    site.do("GRANT SELECT ON sales.costs TO theirs")
    site.do(f"GRANT theirs TO {site.account(ana)}")
    site.do(f"SET DEFAULT ROLE theirs TO {site.account(ana)}")
    for desired, reads in ((wanted({"r": READ}, r={ana}), True), (wanted({}), False)):
        assert errors_of(site, desired) == []
        assert_settled(site, desired)
        assert site.may(ana, "SELECT", "sales", "orders") is reads
        assert site.may(ana, "SELECT", "sales", "costs")


# people who can do more


def test_what_is_revoked_in_part_is_told_with_the_power_over_everything(site, ana):
    with site.set("partial_revokes", "ON"):
        site.do(f"GRANT SELECT, INSERT ON *.* TO {site.account(ana)}")
        site.do(f"REVOKE SELECT ON sales.* FROM {site.account(ana)}")
        assert not site.may(ana, "SELECT", "sales", "orders")
        assert site.may(ana, "INSERT", "sales", "orders")
        assert bypasses(site, ana) == {"holds INSERT, SELECT on every database, but not all of it on sales"}
        settle(site, desired := wanted({"r": READ}, r={ana}))
        assert_settled(site, desired)
        assert site.may(ana, "SELECT", "sales", "orders")
        site.do(f"DROP USER {site.account(ana)}")
        site._people.clear()


def test_a_role_of_ours_that_has_everything_but_a_part_has_nothing_of_it_afterwards(site, ana):
    with site.set("partial_revokes", "ON"):
        settle(site, desired := wanted({"r": COSTS}, r={ana}))
        site.do(f"GRANT SELECT ON *.* TO {site.role('r')}")
        site.do(f"REVOKE SELECT ON sales.* FROM {site.role('r')}")
        assert plan_of(site, desired).extra == 1
        assert errors_of(site, desired) == []
        assert_settled(site, desired)
        assert site.may(ana, "SELECT", "sales", "costs")
        [(left,)] = site.do("SELECT COUNT(*) FROM mysql.user WHERE User_attributes LIKE '%Restrictions%'")
        assert left == 0


def test_who_may_act_as_another_is_told_as_a_bypass(site, ana):
    bo = site.person("bo")
    site.do(f"CREATE USER {site.account('go between')} IDENTIFIED WITH sha256_password BY 'sesame'")
    site.do(f"GRANT PROXY ON {site.account(bo)} TO {site.account('go between')}")
    settle(site, wanted({"r": READ}, r={bo}))
    with site.set("check_proxy_users", "ON"), site.set("sha256_password_proxy_users", "ON"):
        connection = site.server.connect("go between", "sesame")
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM sales.orders")
        connection.close()
    assert bypasses(site, "go between") == {f"may act as {bo}"}
    assert bypasses(site, bo) == set()


def test_a_role_that_everybody_has_is_told_as_everybodys(site, ana):
    site.do("CREATE ROLE `every one`")
    site.do("GRANT SELECT ON sales.costs TO `every one`")
    settle(site, wanted({"r": READ}))
    roles = f"'`every one`@`%`, {site.role('r')}'"
    with site.set("mandatory_roles", site.admin.escape(roles.strip("'"))):
        with site.set("activate_all_roles_on_login", "ON"):
            assert site.may(ana, "SELECT", "sales", "costs")
            assert site.may(ana, "SELECT", "sales", "orders")
        assert {(each.what, each.path) for each in look(site).bypasses if each.holder == "PUBLIC"} == {
            ("SELECT", ("sales", "costs")),
            ("SELECT", ("sales", "orders")),
        }
    assert Bypass("PUBLIC", "SELECT", ("sales", "costs")) not in look(site).bypasses


def test_dynamic_privileges_are_powers_and_with_them_a_person_is_out_of_reach(site, ana):
    site.do(f"GRANT SYSTEM_USER, ROLE_ADMIN ON *.* TO {site.account(ana)}")
    assert bypasses(site, ana) == {"holds ROLE_ADMIN, SYSTEM_USER on every database"}
    errors = errors_of(site, desired := wanted({"r": READ}, r={ana}))
    assert {type(error) for error in errors} == {Misconfigured}
    assert "SYSTEM_USER" in str(errors[0])
    assert not site.may(ana, "SELECT", "sales", "orders")
    site.do(f"GRANT SYSTEM_USER ON *.* TO {site.signs_in_as}")
    assert errors_of(site, desired) == []
    assert_settled(site, desired)
    assert site.may(ana, "SELECT", "sales", "orders")


def test_a_role_that_was_given_everything_is_told_to_be_out_of_reach_until_the_account_has_it_too(site, ana):
    settle(site, desired := wanted({"r": READ}, r={ana}))
    site.do(f"GRANT ALL ON *.* TO {site.role('r')} WITH GRANT OPTION")
    assert plan_of(site, desired).extra > 35
    assert {type(error) for error in errors_of(site, desired)} == {Misconfigured}
    site.do(f"GRANT ALL ON *.* TO {site.signs_in_as} WITH GRANT OPTION")
    assert errors_of(site, desired) == []
    assert_settled(site, desired)
    assert not site.may(ana, "SELECT", "sales", "costs")


# the way in


def test_the_console_comes_with_tls_and_the_password_plug_in_that_the_server_prefers(site, ana):
    assert site.do(f"SELECT plugin FROM mysql.user WHERE User = '{site.pusher}'") == [
        ("caching_sha2_password",)
    ]
    with site.set("require_secure_transport", "ON"):
        for _ in range(2):  # at first with the whole password, and then with what the server remembers
            settle(site, desired := wanted({"r": READ}, r={ana}))
            assert_settled(site, desired)
    session = Session(site.server.url(site.pusher, "secret"), site.identity, network(), MYSQL)
    [row] = session.rows("SHOW SESSION STATUS LIKE 'Ssl_version'")
    session.close()
    assert row["Value"] in ("TLSv1.2", "TLSv1.3")


def test_a_wrong_password_stops_the_backend(site, ana):
    site.do(f"ALTER USER {site.signs_in_as} IDENTIFIED BY 'another'")
    backend = site.backend()
    with pytest.raises(Misconfigured, match="Access denied"):
        backend.observe()
    assert [finding.blocks for finding in backend.check()] == [True]


def test_the_check_finds_nothing_amiss(site, ana):
    assert [finding.text for finding in findings(site) if not finding.ok] == []
