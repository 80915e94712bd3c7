"""The two tables of what a Herd asks: the page of 2016 by its rows, the code by service and method."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lakewarden.law.dialects.herd.permissions import ON_NAMESPACE

HERE = Path(__file__).parent
PERMISSIONS = ("READ", "WRITE", "EXECUTE", "GRANT", "WRITE_DESCRIPTIVE_CONTENT", "WRITE_ATTRIBUTE")
assert PERMISSIONS == ON_NAMESPACE


class Case(NamedTuple):
    """One question: any one of the sets of `ways`, held on the namespace, is enough."""

    operation: str
    ways: tuple[frozenset[str], ...]
    role: str = ""
    properties: dict[str, dict[str, str]] = {}

    def allows(self, held: Iterable[str], role: str = "") -> bool:
        return any(way <= set(held) for way in self.ways) and (not self.role or role == self.role)

    @property
    def title(self) -> str:
        return "-".join(
            [self.operation, *(text for item in self.properties.values() for text in item.values())]
        )


def _rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tomllib.loads((HERE / "scope.toml").read_text())["row"]
    return rows


def _of_row(row: dict[str, Any]) -> Iterable[Any]:
    name, role = row["id"], row.get("role", "")
    marks = [pytest.mark.seed(*row["rows"])] if "rows" in row else []
    yield _param(Case(name, (frozenset(row["needs"]),), role), marks)
    for method, code in row.get("methods", {}).items():
        shown = row.get("seed", {}).get(method)
        case = Case(name, (frozenset([code]),), role, {"action": {"method": method}})
        yield _param(case, [pytest.mark.seed(shown)] if shown else [])
    for field, code in row.get("fields", {}).items():
        marks = [pytest.mark.seed(*row.get("field_rows", {}).get(field, ()))]
        yield _param(Case(name, (frozenset([code]),), role, {"resource": {"field": field}}), marks)


def _of_method(name: str, rules: list[tuple[str, list[str]]]) -> Iterable[Any]:
    if len({tuple(codes) for _, codes in rules}) == 1:
        yield _param(Case(name, tuple(frozenset([code]) for code in rules[0][1])))
        return
    yield _param(Case(name, (frozenset(code for _, codes in rules for code in codes),)))
    for field, [code] in rules:
        yield _param(Case(name, (frozenset([code]),), "", {"resource": {"field": field}}))


def _param(case: Case, marks: Iterable[Any] = ()) -> Any:
    return pytest.param(case, id=case.title, marks=list(marks))


METHODS: dict[str, Any] = json.loads((HERE / "methods.json").read_text())
SCOPE = [item for row in _rows() for item in _of_row(row)]
CODE = [item for name, rules in METHODS.items() for item in _of_method(name, rules)]
EVERY = [*SCOPE, *CODE]
FREE = {
    "Namespace CRUD": "S3-097",
    "Data Provider CRUD": "S3-098",
    "PartitionKeyGroups CRUD": "S3-099",
    "ExpectedPartitionValues CRUD": "S3-100",
    "Storage CRUD": "S3-101",
    "StoragePlatforms CRUD": "S3-102",
    "File Types Read": "S3-103",
}
