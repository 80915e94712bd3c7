"""What is fixed while a guard is there: Spark's analyser, and how statements reach databases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lakewarden.client.transport import NotConfigured
from lakewarden.spark import AccessDenied, options
from lakewarden.spark.pinned_settings import not_pushed
from tests.spark.conftest import Program

OTHER = "spark.sql.analyzer.singlePassResolver.enabled"
JDBC = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"


def test_a_guard_does_not_begin_where_the_other_analyser_was_chosen(
    plain: Any, since: Callable[[str], None]
) -> None:
    since("4.0")
    session = plain.newSession()
    session.conf.set(OTHER, "false")
    with pytest.raises(NotConfigured, match=OTHER):
        Program(session).guard.start()


def test_sessions_choose_their_analyser_again_after_the_guard(
    plain: Any, since: Callable[[str], None]
) -> None:
    since("4.0")
    known = getattr(getattr(plain._jvm.org.apache.spark.sql.internal, "SQLConf$"), "MODULE$")
    before = {name: known.isStaticConfigKey(name) for name in (OTHER, "spark.sql.warehouse.dir")}
    with Program(plain).guard:
        assert known.isStaticConfigKey(OTHER)
    assert {name: known.isStaticConfigKey(name) for name in before} == before == {**before, OTHER: False}


@pytest.mark.parametrize(
    ("url", "kept_out"),
    [
        ("jdbc:postgresql://host/shop", False),
        ("JDBC:Derby:memory:pg", False),
        ("jdbc:mysql://host/", True),
        ("jdbc:snowflake://host/", True),
        ("", True),
    ],
)
def test_statements_are_kept_out_of_databases_that_misread_values(url: str, kept_out: bool) -> None:
    given = {
        "spark.sql.catalog.a": JDBC,
        "spark.sql.catalog.a.url": url,
        "spark.sql.catalog.a.PUSHDOWNLIMIT": "true",
        "spark.sql.catalog.b": "org.example.Catalog",
    }
    kept = ("pushDownAggregate", "pushDownJoin", "pushDownPredicate") if kept_out else ()
    assert not_pushed(given) == {f"spark.sql.catalog.a.{name}": "false" for name in kept}


def test_a_name_that_a_database_would_shorten_is_refused(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "CREATE TABLE pg.sales.`" + "é" * 32 + "` (id INT)"
    spark = program.may("owner metalake demo")
    monkeypatch.setattr(options, "takes_names", lambda url: not url.startswith("jdbc:derby:"))
    with pytest.raises(AccessDenied, match="63 bytes"):
        spark.sql(long)


@pytest.mark.parametrize("act", ["CREATE NAMESPACE {}", "DROP NAMESPACE {}", "SHOW TABLES IN {}", "USE {}"])
def test_a_schema_whose_name_is_sql_or_a_pattern_is_refused(
    program: Program, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    spark = program.may("owner metalake demo")
    for name in ("`%`", "`sale%`", "`sales\\_`"):
        with pytest.raises(AccessDenied, match="takes it for a pattern"):
            spark.sql(act.format(f"pg.{name}"))
    monkeypatch.setattr(options, "quotes_names", lambda version: False)
    with pytest.raises(AccessDenied, match="passes such a name to the database as SQL"):
        spark.sql(act.format('pg.`x"; DROP TABLE b; --`'))


def test_names_with_quotes_are_quoted_from_4_3_on() -> None:
    assert [options.quotes_names(version) for version in ("3.5.6", "4.2.0", "4.3.0", "5.0.0")] == [
        *(False, False),
        *(True, True),
    ]


def test_postgresql_shortens_names_and_others_refuse_long_ones() -> None:
    assert not options.takes_names("jdbc:postgresql://host/shop")
    assert options.takes_names("jdbc:mysql://host/")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE NAMESPACE pg.words COMMENT 'a\\'; DROP TABLE b; --'",
        "COMMENT ON NAMESPACE pg.sales IS 'a\\'; DROP TABLE b; --'",
        "ALTER NAMESPACE pg.sales SET PROPERTIES ('comment' = 'a\\'; DROP TABLE b; --')",
    ],
)
def test_a_remark_on_a_schema_is_no_sql_of_the_databases_own(program: Program, statement: str) -> None:
    with pytest.raises(AccessDenied, match="a comment with quotes"):
        program.may("owner metalake demo").sql(statement)
