"""Old history in files and live history are one: moved only when proved, verified as one, hard to forge."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.db import InternalError, ProgrammingError, connection, transaction
from django.utils import timezone

from accounts import people
from catalog.models import Placement, Realm
from catalog.nodes import Node
from lakewarden.record import bundle
from lakewarden.record.archive import Broken
from policies import signing
from policies.decisions.lookups.access import AccessMap
from policies.errors import Archived, Conflict, Invalid
from policies.models import Archive, Change, Counter, Event, Grant
from policies.record import checkpoints
from policies.record.archive import files as archive_files
from policies.record.archive import removal, retention
from policies.record.archive.files import ArchiveBroken
from policies.record.exports import chain, signed_archives
from policies.record.replay import Replay
from policies.record.verify import verify, with_events
from policies.services import grants, objects
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, acting, rewritten, the
from tests.kept import kept
from tests.policies.conftest import make_shop
from tests.policies.test_parquet import files_at_most


@pytest.fixture(autouse=True)
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(archive_files, "top", lambda: tmp_path / "archive")
    return tmp_path / "archive"


def make_old_shop() -> Node:
    """The shop, whose first changes are two years old and which keeps one year live."""
    root = make_shop()
    ana = people.ensure("user", "ana")
    wish = GrantRequest(the("table", "shop.sales.orders"), (ana,), ("SELECT_TABLE",), way=False)
    grants.add(wish, by=acting("marek"), reason="yearly closing")
    grants.remove(wish.node, [ana], wish.privileges, by=acting("marek"))
    objects.drop(the("table", "shop.sales.refunds"), by=BY, authority=AUTHORITY)
    age(timedelta(days=730))
    retention.set_days(realm(root), 400, by=BY, authority=AUTHORITY)
    return root


shop = kept(make_old_shop)


def realm(root: Node) -> Realm:
    return Realm.objects.get(pk=root.realm_id)


def age(by: timedelta) -> None:
    """Make every change so far older, with the digests that follow."""
    from policies.record.change import digest_of
    from policies.record.verify import with_events

    last, previous = Counter.objects.get().revision, ""
    with superuser():
        for change, events in list(with_events(last)):
            change.at -= by
            change.previous = previous
            previous = change.digest = digest_of(change, events)
            Change.objects.filter(pk=change.pk).update(
                at=change.at, previous=change.previous, digest=previous
            )
        Counter.objects.update(digest=previous)


@contextmanager
def superuser() -> Iterator[None]:
    """Who owns the database is past the triggers."""
    with connection.cursor() as cursor:
        cursor.execute("SET lakewarden.maintenance = 'on'")
        yield
        cursor.execute("SET lakewarden.maintenance = 'off'")


def moved(root: Node) -> Archive:
    archive = removal.write(realm(root), timezone.now())
    assert archive is not None
    removal.record(archive)
    removal.remove(archive)
    return archive


def test_what_is_old_goes_and_the_record_stays_whole(shop: Node) -> None:
    before, lines = verify(), list(chain.lines(Counter.objects.get().revision))
    assert before, before.broken
    checkpoints.make()
    archive = moved(shop)
    assert archive.state == "removed" and archive.events > 20 and archive.facts == 4
    assert not Event.objects.filter(change__realm=shop.realm_id, change__lte=archive.upto).exists()
    assert not Grant.objects.filter(closed__isnull=False).exists()
    assert not Placement.objects.filter(closed__isnull=False).exists()
    after = verify()
    assert after, after.broken
    assert (after.changes, after.events) == (before.changes + 1, before.events + 1)
    assert list(chain.lines(before.changes)) == lines
    assert checkpoints.make() and verify()


def test_what_is_true_stays_true(shop: Node) -> None:
    def access() -> dict[str, frozenset[str]]:
        access_map = AccessMap(the("table", "shop.sales.orders"))
        return {str(person): access_map.access_of(person).can for person in access_map.people.values()}

    before = access()
    moved(shop)
    assert access() == before and before["user:mia"]


def test_nothing_is_old_by_default(shop: Node) -> None:
    retention.set_days(realm(shop), None, by=BY, authority=AUTHORITY)
    assert removal.write(realm(shop), timezone.now()) is None
    assert removal.write(realm(shop), timezone.now() + timedelta(days=3650)) is None


def test_a_second_time_goes_on_from_the_first(shop: Node) -> None:
    first = moved(shop)
    assert removal.write(realm(shop), timezone.now()) is None
    objects.drop(the("view", "shop.sales.top"), by=BY, authority=AUTHORITY)
    age(timedelta(days=500))
    second = moved(shop)
    assert (second.first, second.facts) == (first.upto, 1)
    assert verify()
    assert not Event.objects.filter(change__lte=second.upto, change__realm=shop.realm_id).exists()


@pytest.mark.parametrize("days", [0, 1, 364, 40_000])
def test_retention_has_a_floor(shop: Node, days: int) -> None:
    with pytest.raises(Invalid, match="at least 365 days"):
        retention.set_days(realm(shop), days, by=BY, authority=AUTHORITY)
    assert retention.days(realm(shop)) == 400


def test_retention_below_the_floor_by_hand_moves_no_more(shop: Node) -> None:
    age(timedelta(days=-500))  # 230 days ago
    rewritten(Realm.objects.filter(pk=shop.realm_id), settings={retention.SETTING: 3})
    assert removal.write(realm(shop), timezone.now()) is None


def test_the_past_before_it_says_where_it_is(shop: Node) -> None:
    archive = moved(shop)
    with pytest.raises(Archived, match=f"the live history begins at revision {archive.upto}"):
        _ = AccessMap(the("table", "shop.sales.orders"), as_of=archive.upto - 1).loaded
    assert AccessMap(the("table", "shop.sales.orders"), as_of=archive.upto).loaded.revision == archive.upto


class TestOrder:
    """Written, recorded, removed; what is interrupted goes on, what was not proved is not removed."""

    def test_what_was_only_written_is_written_again(self, shop: Node, top: Path) -> None:
        first = removal.write(realm(shop), timezone.now())
        second = removal.write(realm(shop), timezone.now())
        assert first and second and second.digest == first.digest and Archive.objects.count() == 1

    def test_what_was_not_recorded_is_not_removed(self, shop: Node) -> None:
        archive = removal.write(realm(shop), timezone.now())
        assert archive
        count = Event.objects.count()
        removal.remove(archive)
        assert Event.objects.count() == count and verify()

    def test_half_removed_is_whole(self, shop: Node, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(removal, "STEP", 3)
        archive = removal.write(realm(shop), timezone.now())
        assert archive
        removal.record(archive)
        for _ in range(2):
            removal._remove_events(archive)
        assert 0 < archive.removed < archive.upto and verify()
        again = removal.write(realm(shop), timezone.now())
        assert again == archive
        removal.remove(again)
        assert Archive.objects.get().state == "removed" and verify()

    def test_a_changed_archive_is_not_recorded(self, shop: Node, top: Path) -> None:
        archive = removal.write(realm(shop), timezone.now())
        assert archive
        spoil(top / archive.folder / archive_files.EVENTS)
        with pytest.raises(ArchiveBroken):
            removal.record(archive)

    def test_one_changed_since_is_not_gone_by(self, shop: Node, top: Path) -> None:
        archive = removal.write(realm(shop), timezone.now())
        assert archive
        removal.record(archive)
        spoil(top / archive.folder / archive_files.FACTS)
        count = Event.objects.count()
        with pytest.raises(ArchiveBroken):
            removal.remove(archive)
        assert Event.objects.count() == count

    def test_two_at_once_record_once(self, shop: Node) -> None:
        archive = removal.write(realm(shop), timezone.now())
        assert archive
        stale = Archive.objects.get()
        removal.record(archive)
        with pytest.raises(Conflict):
            removal.record(stale)


Rows = list[dict[str, Any]]
CHANGED: dict[str, Callable[[Rows], object]] = {
    "edited": lambda rows: rows[5].update(object_name="demo/elsewhere"),
    "removed": lambda rows: rows.pop(5),
    "inserted": lambda rows: rows.insert(5, {**rows[5], "number": 99}),
    "re-ordered": lambda rows: rows.insert(4, rows.pop(5)),
    "cut off": lambda rows: rows.pop(),
}
"""What is done to the events of an archive."""


def spoil(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"x")


class TestHostile:
    """Who owns the database, and the disk, cannot make the record say otherwise."""

    def test_the_triggers_let_nothing_else_go(self, shop: Node) -> None:
        archive = moved(shop)
        live = Event.objects.filter(change__gt=archive.upto).latest("pk")
        Archive.objects.update(state="recorded")
        tries = [
            ("", f"DELETE FROM policies_event WHERE id = {live.pk}"),
            (str(archive.pk), f"DELETE FROM policies_event WHERE id = {live.pk}"),
            (str(archive.pk), "UPDATE policies_event SET kind = 'x'"),
            (str(archive.pk), "DELETE FROM policies_change"),
            (str(archive.pk), "DELETE FROM policies_grant WHERE closed IS NULL"),
            ("999", f"DELETE FROM policies_event WHERE id = {live.pk}"),
        ]
        for setting, statement in tries:
            with (
                pytest.raises((InternalError, ProgrammingError), match="append-only"),
                transaction.atomic(),
                connection.cursor() as cursor,
            ):
                cursor.execute("SELECT set_config('lakewarden.archive', %s, true)", [setting])
                cursor.execute(statement)

    def attacked(self, deed: Callable[[], Any], words: str) -> None:
        with superuser():
            deed()
        verdict = verify()
        assert not verdict and words in str(verdict.broken)

    def test_events_deleted_as_if_they_were_archived(self, shop: Node) -> None:
        self.attacked(lambda: Event.objects.filter(change=7).delete(), "revision 7 was changed")

    def test_events_deleted_after_the_archive(self, shop: Node) -> None:
        archive = moved(shop)
        later = Event.objects.filter(change__gt=archive.upto).order_by("change").first()
        assert later
        self.attacked(lambda: later.delete(), f"revision {later.change_id} was changed")

    def test_an_archive_forgotten(self, shop: Node) -> None:
        moved(shop)
        self.attacked(lambda: Archive.objects.all().delete(), "was changed")

    def test_an_archive_said_to_reach_less_far(self, shop: Node) -> None:
        archive = moved(shop)
        self.attacked(lambda: Archive.objects.update(removed=archive.upto // 2), "was changed")

    def test_a_file_that_is_gone(self, shop: Node, top: Path) -> None:
        archive = moved(shop)
        self.attacked(lambda: shutil.rmtree(top / archive.folder), "cannot be read")

    @pytest.mark.parametrize("how", CHANGED)
    def test_the_events_of_a_file_are_changed(self, shop: Node, top: Path, how: str) -> None:
        """With a new manifest and a new digest in the table, so that only the chain still knows."""
        checkpoints.make()
        place = top / moved(shop).folder

        def deed() -> None:
            rows = pq.read_table(place / archive_files.EVENTS).to_pylist()
            CHANGED[how](rows)
            table = pa.Table.from_pylist(rows, schema=archive_files.EVENT_COLUMNS)
            os.chmod(place / archive_files.EVENTS, 0o600)
            pq.write_table(table, place / archive_files.EVENTS)
            manifest = json.loads((place / archive_files.MANIFEST).read_text())
            manifest[archive_files.EVENTS]["digest"] = archive_files.columns.digest_of(
                place / archive_files.EVENTS
            )
            text = json.dumps(manifest, sort_keys=True)
            (place / archive_files.MANIFEST).write_text(text)
            Archive.objects.update(digest=archive_files._digest(text))

        self.attacked(deed, "was changed after it was written")
        exported = place.parent / "record.zip"
        with exported.open("wb") as file:
            signed_archives.record(file)
        with pytest.raises(Broken, match="was changed after it was written"):
            bundle.check(exported, signing.public_key())

    def test_ended_facts_rewritten_in_the_file(self, shop: Node, top: Path) -> None:
        archive = moved(shop)
        self.attacked(lambda: spoil(top / archive.folder / archive_files.FACTS), "facts.parquet of archive")


def test_names_of_people_are_not_in_the_files(shop: Node, top: Path) -> None:
    archive = moved(shop)
    for path in (top / archive.folder).iterdir():
        assert path.stat().st_mode & 0o077 == 0
        if path.suffix == ".parquet":
            assert "~ana" not in str(pq.read_table(path).to_pylist())
    assert "SELECT_TABLE" in str(pq.read_table(top / archive.folder / archive_files.FACTS).to_pylist())


def test_a_full_disk_moves_nothing(shop: Node, top: Path) -> None:
    with files_at_most(500), pytest.raises(OSError):
        removal.write(realm(shop), timezone.now())
    assert not Archive.objects.exists() and [path for path in top.rglob("*") if path.is_file()] == []
    assert moved(shop).state == "removed" and verify()


def test_archived_facts_are_held_against_the_record_too(shop: Node) -> None:
    """What was moved is looked up in the archive: changed there, or in neither place, it is found."""
    archive = moved(shop)
    assert archive.facts == 4 and verify()
    place = archive_files.top() / archive.folder / archive_files.FACTS
    rows = pq.read_table(place).to_pylist()
    facts = [{**row, "row": row["row"].replace("SELECT_TABLE", "MODIFY_TABLE")} for row in rows]
    pq.write_table(pa.Table.from_pylist(facts, archive_files.FACT_COLUMNS), place)
    differences = replayed(shop)
    assert (
        len(differences) == 1
        and "privilege SELECT_TABLE; the table says privilege MODIFY_TABLE" in differences[0]
    )
    pq.write_table(pa.Table.from_pylist(rows[1:], archive_files.FACT_COLUMNS), place)
    assert ["the table says no such row" in line for line in replayed(shop)] == [True]


def replayed(root: Node) -> list[str]:
    """What differs where the digest of the files is not asked for: whoever changed them made it fit."""
    replay = Replay()
    for change, events in with_events(Counter.objects.get().revision):
        replay.take(change, events)
    replay.end()
    return replay.differences.lines()
