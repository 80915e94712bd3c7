"""The connection to PostgreSQL, and who needs no grant at all."""

from __future__ import annotations

import tempfile

import pytest

from lakewarden.backends.base import Bypass, Right, Step
from lakewarden.backends.errors import Gone, Misconfigured, Rejected, Transient
from lakewarden.backends.testing.contract import assert_settled
from lakewarden.backends.testing.kit import look, settle, wanted
from policies.sync.backends.postgresql import kind as postgresql
from policies.sync.connections.destinations import network
from tests.backends.tries import at_least_16, errors_of, findings, newest_only, try_step
from tests.backends.worlds import COSTS, READ

# who needs no grant


def test_who_can_do_it_anyway_is_told(shop, ana):
    chief, reader, boss, nobody = (shop.person(name) for name in ("chief", "reader", "boss", "nobody"))
    shop.do("ALTER ROLE {} SUPERUSER", chief)
    shop.do("GRANT pg_read_all_data TO {}", reader)
    shop.do("ALTER ROLE {} BYPASSRLS", reader)
    shop.do("GRANT {} TO {}", shop.owner, boss)
    shop.do("GRANT {} TO {}", boss, nobody)
    shop.do("GRANT SELECT ON sales.costs TO PUBLIC")
    shop.do("GRANT CONNECT ON DATABASE {} TO PUBLIC", shop.database)
    bypasses = set(look(shop).bypasses)
    assert {
        Bypass(chief, "superuser"),
        Bypass(reader, "reads every table (pg_read_all_data)"),
        Bypass(reader, "passes by row security"),
        Bypass(boss, f"owns the schema, as {shop.owner}", ("sales",)),
        Bypass(boss, f"owns 2 tables or views, as {shop.owner}", ("sales",)),
        Bypass(nobody, f"owns 2 tables or views, as {shop.owner}", ("sales",)),
        Bypass(boss, f"owns the database, as {shop.owner}", ()),
        Bypass("PUBLIC", "SELECT", ("sales", "costs")),
        Bypass("PUBLIC", "CONNECT", ()),
    } <= bypasses
    assert not [item for item in bypasses if item.holder in (ana, shop.owner)]
    assert [item.what for item in bypasses if item.holder == chief] == ["superuser"]


@pytest.mark.parametrize("role", ["owner", "pg_read_all_data"])
def test_who_can_make_themselves_a_member_of_whoever_can_is_told(shop, ana, role):
    at_least_16(shop)
    role = getattr(shop, role, role)
    shop.do("GRANT {} TO {} WITH ADMIN TRUE, INHERIT FALSE, SET FALSE", role, ana)
    told = [bypass.what for bypass in look(shop).bypasses if bypass.holder == ana]
    assert any(role in what for what in told)
    assert not shop.may(ana, "SELECT", "sales", "costs")


@pytest.mark.parametrize("who", ["PUBLIC", "person", "group"])
def test_who_runs_a_routine_with_the_rights_of_its_owner_is_told(shop, ana, who):
    group = f"runners {ana}"
    shop.do("CREATE ROLE {} NOLOGIN", group)
    shop.do("GRANT {} TO {}", group, ana)
    shop.do("CREATE FUNCTION sales.leak() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT 1::bigint'")
    shop.do("CREATE FUNCTION sales.plain() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'")
    shop.do("ALTER FUNCTION sales.leak() OWNER TO {}", shop.owner)
    if who != "PUBLIC":
        shop.do("REVOKE EXECUTE ON FUNCTION sales.leak() FROM PUBLIC")
        shop.do("GRANT EXECUTE ON FUNCTION sales.leak() TO {}", ana if who == "person" else group)
    runs = f"runs 1 routine with the rights of {shop.owner}"
    holder = "PUBLIC" if who == "PUBLIC" else ana
    by = f"{runs}, as {group}" if who == "group" else runs
    runners = [(item.holder, item.what, item.path) for item in look(shop).bypasses if "runs" in item.what]
    assert runners == [(holder, by, ("sales",))]


# the connection


