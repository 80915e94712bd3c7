"""Pages as they are compared: how a template breaks its lines means nothing."""

from __future__ import annotations

from typing import Any


def markup(answer: Any) -> str:
    """The page that an answer brings, each run of whitespace as one space."""
    return on_one_line(answer.content.decode())


def on_one_line(html: str) -> str:
    """Markup with each run of whitespace as one space."""
    return " ".join(html.split())
