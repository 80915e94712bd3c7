"""`with guard(spark, realm="demo"):` every plan of the session is checked before it runs."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Union

from lakewarden.client import Client
from lakewarden.client.fresh_snapshot import FreshSnapshot
from lakewarden.law.principals import Principal
from lakewarden.spark import analyzer_rule, errors
from lakewarden.spark.object_names import SETTING, Catalogs
from lakewarden.spark.plan_checks import Holder, Watching
from lakewarden.spark.scala_objects import settings
from lakewarden.spark.uses import Reporter, Uses, spool_folder

EVERY = 600.0
"""Long runs report so often, in seconds."""

_LISTENERS_CATCH_UP = 5000  # milliseconds


class Reports:
    """Sends what was used now and then, at the end, and when the program ends without saying so."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter, self._done = reporter, threading.Event()

    def start(self) -> None:
        atexit.register(self._reporter.send)
        threading.Thread(target=self._now_and_then, daemon=True).start()

    def stop(self) -> None:
        self._done.set()
        atexit.unregister(self._reporter.send)
        self._reporter.send()

    def _now_and_then(self) -> None:
        while not self._done.wait(EVERY):
            self._reporter.send()


class Guard:
    """One guard over one application's sessions."""

    def __init__(
        self,
        spark: Any,
        held: Holder,
        catalogs: Catalogs,
        uses: Uses,
        *,
        console: str = "",
        reporter: Reporter | None = None,
    ) -> None:
        self._spark, self._held = spark, held
        self._reports = Reports(reporter) if reporter is not None else None
        self.watching = Watching(spark._jvm, lambda _: held, catalogs, uses, console=console)
        self._before: analyzer_rule.Before = []

    @property
    def uses(self) -> Uses:
        """What was used so far."""
        return self.watching.uses

    def start(self) -> Guard:
        """Guard from here on.  Raises ConsoleError when there is nothing to decide by, AlreadyGuarded."""
        self._held.current()
        needed = self.watching.fix(self._spark._jsparkSession)
        analyzer_rule.put(self._spark, self.watching)
        try:
            self._before = analyzer_rule.renew(self._spark, needed)
        except BaseException:
            analyzer_rule.take(self._spark, self.watching)
            raise
        if self._reports is not None:
            self._reports.start()
        return self

    def stop(self) -> None:
        """Report what was used, and give the program the session that it had before."""
        analyzer_rule.take(self._spark, self.watching)
        try:
            self._spark._jsc.sc().listenerBus().waitUntilEmpty(_LISTENERS_CATCH_UP)
            for session, before in self._before:
                analyzer_rule.switch(session, before)
        except Exception as error:  # noqa: BLE001 - Spark is gone already: there is nothing to give back
            errors.log.debug("the session is gone: %s", error)
        if self._reports is not None:
            self._reports.stop()

    def __enter__(self) -> Guard:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def guard(
    spark: Any,
    *,
    realm: str,
    catalogs: Mapping[str, str] | None = None,
    client: Client | None = None,
    principal: Principal | str | None = None,
    refresh: float = 60.0,
    run: str | None = None,
    spool: Union[str, Path, None] = None,
) -> Guard:
    """A guard that asks the console for the token's own rights, or for those of `principal`.

    `catalogs` adds to the settings `spark.lakewarden.catalog.<name> = <realm>/<catalog>`.  `run` names this
    run in reports, else LAKEWARDEN_RUN or Spark's application does; what cannot be sent waits in `spool`.
    Raises ConsoleError when the console gives nothing to decide by, NotConfigured.
    """
    asking = client if client is not None else Client()
    uses = Uses()
    named = run or os.environ.get("LAKEWARDEN_RUN") or run_of(spark)
    reporter = Reporter(uses, asking.report_uses, realm, named, spool_folder(spool))
    places = Catalogs(realm, {**settings(spark._jsparkSession, SETTING), **(catalogs or {})})
    held = FreshSnapshot(asking, realm, principal, refresh=refresh)
    return Guard(spark, held, places, uses, console=asking.url, reporter=reporter)


_runs: dict[str, int] = {}


def run_of(spark: Any) -> str:
    """The application's id; an application that guards again starts another run."""
    name = str(spark.sparkContext.applicationId)
    number = _runs[name] = _runs.get(name, 0) + 1
    return name if number == 1 else f"{name}-{number}"
