"""A replica of the database, from which the facts of a check are read while it has all that the primary has.

It is asked only when it has the last change of the primary's record, by number and digest: one that lags
behind, that a failover left behind, or of another history says nothing.  What it has is believed only where
all seals are good.  In every other case the primary is asked, so a replica costs time at worst, never a yes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections

log = logging.getLogger(__name__)

ALIAS = "replica"
REST = 30.0
"""Seconds for which a replica that failed is left alone, so that not each check waits for it."""
_HEAD = """
SELECT revision, digest, EXISTS (SELECT FROM policies_unsealedfact) FROM policies_counter
"""
T = TypeVar("T")
_rests_until = 0.0


def read(ask: Callable[[str], T], *, believed: Callable[[T], bool]) -> T:
    """What the replica answers, where it has all and is believed; else what the primary answers.

    `ask` takes the name of a connection.
    """
    if ALIAS in settings.DATABASES and time.monotonic() >= _rests_until:
        revision, digest, doubted = _head()
        try:
            # what stands past the console is judged where it stands
            answer = ask(ALIAS) if not doubted and _has(revision, digest) else None
        except Error as problem:
            _let_rest(problem)
        else:
            if answer is not None and believed(answer):
                return answer
    return ask(DEFAULT_DB_ALIAS)


def has_all() -> bool:
    """Whether it has the last change of the primary.  Raises django.db.Error where it does not answer."""
    revision, digest, _ = _head()
    return _has(revision, digest)


def _head() -> tuple[int, str, bool]:
    """The last change of the primary, its digest, and whether any fact was found that no change made."""
    with connection.cursor() as cursor:
        cursor.execute(_HEAD)
        revision, digest, doubted = cursor.fetchone()
    return revision, digest, doubted


def _has(revision: int, digest: str) -> bool:
    with connections[ALIAS].cursor() as cursor:
        cursor.execute("SELECT digest FROM policies_change WHERE revision = %s", [revision])
        return bool(cursor.fetchone() == (digest,))


def _let_rest(problem: Exception) -> None:
    global _rests_until
    _rests_until = time.monotonic() + REST
    log.warning("the replica is not asked for %.0f s: %s", REST, type(problem).__name__)


def forget_rest() -> None:
    """Ask it again at once; for tests."""
    global _rests_until
    _rests_until = 0.0
