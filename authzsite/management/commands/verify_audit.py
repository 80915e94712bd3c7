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
        "Recompute the whole record and hold what is decided on against it; exit 0 and one line, or exit 1 "
        "and the first thing that is broken, or what is not as the record says."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--checkpoints", metavar="FILE", type=Path, help="signed checkpoints that were kept elsewhere"
        )

        parser.add_argument(
            "--facts",
            action=BooleanOptionalAction,
            default=True,
            help="hold facts, people, duties and accounts against the record, or read it alone",
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
                f"differs: {_count(verdict.differences, 'difference')} between the record and the tables\n"
                + "\n".join([*verdict.differing, *verdict.lost])
            )
            sys.exit(1)
        self.stdout.write("\n".join([f"whole: {summary}", *verdict.lost]))

    def _text(self, file: Path | None) -> str:
        try:
            return file.read_text() if file else ""
        except (OSError, UnicodeDecodeError) as error:
            self.fail(f"{file}: {error}", code=2)


def _count(many: int, noun: str) -> str:
    return f"{many} {noun if many == 1 else noun + 's'}"
