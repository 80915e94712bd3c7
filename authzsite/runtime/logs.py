"""Log lines without secrets, by any writer."""

from __future__ import annotations

import logging
import re

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


class NoSecretsFormatter(logging.Formatter):
    """Works on the finished text, so that tracebacks are covered too."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))
