"""Telling workers that something waits for them: in the background, as nobody waits for a broker that hangs.

What waits stands in the database, and the beat looks for it every few seconds, so a nudge may be lost.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
from collections.abc import Sequence
from contextvars import Context, copy_context
from typing import Any, NamedTuple

from celery import current_app

log = logging.getLogger(__name__)

MOST = 1000
"""So many nudges wait for the broker; what comes on top is left to the beat."""
LAST_WAIT = 1.0
"""Seconds that a process which ends gives to those that still wait."""


class _Nudge(NamedTuple):
    task: str
    arguments: Sequence[Any]
    queue: str | None
    context: Context
    """Of the request that it comes from."""


class _Sender:
    """One thread of this process that hands nudges to the broker, one after the other."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.waiting: queue.Queue[_Nudge] = queue.Queue(MOST)
        self.idle = threading.Event()
        threading.Thread(target=self._run, name="nudges", daemon=True).start()

    def _run(self) -> None:
        while True:
            nudge = self.waiting.get()
            self.idle.clear()
            try:
                nudge.context.run(current_app.send_task, nudge.task, list(nudge.arguments), queue=nudge.queue)
            except Exception as error:  # noqa: BLE001 -- whatever is wrong with the broker, the beat makes up
                log.info("%s was not asked for (%s); the beat will", nudge.task, type(error).__name__)
            finally:
                if self.waiting.empty():
                    self.idle.set()


_lock = threading.Lock()
_sender: _Sender | None = None


def send(task: str, *arguments: Any, queue: str | None = None) -> None:
    """Ask workers for a task soon; returns at once, whatever the broker does."""
    try:
        _running().waiting.put_nowait(_Nudge(task, arguments, queue, copy_context()))
    except _Full:
        log.info("%s was not asked for, as the broker takes nothing; the beat will", task)


def _running() -> _Sender:
    global _sender
    with _lock:
        # a thread does not survive a fork
        if _sender is None or _sender.process != os.getpid():
            _sender = _Sender()
            atexit.register(_finish, _sender)
        return _sender


def _finish(sender: _Sender) -> None:
    if sender.process == os.getpid() and not sender.waiting.empty():
        sender.idle.wait(LAST_WAIT)


_Full = queue.Full
