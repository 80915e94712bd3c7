"""`manage.py verify_audit`"""

from __future__ import annotations

import sys
from argparse import BooleanOptionalAction
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from authzsite.management.base import OperatorCommand
from policies.record.verify import verify


class Command(OperatorCommand):
    help = (
        "Verify the complete audit log, and compare the tables with it. Exits 0 with one line if it is "
        "intact, else 1 with the first break, or with each row that differs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--checkpoints", metavar="FILE", type=Path, help="signed checkpoints that were kept elsewhere"
        )

        parser.add_argument(
            "--facts",
            action=BooleanOptionalAction,
            default=True,
            help="also compare facts, people, duties and accounts with the audit log",
        )

    def run(self, *, checkpoints: Path | None, facts: bool, **_: Any) -> None:
        verdict = verify(self._text(checkpoints), facts=facts)
        if verdict.broken is not None:
            self.fail(f"broken: {verdict.broken}")
        read = [(verdict.changes, "change"), (verdict.events, "event"), (verdict.looks, "access record")]
        read.append((verdict.signed, "checkpoint"))
        summary = ", ".join(_count(many, noun) for many, noun in [*read, *[(verdict.facts, "fact")] * facts])
        if verdict.differences:
            self.stderr.write(
                f"differs: {_count(verdict.differences, 'difference')} between the audit log and the tables\n"
                + "\n".join([*verdict.differing, *verdict.lost])
            )
            sys.exit(1)
        self.stdout.write("\n".join([f"intact: {summary}", *verdict.lost]))

    def _text(self, file: Path | None) -> str:
        try:
            return file.read_text() if file else ""
        except (OSError, UnicodeDecodeError) as error:
            self.fail(f"{file}: {error}", code=2)


def _count(many: int, noun: str) -> str:
    return f"{many} {noun if many == 1 else noun + 's'}"
