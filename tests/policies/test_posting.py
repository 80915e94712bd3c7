"""Letters that leave the site: what they say, when they go, and that none goes twice, whatever dies."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from accounts import people
from accounts.models import Principal, User
from authzsite.runtime.configuration import outgoing
from catalog.nodes import Node
from policies import notices
from policies.models import Letter, Notice, NoticeChoice
from policies.notices import delivery, mail
from policies.notices.kinds import Kind
from policies.requests import notifications
from policies.sentences import say
from policies.services import accounts
from tests.factories import AUTHORITY, BY, an_account
from tests.post_office import PostOffice
from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
NEWS, OTHER = "test.post", "test.other"
SECRET = "whsec_" + "bGFrZXdhcmRlbiBsYWtld2FyZGVuIGxha2V3YXJkZW4="

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def kinds_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known while a test runs: a page of another test lists every kind there is."""
    monkeypatch.setitem(notices.KINDS, NEWS, Kind(NEWS, "what the tests of mail do"))
    monkeypatch.setitem(notices.KINDS, OTHER, Kind(OTHER, "other things"))


@pytest.fixture
def office(settings: Any) -> Iterator[PostOffice]:
    server = PostOffice()
    for name, value in outgoing.mail_of(server.url, Path("/nowhere")).items():
        setattr(settings, name, value)
    settings.LAKEWARDEN_URL = "https://lake.example.org"
    yield server
    server.shutdown()
    server.server_close()


def a_reader(name: str, zone: str = "Europe/Zurich", **choices: str) -> Principal:
    account = an_account(name, display_name=f"{name.title()} Lake")
    User.objects.filter(pk=account.pk).update(email=f"{name}@lake.example", time_zone=zone)
    person = people.ensure("user", name)
    for kind, how in choices.items():
        NoticeChoice.objects.create(person=person, kind=kind.replace("_", "."), how=how)
    return person


def states() -> list[str]:
    return list(Letter.objects.order_by("pk").values_list("state", flat=True))


def test_a_mail_says_who_what_until_when_and_links_once(office: PostOffice) -> None:
    mia, ana = a_reader("mia"), a_reader("ana")
    until = datetime(2026, 11, 27, 17, 0, tzinfo=UTC)
    notices.tell(mia, NEWS, "{who} asks to read orders.", key="1", link="/requests/1", who=ana, until=until)
    assert delivery.post() == []
    [message] = office.taken
    assert message["To"] == "mia@lake.example"
    assert message["Subject"] == "Ana Lake asks to read orders."
    lines = message.get_payload(decode=True).decode().splitlines()  # type: ignore[union-attr]
    assert lines[:3] == [
        "Ana Lake asks to read orders.",
        "Until Fri 27 Nov 2026, 18:00 (Europe/Zurich).",
        "https://lake.example.org/requests/1",
    ]
    assert delivery.post() == []
    assert len(office.taken) == 1


def test_a_mail_is_in_the_language_of_its_receiver(office: PostOffice) -> None:
    mia, ana = a_reader("mia"), a_reader("ana")
    User.objects.filter(username="mia").update(language="de")
    what = say(notifications.READ, name="sales.orders")
    until = datetime(2026, 12, 5, 17, 0, tzinfo=UTC)
    notices.tell(
        [mia, ana], NEWS, say(notifications.ASKED, what=what), key="1", who=ana, until=until, urgent=True
    )
    assert delivery.post() == []
    messages = {message["To"]: message for message in office.taken}
    german = messages["mia@lake.example"].get_payload(decode=True).decode().splitlines()
    assert german[:2] == [
        "Ana Lake wartet auf Ihre Entscheidung: sales.orders lesen.",
        "Bis Sa, 5. Dez 2026, 18:00 (Europe/Zurich).",
    ]
    assert messages["mia@lake.example"]["Subject"].startswith("Dringend: Ana Lake wartet")
    assert (
        messages["ana@lake.example"]["Subject"]
        == "Urgent: Ana Lake waits for your decision: read sales.orders."
    )


NOT_SENT = {
    "settled before": lambda person: notices.settle("1"),
    "read before": lambda person: Notice.objects.update(read=timezone.now()),
    "disabled since": lambda person: accounts.close(person.account, by=BY, authority=AUTHORITY),
    "without an address": lambda person: User.objects.update(email=""),
}


@pytest.mark.parametrize("happens", NOT_SENT.values(), ids=NOT_SENT)
def test_what_nobody_needs_or_may_have_is_not_sent(office: PostOffice, happens: Any) -> None:
    mia = a_reader("mia")
    notices.tell(mia, NEWS, "It rains.", key="1")
    mail.gather(timezone.now())
    happens(mia)
    delivery.post()
    assert (office.taken, states()) == ([], ["dropped"])


