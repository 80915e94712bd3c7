"""How many calls a token may make in a minute, counted in Redis for all processes together."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from functools import cache

import redis
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from accounts import tokens
from accounts.addresses import address_of
from authzsite.api import credentials, error_answers

log = logging.getLogger(__name__)
WINDOW = 60
REDIS_WITHIN = 0.5
"""Seconds for Redis to answer."""
AWAY = 5.0
"""Seconds for which Redis is left alone once it did not answer."""
KNOWN = 50_000
"""Of so many tokens a process remembers that they were made; it asks the database about each once."""
TEXT = "This token has made too many calls. Try again after the time in Retry-After."


class CallLimits:
    """Answers 429 to a token that calls too often, and tells it before how many calls are left."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        most, header = settings.LAKEWARDEN_CALLS_A_MINUTE, request.META.get("HTTP_AUTHORIZATION", "")
        if not most or not header:
            return self.get_response(request)
        now = time.time()
        window = int(now) // WINDOW
        left = _calls_left(request, header, most, window)
        rest = (window + 1) * WINDOW - int(now)
        response = self.get_response(request) if left >= 0 else _refused(request, rest)
        response.headers["RateLimit-Policy"] = f'"token";q={most};w={WINDOW}'
        response.headers["RateLimit"] = f'"token";r={max(left, 0)};t={rest}'
        return response


def _calls_left(request: HttpRequest, header: str, most: int, window: int) -> int:
    """How many calls are left after this one; below zero it is one too many.

    A token has its own count, however it is written; all else is counted with its address.  A token that
    this process has not met is counted there too before the database is asked whether it was ever made, so
    that made-up ones cost no more questions than calls are allowed.
    """
    secret, place = credentials.read(header).secret, _key(f"address:{address_of(request)}")
    if not secret.startswith(tokens.PREFIX):
        return most - counter.count(place, window)
    own = _key(secret)
    if not counter.knows(own):
        left = most - counter.count(place, window)
        if left < 0 or not _was_made(secret):
            return left
        counter.take_back(place, window)
        counter.learn(own)
    return most - counter.count(own, window)


def _was_made(secret: str) -> bool:
    try:
        return tokens.was_made(secret)
    except DatabaseError:
        return False  # the call itself will say that the database is away


def _key(named: str) -> str:
    return hashlib.sha256(named.encode(errors="replace")).hexdigest()[:32]


def _refused(request: HttpRequest, rest: int) -> HttpResponse:
    response = error_answers.in_form(request, 429, TEXT) or HttpResponse(
        TEXT, status=429, content_type="text/plain"
    )
    response.headers["Retry-After"] = str(rest)
    return response


class Counter:
    """Counts in Redis; while it does not answer each process counts by itself: nothing is unlimited."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, int], int] = {}
        self._made: set[str] = set()
        self._away_until = 0.0

    def knows(self, key: str) -> bool:
        """Whether it is known that a token of this key was made."""
        return key in self._made

    def learn(self, key: str) -> None:
        with self._lock:
            if len(self._made) >= KNOWN:
                self._made.clear()
            self._made.add(key)

    def count(self, key: str, window: int) -> int:
        """Calls of this one in this window, the present one included."""
        local_count = self._count_here(key, window)
        if time.monotonic() < self._away_until:
            return local_count
        name = f"lakewarden:calls:{window}:{key}"
        try:
            with _server(settings.REDIS_URL).pipeline(transaction=False) as pipe:
                pipe.incr(name)
                pipe.expire(name, 2 * WINDOW)
                everywhere = pipe.execute()[0]
        except (redis.RedisError, OSError) as problem:
            log.warning("calls are counted in each process by itself: %s", type(problem).__name__)
            self._away_until = time.monotonic() + AWAY
            return local_count
        return max(local_count, int(everywhere))

    def take_back(self, key: str, window: int) -> None:
        """Uncount a call that turned out to be another's."""
        with self._lock:
            if (key, window) in self._counts:
                self._counts[key, window] -= 1
        if time.monotonic() < self._away_until:
            return
        try:
            _server(settings.REDIS_URL).decr(f"lakewarden:calls:{window}:{key}")
        except (redis.RedisError, OSError) as problem:
            log.warning("a call is counted twice: %s", type(problem).__name__)

    def _count_here(self, key: str, window: int) -> int:
        with self._lock:
            if any(old != window for _, old in self._counts):
                self._counts = {item: many for item, many in self._counts.items() if item[1] == window}
            self._counts[key, window] = self._counts.get((key, window), 0) + 1
            return self._counts[key, window]


@cache
def _server(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=REDIS_WITHIN, socket_connect_timeout=REDIS_WITHIN)


counter = Counter()
