"""The table of facts for tests of jobs: what it understands, and what it says when it does not."""

from __future__ import annotations

import pytest

from lakewarden.law.objects import ObjectRef
from lakewarden.testing import BadFacts, snapshot

FACTS = """
# what Ana may
allow  USE_CATALOG   catalog  lake
allow  USE_SCHEMA    schema   lake.sales
allow  SELECT_TABLE  schema   lake.sales
deny   SELECT_TABLE  table    lake.sales.cards
owner                table    lake.sales."odd name"
place  s3a://lake/raw/ fileset lake.sales.raw
"""


def table(name: str) -> ObjectRef:
    return ObjectRef("table", "demo", ("lake", "sales", name))


@pytest.mark.parametrize(
    ("action", "name", "allowed"),
    [
        ("read", "orders", True),
        ("write", "orders", False),
        ("read", "cards", False),
        ("drop", "odd name", True),
        ("drop", "orders", False),
    ],
)
def test_facts_are_decided_on_as_the_console_would(action: str, name: str, *, allowed: bool) -> None:
    assert bool(snapshot(FACTS).decide(action, table(name))) is allowed


@pytest.mark.parametrize("place", ["s3://lake/raw/2026/a.parquet", "s3n://lake/raw", "s3a://LAKE/raw/"])
def test_places_are_one_whatever_they_are_called(place: str) -> None:
    assert snapshot(FACTS).at(place) == ObjectRef("fileset", "demo", ("lake", "sales", "raw"))


@pytest.mark.parametrize("place", ["s3://lake/rawer/a", "s3://other/raw", "s3://lake/raw/../secret", "raw"])
def test_places_beside_are_nothing(place: str) -> None:
    assert snapshot(FACTS).at(place) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("allow SELECT_TABEL table lake.sales.orders", "SELECT_TABEL is no privilege"),
        ("allow SELECT_TABLE column lake.sales.orders.id", "cannot be granted on a column"),
        ("allow SELECT_TABLE table lake.orders", "no table has such a name here"),
        ("allow SELECT_TABLE", "write `allow PRIVILEGE"),
        ("permit SELECT_TABLE table lake.sales.orders", "write `allow PRIVILEGE"),
        ("place lake/raw fileset lake.sales.raw", "is no place"),
        ('owner table lake.sales."odd', "is no full name"),
    ],
)
def test_what_says_nothing_is_told_with_its_line(line: str, words: str) -> None:
    with pytest.raises(BadFacts, match=words) as error:
        snapshot(line)
    assert line in str(error.value)
