"""`manage.py facts`"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from authzsite.management import database_owner
from authzsite.management.base import OperatorCommand
from policies.decisions.seals import unsealed
from policies.record import rows_put_back
from policies.record.archive.files import ArchiveBroken
from policies.record.verify import verify
from policies.services import seals


class Command(OperatorCommand):
    help = (
        "Find facts that were written outside the console; no decision uses such a fact. Exits 0 if "
        "there are none, else 1 with a line for each."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        either = parser.add_mutually_exclusive_group()
        either.add_argument(
            "--seal",
            action="store_true",
            help="seal all facts that the audit log confirms with the newest key: after an upgrade from a "
            "version without seals, and before an old key is removed; the audit log must be intact",
        )
        either.add_argument(
            "--if-new", action="store_true", help="like --seal, but only on a site without seals"
        )
        either.add_argument(
            "--set-right",
            action="store_true",
            help="correct the facts from the audit log, in one recorded change; the log must be intact",
        )

        either.add_argument(
            "--confirm-name",
            metavar="KIND:NAME",
            help="confirm a name that was written outside the console, such as `user:ana`, or `all` of them; "
            "the audit log holds no names, so check each one first",
        )

        either.add_argument(
            "--confirm-detail",
            metavar="NUMBER",
            type=lambda text: 0 if text == "all" else int(text),
            help="confirm where the data of an object lies, or whom its programs run as, that was written "
            "outside the console, such as `17` of `detail 17`, or `all` of them; check each one first",
        )

    def run(
        self,
        *,
        seal: bool,
        if_new: bool,
        set_right: bool,
        confirm_name: str | None,
        confirm_detail: int | None,
        **_: Any,
    ) -> None:
        try:
            if confirm_name:
                self._confirm(confirm_name)
            elif confirm_detail is not None:
                many = seals.confirm_details([confirm_detail] if confirm_detail else [])
                self.stdout.write(f"{many} objects confirmed")
            elif set_right:
                self._read_the_record()
                with database_owner.entered_as_owner():  # past the triggers of facts
                    done = seals.set_right()
                for line in done:
                    self.stdout.write(line)
                self.stdout.write(f"{len(done)} facts set right")
            elif seal:
                if wrong := self._seal_first():
                    self.fail(f"{wrong} facts were not sealed and are not used for decisions; see above")
            elif not if_new:
                unsealed.sweep()
                rows_put_back.take_seals()
                rows = list(unsealed.standing())
                for row in rows:
                    when = f" at {row.written:%Y-%m-%d %H:%M:%S %Z}" if row.written else ""
                    self.stdout.write(f"{row}: written outside the console by transaction {row.writer}{when}")
                if rows:
                    ways = "`manage.py facts --set-right` corrects facts, `--confirm-name` confirms names"
                    self.fail(f"{len(rows)} facts are not used for decisions; {ways}")
                self.stdout.write("all facts are as the console wrote them")
            elif seals.is_new():
                self._seal_first()
        except ArchiveBroken as error:
            self.fail(str(error))

    def _confirm(self, text: str) -> None:
        kind, _, name = text.partition(":")
        many = seals.confirm_names([] if text == "all" else [(kind, name)])
        self.stdout.write(f"{many} names confirmed")

    def _seal_first(self) -> int:
        self._read_the_record()
        sealed = seals.seal_what_is_told()
        for line in sealed.wrong:
            self.stdout.write(line)
        self.stdout.write(
            f"{sealed.sealed} facts sealed; {len(sealed.wrong)} are not confirmed by the audit log"
        )
        return len(sealed.wrong)

    def _read_the_record(self) -> None:
        """A fact is what the record says only where nobody wrote into the record."""
        verdict = verify(facts=False)
        if not verdict:
            self.fail(f"the audit log itself is broken: {verdict.broken}; nothing was sealed or set right")
