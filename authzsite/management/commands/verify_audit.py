"""`manage.py verify_audit`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from authzsite.management.base import OperatorCommand
from policies.verify import verify


class Command(OperatorCommand):
    help = "Recompute the whole record; exit 0 and one line, or exit 1 and the first thing that is broken."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--checkpoints", metavar="FILE", type=Path, help="signed checkpoints that were kept elsewhere"
        )

    def run(self, *, checkpoints: Path | None, **_: Any) -> None:
        verdict = verify(self._text(checkpoints))
        if not verdict:
            self.fail(f"broken: {verdict.broken}")
        self.stdout.write(
            f"whole: {verdict.changes} changes, {verdict.events} events, {verdict.looks} access records, "
            f"{verdict.signed} checkpoints"
        )

    def _text(self, file: Path | None) -> str:
        try:
            return file.read_text() if file else ""
        except (OSError, UnicodeDecodeError) as error:
            self.fail(f"{file}: {error}", code=2)
