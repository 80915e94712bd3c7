"""Every kind of statement through the real Spark: what it asks of the console and what it used."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakewarden.spark import AccessDenied
from tests.spark.conftest import Program
from tests.spark.statements import REFUSED, SQL

EVERYTHING = "owner metalake demo"


@pytest.fixture(scope="module")
def folders(plain: Any, place: Path) -> dict[str, str]:
    known, unknown = place / "files", place / "elsewhere"
    for folder in (known, unknown):
        plain.range(3).write.parquet(str(folder / "known"))
    (known / "words.txt").write_text("1\x01one\n")
    return {"T/": f"{known}/", "U/": f"{unknown}/"}


def in_folders(text: str, folders: dict[str, str]) -> str:
    """The text with the folders that `T/` and `U/` stand for."""
    return re.sub(r"(?<![\w/])[TU]/", lambda match: folders[match[0]], text)


def facts(right: str, folders: dict[str, str]) -> str:
    return f"place {folders['T/']} fileset lake.hr.files\n{right}"


def asked(refusal: AccessDenied) -> set[str]:
    return {
        f"{each.question.action} {each.question.resource.type}:{each.question.resource.full_name}"
        for each in refusal.refusals
    }


@pytest.mark.parametrize(("number", "text", "takes", "version"), SQL, ids=[row[0] for row in SQL])
def test_a_statement_asks_for_all_it_takes(
    program: Program,
    plain: Any,
    folders: dict[str, str],
    since: Callable[[str], None],
    number: str,
    text: str,
    takes: str,
    version: str,
) -> None:
    since(version or "3.5")
    statement, _, first = in_folders(text, folders).partition(" -- ")
    expected = set(filter(None, takes.split("; ")))
    if first:
        plain.sql(first)
    spark = program.may(facts("", folders))
    if expected:
        with pytest.raises(AccessDenied) as refused:
            spark.sql(statement).collect()
        assert asked(refused.value) == expected
        assert program.used() == set()

    spark = program.may(facts(EVERYTHING, folders))
    try:
        spark.sql(statement).collect()
    except Exception as error:
        if "not support" not in str(error):  # tables of files cannot be merged or updated; Spark says so late
            raise
    assert expected <= program.used()
    spark.sql("USE spark_catalog.default")


@pytest.mark.parametrize(("number", "text", "named", "version"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_nobody_can_decide_on_is_refused_by_name(
    program: Program, folders: dict[str, str], number: str, text: str, named: str, version: str
) -> None:
    spark = program.may(facts(EVERYTHING, folders))
    with pytest.raises(AccessDenied) as refused:
        spark.sql(in_folders(text, folders)).collect()
    assert in_folders(named, folders) in str(refused.value)
