"""Large effects, which a worker of the console works out: followed until they are done."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from lakewarden.client.transport import Transport, Unavailable

EVERY = 2.0
"""Seconds between two looks."""
NOBODY = 120.0
"""Seconds after which it is no longer waited for a worker that is not there."""
Progress = Callable[[str], None]
"""Hears how far it is, in a line."""


def follow(line: Transport, answer: Mapping[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """What a worker found, once it is done.  Raises Unavailable when it failed or nobody works it out,
    ConsoleError when the realm changed meanwhile."""
    seen, alone = answer["calculation"], 0.0
    while seen["state"] in ("waiting", "running"):
        alone = 0.0 if seen["worker"] else alone + EVERY
        if alone > NOBODY:
            raise Unavailable(f"no worker of the console is calculating it; find it later at {seen['url']}")
        if progress is not None:
            progress(_line(seen))
        time.sleep(EVERY)
        seen = line.get(str(seen["url"]), {}).value or {"state": "failed", "trouble": "there is no answer"}
    if seen["state"] != "done":
        raise Unavailable(str(seen["trouble"]))
    return dict(seen)


def _line(seen: Mapping[str, Any]) -> str:
    if not seen["worker"]:
        return "waits for a worker; none has reported for a minute"
    if seen["state"] == "waiting":
        return f"waits behind {seen['waits_behind']:,} others"
    return f"{seen['percent']} % worked out, {seen['progress_at']}"
