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
        read = ((verdict.changes, "change"), (verdict.events, "event"), (verdict.looks, "access record"))
        told = [_count(many, one) for many, one in (*read, (verdict.signed, "checkpoint"))]
        self.stdout.write(f"whole: {', '.join(told)}")

    def _text(self, file: Path | None) -> str:
        try:
            return file.read_text() if file else ""
        except (OSError, UnicodeDecodeError) as error:
            self.fail(f"{file}: {error}", code=2)


def _count(many: int, one: str) -> str:
    return f"{many} {one if many == 1 else one + 's'}"
