"""`manage.py erase`"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from authzsite.management.base import OperatorCommand, known
from policies.services import erasure


class Command(OperatorCommand):
    help = "Erase the name of a person without access. The history stays and can still be verified."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("who", metavar="user:NAME|service:NAME")
        parser.add_argument("--reason", default="")

    def run(self, *, who: str, reason: str, **_: Any) -> None:
        erasure.erase(known(who), by=self.by, authority=self.authority, reason=reason)
        self.stdout.write("erased; the history says “an erased person”")
