"""`manage.py sync`"""

from __future__ import annotations

import json
import math
import sys
import time
from argparse import ArgumentTypeError
from typing import Any

from authzsite.management.base import OperatorCommand, connected_node
from catalog.nodes import last
from lakewarden.backends.errors import BackendError
from policies.errors import NotFound
from policies.models import Backend
from policies.sync import worker
from policies.sync.reconcile import Report
from policies.sync.safeguards import restored


class Command(OperatorCommand):
    help = (
        "Sync now, in this process. Prints one JSON line per backend. Exits 0 if nothing is missing or extra."
    )

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("place", nargs="?", metavar="REALM[/CATALOG]", help="default: every backend")
        parser.add_argument("--dry-run", action="store_true", help="compare, change nothing")
        parser.add_argument(
            "--wait", type=_seconds, default=0.0, metavar="SECONDS", help="keep trying for this long"
        )

    def run(self, *, place: str | None, dry_run: bool, wait: float, **_: Any) -> None:
        if not dry_run and restored.check():
            self.stderr.write(f"{restored.REASON} Its backends only report until their plans are reviewed.")
        rows = Backend.objects.order_by("pk")
        if place:
            rows = rows.filter(catalog=connected_node(place).id)
            if not rows:
                raise NotFound(f"{place} is not connected")
        reports = [self._until_settled(row, dry_run, time.monotonic() + wait) for row in rows]
        if not all(report and report.missing == report.extra == 0 for report in reports):
            sys.exit(1)

    def _until_settled(self, row: Backend, dry_run: bool, deadline: float) -> Report | None:
        while True:
            report, error = self._once(row, dry_run)
            if (report and report.settled) or time.monotonic() >= deadline:
                break
            time.sleep(0.5)
        self.stdout.write(json.dumps((report or Report.unread(name_of(row))).line()))
        if error:
            self.stderr.write(f"{row}: {error}".replace("\n", " "))
        return report

    def _once(self, row: Backend, dry_run: bool) -> tuple[Report | None, str]:
        try:
            report = worker.now(row, dry_run=dry_run)
        except BackendError as error:
            return None, str(error)
        return report, report.error


def name_of(row: Backend) -> str:
    catalog = last(row.catalog_id)
    return "/".join(catalog.names) if catalog else str(row)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < math.inf:
        raise ArgumentTypeError(f"a number of seconds, not `{text}`")
    return seconds
