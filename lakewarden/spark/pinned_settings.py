"""Settings that say where names and places lead: they stay as they were when the guard began."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lakewarden.spark.scala_objects import pairs

_HADOOP = (
    "datanucleus.",
    "dfs.",
    "fs.",
    "hadoop.",
    "hive.metastore.",
    "io.",
    "ipc.",
    "javax.jdo.",
    "mapred.",
    "parquet.crypto.",
    "parquet.encryption.",
    "spark.hadoop.",
)
"""Spark hands every setting of a session on to Hadoop; these choose servers, file systems and classes."""
_CATALOG = "spark.sql.catalog."


class Settings:
    """Those of one session, to compare others with."""

    def __init__(self, session: Any) -> None:
        self._before = dict(self._leading(session))

    def changed(self, session: Any) -> list[str]:
        """The names of settings that lead elsewhere in this session than when the guard began.

        What the application itself was started with is good too: a new session begins with that.
        """
        others = [(name, value) for name, value in self._leading(session) if self._before.get(name) != value]
        if not others:
            return []
        first = session.sparkContext().getConf()
        return [name for name, value in others if str(first.get(name, "")) != value]

    def _leading(self, session: Any) -> Iterator[tuple[str, str]]:
        for name, value in pairs(session.sessionState().conf().getAllConfs()).items():
            if name.startswith((*_HADOOP, _CATALOG)):
                yield name, value
