"""What a superuser of the database can do to the record, with its triggers switched off, and how it shows."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.db import connection

from accounts import people
from catalog.nodes import Node
from policies import access_log, checkpoints
from policies.access_log import Look
from policies.models import Change, Checkpoint
from policies.verify import Verdict, verify
from tests.factories import admit

pytestmark = pytest.mark.django_db

LAST = "(SELECT max(revision) FROM policies_change)"


@pytest.fixture
def kept(shop: Node, settings: Any, tmp_path: Path) -> Path:
    """A shop whose record was signed into a file outside the database."""
    place = tmp_path / "elsewhere" / "checkpoints.txt"
    settings.LAKEWARDEN_CHECKPOINTS = (f"file:{place}",)
    ana = people.ensure("user", "ana")
    access_log.looked_all([Look(ana, "access", shop), Look(ana, "reach", shop)], via="console")
    checkpoints.make()
    assert checkpoints.send() == []
    return place


def hostile(*statements: str) -> None:
    """Run statements as the owner of the tables, past every trigger that guards them."""
    tables = ("change", "event", "accessrecord")
    switched = [f"ALTER TABLE policies_{table} {{}} TRIGGER USER" for table in tables]
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with checks still due cannot be altered
        for statement in switched:
            cursor.execute(statement.format("DISABLE"))
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")  # and from here on no key is checked
        for statement in statements:
            cursor.execute(statement)


def rewritten() -> None:
    """Compute every digest anew, as whoever knows the code can, and set the counter to fit."""
    from policies.changes import digest_of

    previous = ""
    for row in Change.objects.order_by("revision"):
        row.previous = previous
        previous = digest_of(row, list(row.events.order_by("number")))
        hostile(
            f"UPDATE policies_change SET previous = '{row.previous}', digest = '{previous}'"
            f" WHERE revision = {row.revision}"
        )
    hostile(f"UPDATE policies_counter SET revision = {LAST}, digest = '{previous}'")


def test_an_untouched_record_is_whole(kept: Path) -> None:
    assert verify() == Verdict(Change.objects.count(), verify().events, 2, 2)


EDITS: dict[str, tuple[str, ...]] = {
    "edited": ("UPDATE policies_change SET reason = 'as agreed' WHERE revision = 3",),
    "an event edited": ("UPDATE policies_event SET object_name = 'demo/other' WHERE change_id = 3",),
    "an event removed": ("DELETE FROM policies_event WHERE change_id = 3",),
    "removed": (
        "DELETE FROM policies_event WHERE change_id = 4",
        "DELETE FROM policies_change WHERE revision = 4",
    ),
    "inserted": (
        "INSERT INTO policies_change SELECT revision + 1, kind, realm, at, actor, on_behalf_of, via, reason,"
        f" request_id, digest, digest FROM policies_change WHERE revision = {LAST}",
    ),
    "re-ordered": (
        "UPDATE policies_change SET revision = -1 WHERE revision = 3",
        "UPDATE policies_change SET revision = 3 WHERE revision = 4",
        "UPDATE policies_change SET revision = 4 WHERE revision = -1",
    ),
    "cut off": (
        f"DELETE FROM policies_event WHERE change_id = {LAST}",
        f"DELETE FROM policies_change WHERE revision = {LAST}",
    ),
}


@pytest.mark.parametrize("how", EDITS)
def test_a_crude_edit_breaks_the_chain(kept: Path, how: str) -> None:
    hostile(*EDITS[how])
    if how == "inserted":  # it is after the number that the site is at, so the counter must come along
        hostile(f"UPDATE policies_counter SET revision = {LAST}")
    assert verify().broken


@pytest.mark.parametrize("how", ["edited", "an event edited", "an event removed", "re-ordered", "cut off"])
def test_a_record_written_anew_with_fitting_digests_breaks_the_signed_root(kept: Path, how: str) -> None:
    hostile(*EDITS[how])
    rewritten()
    hostile("DELETE FROM policies_checkpoint")  # the database says nothing more; the file does
    broken = verify().broken or ""
    assert "not those that were signed" in broken or "its end was cut off" in broken, broken


def test_without_the_file_a_rewritten_record_passes(kept: Path) -> None:
    """Why the file must be elsewhere: what is only in the database is its owner's to change."""
    hostile(*EDITS["edited"])
    rewritten()
    hostile("DELETE FROM policies_checkpoint")
    text = kept.read_text()
    kept.unlink()
    assert verify()
    assert "not those that were signed" in (verify(outside=text).broken or "")


