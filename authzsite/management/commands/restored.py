"""`manage.py restored`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from authzsite.management.base import OperatorCommand
from lakewarden.record.notes import BadNote
from policies.models import Backend
from policies.record import checkpoints, lost_ends
from policies.record.lost_ends import LogEnd
from policies.sync.safeguards import restored

WORDS = {checkpoints.CHANGES: "audit log", checkpoints.ACCESS: "log of refusals and views"}


class Command(OperatorCommand):
    help = (
        "Declare that this database was restored from a backup: every backend only reports until its plan is "
        "reviewed. Prints what the audit log lost; --accept-end records the loss."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--accept-end",
            metavar="REVISION",
            type=int,
            help="the last revision of the copy: records that all later signed entries are lost",
        )
        parser.add_argument("--reason", default="", help="why the copy was restored; kept permanently")
        parser.add_argument(
            "--checkpoints", metavar="FILE", type=Path, help="signed checkpoints that were kept elsewhere"
        )

    def run(self, *, accept_end: int | None, reason: str, checkpoints: Path | None, **_: Any) -> None:
        try:
            outside = checkpoints.read_text() if checkpoints else ""
            if accept_end is None:
                if not restored.check():  # learns where the database is now, so that no worker asks again
                    restored.only_report()
                many = Backend.objects.filter(restored=True).count()
                self.stdout.write(
                    f"{many} backends only report from now on; review each plan, then switch to repair"
                )
                ends = lost_ends.look(outside)
                for end in ends:
                    self.stdout.write(_in_words(end))
                if any(end.gone for end in ends):
                    self.stdout.write(
                        "if you restored this copy, declare it: manage.py restored --accept-end "
                        f"{ends[0].copy_ended} --reason TEXT (name the revision at which the copy ended)"
                    )
            else:
                self._accept(accept_end, reason, outside)
        except (OSError, UnicodeDecodeError) as error:
            self.fail(f"{checkpoints}: {error}", code=2)
        except BadNote as error:
            self.fail(str(error))

    def _accept(self, revision: int, reason: str, outside: str) -> None:
        restored.check()
        for lost in lost_ends.accept(revision, reason, authority=self.authority, outside=outside):
            self.stdout.write(str(lost))
        for trouble in checkpoints.send():
            self.stderr.write(trouble)


def _in_words(end: LogEnd) -> str:
    log = WORDS[checkpoints.CHANGES if end.log == checkpoints.CHANGES else checkpoints.ACCESS]
    text = f"the {log} ends at {end.entries}, was signed until {end.signed}"
    if not end.gone:
        return f"{text}: nothing that was signed is lost"
    sizes = ", ".join(str(size) for size, _ in end.gone[:20])
    return f"{text}: lost is what followed {end.copy_ended}, with the checkpoints at {sizes}"
