"""What `manage.py check` says of dangerous settings, and `migrate` of databases that were left behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from authzsite.environment import dangers

BEFORE_SQUASH = "b965fbb"
"""The last commit with every migration of which the squashed ones were made."""


def no_dangers(**_: Any) -> list[CheckMessage]:
    """The settings as they are, wherever they came from, judged as the environment is at the start."""
    if settings.LAKEWARDEN_INSECURE:
        return []
    problems = dangers(settings.LAKEWARDEN_AUTHENTICATORS, settings.ALLOWED_HOSTS, debug=settings.DEBUG)
    return [Error(text, id="lakewarden.E001") for text in problems]


def no_lost_migrations(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """A database between two migrations that were squashed: Django would pass over what it cannot apply."""
    migrations = MigrationLoader(None).disk_migrations
    messages: list[CheckMessage] = []
    for database in databases or ():
        applied = MigrationRecorder(connections[database]).applied_migrations().keys()
        for (app, name), migration in migrations.items():
            lost = [old for old in migration.replaces if old not in applied and old not in migrations]
            if (app, name) in applied or not lost or len(lost) == len(migration.replaces):
                continue
            messages.append(
                Error(
                    f"{app} lacks {lost[0][1]} and what follows: these migrations are no longer here",
                    hint="Nothing was changed. "
                    f"Run `manage.py migrate` with commit {BEFORE_SQUASH}, which has them, then here.",
                    id="lakewarden.E002",
                )
            )
    return messages