def test_a_first_change_written_anew_is_another_record(kept: Path) -> None:
    hostile("UPDATE policies_change SET reason = 'x' WHERE revision = 1")
    rewritten()
    assert "begins otherwise" in (verify().broken or "")


@pytest.mark.parametrize(
    "cut",
    [
        "DELETE FROM policies_accessrecord WHERE id = (SELECT max(id) FROM policies_accessrecord)",
        "UPDATE policies_accessrecord SET actor = 'nobody'",
    ],
)
def test_an_edited_access_log_shows(kept: Path, cut: str) -> None:
    hostile("DELETE FROM policies_accessrepeat", cut)
    assert verify().broken


def test_a_cut_access_log_with_a_fitting_counter_shows(kept: Path) -> None:
    hostile(
        "DELETE FROM policies_accessrepeat",
        "DELETE FROM policies_accessrecord WHERE id = (SELECT max(id) FROM policies_accessrecord)",
        "UPDATE policies_accesscounter SET size = 1, digest = (SELECT digest FROM policies_accessrecord)",
        "DELETE FROM policies_checkpoint",
    )
    assert "its end was cut off" in (verify().broken or "")


def test_a_forged_checkpoint_shows(kept: Path) -> None:
    kept.write_text(kept.read_text().replace("\n2\n", "\n1\n"))
    assert "signature" in (verify().broken or "")


def test_a_log_that_has_not_grown_is_not_signed_again(shop: Node, kept: Path) -> None:
    assert checkpoints.make() == []
    admit(shop, "bob")
    assert [row.log for row in checkpoints.make()] == ["changes"]
    assert verify()


def test_a_place_that_fails_gets_everything_later(shop: Node, settings: Any, tmp_path: Path) -> None:
    wall = tmp_path / "wall"
    wall.write_text("a file, no folder")
    settings.LAKEWARDEN_CHECKPOINTS = (f"file:{wall}/notes.txt",)
    checkpoints.make()
    assert checkpoints.send()
    assert Checkpoint.objects.get().trouble
    wall.unlink()
    assert checkpoints.send() == []
    assert checkpoints.send() == []
    assert (wall / "notes.txt").read_text() == Checkpoint.objects.get().note


def test_checkpoints_are_mailed(shop: Node, settings: Any) -> None:
    settings.LAKEWARDEN_CHECKPOINTS = ("mailto:auditor@example.org",)
    checkpoints.make()
    assert checkpoints.send() == []
    (sent,) = mail.outbox
    assert (sent.to, sent.body) == (["auditor@example.org"], Checkpoint.objects.get().note)


@pytest.fixture
def store() -> Iterator[tuple[str, dict[str, str]]]:
    """An object store that keeps what is PUT into it."""
    objects: dict[str, str] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            objects[self.path] = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", objects
    server.shutdown()
    server.server_close()


def test_checkpoints_are_put_into_a_store(
    shop: Node, settings: Any, store: tuple[str, dict[str, str]]
) -> None:
    url, objects = store
    settings.LAKEWARDEN_CHECKPOINTS = (f"{url}/bucket/?token=secret",)
    checkpoints.make()
    assert checkpoints.send() == []
    row = Checkpoint.objects.get()
    assert objects == {f"/bucket/changes-{row.size}.txt?token=secret": row.note}
    assert "secret" not in row.sent[0]
