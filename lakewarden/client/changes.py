"""Changes as the console tells them: whose answers may be others now, in well under a second.

One line to the console stays open for each realm (`GET /authz/v1/stream`, server-sent events).  Whatever it
misses, a cache's own refresh finds at the interval.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lakewarden.client.transport import BadCredentials, ConsoleError, MayNotAsk, Transport, Unavailable

log = logging.getLogger("lakewarden")

STREAM = "/authz/v1/stream"
EVERYBODY = "*"
SILENCE = 30.0
"""A line on which nothing came for so many seconds is dead."""
PAUSE, LONGEST_PAUSE = 1.0, 30.0


class Touched(NamedTuple):
    """Whose answers may have changed up to a revision, by `key_of`; `*` is everybody."""

    revision: int
    keys: frozenset[str]
    begins: bool = False

    def concerns(self, name: str) -> bool:
        """Whether it is about somebody of that name."""
        return EVERYBODY in self.keys or key_of(name) in self.keys


def key_of(name: str) -> str:
    """What stands for a name in messages: who knows it recognises it, and nobody reads it off."""
    return hashlib.sha256(name.casefold().encode()).hexdigest()[:32]


def changes(transport: Transport, realm: str, after: int | None = None) -> Iterator[Touched]:
    """What changes in a realm after a revision, until the console ends it.  Raises ConsoleError."""
    query = {"realm": realm} if after is None else {"realm": realm, "after": after}
    fields: dict[str, str] = {}
    for line in transport.lines(STREAM, query, silence=SILENCE):
        name, _, value = line.partition(":")
        if line == "":
            if fields.get("event") in ("ready", "touched"):
                yield _read(fields)
            fields = {}
        elif name:
            fields[name] = value.lstrip()


def _read(fields: dict[str, str]) -> Touched:
    try:
        revision, keys = int(fields["id"]), json.loads(fields["data"]).get("keys", [])
        return Touched(revision, frozenset(map(str, keys)), fields["event"] == "ready")
    except (KeyError, ValueError, TypeError, AttributeError):
        raise Unavailable("the console's stream of changes cannot be read") from None


class Listener:
    """Hears one realm's changes in a thread of its own, again and again from where it was."""

    def __init__(
        self,
        source: Callable[[str, int | None], Iterator[Touched]],
        realm: str,
        hear: Callable[[str, Touched], None],
    ) -> None:
        self._source, self._realm, self._hear = source, realm, hear
        self._after: int | None = None
        self._closed = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"lakewarden-changes-{realm}", daemon=True)

    def start(self) -> Listener:
        self.thread.start()
        return self

    def close(self) -> None:
        """Hear no more; the thread ends with the next sign of life from the console."""
        self._closed.set()

    def _run(self) -> None:
        pause = PAUSE
        while not self._closed.is_set():
            began = time.monotonic()
            try:
                self._listen()
                pause = PAUSE
            except (BadCredentials, MayNotAsk) as error:
                log.info("no stream of changes for %s, refreshes find them: %s", self._realm, error)
                pause = LONGEST_PAUSE
            except ConsoleError as error:
                log.debug("the stream of changes of %s is interrupted: %s", self._realm, error)
                pause = min(2 * pause, LONGEST_PAUSE)
            if pause > PAUSE or time.monotonic() - began < PAUSE:
                self._closed.wait(pause)

    def _listen(self) -> None:
        for touched in self._source(self._realm, self._after):
            if self._closed.is_set():
                return
            self._hear(self._realm, touched)
            self._after = touched.revision
