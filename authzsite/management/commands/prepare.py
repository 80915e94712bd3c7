"""`manage.py prepare`"""

from __future__ import annotations

from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from authzsite.management.base import OperatorCommand
from authzsite.runtime.processes import CURRENT, STEP


class Command(OperatorCommand):
    help = (
        "What `make run` needs before anybody signs in, in one process: migrations, seals on a site that has "
        "none, and the demo.  Idempotent."
    )

    def run(self, **_: Any) -> None:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", interactive=False, verbosity=0, stdout=self.stdout, stderr=self.stderr)
            self.stdout.write(f"{STEP}migrate")
        else:
            self.stdout.write(CURRENT)
        call_command("facts", if_new=True, stdout=self.stdout, stderr=self.stderr)
        self.stdout.write(f"{STEP}facts")
        call_command("demo", stdout=self.stdout, stderr=self.stderr)
        self.stdout.write(f"{STEP}demo")