DIGESTS = {
    "before eight, nothing": ("Europe/Zurich", "2026-11-20 12:00", "2026-11-21 06:59", 0),
    "at eight, where they are": ("Europe/Zurich", "2026-11-20 12:00", "2026-11-21 07:00", 1),
    "in another zone, later": ("America/New_York", "2026-11-20 13:30", "2026-11-21 12:59", 0),
    "in another zone, at eight": ("America/New_York", "2026-11-20 13:30", "2026-11-21 13:00", 1),
    "told after eight, tomorrow": ("Europe/Zurich", "2026-11-20 07:01", "2026-11-20 23:00", 0),
    "the day summer ends": ("Europe/Zurich", "2026-10-24 12:00", "2026-10-25 07:00", 1),
    "the day summer ends, too early": ("Europe/Zurich", "2026-10-24 12:00", "2026-10-25 06:59", 0),
    "the day summer begins": ("Europe/Zurich", "2026-03-28 12:00", "2026-03-29 06:00", 1),
    "the day summer begins, too early": ("Europe/Zurich", "2026-03-28 12:00", "2026-03-29 05:59", 0),
}


@pytest.mark.parametrize(("zone", "told", "now", "many"), DIGESTS.values(), ids=DIGESTS)
def test_when_the_digest_goes(office: PostOffice, zone: str, told: str, now: str, many: int) -> None:
    mia = a_reader("mia", zone, test_post="digest")
    for key in ("1", "2"):
        notices.tell(mia, NEWS, f"It rains {key}.", key=key, link=f"/rain/{key}")
    Notice.objects.update(made=datetime.fromisoformat(f"{told}+00:00"))
    for _ in range(2):
        delivery.post(datetime.fromisoformat(f"{now}+00:00"))
    assert len(office.taken) == many
    if many:
        text = office.taken[0].get_payload(decode=True).decode()  # type: ignore[union-attr]
        assert [line for line in text.splitlines() if "/rain/" in line] == [
            "https://lake.example.org/rain/1",
            "https://lake.example.org/rain/2",
        ]


def test_an_unknown_address_is_given_up_and_a_full_one_tried_later(office: PostOffice) -> None:
    office.refuses = {"mia@lake.example": 550, "ana@lake.example": 450}
    notices.tell([a_reader("mia"), a_reader("ana")], NEWS, "It rains.", key="1")
    assert delivery.post() == ["mail: the mail server answered 550", "mail: the mail server answered 450"]
    assert states() == ["failed", "due"]
    office.refuses = {}
    delivery.post()
    assert office.taken == []
    delivery.post(timezone.now() + timedelta(minutes=2))
    assert [item["To"] for item in office.taken] == ["ana@lake.example"]


def test_a_server_that_is_away_is_tried_later_and_later(office: PostOffice, settings: Any) -> None:
    port, settings.EMAIL_PORT = settings.EMAIL_PORT, 9
    notices.tell(a_reader("mia"), NEWS, "It rains.", key="1")
    now, waits = timezone.now(), []
    for _ in range(4):
        [wrong] = delivery.post(now)
        assert "cannot be reached" in wrong
        due = Letter.objects.get().due
        waits.append(round((due - now).total_seconds() / 60))
        now = due
    assert waits == [1, 2, 4, 8]
    settings.EMAIL_PORT = port
    assert delivery.post(now) == []
    assert len(office.taken) == 1


def test_a_server_that_broke_off_may_have_it_so_it_is_not_sent_again(office: PostOffice) -> None:
    office.answer = lambda _: "421 out of order"
    notices.tell(a_reader("mia"), NEWS, "It rains.", key="1")
    delivery.post()
    assert states() == ["due"]  # it was answered: not taken
    now = timezone.now() + timedelta(minutes=2)
    office.answer = lambda _: None
    delivery.post(now)
    assert states() == ["unsure"]
    delivery.post(now + timedelta(days=1))
    assert len(office.taken) == 2
    assert Notice.objects.get().read is None


# Chats


class Chat(http.server.ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Heard)
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.status = 200
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class _Heard(http.server.BaseHTTPRequestHandler):
    server: Chat

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Webhook(SECRET).verify(body, dict(self.headers))
        self.server.heard.append((self.headers["webhook-id"], json.loads(body)))
        self.send_response(self.server.status)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def chat(settings: Any) -> Iterator[Chat]:
    server = Chat()
    address = f"http://127.0.0.1:{server.server_address[1]}/hooks/secret"
    settings.LAKEWARDEN_CHAT_HOOKS = (f"{address}?room=7&hears=test.post,request",)
    settings.LAKEWARDEN_CHAT_SECRET = SECRET
    settings.LAKEWARDEN_URL = "https://lake.example.org"
    yield server
    server.shutdown()
    server.server_close()


