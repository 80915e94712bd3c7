"""What a run touched: gathered by the rule, marked when it ran, sent once, kept while that fails."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Union

from lakewarden.client.transport import BadQuestion, ConsoleError
from lakewarden.law.objects import ObjectRef
from lakewarden.law.principals import Principal
from lakewarden.spark.object_names import LawQuestion, Nameless

log = logging.getLogger("lakewarden")

Report = Callable[[str, str, Sequence[Mapping[str, Any]]], object]
"""Takes realm, run and uses to the console; raises ConsoleError."""

MOST = 5000
"""So many uses at most go into one message."""


class Uses:
    """What one run used; may be told from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[Principal, str, ObjectRef], dict[str, Any]] = {}
        self._sent: dict[tuple[Principal, str, ObjectRef], bool] = {}

    def seen(self, principal: Principal, asked: Iterable[LawQuestion]) -> None:
        """These were decided with yes."""
        with self._lock:
            for each in asked:
                if not isinstance(each.ref, Nameless):
                    key = (principal, each.action, each.ref)
                    self._found.setdefault(key, {"executed": False, "at": _now()})

    def executed(self, principal: Principal, asked: Iterable[LawQuestion]) -> None:
        """These ran; what the rule did not let through is not taken up."""
        with self._lock:
            for each in asked:
                times = self._found.get((principal, each.action, each.ref))
                if times is not None:
                    times.update(executed=True, at=_now())

    def news(self) -> list[dict[str, Any]]:
        """What was not in an earlier answer of this, as the console reads it."""
        with self._lock:
            fresh = {key: use for key, use in self._found.items() if self._sent.get(key) != use["executed"]}
            self._sent.update({key: use["executed"] for key, use in fresh.items()})
            return [
                {"principal": str(who), "resource": f"{ref.type}:{ref.id}", "action": action, **use}
                for (who, action, ref), use in fresh.items()
            ]


class Reporter:
    """Sends what a run used; the console joins what it is told of one run, so repeating changes nothing."""

    def __init__(self, uses: Uses, report: Report, realm: str, run: str, spool: Path) -> None:
        self._uses, self._report, self._realm, self._run, self._spool = uses, report, realm, run, spool
        self._kept = 0
        self._lock = threading.Lock()

    def send(self) -> None:
        """Send what is new and what waits on disk.  Never raises: a report must not end a job."""
        with self._lock:
            try:
                self._send_waiting()
                self._send_news()
            except Exception:
                log.exception("uses were not reported")

    def _send_news(self) -> None:
        news = self._uses.news()
        for start in range(0, len(news), MOST):
            message = {"realm": self._realm, "run": self._run, "uses": news[start : start + MOST]}
            if not self._sent(message):
                self._spool.mkdir(parents=True, exist_ok=True, mode=0o700)
                name = "".join(char if char.isalnum() else "-" for char in str(message["run"]))
                self._kept += 1
                place = self._spool / f"uses-{name}-{os.getpid()}-{self._kept}.json"
                being_written = place.with_suffix(".new")
                being_written.write_text(json.dumps(message))
                being_written.replace(place)

    def _sent(self, message: Mapping[str, Any]) -> bool:
        try:
            self._report(message["realm"], message["run"], message["uses"])
        except BadQuestion as error:
            log.error("the console does not accept these uses, so they are dropped: %s", error)
        except ConsoleError as error:
            log.warning("uses of run %s wait in %s: %s", message["run"], self._spool, error)
            return False
        return True

    def _send_waiting(self) -> None:
        for place in sorted(self._spool.glob("uses-*.json")):
            message = _read(place)
            if message is None or message["realm"] != self._realm:
                continue
            if not self._sent(message):
                return
            place.unlink(missing_ok=True)


def spool_folder(given: Union[str, Path, None]) -> Path:
    """Where reports wait: what was given, LAKEWARDEN_SPOOL, or a folder of the user's own state."""
    named = given or os.environ.get("LAKEWARDEN_SPOOL")
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "lakewarden"


def _read(place: Path) -> dict[str, Any] | None:
    try:
        message = json.loads(place.read_text())
    except (OSError, ValueError):
        message = None
    if isinstance(message, dict) and {"realm", "run", "uses"} <= message.keys():
        return message
    log.warning("%s is not a report of uses", place)
    return None


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