def test_check_tells_what_to_mend(shop, ana):
    old = shop.admin.info.server_version < 160000
    always = [finding for finding in findings(shop) if not finding.ok]
    assert ["cannot keep people from SET ROLE" in finding.text for finding in always] == [True] * old
    shop.table("sales", "others", owner=shop.other)
    shop.do("REVOKE {} FROM {}", shop.other, shop.pusher)
    shop.do("GRANT CONNECT ON DATABASE {} TO PUBLIC", shop.database)
    shop.do("ALTER ROLE {} NOCREATEROLE", shop.pusher)
    problems = [finding for finding in findings(shop) if not finding.ok and finding not in always]
    assert [finding.blocks for finding in problems] == [True, True, False, False]
    texts = " / ".join(finding.text for finding in problems)
    assert "CREATEROLE" in texts
    options = "" if old else " WITH INHERIT FALSE, SET TRUE"
    assert (
        f'cannot act as {shop.other}, who owns objects: GRANT "{shop.other}" TO "{shop.pusher}"{options}'
        in texts
    )
    assert f'GRANT USAGE ON SCHEMA "sales" TO "{shop.other}"' in texts
    assert "REVOKE CONNECT" in texts
    [error] = {
        str(error)
        for error in errors_of(settle(shop, wanted({"r": READ})))
        if isinstance(error, Misconfigured)
    }
    assert "permission denied to create role" in error


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("postgresql://u:geheim@127.0.0.1:1/x", Transient),
        ("postgresql://u:geheim@/x?host=/nowhere", Misconfigured),
        (f"postgresql://u:geheim@/x?host={tempfile.gettempdir()}/nowhere", Transient),
        ("postgresql://u:gehei%ZZm@localhost/x", Misconfigured),
        ("postgresql://u:geheim@localhost:port/x", Transient),
        ("mysql://u:geheim@localhost/x", Misconfigured),
        ("postgresql://u:geheim@localhost/x\0", Misconfigured),
    ],
)
def test_a_bad_address_is_an_error_in_words_without_the_password(url, kind):
    backend = postgresql.open(url, realm="r", mark="m", network=network())
    with pytest.raises(kind) as failed:
        backend.observe()
    assert "gehei" not in str(failed.value)
    assert [finding.blocks for finding in backend.check()] == [True]
    backend.close()


@pytest.mark.parametrize(
    ("privilege", "kind", "rights"),
    [
        ("USE_CATALOG", "catalog", ("CONNECT",)),
        ("CREATE_SCHEMA", "catalog", ("CREATE",)),
        ("USE_SCHEMA", "schema", ("USAGE",)),
        ("CREATE_TABLE", "schema", ("CREATE",)),
        ("SELECT_TABLE", "table", ("SELECT",)),
        ("MODIFY_TABLE", "table", ("SELECT", "INSERT", "UPDATE", "DELETE")),
        ("SELECT_VIEW", "view", ("SELECT",)),
        ("SELECT_TABLE", "view", ()),
        ("SELECT_TABLE", "schema", ()),
        ("MANAGE_GRANTS", "table", ()),
        ("no such", "catalog", ()),
    ],
)
def test_privileges_are_carried_by_these_rights(privilege, kind, rights):
    assert postgresql.open("", realm="r", mark="m", network=network()).rights_for(privilege, kind) == rights


@newest_only
@pytest.mark.parametrize(
    "step",
    [
        Step("give", role="r", rights=(Right("table", ("sales\0", "orders"), "SELECT"),)),
        Step("take", role="r", rights=(Right("schema", ("a\0b",), "USAGE"),)),
        Step("switch", person="an\0a", joins=("r",)),
    ],
    ids=lambda step: step.kind,
)
def test_a_nul_never_shortens_a_name(shop, ana, step):
    settle(shop, wanted({"r": COSTS}))
    assert type(try_step(shop, step)) in (Rejected, Gone)


@newest_only
def test_hostile_functions_in_public_are_never_run(shop, ana):
    """With `public` on the path these would be nearer than those of the system for text arguments."""
    shop.do("GRANT CREATE, USAGE ON SCHEMA public TO PUBLIC")
    shop.do("""CREATE FUNCTION public.format_type(oid, integer) RETURNS text LANGUAGE plpgsql
               AS 'BEGIN RAISE EXCEPTION $$caught$$; END'""")
    shop.do("""CREATE FUNCTION public.obj_description(oid, text) RETURNS text LANGUAGE plpgsql
               AS 'BEGIN RAISE EXCEPTION $$caught$$; END'""")
    shop.do(f"ALTER DATABASE {shop.database} SET search_path = public, pg_catalog")
    assert look(shop).complete


@newest_only
def test_more_objects_than_one_transaction_holds(shop, ana):
    shop.admin.execute(f"""DO $$ BEGIN FOR n IN 1..1100 LOOP
        EXECUTE format('CREATE TABLE sales.m%s (x int)', n);
        EXECUTE format('ALTER TABLE sales.m%s OWNER TO {shop.owner}', n);
        END LOOP; END $$""")
    many = {Right("table", ("sales", f"m{n}"), "SELECT") for n in range(1, 1101)}
    settle(shop, desired := wanted({"r": READ | many}, r={ana}))
    assert_settled(shop, desired)
    settle(shop, desired := wanted({"r": READ}, r={ana}))
    assert_settled(shop, desired)
