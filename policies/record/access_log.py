"""Who was refused, and who looked at other people's access: a log of its own, chained like the changes.

The same again within the hour raises a count beside the first record and writes no second one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from accounts.models import Principal
from accounts.text import recordable
from catalog.nodes import Node
from lakewarden.record import chain
from policies.models import AccessCounter, AccessRecord, AccessRepeat
from policies.record.change import locked

REPEATED = timedelta(hours=1)
LOCK = 0x6C6F_6773


class Refusal(NamedTuple):
    """Somebody was refused an operation; `name` stands for an object that was not found."""

    actor: Principal
    operation: str
    node: Node | None
    name: str = ""


class AccessLookup(NamedTuple):
    """Somebody looked at other people's access to an object."""

    actor: Principal
    what: str
    node: Node


def refused(actor: Principal, operation: str, node: Node | None, *, name: str = "", via: str) -> None:
    """Record a refusal; `name` stands for an object that was not found."""
    refused_all([Refusal(actor, operation, node, name)], via=via)


def refused_all(refusals: Iterable[Refusal], *, via: str) -> None:
    """Record many refusals in a number of queries that does not depend on how many."""
    _record([_row(AccessRecord.Kind.REFUSED, refusal, via) for refusal in refusals])


def looked(actor: Principal, what: str, node: Node, *, via: str) -> None:
    """Record that somebody looked at other people's access to an object."""
    looked_all([AccessLookup(actor, what, node)], via=via)


def looked_all(looks: Iterable[AccessLookup], *, via: str) -> None:
    """Record many looks in a number of queries that does not depend on how many."""
    _record([_row(AccessRecord.Kind.LOOKED, Refusal(*look), via) for look in looks])


def _row(kind: str, what: Refusal, via: str) -> AccessRecord:
    actor, operation, node, name = what
    return AccessRecord(
        kind=kind,
        at=timezone.now(),
        realm=node.realm_id if node else None,
        actor=actor.pseudonym,
        operation=recordable(operation, 64),
        object_type=node.type if node else "",
        object_name=_named(node) if node else recordable(name, 2000),
        lineage=list(node.lineage) if node else [],
        via=via,
    )


def _named(node: Node) -> str:
    """An object's id; a personal role's would name its person, who may have to be erased."""
    return f"{node.realm}/personal role" if node.type == "role" and node.name[:1] == "~" else node.ref.id


def _record(rows: list[AccessRecord]) -> None:
    counts = Counter(map(_same, rows))
    firsts = _firsts(rows)
    new = {_same(row): row for row in rows if _same(row) not in firsts}
    if new:
        _append(list(new.values()), [counts[key] for key in new])
    if len(new) < len(counts):
        _repeat({firsts[key]: count for key, count in counts.items() if key in firsts})


def _same(row: AccessRecord) -> tuple[object, ...]:
    return (row.kind, row.realm, row.actor, row.operation, row.object_name, row.via)


def _firsts(rows: list[AccessRecord]) -> dict[tuple[object, ...], int]:
    """The records of the last hour that some of the rows would repeat."""
    found = AccessRecord.objects.filter(
        kind__in={row.kind for row in rows},
        actor__in={row.actor for row in rows},
        operation__in={row.operation for row in rows},
        object_name__in={row.object_name for row in rows},
        at__gt=timezone.now() - REPEATED,
    )
    return {_same(row): row.pk for row in found.order_by("at")}


@transaction.atomic
def _repeat(counts: Mapping[int, int]) -> None:
    rows = AccessRepeat.objects.filter(record__in=counts)
    # locked in one order, so that two batches that repeat the same never wait for each other
    list(rows.order_by("record").select_for_update().values_list("record"))
    for count in set(counts.values()):
        same = [pk for pk, each in counts.items() if each == count]
        rows.filter(record__in=same).update(count=F("count") + count, last=timezone.now())


@transaction.atomic
def _append(rows: Sequence[AccessRecord], counts: Sequence[int]) -> None:
    locked(LOCK)
    counter = AccessCounter.objects.get()
    digest = counter.digest
    for row in rows:
        row.previous = digest
        row.digest = digest = digest_of(row)
    AccessRecord.objects.bulk_create(rows)
    AccessCounter.objects.filter(pk=counter.pk).update(size=counter.size + len(rows), digest=digest)
    AccessRepeat.objects.bulk_create(
        AccessRepeat(record=row, count=count, last=row.at) for row, count in zip(rows, counts, strict=True)
    )


def digest_of(row: AccessRecord) -> str:
    """The digest over the one before and what the record says."""
    return chain.digest(row.previous, body_of(row))


def body_of(row: AccessRecord) -> dict[str, Any]:
    """All that a record says, as its digest covers it and as it is exported."""
    names = ("kind", "realm", "actor", "operation", "object_type", "object_name", "lineage", "via")
    return {name: getattr(row, name) for name in names} | {"at": row.at.isoformat()}
