"""Our roles in PostgreSQL: options of memberships, marks, dropping."""

from __future__ import annotations

import psycopg
import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Desired, Right, Step
from lakewarden.backends.errors import Rejected, Transient
from lakewarden.backends.testing.contract import assert_settled
from lakewarden.backends.testing.kit import look, plan_of, settle, wanted
from policies.sync.backends.postgresql import kind as postgresql
from policies.sync.backends.postgresql.names import Identity
from policies.sync.connections.destinations import network
from tests.backends.tries import at_least_16, errors_of, newest_only, try_step
from tests.backends.worlds import READ, PostgresSite

# memberships


def test_nobody_can_become_the_role_they_are_in(shop, ana):
    at_least_16(shop)
    settle(shop, wanted({"r": READ}, r={ana}))
    with psycopg.connect(shop.url(ana)) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SET ROLE {shop.role('r')}")


@pytest.mark.parametrize("options", ["SET TRUE", "INHERIT FALSE", "ADMIN TRUE"])
@pytest.mark.parametrize("stays", [True, False])
def test_other_options_of_a_membership_are_put_right(shop, ana, options, stays):
    at_least_16(shop)
    settle(shop, wanted({"r": READ}, r={ana}))
    with psycopg.connect(shop.url(shop.pusher), autocommit=True) as connection:
        connection.execute(f'GRANT {shop.role("r")} TO "{ana}" WITH {options}')
    desired = wanted({"r": READ}, r={ana} if stays else set())
    assert len(plan_of(shop, desired).steps) == 1
    settle(shop, desired)
    assert_settled(shop, desired)
    assert shop.may(ana, "SELECT", "sales", "orders") is stays


@pytest.mark.parametrize("stays", [True, False])
def test_who_was_made_administrator_of_a_role_of_ours_is_so_no_longer(shop, ana, stays):
    settle(shop, wanted({"r": READ}, r={ana}))
    with psycopg.connect(shop.url(shop.pusher), autocommit=True) as connection:
        connection.execute(f'GRANT {shop.role("r")} TO "{ana}" WITH ADMIN OPTION')
    settle(shop, desired := wanted({"r": READ}, r={ana} if stays else set()))
    assert_settled(shop, desired)
    assert shop.may(ana, "SELECT", "sales", "orders") is stays


def test_who_may_only_administer_a_role_of_ours_is_told(shop, ana):
    at_least_16(shop)
    settle(shop, wanted({"r": READ}))
    shop.do("GRANT {} TO {} WITH ADMIN TRUE, INHERIT FALSE, SET FALSE", shop.role("r"), ana)
    [foreign] = [item for item in look(shop).foreign if item.right.kind == "role"]
    assert (foreign.right.path, foreign.holder) == ((shop.role("r"),), ana)


@newest_only
def test_a_role_of_ours_that_somebody_can_sign_in_as_is_told(shop, ana):
    settle(shop, wanted({"r": READ}, r={ana}))
    assert look(shop).unknown == ()
    shop.do("ALTER ROLE {} LOGIN BYPASSRLS", shop.role("r"))
    [unknown] = look(shop).unknown
    assert unknown.endswith(f"ALTER ROLE {shop.role('r')} NOLOGIN NOBYPASSRLS")


def test_a_membership_given_by_others_is_foreign(shop, ana):
    at_least_16(shop)
    settle(shop, wanted({"r": READ}))
    shop.do("GRANT {} TO {}", shop.role("r"), ana)
    shop.do("GRANT {} TO {}", shop.other, shop.role("r"))
    assert_settled(shop, wanted({"r": READ}))
    rights = {(item.right, item.holder, item.grantor) for item in look(shop).foreign}
    assert (Right("role", (shop.role("r"),), "MEMBER"), ana, "postgres") in rights
    assert (Right("role", (shop.other,), "MEMBER"), shop.role("r"), "postgres") in rights


def test_groups_of_others_are_told_with_their_members(shop, ana):
    shop.do("GRANT {} TO {}", shop.other, ana)
    assert look(shop).groups[shop.other] == {ana}


@newest_only
def test_someone_who_can_no_longer_sign_in_still_loses_their_role(shop, ana):
    settle(shop, wanted({"r": READ}, r={ana}))
    shop.do("ALTER ROLE {} NOLOGIN", ana)
    settle(shop, desired := wanted({"r": READ}))
    assert_settled(shop, desired)
    assert look(shop).members["r"] == frozenset()
    assert ana not in look(shop).people


# marks


def test_two_catalogs_of_one_server_keep_out_of_each_others_way(server_url):
    first, two = PostgresSite(server_url, realm="same"), PostgresSite(server_url, realm="same")
    for site in (first, two):
        site.schema("sales")
        site.table("sales", "orders")
    ana = first.person("ana")
    there = postgresql.open(two.url(two.pusher), realm="same", mark="second", network=network())
    settle(first, desired := wanted({"r": READ}, r={ana}))
    list(there.apply(planning.plan(desired, there.observe())))
    assert planning.plan(desired, there.observe()).steps == ()
    list(there.apply(planning.plan(Desired({}, {}), there.observe())))
    assert there.observe().unknown == ()
    assert_settled(first, desired)
    there.close()
    settle(first, Desired({}, {}))
    first.close()
    two.close()


