"""Settings that say where names and places lead: they stay as they were when the guard began."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lakewarden.client.transport import NotConfigured
from lakewarden.spark import options
from lakewarden.spark.plan_names import JDBC_CATALOG
from lakewarden.spark.scala_objects import pairs

_HADOOP = (
    "datanucleus.",
    "dfs.",
    "fs.",
    "hadoop.",
    "hive.",
    "io.",
    "ipc.",
    "javax.jdo.",
    "mapred.",
    "mapreduce.",
    "parquet.crypto.",
    "parquet.encryption.",
    "parquet.private.",
    "spark.hadoop.",
)
"""Spark hands each setting of a session on to Hadoop; these choose servers, systems, classes and folders."""
_HARMLESS = re.compile(
    r"hive\.exec\.(dynamic\.partition(\.mode)?|max\.(created\.files|dynamic\.partitions(\.pernode)?)|"
    r"compress\.(intermediate|output))|hive\.mapred\.supports\.subdirectories|"
    r"mapreduce\.(job\.(name|queuename)|input\.fileinputformat\.(input\.dir\.recursive|split\.(max|min)size)|"
    r"fileoutputcommitter\.(algorithm\.version|cleanup-failures\.ignored|marksuccessfuljobs)|"
    r"output\.fileoutputformat\.compress)"
)
"""How many, how large, whether at all: these lead nowhere."""
_CATALOG = "spark.sql.catalog."


class Settings:
    """Those of one session, to compare others with."""

    def __init__(self, session: Any) -> None:
        self._before = dict(self._leading(session))
        self.not_pushed = not_pushed(self._before)
        self._before.update(self.not_pushed)

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
            if name.startswith((*_HADOOP, _CATALOG)) and not _HARMLESS.fullmatch(name):
                yield name, value


def not_pushed(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that keep statements out of databases that would misread the values in them."""
    found = {}
    given = {name.lower() for name in settings}
    for name, value in settings.items():
        catalog = name[len(_CATALOG) :]
        if not name.startswith(_CATALOG) or "." in catalog or not value.endswith(JDBC_CATALOG):
            continue
        url = next((v for n, v in settings.items() if n.lower() == f"{name}.url".lower()), "")
        names = () if options.takes_values(url) else options.PUSHED
        found.update({f"{name}.{one}": "false" for one in names if f"{name}.{one}".lower() not in given})
    return found


_OTHER_ANALYSER = "spark.sql.analyzer.singlePassResolver."


class OneAnalyser:
    """Spark 4 has a second analyser, which a setting lets ask no rule at all: nobody may choose it.

    What says so counts as fixed while the guard is there, for every session of the application.
    """

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self._fixed: list[str] = []
        self._known = getattr(getattr(jvm.org.apache.spark.sql.internal, "SQLConf$"), "MODULE$")

    def begin(self, spark: Any) -> None:
        """Raises NotConfigured where the other one was chosen already."""
        known = (str(entry.key()) for entry in self._known.getConfigEntries().toArray())
        names = [name for name in known if name.startswith(_OTHER_ANALYSER)]
        session = pairs(spark._jsparkSession.sessionState().conf().getAllConfs())
        for name in names:
            if name in session or spark.sparkContext.getConf().get(name) is not None:
                raise NotConfigured(f"remove the setting {name}: with it Spark may run without the guard")
        for name in names:
            self._known.registerStaticConfigKey(name)
        self._fixed = names

    def end(self) -> None:
        """Sessions may choose again."""
        field = next(f for f in self._known.getClass().getDeclaredFields() if f.getName() == "staticConfKeys")
        field.setAccessible(True)
        left = self._jvm.java.util.HashSet(field.get(self._known))
        for name in self._fixed:
            left.remove(name)
        field.set(self._known, left)
        self._fixed = []
