"""Several at the same moment, over connections of their own, as two browsers or two processes are."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.db import connections

from policies.errors import PolicyError


def at_once(*deeds: Callable[[], object]) -> list[object]:
    """What each came to, begun by all together; a refusal is what it came to."""
    barrier, results = threading.Barrier(len(deeds)), list[object]([None] * len(deeds))

    def run(number: int) -> None:
        try:
            barrier.wait()
            results[number] = deeds[number]()
        except PolicyError as problem:
            results[number] = problem
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(deeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
