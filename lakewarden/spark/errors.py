"""How a refusal gets from the rule, through Spark's Java, to the line of the program that caused it."""

from __future__ import annotations

import logging
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

CODE = "LAKEWARDEN-REFUSED"
_MOST_KEPT = 1000
_NUMBERED = re.compile(CODE + r" ([0-9a-f]{16})")
_kept: OrderedDict[str, Exception] = OrderedDict()
_lock = threading.Lock()
log = logging.getLogger("lakewarden")


def kept(error: Exception) -> str:
    """The text that a Java exception carries instead of the error itself, which is kept under its number."""
    number = secrets.token_hex(8)
    with _lock:
        _kept[number] = error
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return f"{CODE} {number}: {error}"


def error_in(text: str) -> Exception | None:
    """The error that a text speaks of."""
    number = _NUMBERED.search(text)
    with _lock:
        return _kept.get(number[1]) if number else None


def as_java(jvm: Any, error: Exception) -> Exception:
    """The error as one that py4j hands to Java whole, so that no traceback stands in anybody's log."""
    from py4j.protocol import Py4JJavaError

    made: Exception = Py4JJavaError("refused", jvm.java.lang.SecurityException(kept(error)))
    made.lakewarden = True  # type: ignore[attr-defined]
    return made


def as_it_was(error: Exception) -> Exception:
    """An error of Java's that PySpark has read for Python, to hand back to Java."""
    from py4j.protocol import Py4JJavaError

    origin = getattr(error, "_origin", None)
    if origin is None:
        return error
    made: Exception = Py4JJavaError("failed", origin)
    return made


def speak_python() -> None:
    """Let the program see the refusal itself wherever py4j would show the Java exception around it.

    PySpark puts its own reading of errors around py4j's with each session, so ours goes below that.
    """
    from py4j import protocol
    from pyspark.errors.exceptions.captured import install_exception_handler

    real = protocol.get_return_value
    if not getattr(real, "lakewarden", False):
        protocol.get_return_value = _telling(real)
        logging.getLogger("py4j.clientserver").addFilter(_not_a_refusal)
    install_exception_handler()


def _telling(real: Callable[..., Any]) -> Callable[..., Any]:
    from py4j.protocol import Py4JJavaError

    def answered(*args: Any, **kwargs: Any) -> Any:
        try:
            return real(*args, **kwargs)
        except Py4JJavaError as error:
            refusal = error_in(str(error))
            if refusal is None:
                raise
            raise refusal from None

    answered.lakewarden = True  # type: ignore[attr-defined]
    return answered


def _not_a_refusal(record: logging.LogRecord) -> bool:
    raised = record.exc_info[1] if record.exc_info else None
    return not getattr(raised, "lakewarden", False)
