"""`manage.py migrate`"""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection

from authzsite.bounded_database.base import LOCKED
from authzsite.management import database_owner
from policies.record import sealings

ATTEMPTS, PAUSE = 60, 2.0
BROKEN = (
    "The audit log is not intact: {problem}. A migration that is due would seal rows as they stand, so "
    "nothing was migrated. Restore the database from a backup, or accept the end of the audit log with "
    "`manage.py restored`."
)


class Command(migrate.Command):
    """Django's own, as who owns the tables; where others hold one it lets all pass who wait behind it.

    Rows are sealed by a record that is intact, and once: it says afterwards which tables have seals.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        if options["database"] != DEFAULT_DB_ALIAS or options["plan"] or options["check_unapplied"]:
            self._migrate(*args, **options)
            return
        site = connection.settings_dict["USER"]
        with database_owner.entered_as_owner():
            if problem := sealings.problem_ahead():
                raise CommandError(BROKEN.format(problem=problem))
            self._migrate(*args, **options)
            sealings.put_on_record()
            if connection.settings_dict["USER"] != site:
                database_owner.let_site_in(site)

    def _migrate(self, *args: Any, **options: Any) -> None:
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
