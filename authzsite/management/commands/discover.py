"""`manage.py discover`"""

from __future__ import annotations

from typing import Any

from authzsite.management.base import OperatorCommand, connected_node
from policies.errors import NotFound
from policies.models import Backend
from policies.sync.connections.sources import opened
from policies.sync.discovery.objects import discover, read
from policies.sync.reconcile import reconcile


class Command(OperatorCommand):
    help = "Read objects, owners, users and existing grants from a connected source. Safe to repeat."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("place", metavar="REALM[/CATALOG]")
        parser.add_argument(
            "--close-vanished", action="store_true", help="close objects the source no longer has"
        )

    def run(self, *, place: str, close_vanished: bool, **_: Any) -> None:
        catalog = connected_node(place)
        row = Backend.objects.filter(catalog=catalog.id).first()
        if row is None:
            raise NotFound(f"{place} is not connected")
        with opened(row, catalog) as source:
            seen = read(source)
        result = discover(catalog, seen, by=self.by, authority=self.authority, close_vanished=close_vanished)
        report = reconcile(row, dry_run=True)
        self.stdout.write(
            f"{place}: {len(seen.objects)} objects, {result.added} new, {result.renamed} renamed, "
            f"{len(result.vanished)} vanished, {len(seen.people)} logins, {report.foreign} foreign grants"
        )
        for name in result.vanished:
            self.stdout.write(f"vanished: {name}")
        for text in result.left_out:
            self.stdout.write(f"left out: {text}")
