"""`manage.py agree`"""

from __future__ import annotations

from typing import Any

from authzsite.management.base import OperatorCommand, connected_node
from policies.errors import NotFound
from policies.models import Backend
from policies.sync.actions import operations


class Command(OperatorCommand):
    help = "Approve a connection; until then it only reports."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("place", metavar="REALM[/CATALOG]")
        parser.add_argument("--reason", required=True, help="kept in the history permanently")

    def run(self, *, place: str, reason: str, **_: Any) -> None:
        row = Backend.objects.filter(catalog=connected_node(place).id).first()
        if row is None:
            raise NotFound(f"{place} is not connected")
        operations.agree(row, by=self.by, reason=reason, digest=operations.likeness(row))
        does = "repairs" if row.policy == Backend.Policy.REPAIR else "only reports, as it is configured to"
        self.stdout.write(f"{place} {does}: {row}")
