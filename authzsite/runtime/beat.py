"""The beat, on as many machines as one likes: one of them at a time asks for what is due."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import Any

import redis
from celery.beat import Scheduler
from django.conf import settings
from redis.exceptions import LockError

LEASE = 15.0
"""Seconds after which another beat takes over from one that says nothing more."""
PERIOD = LEASE / 3
"""Seconds between two words of the beat that leads, and between two attempts of the others."""

log = logging.getLogger(__name__)


class LockedScheduler(Scheduler):
    """Ticks while it holds a lock in the Redis that the work is asked for in, and waits while another does.

    Without that Redis nobody can be asked, so nobody leads either.
    """

    key = "lakewarden:beat"
    lease, period = LEASE, PERIOD
    leads = False

    @cached_property
    def lock(self) -> Any:
        server = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)
        # let go by the thread of a signal, too
        return server.lock(self.key, timeout=self.lease, thread_local=False)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Ask for one thing that is due; how many seconds to wait then."""
        led, self.leads = self.leads, self._takes_the_lead()
        if self.leads is not led:
            log.info("this beat leads" if self.leads else "another beat leads: this one waits")
        if not self.leads:
            return self.period
        return min(float(super().tick(*args, **kwargs)), self.period)

    def _takes_the_lead(self) -> bool:
        try:
            if self.leads:
                try:
                    return bool(self.lock.reacquire())
                except LockError:  # it ran out, or the server lost it
                    pass
            return bool(self.lock.acquire(blocking=False))
        except (redis.RedisError, OSError) as problem:
            log.warning("the beat waits for Redis: %s", type(problem).__name__)
            return False

    def close(self) -> None:
        """Let the next one take over at once."""
        super().close()
        if self.leads:
            self.leads = False
            try:
                self.lock.release()
            except (redis.RedisError, OSError) as problem:
                log.warning("the lock of the beat runs out by itself: %s", type(problem).__name__)
