"""`manage.py doctor`"""

from __future__ import annotations

import json
import sys
from typing import Any

from authzsite.management.base import OperatorCommand
from authzsite.management.examination import GOOD, WRONG, examine


class Command(OperatorCommand):
    help = "Say what is wrong with this site and what to do.  Exit 1 when something is, 0 otherwise."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--json", action="store_true", help="for programs: one list of objects")
        parser.add_argument("--strict", action="store_true", help="exit 1 for warnings too")
        parser.add_argument("--quiet", action="store_true", help="leave out what is good")

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
