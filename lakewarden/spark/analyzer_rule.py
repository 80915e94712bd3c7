"""A Python function as a check rule of Spark's analyser, which hands it every plan before it runs."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol

from lakewarden.spark import early_checks, errors, foreign_calls
from lakewarden.spark.catalog_listing import list_the_open
from lakewarden.spark.pinned_settings import OneAnalyser
from lakewarden.spark.scala_objects import has_method


class Watch(Protocol):
    """What is asked about each plan; it raises to refuse."""

    def begin(self, session: Any) -> None: ...

    def look(self, session: Any, plan: Any) -> None: ...

    def look_before(self, session: Any, source: Any) -> None: ...

    def connects(self, session: Any, url: str) -> None: ...

    def foreign(self, session: Any, name: str) -> Exception: ...


class _Check:
    """The rule of one session."""

    class Java:
        implements = ["scala.Function1"]

    def __init__(self, jvm: Any, session: Any, watch: Watch) -> None:
        self._jvm, self._session, self._watch = jvm, session, watch
        self._begun = False

    def apply(self, plan: Any) -> None:
        try:
            if not self._begun:  # only now is the session whole
                self._begun = True
                self._watch.begin(self._session)
            self._watch.look(self._session, plan)
        except Exception as error:  # noqa: BLE001 - whatever fails here, the statement must not run
            raise errors.as_java(self._jvm, error) from None


class _Free:
    """The rule of sessions that began while no guard was there."""

    class Java:
        implements = ["scala.Function1"]

    def apply(self, plan: Any) -> None:
        return None


class _Rule:
    """Spark asks it for a rule when it builds a session's analyser: that of the guard in force."""

    class Java:
        implements = ["scala.Function1"]

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self.watch: Watch | None = None
        self.parsers, self.earlier = foreign_calls.Parsers(jvm), early_checks.Rules(jvm)
        self._analyser = OneAnalyser(jvm)
        self._functions: foreign_calls.Kept = []
        self._guarded: set[str] = set()

    def begin(self, spark: Any, watch: Watch) -> None:
        """Sessions that begin from now on ask `watch`, and are closed to what is foreign."""
        self._analyser.begin(spark)
        registry = self._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
        self.watch, self.parsers.on = watch, True
        self._functions = self.forbid(spark, registry)
        companion = _companion(spark, spark._jsparkSession)

        def connects(url: Any) -> None:
            session = companion.active()
            if self.guards(session):
                watch.connects(session, str(url))

        self.earlier.begin(watch.look_before, connects)

    def forbid(self, spark: Any, registry: Any) -> foreign_calls.Kept:
        watch, companion = self.watch, _companion(spark, spark._jsparkSession)
        assert watch is not None  # noqa: S101 - asked of a rule that begins

        def refuse(name: str) -> Exception:
            return watch.foreign(companion.active(), name)

        return foreign_calls.forbid(self._jvm, registry, refuse)

    def end(self) -> None:
        """Sessions that begin from now on are as Spark makes them."""
        self.watch, self.parsers.on = None, False
        self.earlier.end()
        self._analyser.end()
        foreign_calls.restore(self._functions)

    def guards(self, session: Any) -> bool:
        """Whether a session asks; one from before the guard has its analyser already."""
        session.sessionState().analyzer()
        return str(session.sessionUUID()) in self._guarded

    def apply(self, session: Any) -> _Check | _Free:
        if self.watch is None:
            return _Free()
        self._guarded.add(str(session.sessionUUID()))
        return _Check(self._jvm, session, self.watch)


class AlreadyGuarded(RuntimeError):
    """One application has one guard at a time."""


_lock = threading.Lock()
_rules: list[tuple[Any, _Rule]] = []


def put(spark: Any, watch: Watch) -> None:
    """Let every session that begins from now on ask `watch`.  Raises AlreadyGuarded, NotConfigured."""
    from pyspark.java_gateway import ensure_callback_server_started

    ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
    errors.speak_python()
    with _lock:
        rule = _rule(spark)
        if rule.watch is not None:
            raise AlreadyGuarded("this application is guarded already; end that guard first")
        rule.begin(spark, watch)


def take(spark: Any, watch: Watch) -> None:
    """Sessions that begin from now on ask nobody; those there are go on asking."""
    with _lock:
        rule = _rule(spark)
        if rule.watch is watch:
            rule.end()


def _rule(spark: Any) -> _Rule:
    """The one rule of an application: what Spark was told once cannot be taken back."""
    extensions = spark._jsparkSession.extensions()
    for session_rule, rule in _rules:
        if session_rule._gateway_client is extensions._gateway_client and session_rule.equals(extensions):
            return rule
    rule = _Rule(spark._jvm)
    extensions.injectCheckRule(rule)
    extensions.injectParser(rule.parsers)
    if has_method(extensions, "injectHintResolutionRule"):  # Spark 4; hints come before anything is looked up
        extensions.injectHintResolutionRule(rule.earlier)
    _rules.append((extensions, rule))
    return rule


Before = list[tuple[Any, Any]]
"""Sessions of the program and the Java session that each had before."""


def renew(spark: Any, needed: Mapping[str, str]) -> Before:
    """Give the program a copy of its session whose analyser knows the rule, with the settings it needs.

    What asks for the session of the application is given it too.
    """
    from pyspark.sql import SparkSession

    session = SparkSession._instantiatedSession
    same = session is not None and session is not spark and session._sc is spark._sc
    before = [(each, each._jsparkSession) for each in ([session, spark] if same else [spark])]
    copy = spark._jsparkSession.cloneSession()  # keeps settings, temporary views and functions
    for name, value in needed.items():
        copy.conf().set(name, value)
    copy.sessionState().analyzer()  # built now, while the rule stands
    _rule(spark).forbid(spark, copy.sessionState().functionRegistry())
    for each, _ in before:
        switch(each, copy)
        list_the_open(each.catalog)
    return before


def switch(spark: Any, session: Any) -> None:
    """Make a Java session the one of the program and of everything that asks for the active one."""
    spark._jsparkSession = session
    companion = _companion(spark, session)
    companion.setDefaultSession(session)
    companion.setActiveSession(session)
    for cached in ("conf", "catalog", "_jconf", "_catalog", "_conf"):
        spark.__dict__.pop(cached, None)


def _companion(spark: Any, session: Any) -> Any:
    """Scala's object beside the class of a session."""
    return getattr(getattr(spark._jvm, session.getClass().getName() + "$"), "MODULE$")
