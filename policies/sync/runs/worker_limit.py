"""How many workers may be at one server at a time, so that one that hangs does not keep them all."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.utils import timezone

from policies.models import Backend
from policies.record import session_locks
from policies.record.outbox import due_backends

_LOCKS = 0x6861_6E64
URGENT, OTHERS, SILENT = 1, 2, 2
"""For what takes access away; for all else; and over the whole site for servers that do not answer."""


@contextmanager
def at_server(row: Backend, *, urgent: bool) -> Iterator[bool]:
    """Whether one more worker may go to the server of a backend; it counts as there until the block ends."""
    taken = _take(_places(row, urgent=urgent))
    try:
        yield taken is not None
    finally:
        if taken is not None:
            session_locks.give_back(_LOCKS, taken)


def also_due(row: Backend, done: Collection[int]) -> Iterator[Backend]:
    """More backends of its server for which something is due, those first that take access away."""
    due = due_backends(timezone.now())
    others = Backend.objects.exclude(pk__in=done).exclude(state=Backend.State.PAUSED)
    there = {other.pk: other for other in others.filter(pk__in=due, place__startswith=server_of(row))}
    yield from (there[pk] for pk in due if pk in there and server_of(there[pk]) == server_of(row))


def server_of(row: Backend) -> str:
    """The host and port that a backend is reached at; its whole place when that names none."""
    return row.place.partition("/")[0] or row.place


def _places(row: Backend, *, urgent: bool) -> list[str]:
    server = server_of(row)
    at_it = Backend.objects.filter(place__startswith=server, state=Backend.State.SILENT)
    if any(server_of(other) == server for other in at_it):
        return [f"silent {number}" for number in range(SILENT)]
    many, what = (URGENT, "urgent") if urgent else (OTHERS, "others")
    return [f"{what} {number} {server}" for number in range(many)]


def _take(places: list[str]) -> int | None:
    return next((number for number in map(_number, places) if session_locks.take(_LOCKS, number)), None)


def _number(place: str) -> int:
    return zlib.crc32(place.encode()) - 2**31
