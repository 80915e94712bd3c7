"""What happens to each plan: what it touches is named, decided on, refused whole or let through."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol
from urllib.parse import urlencode

from lakewarden.client import AccessDenied, Decision, Lack, Question
from lakewarden.client.snapshot import Snapshot
from lakewarden.law.evidence import Lack as Lacking
from lakewarden.spark import streams
from lakewarden.spark.actions import READ, UNKNOWN, USE, Action
from lakewarden.spark.foreign_calls import OPENING
from lakewarden.spark.object_names import Catalogs, LawQuestion, Nameless, questions
from lakewarden.spark.pinned_settings import Settings
from lakewarden.spark.plan_names import Console, Name, Namer, Names, connection
from lakewarden.spark.plan_reader import Folders, PlanWalk
from lakewarden.spark.scala_objects import class_of
from lakewarden.spark.uses import Uses

log = logging.getLogger("lakewarden")

_PARTS = (
    "ResolveRelations$$resolveViews(",
    ".checkSubqueryExpression(",
    ".CacheManager.recache",
    ".CatalogImpl.listTables(",
)
"""Where Spark analyses the body of a view, a subquery, again what it keeps in memory for others, or looks up
each table of a list (Spark 4 shows only the names of those that are refused; 3.5 would fail as a whole)."""

_CHANGED = "it decides what names stand for, and was changed after the guard started; set it before"

_RUNNING = ("CommandExec.sideEffectResult", "V2CommandExec.result")
"""Where a command runs: it was checked, and what it looks at itself is not handed to the program."""


class Holder(Protocol):
    """Whoever has a snapshot to go by; raises ConsoleError when there is none."""

    def current(self) -> Snapshot: ...


class Ran:
    """Spark's ear for what ran, in whatever session."""

    class Java:
        implements = ["org.apache.spark.sql.util.QueryExecutionListener"]

    def __init__(self, watching: Watching) -> None:
        self._watching = watching

    def onSuccess(self, name: str, execution: Any, nanoseconds: int) -> None:
        self._heard(execution)

    def onFailure(self, name: str, execution: Any, error: Any) -> None:
        self._heard(execution)

    def _heard(self, execution: Any) -> None:
        try:
            self._watching.ran(execution.sparkSession(), execution.analyzed())
        except Exception as error:  # noqa: BLE001 - a report must not end a job; what was refused comes here too
            log.debug("not noted as run: %s", error)


Who = Callable[[Any], Holder]
"""From a Java session to the holder of the snapshot of the one who works in it."""


