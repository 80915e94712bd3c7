"""Names of which no letter's case counts: whatever a program calls an object, no denial of it is lost."""

from __future__ import annotations

import dataclasses

import pytest

from lakewarden.client.snapshot import Snapshot, any_case, sealed, veiled
from lakewarden.law.objects import ObjectRef
from lakewarden.testing import snapshot
from tests.spark.wire import wire

READER = """
allow USE_CATALOG  catalog lake
allow USE_SCHEMA   schema  lake.mixed
allow SELECT_TABLE schema  lake.mixed
"""


def table(*path: str) -> ObjectRef:
    return ObjectRef("table", "demo", ("lake", *path))


def may(held: Snapshot, ref: ObjectRef) -> bool:
    return all(held.decide("read", ref, lineage=way) for way in held.lineages(ref))


@pytest.mark.parametrize(
    "name", ["Secret", "SECRET", "secret", "s\u212aret".replace("\u212a", "EC"), "\u017fecret"]
)
def test_a_denial_is_found_under_every_spelling(name: str) -> None:
    held = snapshot(READER + "deny SELECT_TABLE table lake.mixed.Secret")
    assert not may(held, table("mixed", name))
    assert not may(held, table("MIXED", name))
    assert may(held, table("mixed", "open"))


def test_a_denial_higher_up_too() -> None:
    held = snapshot(READER + "deny SELECT_TABLE schema lake.Mixed")
    assert not may(held, table("mixed", "open"))


def test_of_two_that_differ_by_case_alone_both_must_allow() -> None:
    facts = READER.replace("SELECT_TABLE schema  lake.mixed", "SELECT_TABLE table   lake.mixed.Open")
    held = snapshot(f"{facts}\ndeny SELECT_TABLE table lake.mixed.open")
    for name in ("open", "Open", "OPEN"):
        assert not may(held, table("mixed", name))
    assert held.decide("read", table("mixed", "Open"))  # whoever tells them apart may


def test_the_one_spelling_that_is_known_stands_for_all() -> None:
    held = snapshot("allow USE_CATALOG catalog lake\nowner schema lake.Mixed\nowner table lake.Mixed.Open")
    assert held.spelled(table("mixed", "open")) == table("Mixed", "Open")
    assert held.spelled(table("mixed", "other")) == table("Mixed", "other")
    assert held.spelled(table("else", "other")) == table("else", "other")
    both = snapshot("owner schema lake.Mixed\nowner schema lake.mixed\nowner schema lake.MIXED")
    for name in ("mixed", "Mixed", "mIXED"):
        assert both.spelled(table(name, "a")) == table(name, "a")


def test_a_denial_of_what_may_not_be_known_is_not_lost_either() -> None:
    key, salt = "table:demo/lake.mixed.Secret", "pepper"
    document = wire(READER, issued=1.0)
    digest = veiled(salt, key)
    document["names"].append(digest)
    number = len(document["names"]) - 1
    document["facts"].append([number, "SELECT_TABLE", 0, 0, 2, "fact"])
    document |= {"salt": salt, "spellings": [[veiled(salt, any_case(key)), number]]}
    held = Snapshot.read(sealed(document), now=2.0)
    held = dataclasses.replace(held, expires=float("inf"), issued=0.0)
    for name in ("Secret", "secret", "SECRET"):
        assert not may(held, table("mixed", name))
    assert may(held, table("mixed", "open"))
