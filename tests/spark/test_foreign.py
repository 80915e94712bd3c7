"""Nothing of Spark's own process comes out through SQL: no variable, no property, no method of Java."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lakewarden.spark import AccessDenied
from tests.spark.conftest import Program

SAID = "SELECT '${env:PATH}', '${system:user.home}', '${spark.app.name}'"


@pytest.mark.parametrize("name", ["reflect", "java_method", "try_reflect"])
def test_a_method_of_java_is_refused_by_the_functions_name(
    program: Program, since: Callable[[str], None], name: str
) -> None:
    since("4.0" if name == "try_reflect" else "3.5")
    spark = program.may("owner metalake demo")
    for session in (spark, spark.newSession()):
        with pytest.raises(AccessDenied, match=f"may not run function {name}"):
            session.sql(f"SELECT {name}('java.lang.System', 'getenv', 'PATH')")
        with pytest.raises(AccessDenied, match=f"may not run function {name}"):
            session.range(1).selectExpr(f"{name.upper()}('java.lang.System', 'getProperty', 'user.home')")


def test_a_statement_reads_neither_the_environment_nor_properties(program: Program) -> None:
    spark = program.may("owner metalake demo")
    for session in (spark, spark.newSession()):
        env, property_, setting = session.sql(SAID).first()
        assert (env, property_) == ("${env:PATH}", "${system:user.home}")
        assert setting == spark.conf.get("spark.app.name")


def test_both_are_back_when_the_guard_ends(program: Program, plain: Any) -> None:
    program.guard.stop()
    try:
        for session in (plain, plain.newSession()):
            assert not session.sql("SELECT '${env:PATH}' AS path").first().path.startswith("$")
            called = session.sql("SELECT reflect('java.util.UUID', 'randomUUID') AS made")
            assert len(called.first().made) == 36
    finally:
        program.guard.start()


def test_a_parser_of_another_make_is_not_taken_for_closed(plain: Any) -> None:
    from lakewarden.spark import foreign_calls

    with pytest.raises(LookupError, match="substitutes variables in an unknown way"):
        foreign_calls.close(plain._jvm, plain._jvm.java.lang.Object())
