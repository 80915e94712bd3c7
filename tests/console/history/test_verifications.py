"""The site reads its record by itself: what is new each hour, all of it in a day; what differs is told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.models import Change, Counter, Notice, Verification
from policies.record import checkpoints, verifications, verify
from tests.factories import admit
from tests.metrics import read_metrics
from tests.policies.superuser import hostile, past_triggers
from tests.policies.test_fact_replay import A_GRANT

pytestmark = pytest.mark.django_db


@pytest.fixture
def watched(shop: Node, settings: Any) -> Node:
    """A shop with a site admin, whose record was read once."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    people.make_account("sam")
    assert hour().is_good and Verification.objects.get().whole
    return shop


def hour() -> Verification:
    """Another hour is over."""
    Verification.objects.update(asked=timezone.now() - timedelta(minutes=61))
    assert verifications.ask_hourly() is not None
    verifications.run_waiting()
    verification = verifications.last_finished()
    assert verification is not None
    return verification


def told() -> list[str]:
    return list(Notice.objects.filter(kind="record.differs", done=None).values_list("text", flat=True))


def test_once_an_hour_and_one_at_a_time(watched: Node) -> None:
    assert verifications.ask_hourly() is None
    Verification.objects.update(asked=timezone.now() - timedelta(minutes=61), finished=None)
    assert verifications.ask_hourly() is None


def test_of_what_is_known_only_a_part_is_read_again_and_all_of_it_in_turn(
    watched: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifications, "TURNS", 4)
    monkeypatch.setattr(verifications, "LEAST", 1)
    read: list[int] = []
    digest_of = verify.digest_of

    def noted(change: Change, events: Any) -> str:
        read.append(change.revision)
        return digest_of(change, events)

    monkeypatch.setattr(verify, "digest_of", noted)
    known = Counter.objects.get().revision
    admit(watched, "new1", "new2")
    assert hour().is_good
    share = -(-known // 4)
    assert read == [*range(1, share + 1), known + 1, known + 2]
    for _ in range(3):
        hour()
    assert set(read) == set(range(1, known + 3))
    assert hour().turn in (0, -(-(known + 2) // 4)), "and anew"


BREAKS: dict[str, Callable[[], None]] = {
    "a fact": lambda: past_triggers(A_GRANT.replace("SELECT 5", f"SELECT {Counter.objects.get().revision}")),
    "the chain": lambda: hostile("UPDATE policies_change SET digest = repeat('0', 64) WHERE revision = 3"),
    "a password": lambda: past_triggers("UPDATE accounts_user SET password = 'argon2$x'"),
    "the end": lambda: hostile("UPDATE policies_counter SET revision = revision - 1"),
    "an old event": lambda: hostile("UPDATE policies_event SET object_name = 'x' WHERE change_id = 2"),
}


@pytest.mark.parametrize("what", BREAKS)
def test_what_is_wrong_is_told_to_service_admins_once_and_settled_when_it_is_right_again(
    watched: Node, what: str, client: Client, signed_in: Any
) -> None:
    checkpoints.make()
    admit(watched, "new1")
    BREAKS[what]()
    verification = hour()
    assert not verification.is_good and not verification.whole
    [text] = told()
    assert ("The audit log is damaged" in text) == bool(verification.broken)
    again = hour()
    assert not again.is_good and again.whole, "from now on all of it is read"
    assert told() == [text]
    text = verifications.in_words(again.broken, again.differences)
    ready = client.get("/health/ready")
    assert ready.status_code == 200 and f"record: DIFFERS - {text}" in ready.content.decode()
    assert read_metrics(client)["lakewarden_record_broken"] == bool(verification.broken)
    assert text in signed_in("sam").get("/").content.decode()
    assert text not in signed_in("ana").get("/").content.decode()
    page = signed_in("sam").get("/history/integrity").content.decode()
    assert ("Something was written outside the console" in page) == (not verification.broken)


def test_when_all_of_it_fits_again_nobody_is_bothered_any_more(watched: Node) -> None:
    past_triggers("UPDATE accounts_user SET is_superuser = true WHERE username = 'sam'")
    assert not hour().is_good and told()
    past_triggers("UPDATE accounts_user SET is_superuser = false WHERE username = 'sam'")
    assert hour().is_good and not told()
    assert not hour().whole
