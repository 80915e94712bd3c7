"""`manage.py doctor`"""

from __future__ import annotations

import json
import sys
from typing import Any

from authzsite.management.base import OperatorCommand
from authzsite.management.examination import GOOD, WRONG, examine


class Command(OperatorCommand):
    help = "Find what is wrong with this site, and say what to do. Exits 1 on a problem, else 0."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON list, for programs")
        parser.add_argument("--strict", action="store_true", help="also exit 1 on warnings")
        parser.add_argument("--quiet", action="store_true", help="show warnings and problems only")

    def run(self, *, json: bool, strict: bool, quiet: bool, **_: Any) -> None:
        findings = examine()
        shown = [item for item in findings if not (quiet and item.state == GOOD)]
        if json:
            self.stdout.write(_in_json(shown))
        else:
            for item in shown:
                self.stdout.write(str(item))
        if any(item.state == WRONG or (strict and item.state != GOOD) for item in findings):
            sys.exit(1)


def _in_json(shown: list[Any]) -> str:
    return json.dumps([item.as_json() for item in shown], indent=2)
