"""Who was refused, and who looked at other people's access: a log of its own, chained like the changes.

The same again within the hour raises a count beside the first record and writes no second one.
"""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from accounts.models import Principal
from catalog.nodes import Node
from policies.models import AccessRecord, AccessRepeat

REPEATED = timedelta(hours=1)
LOCK = 0x6C6F_6773


def refused(actor: Principal, operation: str, node: Node | None, *, name: str = "", via: str) -> None:
    """Record a refusal; `name` stands for an object that was not found."""
    _record(AccessRecord.Kind.REFUSED, actor, operation, node, name, via)


def looked(actor: Principal, what: str, node: Node, *, via: str) -> None:
    """Record that somebody looked at other people's access to an object."""
    _record(AccessRecord.Kind.LOOKED, actor, what, node, "", via)


def _record(kind: str, actor: Principal, operation: str, node: Node | None, name: str, via: str) -> None:
    row = AccessRecord(
        kind=kind,
        at=timezone.now(),
        realm=node.realm_id if node else None,
        actor=actor.pseudonym,
        operation=operation[:64],
        object_type=node.type if node else "",
        object_name=node.ref.id if node else name.replace("\0", "\N{SYMBOL FOR NULL}")[:2000],
        lineage=list(node.lineage) if node else [],
        via=via,
    )
    if not _repeat(row):
        _append(row)


def _repeat(row: AccessRecord) -> bool:
    same = AccessRecord.objects.filter(
        kind=row.kind,
        realm=row.realm,
        actor=row.actor,
        operation=row.operation,
        object_name=row.object_name,
        via=row.via,
        at__gt=row.at - REPEATED,
    )
    first = same.order_by("-at").values_list("pk", flat=True).first()
    if first is None:
        return False
    AccessRepeat.objects.filter(record=first).update(count=F("count") + 1, last=row.at)
    return True


@transaction.atomic
def _append(row: AccessRecord) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    last = AccessRecord.objects.order_by("-pk").values_list("digest", flat=True).first()
    row.previous = last or ""
    row.digest = digest_of(row)
    row.save()
    AccessRepeat.objects.create(record=row, last=row.at)


def digest_of(row: AccessRecord) -> str:
    """SHA-256 over the digest before and what the record says."""
    names = ("kind", "realm", "actor", "operation", "object_type", "object_name", "lineage", "via")
    body = {name: getattr(row, name) for name in names} | {"at": row.at.isoformat()}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(f"{row.previous}\n{text}".encode()).hexdigest()