class Watching:
    """Decides on plans.  `uses` is told what was let through and what then ran."""

    def __init__(
        self,
        jvm: Any,
        who: Who,
        catalogs: Catalogs,
        uses: Uses,
        *,
        console: str = "",
        shared: bool = False,
    ) -> None:
        self._who, self.catalogs, self.uses, self._console = who, catalogs, uses, Console(console, shared)
        self._subqueries = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION()
        self._throwable, self._text = jvm.java.lang.Throwable, jvm.org.apache.spark.util.Utils
        self._threads = threading.local()
        self._settings: Settings | None = None

    def fix(self, session: Any) -> dict[str, str]:
        """From now on the settings that say where names lead must be as they are in this session.

        Answers the settings that guarded sessions need besides.
        """
        self._settings = Settings(session)
        return self._settings.not_pushed

    def begin(self, session: Any) -> None:
        """A session is new here: hear what it runs."""
        session.listenerManager().register(Ran(self))

    def look(self, session: Any, plan: Any) -> None:
        """Let one plan pass, or raise AccessDenied with everything that it lacks."""
        try:
            self._judge(session, plan)
        except Exception:  # refused, or nothing to decide by
            streams.tidy(session, plan)
            raise

    def _judge(self, session: Any, plan: Any) -> None:
        snapshot = self._who(session).current()
        try:
            # tables are made in two steps, both in the thread of the statement
            if not hasattr(self._threads, "folders"):
                self._threads.folders = {}
            folders: Folders = self._threads.folders
            touches = self.touches(session, plan, folders)
        except AccessDenied:  # of what had to be analysed to know it
            frames = self._frames()
            if any(part in frames for part in (*_PARTS, ".classic.Catalog.listTables(")):
                return
            raise
        questions_ = questions(touches, snapshot, self.catalogs)
        refusals = self._refusals(questions_, snapshot)
        if refusals:
            if self._stands_elsewhere(touches):
                return
            raise AccessDenied(refusals, asked=len(questions_))
        self._threads.changed = {touch.name for touch in touches if touch.action not in (READ, USE)}
        self.uses.seen(snapshot.principal, questions_)

    def look_before(self, session: Any, source: Any) -> None:
        """Let Spark look up a name, or a source that a program reads by its format, or raise AccessDenied.

        To look up a name Spark starts catalogs, by settings that a program may have put in their place.
        """
        if class_of(source).endswith(".UnresolvedDataSource"):
            self._refuse(session, Namer(session, self._console).unresolved(source))
        elif self._settings is not None:
            changed = (f"with the setting {name}" for name in self._settings.changed(session))
            self._refuse(session, tuple(Name(UNKNOWN, (what, _CHANGED)) for what in changed))

    def connects(self, session: Any, url: str) -> None:
        """Raise AccessDenied: Spark is about to connect to a database that no catalog stands for."""
        self._refuse(session, (connection(url),))

    def _refuse(self, session: Any, names: Names) -> None:
        snapshot = self._who(session).current()
        touches = [Action(READ, name.kind, name.parts) for name in names]
        questions_ = questions(touches, snapshot, self.catalogs)
        if questions_:
            raise AccessDenied(self._refusals(questions_, snapshot), asked=len(questions_))

    def foreign(self, session: Any, name: str) -> Exception:
        """The refusal of a function that calls foreign code."""
        snapshot = self._who(session).current()
        question = Question(snapshot.principal, "run", Nameless("function", snapshot.realm, (name,)))
        opens = "an option of it may open a file"
        reason = opens if name in OPENING else "it calls Java in Spark's own process"
        return AccessDenied([Decision(question, allowed=False, reason=reason)], asked=1)

    def ran(self, session: Any, plan: Any) -> None:
        """A plan ran, to its end or not."""
        snapshot = self._who(session).current()
        questions_ = questions(self.touches(session, plan, {}), snapshot, self.catalogs)
        self.uses.executed(snapshot.principal, questions_)

    def touches(self, session: Any, plan: Any, folders: Folders) -> list[Action]:
        """Everything that a plan touches, in the order it is met."""
        walk = PlanWalk(session, self._subqueries, folders, self._console)
        walk.query(plan)
        if walk.touches and self._settings is not None:
            for name in self._settings.changed(session):
                walk.touch(Action(READ, UNKNOWN, (f"with the setting {name}", _CHANGED)))
        return list(walk.touches)

    def _stands_elsewhere(self, touches: Sequence[Action]) -> bool:
        """Whether this plan is a part of another that is checked whole, or what Spark does for itself.

        The body of a view and a subquery are analysed alone first; refusing them there would name some of
        the lacks only, and ask for what a view's reader need not have.
        """
        frames = self._frames()
        if any(part in frames for part in _PARTS):
            # the list itself is asked for; only the tables in it are looked up by the way
            return not any(touch.action == USE for touch in touches)
        changed: set[tuple[str, ...]] = getattr(self._threads, "changed", set())
        own = all(touch.action == READ and touch.name in changed for touch in touches if not touch.inside)
        return own and any(part in frames for part in _RUNNING)

    def _frames(self) -> str:
        return str(self._text.exceptionString(self._throwable()))

    def _refusals(self, asked: Iterable[LawQuestion], snapshot: Snapshot) -> list[Decision]:
        answers = (self._refusal(each, snapshot) for each in asked)
        return [refusal for refusal in answers if refusal is not None]

    def _refusal(self, asked: LawQuestion, snapshot: Snapshot) -> Decision | None:
        question = Question(snapshot.principal, asked.action, asked.ref)
        if asked.reason:
            return Decision(question, allowed=False, reason=asked.reason, revision=snapshot.revision)
        ways = snapshot.lineages(asked.ref) or [()]
        refused = [way for way in ways if not snapshot.decide(asked.action, asked.ref, lineage=way)]
        if not refused:
            return None
        explained = snapshot.explain(asked.action, asked.ref, lineage=refused[0])
        # the console's page where to ask for it, and that says why
        subject, action, resource = question
        query = {"resource": resource.id, "type": resource.type, "action": action, "for": str(subject)}
        link = f"{self._console.url}/requests/new?{urlencode(query)}" if self._console.url else None
        return Decision(
            question,
            allowed=False,
            reason=explained.decision.reason,
            missing=tuple(map(_lack_of, explained.missing)),
            revision=snapshot.revision,
            request_url=link,
        )


def _lack_of(lack: Lacking) -> Lack:
    name = lack.name.partition(f"{lack.object_type}:")[2] or lack.name  # a law of texts says both
    where = f"{lack.object_type} {name}".strip() or None
    return Lack(kind=lack.kind, privilege=lack.privilege or None, object=where)
