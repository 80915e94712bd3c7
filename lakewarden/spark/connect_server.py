"""A Spark Connect server with the guard inside, where the programs of its clients cannot reach it.

Each client works under the user of its connection, and is decided on by that user's own rights.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from lakewarden.client import Client
from lakewarden.client.fresh_snapshot import FreshSnapshot
from lakewarden.client.transport import ConsoleError, NotConfigured
from lakewarden.law.principals import Principal
from lakewarden.spark import analyzer_rule, connect_calls
from lakewarden.spark.object_names import SETTING, Catalogs
from lakewarden.spark.pinned_settings import not_pushed
from lakewarden.spark.plan_checks import Holder, Watching
from lakewarden.spark.scala_objects import each, settings
from lakewarden.spark.server_environment import exposed
from lakewarden.spark.session_guard import Reports, run_of
from lakewarden.spark.uses import Reporter, Uses, spool_folder


def settings_of(texts: Iterable[str]) -> dict[str, str]:
    """Read `NAME=VALUE` each.  Raises NotConfigured."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals or not value:
            raise NotConfigured(f"`{text}` is not a setting; write NAME=VALUE")
        pairs[name] = value
    return pairs


class Nobody(ConsoleError, PermissionError):
    """Nobody is known to work in this session, so nothing is allowed in it."""


class Users:
    """Who works in which session, and the snapshots of each; asked from many threads."""

    def __init__(self, jvm: Any, client: Client, realm: str, *, refresh: float) -> None:
        self._sessions = _service(jvm).sessionManager()
        self._client, self._realm, self._refresh = client, realm, refresh
        self._users: dict[str, str] = {}
        self._held: dict[str, FreshSnapshot] = {}
        self._lock = threading.Lock()

    def holder(self, session: Any) -> Holder:
        """The snapshots of the user of a session.  Raises Nobody."""
        key = str(session.sessionUUID())
        with self._lock:
            if key not in self._users:
                # from session to user, for those there are now; a session never changes hands
                listed = each(self._sessions.listActiveSessions())
                self._users = {str(item.serverSessionId()): str(item.userId()) for item in listed}
            user = self._users.get(key)
            if not user:
                raise Nobody("no user is named, so nothing is allowed; connect as sc://host/;user_id=NAME")
            if user not in self._held:
                who = Principal("user", user)
                self._held[user] = FreshSnapshot(self._client, self._realm, who, refresh=self._refresh)
            return self._held[user]


class Server:
    """Serves from `start` to `stop`; `start` raises ConsoleError when the console gives nothing."""

    def __init__(
        self, client: Client, realm: str, catalogs: Mapping[str, str], configuration: Mapping[str, str]
    ) -> None:
        self._client, self._realm, self._given = client, realm, catalogs
        self._configuration = configuration
        self.spark: Any = None

    def start(self, host: str, port: int) -> None:
        """Answers as soon as clients are served."""
        FreshSnapshot(
            self._client, self._realm
        ).current()  # the console is there, knows the realm and takes the token
        _without_secrets(self._configuration)
        _free(host, port)
        spark = _session(
            {
                **self._configuration,
                **not_pushed(self._configuration),
                "spark.connect.grpc.binding.address": host,
                "spark.connect.grpc.binding.port": str(port),
            }
        )
        try:
            _without_secrets(dict(spark.sparkContext.getConf().getAll()))  # those of files, too
        except NotConfigured:
            spark.stop()
            raise
        self.spark = spark
        # clients read the refusal itself, not our traceback
        spark.sparkContext._gateway.python_parameters.propagate_java_exceptions = True
        uses, users = Uses(), Users(spark._jvm, self._client, self._realm, refresh=60.0)
        places = Catalogs(self._realm, {**settings(spark._jsparkSession, SETTING), **self._given})
        self._watching = Watching(
            spark._jvm, users.holder, places, uses, console=self._client.url, shared=True
        )
        self._watching.fix(spark._jsparkSession)
        self._reports = Reports(
            Reporter(uses, self._client.report_uses, self._realm, run_of(spark), spool_folder(None))
        )
        analyzer_rule.put(spark, self._watching)
        self._reports.start()
        connect_calls.refuse_unknown_calls(spark._jvm)
        _service(spark._jvm).start(spark.sparkContext._jsc.sc())  # no client comes before the guard does

    @property
    def console(self) -> str:
        return self._client.url

    def wait(self) -> None:
        """Until a signal asks to end."""
        ended = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.set())
        ended.wait()

    def stop(self) -> None:
        analyzer_rule.take(self.spark, self._watching)
        self._reports.stop()
        self.spark.stop()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.spark is not None:
            self.stop()


def _service(jvm: Any) -> Any:
    """Spark's own service, of which there is one."""
    return getattr(getattr(jvm.org.apache.spark.sql.connect.service, "SparkConnectService$"), "MODULE$")


def _free(host: str, port: int) -> None:
    """Raises NotConfigured where nobody can listen; Spark would say so in a hundred lines."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Spark does
            tried.bind((host, port))
    except (OSError, OverflowError) as error:
        raise NotConfigured(f"cannot listen on {host}:{port}: {error}") from None


def _without_secrets(settings: Mapping[str, str]) -> None:
    """Raises NotConfigured where a setting holds a secret, for clients may read every setting."""
    if names := exposed(settings):
        raise NotConfigured(
            f"every client could read the setting {', '.join(names)}: remove it, and put the secret where "
            "the driver or Hadoop finds it by itself (a password file, a key store, a role of the machine)"
        )


def _session(configuration: Mapping[str, str]) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise NotConfigured(f"the server needs PySpark 4: {error}") from None

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("lakewarden connect-server")
    for name, value in configuration.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
