"""`manage.py export_audit`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from authzsite.management.base import OperatorCommand
from policies.record.exports import signed_archives


class Command(OperatorCommand):
    help = "Export the complete audit log as a signed archive that anyone can check."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--out", metavar="FILE", type=Path, default=Path("record.zip"))

    def run(self, *, out: Path, **_: Any) -> None:
        try:
            with out.open("wb") as file:
                count = signed_archives.record(file)
        except OSError as error:
            self.fail(f"{out}: {error.strerror}")
        self.stdout.write(f"{out}: {count} changes")
