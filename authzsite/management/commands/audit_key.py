"""`manage.py audit_key`"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from authzsite.management.base import OperatorCommand
from policies import signing


class Command(OperatorCommand):
    help = "Print the public key for checking checkpoints and evidence."

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--pem", action="store_true", help="in PEM form, for other programs")
        which.add_argument("--all", action="store_true", help="also earlier keys, one per line")
        which.add_argument(
            "--new", action="store_true", help="create a private key for LAKEWARDEN_SIGNING_KEYS"
        )

    def run(self, *, pem: bool, new: bool, all: bool, **_: Any) -> None:
        if new:
            self.stdout.write(signing.new_key())
        elif all:
            self.stdout.write("\n".join(map(str, signing.public_keys())))
        else:
            self.stdout.write(signing.public_pem().strip() if pem else str(signing.public_key()))