@newest_only
@pytest.mark.parametrize(
    ("name", "comment", "suspected"),
    [
        ("right", None, True),
        ("right", "somebody's", True),
        ("right", '{"by": "lakewarden", "realm": "%s", "backend": "shop", "key": "other", "v": 1}', True),
        ("wrong", '{"by": "lakewarden", "realm": "%s", "backend": "shop", "key": "r", "v": 1}', True),
        ("wrong", '{"by": "lakewarden", "realm": "%s", "backend": "shop", "key": 7, "v": 1}', True),
        ("wrong", "[1, 2]", False),
        ("wrong", '{"by": "another program"}', False),
    ],
)
def test_a_role_that_only_looks_like_ours_is_left_alone(shop, ana, name, comment, suspected):
    role = shop.role("r") if name == "right" else f"theirs {shop.realm}"
    shop.do("CREATE ROLE {}", role)
    if comment:
        quoted = psycopg.sql.Literal(comment.replace("%s", shop.realm)).as_string()
        shop.admin.execute(f'COMMENT ON ROLE "{role}" IS {quoted}')
    assert look(shop).unknown == ((role,) if suspected else ())
    assert look(shop).roles == {}
    if name == "right":
        errors = errors_of(settle(shop, wanted({"r": READ}, r={ana})))
        assert type(errors[0]) is Rejected
        assert all("waits for what failed: make_role" in str(error) for error in errors[1:-1])
        assert isinstance(try_step(shop, Step("drop_role", role="r")), Rejected)
    assert look(shop).unknown == ((role,) if suspected else ())
    shop.do("DROP ROLE {}", role)


@newest_only
def test_the_mark_tells_a_reader_what_the_role_is_for(shop, ana):
    settle(shop, Desired({"r": READ}, {}, {"r": "role 'reader' – Größe"}))
    [(comment,)] = shop.admin.execute(
        "SELECT shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = %s", (shop.role("r"),)
    ).fetchall()
    assert '"key": "r"' in comment
    assert "reader" in comment


@pytest.mark.parametrize("realm", ["r", "R" * 300, "räume für alle", "🙂", 'a"b', "pg_x", "a.b-c d", "\0"])
def test_a_role_name_is_short_and_plain_whatever_the_realm(realm):
    name = Identity(realm, "m").role_name("k\0" + "x" * 500)
    assert len(name.encode()) <= 43
    assert name.startswith("lw_")
    assert name.replace("_", "").isalnum()
    assert name != Identity(realm, "n").role_name("k\0" + "x" * 500)


# dropping


@newest_only
def test_a_role_that_owns_something_is_not_dropped(shop, ana):
    settle(shop, wanted({"r": READ}, r={ana}))
    shop.do("CREATE TABLE sales.mine (x int)")
    shop.do("ALTER TABLE sales.mine OWNER TO {}", shop.role("r"))
    [error] = errors_of(settle(shop, Desired({}, {})))
    assert isinstance(error, Rejected)
    assert "owns" in str(error)
    assert shop.admin.execute("SELECT to_regclass('sales.mine') IS NOT NULL").fetchone() == (True,)


@newest_only
def test_a_role_with_rights_in_another_database_is_not_dropped(shop, server_url, ana):
    other = PostgresSite(server_url)
    settle(shop, wanted({"r": READ}, r={ana}))
    other.schema("sales")
    other.do("GRANT USAGE ON SCHEMA sales TO {}", shop.role("r"))
    [error] = errors_of(settle(shop, Desired({}, {})))
    assert isinstance(error, Rejected)
    assert other.database in str(error)
    other.close()


@newest_only
def test_a_role_that_got_a_member_meanwhile_is_not_dropped(shop, ana):
    settle(shop, wanted({"r": READ}))
    stale = plan_of(shop, Desired({}, {}))
    settle(shop, wanted({"r": READ}, r={ana}))
    backend = shop.backend()
    errors = errors_of(backend.apply(stale))
    backend.close()
    assert [type(error) for error in errors] == [Transient]
    assert look(shop).members["r"] == {ana}


def test_a_superuser_drops_a_role_that_also_got_a_right_on_a_function(server_url):
    shop = PostgresSite(server_url, pusher_is_superuser=True)
    shop.schema("sales")
    shop.do("CREATE FUNCTION sales.f() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    settle(shop, wanted({"r": frozenset({Right("schema", ("sales",), "USAGE")})}))
    shop.do("GRANT EXECUTE ON FUNCTION sales.f() TO {}", shop.role("r"))
    assert errors_of(settle(shop, Desired({}, {}))) == []
    assert look(shop).roles == {}
    shop.close()
