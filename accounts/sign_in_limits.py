"""How often somebody may try to sign in, and how many passwords are looked at at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db.models import Count, Sum
from django.http import HttpRequest

from accounts import sign_in_rate
from accounts.addresses import address_of

NAMES_OF_ADDRESS = 10
"""So many names may fail from one address: whoever tries one password with many names is stopped there."""
OF_ADDRESS, OF_NAME = 50, 40
"""So many wrong passwords may come from one address, and for one name from everywhere."""
AT_ONCE, WAITING = 1, 2
"""Of a process: so many passwords are looked at at once, and so many wait for that; the next is sent away."""
LONGEST_WAIT = 2.0


class Busy(Exception):
    """Too many passwords are to be looked at; nothing was looked at."""


class Limits(AxesDatabaseHandler):  # type: ignore[misc]  # axes is not typed
    """The limit of axes for a name at an address, and one each for the address and for the name alone."""

    def is_allowed(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        """Whether a password may be looked at; asked once before each.  Raises NotNow."""
        sign_in_rate.admit(request, (credentials or {}).get("username") or "")
        return bool(super().is_allowed(request, credentials))

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """How many tries count against this one; the limit at least where another limit is reached."""
        failures = int(super().get_failures(request, credentials))
        recent = AccessAttempt.objects.filter(attempt_time__gte=get_cool_off_threshold(request))
        address = recent.filter(ip_address=address_of(request)).aggregate(
            names=Count("username", distinct=True), failures=Sum("failures_since_start")
        )
        name = (credentials or {}).get("username") or request.POST.get("username")
        of_name = recent.filter(username=name).aggregate(failures=Sum("failures_since_start"))
        too_many = (
            address["names"] >= NAMES_OF_ADDRESS
            or (address["failures"] or 0) >= OF_ADDRESS
            or (of_name["failures"] or 0) >= OF_NAME
        )
        return max(failures, settings.AXES_FAILURE_LIMIT) if too_many else failures


class _Turns:
    def __init__(self) -> None:
        self._inside = threading.BoundedSemaphore(AT_ONCE + WAITING)
        self._looking = threading.BoundedSemaphore(AT_ONCE)

    @contextmanager
    def one(self) -> Iterator[None]:
        """Look at one password.  Raises Busy."""
        if not self._inside.acquire(blocking=False):
            raise Busy
        try:
            if not self._looking.acquire(timeout=LONGEST_WAIT):
                raise Busy
            try:
                yield
            finally:
                self._looking.release()
        finally:
            self._inside.release()


turns = _Turns()


class Hasher(Argon2PasswordHasher):
    """Argon2id with 64 MiB on one core, one password at a time, so that checks are answered meanwhile."""

    time_cost = 2
    memory_cost = 65536
    parallelism = 1

    def verify(self, password: str, encoded: str) -> bool:
        with turns.one():
            return bool(super().verify(password, encoded))

    def encode(self, password: str, salt: str) -> str:
        with turns.one():
            return str(super().encode(password, salt))
