"""Several beats: one of them asks at a time, and another takes over when it stops, dies or loses its lock."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import redis
from celery import Celery
from django.conf import settings

from authzsite.runtime import beat
from authzsite.runtime.beat import LockedScheduler

EVERY = 0.01

Beat = Callable[[], LockedScheduler]


@pytest.fixture
def a_beat(redis_url: str) -> Beat:
    """A function that starts a beat of one site; what it has asked for is in `asked`."""
    site = f"lakewarden:beat:{uuid.uuid4()}"

    class Recording(LockedScheduler):
        key, lease, period = site, 0.5, 0.1

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.asked = 0
            super().__init__(*args, **kwargs)

        def apply_entry(self, entry: Any, producer: Any = None) -> None:
            self.asked += 1

    def start() -> LockedScheduler:
        app = Celery("site", broker="memory://", set_as_current=False)
        app.conf.beat_schedule = {"look": {"task": "look", "schedule": EVERY}}
        return Recording(app)

    return start


def asks(scheduler: Any) -> int:
    """How much this beat asks for in a few ticks."""
    before = scheduler.asked
    for _ in range(4):
        time.sleep(EVERY)
        scheduler.tick()
    return int(scheduler.asked - before)


def taken_over(scheduler: Any) -> bool:
    """Whether this beat asks, now or when the lock of another ran out."""
    deadline = time.monotonic() + 60
    while not asks(scheduler):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_one_of_two_asks(a_beat: Beat) -> None:
    first, second = a_beat(), a_beat()
    first.lease = 600.0  # however slow this machine is
    assert asks(first) > 0
    assert (second.tick(), asks(second)) == (second.period, 0)
    assert asks(first) > 0


def test_one_that_stops_lets_the_next_begin_at_once(a_beat: Beat) -> None:
    first, second = a_beat(), a_beat()
    first.lease = 600.0
    assert (asks(first) > 0, asks(second)) == (True, 0)
    first.close()
    assert asks(second) > 0
    first.close()
    assert asks(first) == 0


def test_one_that_dies_is_followed_and_does_not_come_back_beside_the_other(a_beat: Beat) -> None:
    first, second = a_beat(), a_beat()
    second.lease = 600.0
    assert asks(first) > 0
    assert taken_over(second)
    assert asks(first) == 0


def test_a_server_that_forgot_the_lock_has_one_leader_again(a_beat: Beat) -> None:
    first, second = a_beat(), a_beat()
    first.lease = second.lease = 600.0
    assert asks(first) > 0
    redis.Redis.from_url(settings.REDIS_URL).delete(first.key)
    assert asks(second) > 0
    assert asks(first) == 0


def test_without_the_server_nobody_asks_and_nothing_falls(
    a_beat: Beat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:9/0")
    only = a_beat()
    assert (only.tick(), only.leads) == (only.period, False)
    only.close()


def test_another_takes_over_within_half_a_minute() -> None:
    assert f"{beat.__name__}:{LockedScheduler.__name__}" == settings.CELERY_BEAT_SCHEDULER
    assert LockedScheduler.lease + LockedScheduler.period <= 30
