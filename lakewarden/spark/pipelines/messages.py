"""What the driver says to its parent process: a JSON object a line on its standard output."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

EVERY = 0.5  # seconds between two looks at Spark's tasks
NO_EXECUTOR = 60.0  # seconds that tasks may wait for an executor before the run is given up
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
        before, alone_since = 0.0, None
        while not ended.wait(EVERY):
            alone_since = _alone_since(self.spark, alone_since)
            if alone_since is not None and time.monotonic() - alone_since > NO_EXECUTOR:
                self.say(trouble=no_executor_words(self.spark))
                os._exit(1)  # Spark would wait for ever, and the thread that asked it with it
            share = _share(self.spark)
            if share > before:  # a step may have many stages; it never goes back
                self.say(done=start + int(parts * share), total=SHARES, step=words)
                before = share


def _alone_since(spark: Any, before: float | None) -> float | None:
    """Since when tasks have waited with no executor for them; None while there is one, or nothing to do."""
    if spark is None or str(spark.sparkContext.master).startswith("local"):
        return None
    context = spark.sparkContext
    waiting = context.statusTracker().getActiveStageIds()
    executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is one of them
    if not waiting or executors > 0:
        return None
    return time.monotonic() if before is None else before


def no_executor_words(spark: Any) -> str:
    """Why a run on a cluster is given up before its first task, and what to change."""
    conf = spark.sparkContext.getConf()
    memory, cores = conf.get("spark.executor.memory", "1g"), conf.get("spark.executor.cores", "all cores")
    return (
        f"{spark.sparkContext.master} gave no executor within {NO_EXECUTOR:.0f} s: each asks for {memory} of "
        f"memory and {cores}. Start workers that have as much free, or set spark.executor.memory and "
        "spark.executor.cores to less in spark-defaults.conf."
    )


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
