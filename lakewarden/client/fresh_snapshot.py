"""A snapshot kept fresh: asked for again when it is due, dropped when the console stays silent too long.

    held = Held(Client(), "demo")
    held.current().decide("read", ref)

While the console is away the last snapshot serves until `failures` refreshes in a row have failed; from then
on everything is refused until one succeeds.  A console that says no is obeyed at once.  One that hangs is
waited for once, as long as the client allows, and then asked beside the decisions that go on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from lakewarden.client import Client
from lakewarden.client.snapshot import BadSnapshot, Snapshot
from lakewarden.client.transport import BadCredentials, BadQuestion, ConsoleError, MayNotAsk, Unavailable
from lakewarden.law.principals import Principal

log = logging.getLogger("lakewarden")

PAUSE = 1.0
"""Where nothing is held, the console is asked again after so many seconds at the earliest."""
GRACE = 1.0
"""A console that failed once is waited for so many seconds while something good is held."""


class FreshSnapshot:
    """The snapshot of one principal, else of the token's own, in one realm; may be shared between threads.

    `refresh` is the seconds after which it is asked for again, `failures` how many refreshes in a row may
    fail before it is dropped.
    """

    def __init__(
        self,
        client: Client,
        realm: str,
        principal: Principal | str | None = None,
        *,
        refresh: float = 60.0,
        failures: int = 3,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if refresh <= 0 or failures < 1:
            raise ValueError("refresh must be above zero, and failures at least one")
        self._client: Client | None = client
        self.realm, self.principal = realm, principal
        self._refresh, self._limit, self._clock = refresh, failures, clock
        self._empty()

    @classmethod
    def fixed(cls, snapshot: Snapshot, *, clock: Callable[[], float] = time.time) -> FreshSnapshot:
        """One that asks nobody: for tests, and where the console cannot be reached."""
        held = cls.__new__(cls)
        held._client, held._clock, held._refresh, held._limit = None, clock, float("inf"), 1
        held.realm, held.principal = snapshot.realm, snapshot.principal
        held._empty()
        held._snapshot = snapshot
        return held

    def _empty(self) -> None:
        self._snapshot: Snapshot | None = None
        self._why: ConsoleError | None = None
        self._failed = self._floor = self._dropped = 0
        self._asked = self._next = float("-inf")
        self._lock = threading.Lock()

    def current(self) -> Snapshot:
        """The snapshot to decide by now.  Raises ConsoleError when there is none."""
        now = self._clock()
        if self._client is not None and self._due(now):
            self._refreshed(now)
        snapshot = self._snapshot
        if snapshot is None:
            raise self._why or Unavailable("there is no snapshot, so everything is refused")
        snapshot.check(now)
        return snapshot

    def refresh(self) -> Snapshot:
        """Ask now, whatever is held.  Raises ConsoleError."""
        if self._client is None:
            return self.current()
        with self._lock:
            self._ask(self._clock())
        if self._failed:
            raise self._why or Unavailable("the console gave no snapshot")
        return self.current()

    def drop(self) -> None:
        """Forget what is held, so that the next decision asks first."""
        if self._client is not None:
            self._dropped += 1
            self._snapshot, self._next = None, float("-inf")

    def _due(self, now: float) -> bool:
        if now < self._asked:  # the clock was set back
            return True
        snapshot = self._snapshot
        return now >= self._next or (
            snapshot is not None
            and now >= snapshot.good_until
            and now >= self._asked + min(PAUSE, self._refresh)
        )

    def _refreshed(self, now: float) -> None:
        snapshot = self._snapshot
        good = snapshot is not None and now < snapshot.good_until
        if not (good and self._failed):
            # whoever has something good to go by does not wait for another thread that asks
            self._ask_in_turn(now, wait=not good)
            return
        # it failed before: it is asked again without those who have something good to go by
        asking = threading.Thread(target=self._ask_in_turn, args=(now,), daemon=True)
        asking.start()
        asking.join(GRACE)

    def _ask_in_turn(self, now: float, *, wait: bool = False) -> None:
        if self._lock.acquire(blocking=wait):
            try:
                if self._due(now):
                    self._ask(now)
            finally:
                self._lock.release()

    def _ask(self, now: float) -> None:
        assert self._client is not None  # noqa: S101 - those that ask nobody do not come here
        held, dropped, self._asked = self._snapshot, self._dropped, now
        try:
            snapshot = self._client.snapshot(self.realm, self.principal, held=held, now=now)
            if snapshot.revision < self._floor:
                raise BadSnapshot("older", _OLDER.format(snapshot.revision, self._floor))
        except ConsoleError as error:
            self._failed, self._why = self._failed + 1, error
            refused = isinstance(error, (BadCredentials, MayNotAsk, BadQuestion))
            if refused or self._failed >= self._limit:
                if self._snapshot is not None:
                    log.error(
                        "%s; everything is refused until the console answers: restore the connection", error
                    )
                self._snapshot = None
            else:
                log.warning("refresh %s of %s failed: %s", self._failed, self._limit, error)
            # counted from here: a console that hangs must not delay the very next decision again
            self._next = self._clock() + (self._refresh if self._snapshot else min(PAUSE, self._refresh))
        else:
            self._snapshot, self._why, self._failed, self._floor = snapshot, None, 0, snapshot.revision
            # what was dropped meanwhile may be older than the reason for it
            self._next = now + self._refresh if dropped == self._dropped else float("-inf")


_OLDER = (
    "the console answers revision {}, but {} was seen before; "
    "if it was restored from a backup, restart this program"
)
