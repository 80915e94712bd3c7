"""What the driver says to whoever started it: a JSON object a line on its standard output."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

EVERY = 0.5  # seconds between two looks at Spark's tasks
SHARES = 1000
"""All work is so many parts; each step takes some of them."""


class Telling:
    """How far the work is.  `step("…", 700)` is a block that takes 700 of a thousand parts."""

    def __init__(self, spark: Any = None, out: Any = None) -> None:
        self.spark, self._out = spark, out or sys.stdout
        self._done, self._lock = 0, threading.Lock()

    def say(self, **told: object) -> None:
        with self._lock:
            try:
                self._out.write(json.dumps(told) + "\n")
                self._out.flush()
            except (BrokenPipeError, ValueError):
                os._exit(1)  # nobody listens any more

    @contextmanager
    def step(self, words: str, parts: int) -> Iterator[None]:
        start, ended = self._done, threading.Event()
        self.say(done=start, total=SHARES, step=words)
        watch = threading.Thread(target=self._watch, args=(words, start, parts, ended), daemon=True)
        watch.start()
        try:
            yield
        finally:
            ended.set()
            watch.join()
        self._done = start + parts
        self.say(done=self._done, total=SHARES, step=words)

    def _watch(self, words: str, start: int, parts: int, ended: threading.Event) -> None:
        before = 0.0
        while not ended.wait(EVERY):
            share = _share(self.spark)
            if share > before:  # a step may have many stages; it never goes back
                self.say(done=start + int(parts * share), total=SHARES, step=words)
                before = share


def _share(spark: Any) -> float:
    """How much of the tasks under way and finished in the running stages is done."""
    if spark is None:
        return 0.0
    tracker = spark.sparkContext.statusTracker()
    infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    tasks = sum(info.numTasks for info in infos if info)
    return sum(info.numCompletedTasks for info in infos if info) / tasks if tasks else 0.0


def end_with_parent() -> None:
    """End this process, and Java under it, when the other end of our standard input is closed."""

    def wait() -> None:
        # not through sys.stdin, whose lock would be held when the interpreter ends
        while os.read(0, 4096):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