def test_what_a_chat_that_was_taken_away_did_not_hear_is_dropped(chat: Chat, settings: Any) -> None:
    notices.tell([], NEWS, "It rains.", key="1")
    settings.LAKEWARDEN_CHAT_HOOKS = ()
    delivery.post()
    assert states() == ["dropped"]


def test_a_chat_hears_once_what_many_are_told(chat: Chat) -> None:
    mia, ana = a_reader("mia"), a_reader("ana")
    notices.tell([mia, ana], NEWS, "{who} asks.", key="1", link="/requests/1", who=ana, urgent=True)
    notices.tell([], NEWS, "{who} asks again.", key="2", link="/requests/2", who=ana)
    notices.tell([mia], OTHER, "It rains.", key="3")
    assert delivery.post() == []
    assert [body["text"] for _, body in chat.heard] == [
        "Urgent: Ana Lake asks. https://lake.example.org/requests/1",
        "Ana Lake asks again. https://lake.example.org/requests/2",
    ]


@pytest.mark.parametrize("status", [500, 302])
def test_a_chat_that_fails_is_called_again_with_the_same_number(chat: Chat, status: int) -> None:
    chat.status = status
    notices.tell(a_reader("mia"), NEWS, "It rains.", key="1")
    [wrong] = delivery.post()
    assert wrong.endswith(f"it answered {status}")
    assert "secret" not in wrong
    chat.status = 200
    delivery.post(timezone.now() + timedelta(minutes=2))
    assert len({number for number, _ in chat.heard}) == 1
    assert len(chat.heard) == 2


# Crashes

WORKER = """
import os, sys, django
django.setup()
from policies.notices import delivery
delivery.post()
"""


def a_worker(office: PostOffice) -> subprocess.Popen[bytes]:
    values = connection.settings_dict
    database = f"postgresql://{values['USER']}@/{values['NAME']}?host={values['HOST']}"
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "authzsite.settings",
        "DATABASE_URL": database,
        "EMAIL_URL": office.url,
        "LAKEWARDEN_URL": "https://lake.example.org",
    }
    return subprocess.Popen([sys.executable, "-c", WORKER], cwd=ROOT, env=environment)


@pytest.mark.django_db(transaction=True)
def test_a_worker_killed_while_the_server_takes_a_mail_makes_none_come_twice(
    shop: Node, office: PostOffice
) -> None:
    readers = [a_reader(f"reader{number}") for number in range(6)]
    notices.tell(readers, NEWS, "It rains.", key="1")
    reached = threading.Event()

    def silent(number: int) -> str:
        if number < 3:
            return "250 taken"
        reached.set()
        return ""

    office.answer = silent
    worker = a_worker(office)
    assert reached.wait(PATIENCE)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    assert states() == ["sent", "sent", "handing", "due", "due", "due"]
    office.answer = lambda _: "250 taken"
    assert a_worker(office).wait(PATIENCE) == 0  # another, while the dead one's lease still runs
    Letter.objects.filter(state="handing").update(lease=timezone.now() - timedelta(seconds=1))
    assert a_worker(office).wait(PATIENCE) == 0
    assert states() == ["sent", "sent", "unsure", "sent", "sent", "sent"]
    assert len(office.taken) == len(set(office.ids())) == 6
    assert {item["To"] for item in office.taken} == {f"reader{number}@lake.example" for number in range(6)}


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_send_each_letter_once(shop: Node, office: PostOffice) -> None:
    notices.tell([a_reader(f"reader{number}") for number in range(30)], NEWS, "It rains.", key="1")
    office.answer = lambda _: time.sleep(0.02) or "250 taken"
    for worker in [a_worker(office), a_worker(office)]:
        assert worker.wait(PATIENCE) == 0
    assert len(office.taken) == len(set(office.ids())) == 30


def test_what_was_read_long_ago_is_forgotten(office: PostOffice) -> None:
    for key in ("read", "unread"):
        notices.tell(a_reader("mia"), NEWS, "It rains.", key=key)
    delivery.post()
    Notice.objects.filter(key="read").update(read=timezone.now())
    assert delivery.forget_old(timezone.now() + timedelta(days=399)) == 0
    assert delivery.forget_old(timezone.now() + timedelta(days=401)) == 3
    assert list(Notice.objects.values_list("key", flat=True)) == ["unread"]
