"""What a superuser of the database can do to the record, with its triggers switched off, and how it shows."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core import mail

from accounts import people
from catalog.nodes import Node
from policies.models import Change, Checkpoint
from policies.record import access_log, checkpoints
from policies.record.access_log import AccessLookup
from policies.record.verify import Verdict, verify
from tests.factories import admit
from tests.policies.superuser import hostile, made_to_fit

pytestmark = pytest.mark.django_db


@pytest.fixture
def kept(shop: Node, settings: Any, tmp_path: Path) -> Path:
    """A shop whose record was signed into a file outside the database."""
    place = tmp_path / "elsewhere" / "checkpoints.txt"
    settings.LAKEWARDEN_CHECKPOINTS = (f"file:{place}",)
    ana = people.ensure("user", "ana")
    access_log.looked_all(
        [AccessLookup(ana, "access", shop), AccessLookup(ana, "reach", shop)], via="console"
    )
    checkpoints.make()
    assert checkpoints.send() == []
    return place


def test_an_untouched_record_is_whole(kept: Path) -> None:
    assert verify(facts=False) == Verdict(Change.objects.count(), verify().events, 2, 2)


def test_without_the_file_a_rewritten_record_passes(kept: Path) -> None:
    """Why the file must be elsewhere: what is only in the database is its owner's to change."""
    hostile("UPDATE policies_change SET reason = 'as agreed' WHERE revision = 3")
    made_to_fit()
    text = kept.read_text()
    kept.unlink()
    assert verify()
    assert "not those that were signed" in (verify(outside=text).broken or "")


def test_a_first_change_written_anew_is_another_record(kept: Path) -> None:
    hostile("UPDATE policies_change SET reason = 'x' WHERE revision = 1")
    made_to_fit()
    assert "begins otherwise" in (verify().broken or "")


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


@pytest.mark.parametrize("written", [1, 20, 60, -40, -1])
def test_a_note_that_was_not_written_to_its_end_is_written_again(
    shop: Node, kept: Path, written: int
) -> None:
    """A crash, or a full disk, in the middle of it: the file is whole again with the next."""
    before = kept.read_text()
    admit(shop, "bob")
    (made,) = checkpoints.make()
    kept.write_text(before + made.note[:written])
    assert checkpoints.send() == []
    assert kept.read_text() == before + made.note
    assert verify()


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
