"""The record followed by a file and by a webhook: everything once, in order, across crashes."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from accounts import people
from catalog.nodes import Node
from policies import http as policies_http
from policies.models import AccessRecord, Event, Feed
from policies.record import access_log
from policies.record.access_log import AccessLookup
from policies.record.exports import feeds
from tests.factories import admit, the
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[2]
SECRET = "whsec_" + "bGFrZXdhcmRlbiBsYWtld2FyZGVuIGxha2V3YXJkZW4="


@pytest.fixture
def file(shop: Node, settings: Any, tmp_path: Path) -> Path:
    place = tmp_path / "siem" / "audit.jsonl"
    settings.LAKEWARDEN_AUDIT_FEEDS = (f"file:{place}",)
    return place


def numbers(file: Path) -> list[str]:
    return [json.loads(line)["id"] for line in file.read_text().splitlines()]


def whole() -> list[str]:
    events = Event.objects.order_by("change", "number").values_list("change", "number")
    return [f"{change}.{number}" for change, number in events]


def test_a_file_holds_every_event_once_and_in_order(file: Path, shop: Node) -> None:
    assert feeds.deliver() == []
    assert numbers(file) == whole()
    admit(shop, "newcomer")
    assert feeds.deliver() == []
    assert numbers(file) == whole()
    assert feeds.deliver() == []
    assert numbers(file) == whole()


def test_small_batches_make_the_same_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "BATCH", 3)
    feeds.deliver()
    assert numbers(file) == whole()


def test_refusals_and_looks_come_too(file: Path, shop: Node) -> None:
    access_log.looked_all([AccessLookup(people.ensure("user", "ana"), "access", shop)], via="console")
    feeds.deliver()
    [record] = AccessRecord.objects.all()
    assert numbers(file)[-1] == f"a{record.pk}"


@pytest.mark.parametrize("written", [0, 1, 700, None])
def test_what_a_crash_left_half_written_is_written_once(file: Path, shop: Node, written: int | None) -> None:
    """The process died after some of the batch, or all of it, was written and before that was noted."""
    feeds.deliver()
    before, feed = file.read_bytes(), Feed.objects.values().get()
    admit(shop, "newcomer")
    feeds.deliver()
    after = file.read_bytes()
    file.write_bytes(after if written is None else before + after[len(before) :][:written])
    Feed.objects.filter(pk=feed["id"]).update(**{key: feed[key] for key in ("changes", "access", "length")})
    feeds.deliver()
    assert file.read_bytes() == after


def test_a_file_that_was_rotated_away_begins_anew(file: Path, shop: Node) -> None:
    feeds.deliver()
    old = numbers(file)
    file.rename(file.with_suffix(".1"))
    admit(shop, "newcomer")
    feeds.deliver()
    assert old + numbers(file) == whole()


def test_a_place_that_fails_says_so_and_gets_everything_later(
    shop: Node, settings: Any, tmp_path: Path
) -> None:
    wall = tmp_path / "wall"
    wall.write_text("a file, no folder")
    settings.LAKEWARDEN_AUDIT_FEEDS = (f"file:{wall}/audit.jsonl",)
    assert feeds.deliver()
    assert Feed.objects.get().trouble
    wall.unlink()
    assert feeds.deliver() == []
    assert numbers(wall / "audit.jsonl") == whole()
    assert Feed.objects.get().trouble == ""


def test_ocsf_in_a_file(shop: Node, settings: Any, tmp_path: Path) -> None:
    settings.LAKEWARDEN_AUDIT_FEEDS = (f"file:{tmp_path}/ocsf.jsonl?format=ocsf-1.8",)
    feeds.deliver()
    lines = [json.loads(line) for line in (tmp_path / "ocsf.jsonl").read_text().splitlines()]
    assert [item["metadata"]["uid"] for item in lines] == whole()
    assert {item["metadata"]["version"] for item in lines} == {"1.8.0"}


# webhooks


@dataclass
class Receiver:
    """A SIEM that checks the signature; `answers` are statuses of the first requests, None comes too late.

    The number of a process is killed instead of answered.
    """

    url: str = ""
    answers: list[int | None] = field(default_factory=list)
    given_up: threading.Event = field(default_factory=threading.Event)
    kills: list[int] = field(default_factory=list)
    batches: list[tuple[str, str]] = field(default_factory=list)
    forged: int = 0

    @property
    def entries(self) -> list[str]:
        """What it keeps, each batch once by its number."""
        return [load["id"] for body in dict(self.batches).values() for load in json.loads(body)["entries"]]


@pytest.fixture
def siem(shop: Node, settings: Any) -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            try:
                Webhook(SECRET).verify(body, dict(self.headers.items()))
            except WebhookVerificationError:
                receiver.forged += 1
            receiver.batches.append((self.headers["webhook-id"], body))
            for number in receiver.kills:
                os.kill(number, signal.SIGKILL)
            answer = receiver.answers.pop(0) if receiver.answers else 204
            if answer is None:
                receiver.given_up.wait(PATIENCE)
            self.send_response(int(answer) if isinstance(answer, int) else 204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    receiver.url = f"http://127.0.0.1:{server.server_port}/audit"
    settings.LAKEWARDEN_AUDIT_FEEDS = (receiver.url,)
    settings.LAKEWARDEN_AUDIT_FEED_SECRET = SECRET
    yield receiver
    server.shutdown()
    server.server_close()


def test_a_webhook_gets_signed_batches(siem: Receiver, shop: Node) -> None:
    assert feeds.deliver() == []
    admit(shop, "newcomer")
    assert feeds.deliver() == []
    assert siem.forged == 0
    assert siem.entries == whole()


@pytest.mark.parametrize("answer", [500, 503, 302, None], ids=str)
def test_a_batch_that_was_taken_and_not_answered_well_comes_again_the_same(
    siem: Receiver, shop: Node, monkeypatch: pytest.MonkeyPatch, answer: int | None
) -> None:
    """The receiver took it and said so badly, or too late; meanwhile the record grew."""
    siem.answers = [answer, answer]
    with monkeypatch.context() as hasty:
        hasty.setattr(policies_http, "TIMEOUT", 0.2 if answer is None else PATIENCE)
        assert feeds.deliver()
        assert Feed.objects.get().trouble
        until(lambda: len(siem.batches) == 1)
        admit(shop, "newcomer")
        assert feeds.deliver()
        until(lambda: len(siem.batches) == 2)
    siem.given_up.set()
    assert feeds.deliver() == []
    assert siem.batches[0] == siem.batches[1] == siem.batches[2]
    assert siem.forged == 0
    assert siem.entries == whole()


DELIVER = """
import sys, django
django.setup()
from django.conf import settings
from policies.record.exports import feeds
settings.LAKEWARDEN_AUDIT_FEED_SECRET, *settings.LAKEWARDEN_AUDIT_FEEDS = sys.argv[1:]
feeds.deliver()
"""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_process_killed_while_it_sends_loses_and_repeats_nothing(
    siem: Receiver, file: Path, settings: Any
) -> None:
    """SIGKILL comes when the webhook has its batch and before that is noted; the file is written beside."""
    settings.LAKEWARDEN_AUDIT_FEEDS = (f"file:{file}", siem.url)
    process = _delivering(settings)
    siem.kills.append(process.pid)
    assert process.wait(PATIENCE) == -signal.SIGKILL
    siem.kills.clear()
    assert len(siem.batches) == 1 and Feed.objects.get(name=siem.url).until
    file.write_bytes(file.read_bytes() + b'{"half a li')  # and it had begun to write more
    admit(the("metalake"), "newcomer")
    assert _delivering(settings).wait(PATIENCE) == 0
    assert siem.batches[0] == siem.batches[1]
    assert siem.entries == whole() and numbers(file) == whole()


def _delivering(settings: Any) -> subprocess.Popen[bytes]:
    """Another process that serves the same followers of the same database."""
    values, command = connection.settings_dict, [sys.executable, "-c", DELIVER]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_URL": f"postgresql://{values['USER']}@/{values['NAME']}?host={values['HOST']}",
    }
    return subprocess.Popen([*command, SECRET, *settings.LAKEWARDEN_AUDIT_FEEDS], env=environment, cwd=ROOT)


def test_a_receiver_that_is_gone_is_named_without_its_key(siem: Receiver, settings: Any) -> None:
    settings.LAKEWARDEN_AUDIT_FEEDS = ("http://127.0.0.1:9/audit?format=json",)
    assert feeds.deliver() == ["http://127.0.0.1:9/audit: it cannot be reached"]
