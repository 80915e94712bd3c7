"""`manage.py verify_audit`"""

from __future__ import annotations

from typing import Any

from authzsite.management.base import OperatorCommand
from policies.verify import verify


class Command(OperatorCommand):
    help = "Recompute the whole record; exit 0 and one line, or exit 1 and the first thing that is broken."

    def run(self, **_: Any) -> None:
        verdict = verify()
        if not verdict:
            self.fail(f"broken: {verdict.broken}")
        self.stdout.write(
            f"whole: {verdict.changes} changes, {verdict.events} events, {verdict.looks} access records"
        )
