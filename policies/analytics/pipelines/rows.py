"""A small realm's facts in memory, as the export would write them, for work that is done without Spark."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.spark.pipelines.memory_tables import InMemory
from policies.record.exports.tables import TABLES, Moment


def of(root: Node, revision: int, now: datetime) -> InMemory:
    """The realm as of a revision, windows judged at `now`; one statement a table."""
    moment = Moment(root, Realm.objects.get(pk=root.realm_id), revision, now)
    with transaction.atomic():
        return InMemory(
            {
                table.name: [
                    dict(zip((name for name, _ in table.columns), row, strict=True))
                    for rows in table.rows(moment)
                    for row in rows
                ]
                for table in TABLES
            }
        )
