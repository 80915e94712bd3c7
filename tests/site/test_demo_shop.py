"""The demo's database is real: owners, logins, grants made by hand, and an account for the console."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from authzsite.demo import passwords, shop
from authzsite.management.commands import demo_query

ROOT = Path(__file__).resolve().parents[2]

FOREIGN = {
    ("legacy_bi", "sales", "orders", "SELECT", "shop_owner"),
    ("legacy_bi", "sales", "customers", "SELECT", "shop_owner"),
    ("PUBLIC", "stock", "countries", "SELECT", "shop_owner"),
    ("carl", "crm", "contacts", "SELECT", "dora"),
    ("mia", "billing", "invoices", "SELECT", "tomas"),
    ("report_readers", "stock", "levels", "SELECT", "shop_owner"),
    ("nightly_load", "sales", "orders", "UPDATE", "shop_owner"),
}
GRANTS = """
SELECT coalesce(r.rolname, 'PUBLIC'), n.nspname, c.relname, a.privilege_type, g.rolname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace CROSS JOIN LATERAL aclexplode(c.relacl) a
LEFT JOIN pg_roles r ON r.oid = a.grantee JOIN pg_roles g ON g.oid = a.grantor
WHERE n.nspname !~ '^pg_|information_schema' AND r.rolname IS DISTINCT FROM 'shop_owner'
"""
TABLES = """
SELECT n.nspname, c.relname, obj_description(c.oid, 'pg_class'), pg_get_userbyid(c.relowner)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v') AND n.nspname !~ '^pg_|information_schema'
"""


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def test_there_is_something_to_govern(demo_shop: shop.ShopInfo) -> None:
    tables = rows(demo_shop.superuser_url, TABLES)
    assert {schema for schema, *_ in tables} == {
        "sales",
        "billing",
        "crm",
        "marketing",
        "stock",
        "raw_events",
    }
    assert 40 <= len(tables) <= 80
    assert {owner for *_, owner in tables} == {shop.OWNER}
    assert all(comment for _, _, comment, _ in tables)
    for schema, name, *_ in tables:
        assert rows(demo_shop.superuser_url, f'SELECT 1 FROM {schema}."{name}" LIMIT 1'), (
            f"{schema}.{name} is empty"
        )


def test_somebody_granted_by_hand(demo_shop: shop.ShopInfo) -> None:
    assert set(rows(demo_shop.superuser_url, GRANTS)) >= FOREIGN


@pytest.mark.parametrize("user", passwords.LOGINS)
def test_everybody_needs_their_password(demo_shop: shop.ShopInfo, user: str) -> None:
    with pytest.raises(psycopg.OperationalError, match=r"no password|password authentication failed"):
        psycopg.connect(demo_shop.server.url(user, shop.DATABASE))
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(demo_shop.server.url(user, shop.DATABASE, "wrong"))


def test_ana_stays_outside_and_mia_sees_only_what_was_given(demo_shop: shop.ShopInfo) -> None:
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(demo_shop.url_for("ana"))
    assert rows(demo_shop.url_for("mia"), "SELECT count(*) FROM billing.invoices") == [(600,)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        rows(demo_shop.url_for("mia"), "SELECT 1 FROM sales.orders")


def test_the_console_acts_as_owner_only_when_it_says_so(demo_shop: shop.ShopInfo) -> None:
    grant = "GRANT SELECT ON sales.channels TO noah"
    with psycopg.connect(demo_shop.url_for(shop.PUSHER)) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute(grant)
        connection.execute("SET LOCAL ROLE shop_owner")
        connection.execute(grant)
        connection.rollback()
        role = connection.execute("SELECT rolsuper, rolcreaterole FROM pg_roles WHERE rolname = 'lakewarden'")
        assert role.fetchone() == (False, True)


def test_making_it_again_changes_nothing(demo_shop: shop.ShopInfo) -> None:
    before = sorted(rows(demo_shop.superuser_url, GRANTS))
    with psycopg.connect(demo_shop.superuser_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE sales.kept AS SELECT 1 AS one")
    try:
        again = shop.ensure(demo_shop.server.home, on=demo_shop.server)
        assert sorted(rows(again.superuser_url, GRANTS)) == before
        assert rows(again.superuser_url, "SELECT one FROM sales.kept") == [(1,)]
    finally:
        with psycopg.connect(demo_shop.superuser_url, autocommit=True) as connection:
            connection.execute("DROP TABLE sales.kept")


def ask(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "demo_query", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_command_shows_the_rows() -> None:
    done = ask("--as", "legacy_bi", "select order_id, status from sales.orders order by 1 limit 2")
    assert done.stdout == "order_id  status\n--------  -------\n100001    shipped\n100002    paid\n2 rows\n"
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("user", "query", "line"),
    [
        ("ana", "select 1", 'ana: permission denied for database "shop"\n'),
        ("mia", "select 1 from sales.orders", "mia: permission denied for schema sales (42501)\n"),
        ("mia", "selec", 'mia: syntax error at or near "selec" (42601)\n'),
    ],
)
def test_or_the_refusal_in_one_line(
    user: str,
    query: str,
    line: str,
    demo_shop: shop.ShopInfo,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(shop, "ensure", lambda *_: demo_shop)
    assert ended("--as", user, query) == 1
    assert capsys.readouterr() == ("", line)


def test_bad_use_is_exit_2() -> None:
    assert ended("--as", "nobody", "select 1") == 2


def ended(*words: str) -> Any:
    """The exit code of the command, run as `manage.py` runs it, but in this process."""
    with pytest.raises(SystemExit) as left:
        demo_query.Command().run_from_argv(["manage.py", "demo_query", *words])
    return left.value.code


def test_passwords_are_kept_for_us_alone(tmp_path: Path) -> None:
    first, second = passwords.load(tmp_path), passwords.load(tmp_path)
    assert first == second
    assert (tmp_path / "demo.json").stat().st_mode & 0o777 == 0o600
    every = [person.password for person in first.console] + list(first.database.values())
    assert len(set(every)) == len(every)
