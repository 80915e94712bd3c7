"""`manage.py cdap "grant actions READ on entity dataset:ns1.* to role analysts"`"""

from __future__ import annotations

import argparse
from typing import Any

from django.conf import settings

from authzsite.management.base import OperatorCommand, realm_root
from lakewarden.cdap.commands import BadCommand, described, run, text_of
from policies.services import patterns
from policies.services.cdap_instances import Instance


class Command(OperatorCommand):
    help = "Run one of CDAP's security commands, in CDAP's own syntax."

    def add_arguments(self, parser: Any) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = described()
        parser.add_argument("--realm", default=settings.LAKEWARDEN_CDAP_REALM)
        parser.add_argument(
            "words", nargs="+", metavar="command", help="one of the commands below, quoted or not"
        )

    def run(self, *, realm: str, words: list[str], **_: Any) -> None:
        root = realm_root(realm)
        patterns.law_of(root)
        try:
            output = run(text_of(words), Instance(root, by=self.by))
        except BadCommand as problem:
            self.fail(str(problem), code=2)
        self.stdout.write(output)
