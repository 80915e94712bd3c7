"""A server that runs its clients' functions lets them find no secret of its own in any environment.

What Spark starts inherits the environment, and a process shows to its end the one that it began with.  So the
program is begun once more with an environment of names that are known to hold no secret, and is handed the
rest through a pipe that nobody else has.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

HANDED = "LAKEWARDEN_HANDED"
"""The number of the pipe's end, in the environment of the program that was begun again."""
_OWN = (
    "LAKEWARDEN_TOKEN",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
)
"""What the program needs to ask the console, and nobody else; a proxy's address may hold a password."""
_NAMES = """
    HOME HOSTNAME LANG LANGUAGE LD_LIBRARY_PATH LOGNAME NO_PROXY PATH PWD SHELL TERM TMPDIR TZ USER
    VIRTUAL_ENV XDG_STATE_HOME no_proxy
    JAVA_HOME JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS HADOOP_CONF_DIR HADOOP_HOME HIVE_CONF_DIR YARN_CONF_DIR
    LAKEWARDEN_CA LAKEWARDEN_RUN LAKEWARDEN_SPOOL LAKEWARDEN_URL
    OMP_NUM_THREADS PYSPARK_DRIVER_PYTHON PYSPARK_PYTHON PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONHOME
    PYTHONPATH PYTHONUNBUFFERED
    SPARK_CONF_DIR SPARK_DRIVER_MEMORY SPARK_EXECUTOR_CORES SPARK_EXECUTOR_MEMORY SPARK_HOME
    SPARK_LOCAL_DIRS SPARK_LOCAL_HOSTNAME SPARK_LOCAL_IP SPARK_LOG_DIR SPARK_MASTER SPARK_PUBLIC_DNS
    SPARK_USER
"""
_INHERITED = frozenset(_NAMES.split())
_SECRET = re.compile(r"secret|passw|passphrase|token|(access|account)[._]?key|credential", re.IGNORECASE)
_NO_SECRET = re.compile(
    r"(class|enabled|file|hours|impl|interval|keytab|length|ms|path|principal|provider|ratio|regex|renewal|"
    r"size|timeout|ttl|type)s?$",
    re.IGNORECASE,
)
_SWITCH = re.compile(r"true|false|[0-9.]{1,6}(ms|s|m|h|d)?", re.IGNORECASE)
_IN_ADDRESS = re.compile(
    r"//[^/@?#\s]*:[^/@?#\s]+@|\bthin:[^/@\s]+/[^/@\s]+@|(password|passwd|pwd|secret|token|accesskey)\w*=",
    re.IGNORECASE,
)
_NOT_DUMPABLE = 4  # PR_SET_DUMPABLE of Linux


def inherited(environment: Mapping[str, str], admitted: Iterable[str] = ()) -> dict[str, str]:
    """The variables that Spark, and with it the functions of clients, may see; `admitted` are names more."""
    names = _INHERITED.union(admitted)
    return {name: value for name, value in environment.items() if name in names or name.startswith("LC_")}


def exposed(settings: Mapping[str, str]) -> list[str]:
    """The settings of Spark that hold a secret; every client of a server may read all of its settings."""
    return sorted(name for name, value in settings.items() if value and _is_secret(name, value))


def _is_secret(name: str, value: str) -> bool:
    if _IN_ADDRESS.search(value):
        return True
    return bool(_SECRET.search(name)) and not (_NO_SECRET.search(name) or _SWITCH.fullmatch(value))


def begin_again(arguments: Iterable[str], admitted: Iterable[str] = ()) -> None:
    """Be this program once more with nothing but `inherited` in its environment; return where it is."""
    if HANDED in os.environ:
        return
    reading, writing = os.pipe()
    os.set_inheritable(reading, True)
    own = {name: os.environ[name] for name in _OWN if name in os.environ}
    with os.fdopen(writing, "w") as pipe:
        json.dump(own, pipe)  # as much as a pipe holds by far
    environment = {**inherited(os.environ, admitted), HANDED: str(reading)}
    os.execve(sys.executable, [sys.executable, "-m", "lakewarden", *arguments], environment)  # noqa: S606


@contextmanager
def handed() -> Iterator[None]:
    """Within this the program has what it was handed; behind it Spark may be started."""
    number = os.environ.pop(HANDED, "")
    own: dict[str, str] = {}
    if number:
        _unreadable()
        with os.fdopen(int(number)) as pipe:
            own = json.load(pipe)
    os.environ.update(own)
    try:
        yield
    finally:
        for name in own:
            os.environ.pop(name, None)


def _unreadable() -> None:
    """Let no other process of the same user look into the memory of this one, where the system knows how."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_NOT_DUMPABLE, 0, 0, 0, 0)
