"""How a reader of docs/seeds.md sees a requirement work: the question or call, and the chapter about it."""

from __future__ import annotations

import csv
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.seeds import Row
from tests.seeds.changed_operations import CORE
from tests.seeds.mutant import ROOT

GRANTING = "PUT /api/metalakes/{metalake}/permissions/roles/{role}/{type}/{full_name}/grant"
MOST = 2
"""Questions and calls that are named beside a row."""


@cache
def chapters() -> list[tuple[str, str, str]]:
    with (Path(__file__).parent / "chapters.tsv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(line["law"], line["place"], line["chapter"]) for line in reader]


def chapter(row: Row) -> str:
    """The chapter, as a link from docs/, named for the row or whose place begins its own the longest."""
    fitting = [each for each in chapters() if each[0] == row.law and row.place.startswith(each[1])]
    own = [each for each in chapters() if each[1] == row.id]
    return (own or sorted(fitting, key=lambda each: -len(each[1])))[0][2]


@cache
def questions() -> dict[str, list[str]]:
    """Each row that an operation or a call shows, with what to ask or to call."""
    questions_: dict[str, list[str]] = defaultdict(list)
    for row, text in (*_of_cdap(), *_of_herd(), *_of_gravitino()):
        if text not in questions_[row]:
            questions_[row].append(text)
    return questions_


def trying(row: Row) -> str:
    """The cell of a row."""
    asked = [f"`{text}`" for text in questions().get(row.id, ())[:MOST]]
    link = chapter(row)
    return ", ".join([*asked, f"[{link.partition('#')[0].removesuffix('.md')}]({link})"])


def _of_cdap() -> Iterator[tuple[str, str]]:
    from tests.cdap_law.tables import MAKERS, PARTS, ROWS

    for operation, seed in CORE.items():
        yield seed, f"securekey.{operation}"
    for rows in ROWS.values():
        for row in rows:
            condition = f', {{"condition": "{row.condition}"}}' if row.condition else ""
            yield from ((seed, f"{row.operation}{condition}") for seed in row.rows)
    for makers in MAKERS.values():
        yield from ((seed, f"{operation}") for operation, seeds in makers for seed in seeds)
    for part in PARTS:
        yield from ((seed, f'{part.table}, {{"condition": "{part.condition}"}}') for seed in part.rows)


def _of_herd() -> Iterator[tuple[str, str]]:
    from lakewarden.law.dialects.herd.operations import FREE_OPERATIONS
    from tests.herd.tables import FREE

    for row in _table("tests/herd/scope.toml")["row"]:
        yield from ((seed, row["id"]) for seed in row.get("rows", ()))
        for method, seed in row.get("seed", {}).items():
            yield seed, f'{row["id"]}, {{"method": "{method}"}}'
        for field, seeds in row.get("field_rows", {}).items():
            yield from ((seed, f'{row["id"]}, {{"field": "{field}"}}') for seed in seeds)
    yield from ((FREE[words], name) for name, words in FREE_OPERATIONS.items() if words in FREE)


def _of_gravitino() -> Iterator[tuple[str, str]]:
    from authzsite.api.gravitino import call_table

    routes = {route.operation: f"{route.method} /api/{route.path}" for route in call_table.every()}
    table = _table("tests/law/seed_calls.toml")
    for call in (*table["call"], *table["list"]):
        type = call.get("children", "").title()
        call_text = routes.get(call.get("operation") or f"{type}.list{type}s", "")
        for rows in call["rows"].values() if call_text else ():
            yield from ((row, call_text) for row in ([rows] if isinstance(rows, str) else rows))
    for privilege in _table("tests/law/gravitino.toml")["privilege"]:
        for row in (*privilege.get("rows", {}).values(), *privilege.get("reach", {}).values()):
            yield row, GRANTING


def _table(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text())
