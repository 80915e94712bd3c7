"""PostgreSQL and Redis out of Python packages, for a machine that has neither.

A server lives below `var/` and listens on a unix socket only. The first process that needs it starts it; it
runs until the last of them has gone, however they went (see keeper.py).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from authzsite.embedded.postgresql import CONSOLE, PostgreSQL
from authzsite.embedded.redis_server import Redis
from authzsite.embedded.server import CannotStart, Server

__all__ = ["CONSOLE", "CannotStart", "PostgreSQL", "Redis", "Server", "console_database", "redis"]


@cache
def console_database(var: Path) -> PostgreSQL:
    return PostgreSQL(var / "postgresql")


@cache
def redis(var: Path) -> Redis:
    return Redis(var / "redis")
