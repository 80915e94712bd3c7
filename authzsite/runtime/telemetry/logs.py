"""Log lines without secrets, by any writer: for people, or as JSON for a log store."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from opentelemetry import trace

from lakewarden import request_ids

FORMATS = ("plain", "json")

_SECRETS = (
    (re.compile(r"(?<=://)([^\s:/@]*):[^\s@/]+@"), r"\1:…@"),
    (re.compile(r"(?i)\b(bearer|basic|token)\s+[\w.~+/=-]{12,}"), r"\1 …"),
    (
        re.compile(
            r"(?i)\b(\w*(?:password|passwd|secret|api_key|token|sessionid|csrftoken)\w*[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&)]+"
        ),
        r"\1…",
    ),
)


def without_secrets(text: str) -> str:
    for pattern, shown in _SECRETS:
        text = pattern.sub(shown, text)
    return text


def settings(form: str) -> dict[str, Any]:
    """Django's LOGGING in one of FORMATS."""
    own = "authzsite.runtime.telemetry.logs"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "plain": {
                "()": f"{own}.NoSecretsFormatter",
                "format": "%(asctime)s %(levelname)-7s %(name)s: %(message)s",
            },
            "json": {"()": f"{own}.JsonFormatter"},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": form}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django": {"level": "INFO"},
            "django.server": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
            "axes": {"level": "WARNING"},
            "celery.beat": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
        },
    }


class NoSecretsFormatter(logging.Formatter):
    """Works on the finished text, so that tracebacks are covered too; the request stands at the end."""

    def format(self, record: logging.LogRecord) -> str:
        line = without_secrets(super().format(record))
        request_id = request_ids.current()
        return f"{line} [{request_id}]" if request_id else line


class JsonFormatter(logging.Formatter):
    """One object a line: `time` in UTC, `level`, `logger`, `process`, `message`, and what else is known."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": without_secrets(record.getMessage()),
        }
        if request_id := request_ids.current():
            line["request_id"] = request_id
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            line |= {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}"}
        if record.exc_info:
            line["exception"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)
