"""The view `audit` is the whole record, wherever its events lie by now; never a shorter one."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from django.utils import timezone

from catalog.nodes import Node
from policies.events import HISTORY_ARCHIVED
from policies.models import Archive, Event
from policies.record.archive import files as archive_files
from policies.record.archive import removal
from tests.api.test_splits import get, part, splits, whole
from tests.api.world import Caller, token
from tests.policies.test_archiving import moved, realm, shop, top

__all__ = ["shop", "top"]  # fixtures
Rows = list[dict[str, Any]]


@pytest.fixture
def callers(shop: Node) -> dict[str, Caller]:
    """Marek sees the record of the realm, Olivia that of one schema."""
    return {name: Caller(token("user", name)) for name in ("marek", "olivia")}


def told(caller: Caller, n: int = 1, **asked: Any) -> Rows:
    """The record but for what says that it was archived."""
    return [row for row in whole(caller, "audit", n, **asked) if row["kind"] != HISTORY_ARCHIVED]


def test_what_was_archived_is_told_to_the_same_people(shop: Node, callers: dict[str, Caller]) -> None:
    before = {name: told(caller) for name, caller in callers.items()}
    assert 0 < len(before["olivia"]) < len(before["marek"])
    archive = moved(shop)
    assert not Event.objects.filter(change__realm=shop.realm_id, change__lte=archive.upto).exists()
    assert {name: told(caller) for name, caller in callers.items()} == before
    assert {name: told(caller, 3, limit=2) for name, caller in callers.items()} == before
    granted = [row for row in before["marek"] if row["kind"] == "grant.added"]
    assert granted and told(callers["marek"], kind="grant.added") == granted


def test_halfway_through_the_moving_nothing_is_missing_or_told_twice(
    shop: Node, callers: dict[str, Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: told(caller) for name, caller in callers.items()}
    archive = removal.write(realm(shop), timezone.now())
    assert archive is not None
    removal.record(archive)
    monkeypatch.setattr(removal, "STEP", 3)
    removal._remove_events(archive)
    assert 0 < archive.removed < archive.upto
    assert {name: told(caller, 2, limit=3) for name, caller in callers.items()} == before
    # as when the events go after the live ones were looked at, and before the archive is
    Archive.objects.filter(pk=archive.pk).update(removed=archive.upto)
    assert {name: told(caller, 2, limit=3) for name, caller in callers.items()} == before


def test_a_past_that_is_in_the_archive_is_told(shop: Node, callers: dict[str, Caller]) -> None:
    marek = callers["marek"]
    before = told(marek)
    past = before[len(before) // 3]["revision"]
    assert past < moved(shop).upto
    cut = splits(marek, "audit", 2, as_of=past)
    rows = [row for split in cut["splits"] for row in part(marek, cut, split)]
    assert rows == [row for row in before if row["revision"] <= past]


def test_an_archive_that_cannot_be_read_is_no_short_record(shop: Node, callers: dict[str, Caller]) -> None:
    archive = moved(shop)
    shutil.rmtree(archive_files.top() / archive.folder)
    cut = splits(callers["marek"], "audit")
    pinned = {name: cut[name] for name in ("realm", "revision", "at")}
    response = get(callers["marek"], "audit", **pinned, **cut["splits"][0])
    assert (response.status_code, response["Content-Type"]) == (410, "application/problem+json")
    assert archive.folder in response.json()["detail"]
