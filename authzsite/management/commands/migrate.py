"""`manage.py migrate`"""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError

from authzsite.bounded_database.base import LOCKED

ATTEMPTS, PAUSE = 60, 2.0


class Command(migrate.Command):
    """Django's own; where others hold a table it lets all pass who wait behind it, and tries again."""

    def handle(self, *args: Any, **options: Any) -> None:
        for _ in range(ATTEMPTS):
            try:
                super().handle(*args, **options)
                return
            except OperationalError as problem:
                if getattr(problem.__cause__, "sqlstate", "") != LOCKED:
                    raise
            self.stdout.write("\nanother transaction holds a table; what is done stays, trying again")
            time.sleep(PAUSE)
        raise CommandError(
            "Another transaction held a table all the time, such as a pg_dump: let it end, then run it again."
        )
