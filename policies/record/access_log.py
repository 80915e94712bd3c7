"""Who was refused, and who looked at other people's access: a log of its own, chained like the changes.

The same again within the hour raises a count beside the first record and writes no second one.  The record is
committed before the answer; counts follow within a second.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Principal
from accounts.text import recordable
from catalog.nodes import Node
from lakewarden.record import chain
from policies.models import AccessRecord
from policies.record.repeats import What, repeats
from policies.record.repeats import write as write_repeats

REPEATED = timedelta(hours=1)
BY_NUMBER = "number"
"""How a page of the console was asked for of which only the number is known, as there is nothing."""
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


def looked_often(look: AccessLookup, times: int, *, via: str) -> None:
    """Record that somebody looked at the same so many times."""
    _record([_row(AccessRecord.Kind.LOOKED, Refusal(*look), via)], times)


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


def _record(rows: list[AccessRecord], times: int = 1) -> None:
    counts = {what: count * times for what, count in Counter(map(_same, rows)).items()}
    since = timezone.now() - REPEATED
    # what a transaction wrote that may still roll back must not be remembered
    lasting = not connection.in_atomic_block
    firsts = repeats.known(counts, since=since) if lasting else {}
    unknown = {_same(row): row for row in rows if _same(row) not in firsts}
    if unknown:
        recorded = _firsts(list(unknown.values()), since)
        new = {key: row for key, row in unknown.items() if key not in recorded}
        append = _append_together if lasting else _append
        numbers = append(list(new.values()), [counts[key] for key in new]) if new else []
        if lasting:
            made = {key: (pk, row.at) for pk, (key, row) in zip(numbers, new.items(), strict=True)}
            repeats.remember(recorded | made)
        firsts |= {key: pk for key, (pk, _) in recorded.items()}
    repeated = {firsts[key]: count for key, count in counts.items() if key in firsts}
    if lasting:
        repeats.count(repeated)
    elif repeated:
        write_repeats(repeated)


def _same(row: AccessRecord) -> What:
    # with the numbers of the object and of what it is in: a table and a fileset may bear one name
    return (row.kind, row.realm, row.actor, row.operation, row.object_name, row.via, *row.lineage)


def _firsts(rows: Sequence[AccessRecord], since: datetime) -> dict[What, tuple[int, datetime]]:
    """The records of the last hour that some of the rows would repeat."""
    columns = [
        sorted({getattr(row, name) for row in rows}) for name in ("actor", "kind", "operation", "object_name")
    ]
    with connection.cursor() as cursor:
        cursor.execute(_RECENT, [*columns, since])
        first_rows: list[tuple[Any, ...]] = cursor.fetchall()
    wanted = set(map(_same, rows))
    return {
        what: (pk, at) for pk, at, *plain, lineage in first_rows if (what := (*plain, *lineage)) in wanted
    }


# written out, because building these costs more than asking them
_RECENT = """
SELECT id, at, kind, realm, actor, operation, object_name, via, lineage
  FROM policies_accessrecord
 WHERE actor = ANY(%s::text[]) AND kind = ANY(%s::text[]) AND operation = ANY(%s::text[])
   AND object_name = ANY(%s::text[]) AND at > %s
 ORDER BY at
"""

_LAST = """
SELECT c.digest FROM policies_accesscounter c, (SELECT pg_advisory_xact_lock(%s)) AS alone FOR UPDATE OF c
"""
"""The end of the chain once all who append before us have ended: a row that is locked is read anew."""

_APPEND = """
WITH record AS (
    INSERT INTO policies_accessrecord
           (kind, at, realm, actor, operation, object_type, object_name, lineage, via, previous, digest)
    SELECT a, b, c, d, e, f, g, h::bigint[], i, j, k
      FROM unnest(%s::text[], %s::timestamptz[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[],
                  %s::text[], %s::text[], %s::text[], %s::text[])
      WITH ORDINALITY AS made(a, b, c, d, e, f, g, h, i, j, k, number)
     ORDER BY number
    RETURNING id, at, digest),
repeated AS (
    INSERT INTO policies_accessrepeat (record_id, count, last)
    SELECT record.id, counted.count, record.at
      FROM record JOIN unnest(%s::text[], %s::int[]) AS counted(digest, count) USING (digest)),
counter AS (UPDATE policies_accesscounter SET size = size + %s, digest = %s)
SELECT id FROM record ORDER BY id
"""


@dataclass(eq=False)
class _Waiting:
    """Records of one thread that are to be added, and their numbers once they are committed."""

    rows: list[AccessRecord]
    counts: list[int]
    numbers: list[int] | None = None


_waiting: list[_Waiting] = []
_gate, _turn = threading.Lock(), threading.Lock()


def _append_together(rows: list[AccessRecord], counts: list[int]) -> list[int]:
    """Add to the chain together with what other threads want to add by now; committed when this returns.

    Whoever has their turn writes for all who wait: one transaction, one wait for the disk.  Where that fails
    it fails for them alone, and the next one writes for the others.
    """
    mine = _Waiting(rows, counts)
    with _gate:
        _waiting.append(mine)
    with _turn:
        if mine.numbers is None:
            with _gate:
                together = list(_waiting)
            try:
                numbers = iter(_append(*_joined(together)))
            except BaseException:
                with _gate:
                    _waiting.remove(mine)
                raise
            with _gate:
                del _waiting[: len(together)]
            for each in together:
                each.numbers = list(islice(numbers, len(each.rows)))
    return mine.numbers or []


def _joined(together: Sequence[_Waiting]) -> tuple[list[AccessRecord], list[int]]:
    rows = [row for each in together for row in each.rows]
    return rows, [count for each in together for count in each.counts]


@transaction.atomic
def _append(rows: Sequence[AccessRecord], counts: Sequence[int]) -> list[int]:
    """Add to the chain; the numbers of the new records, in their order."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST, [LOCK])
        [(digest,)] = cursor.fetchall()
        for row in rows:
            row.previous = digest
            row.digest = digest = digest_of(row)
        columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in _COLUMNS}
        # an array of arrays of several lengths is none
        columns["lineage"] = [f"{{{','.join(map(str, row.lineage))}}}" for row in rows]
        cursor.execute(_APPEND, [*columns.values(), columns["digest"], list(counts), len(rows), digest])
        return [pk for (pk,) in cursor.fetchall()]


_SAID = ("kind", "at", "realm", "actor", "operation", "object_type", "object_name", "lineage", "via")
_COLUMNS = (*_SAID, "previous", "digest")


def digest_of(row: AccessRecord) -> str:
    """The digest over the one before and what the record says."""
    return chain.digest(row.previous, body_of(row))


def body_of(row: AccessRecord) -> dict[str, Any]:
    """All that a record says, as its digest covers it and as it is exported."""
    return {name: getattr(row, name) for name in _SAID} | {"at": row.at.isoformat()}
