"""Pipeline `drift`: what differs in the backends of a realm, for catalogs too large for a worker.

Nothing is repaired: that is the sync's.  A small realm is compared by the sync's own code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.utils import timezone

from catalog.nodes import Node, node
from lakewarden import dialects
from lakewarden.backends import base, kinds
from lakewarden.backends.errors import BackendError
from policies.errors import Conflict
from policies.models import Backend
from policies.pipelines.effective import is_small
from policies.pipelines.known import Pipeline, Result, Work, register
from policies.sync import worker
from policies.sync.connections import open_backend
from policies.sync.desired import Wanted, targets_below
from policies.sync.reconcile import parted

NUMBER, TEXT, TRUTH, TEXTS = pa.int64(), pa.string(), pa.bool_(), pa.list_(pa.string())
SHOWN = 200
"""So many differences are kept with the run; all of them are in its files."""
SHAPES = {
    "targets": (("backend", NUMBER), ("object", NUMBER), ("kind", TEXT), ("path", TEXTS)),
    "logins": (("backend", NUMBER), ("principal", NUMBER)),
    "rights": (("backend", NUMBER), ("of", TEXT), ("name", TEXT), ("kind", TEXT), ("right", TEXT)),
    "seen": (
        *(("backend", NUMBER), ("role", TEXT), ("kind", TEXT), ("path", TEXTS)),
        *(("right", TEXT), ("amiss", TRUTH)),
    ),
    "members": (("backend", NUMBER), ("role", TEXT), ("person", TEXT), ("amiss", TRUTH)),
}
"""The files that tell Spark of backends, and their columns."""
OTHERS = "others.json"
"""What was found by the sync's own comparison in backends that are not compared on Spark."""
Tables = dict[str, list[tuple[Any, ...]]]


def export(
    row: Backend, out_there: base.Backend, catalog: Node, into: dict[str, list[tuple[Any, ...]]]
) -> None:
    """Add what a backend was seen to have to the tables.  Raises BackendError."""
    row_id, kind = row.pk, kinds.get(row.kind)
    seen = out_there.observe()
    present, _ = parted(targets_below(catalog, kind), seen)
    wanted = Wanted(out_there, kind, catalog, present, now=timezone.now())
    into["targets"] += [(row_id, one.id, one.kind, list(one.path)) for one in present]
    into["logins"] += [(row_id, one.pk) for one in wanted.with_login(seen.people)]
    into["rights"] += _rights(row, out_there, catalog)
    into["seen"] += [
        (row_id, role, one.kind, list(one.path), one.right, one in seen.amiss_rights.get(role, frozenset()))
        for role, rights in seen.roles.items()
        for one in rights
    ]
    into["members"] += [
        (row_id, role, person, person in seen.amiss_members.get(role, frozenset()))
        for role, people in seen.members.items()
        for person in people & seen.people
    ]


def _rights(row: Backend, out_there: base.Backend, catalog: Node) -> Iterator[tuple[Any, ...]]:
    """What each privilege, and each operation that the sync carries, comes to on each kind of object."""
    row_id = row.pk
    for kind, carried in kinds.get(row.kind).carried.items():
        for code in dialects.get(catalog.kind).privileges:
            for right in out_there.rights_for(code, kind):
                yield (row_id, "privilege", code, kind, right)
        for operation, code in carried:
            for right in out_there.rights_for(code, kind):
                yield (row_id, "operation", operation, kind, right)


def write(folder: Path, tables: Mapping[str, Iterable[tuple[Any, ...]]]) -> None:
    """Write the tables, a file each.  Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, columns in SHAPES.items():
        rows = list(tables[name])
        values = zip(*rows, strict=True) if rows else [[] for _ in columns]
        arrays = [pa.array(list(one), type) for one, (_, type) in zip(values, columns, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=pa.schema(list(columns)))
        pq.write_table(table, folder / f"{name}.parquet")


def _backends(work: Work) -> list[tuple[Backend, Node]]:
    rows = Backend.objects.filter(realm=work.place.realm_id).exclude(state=Backend.State.PAUSED)
    found = ((row, node(row.catalog_id)) for row in rows.order_by("pk"))
    return [(row, catalog) for row, catalog in found if catalog is not None]


def _mirrored(row: Backend) -> bool:
    """Whether what is wanted there is what the pipeline works out, and not a way of the kind's own."""
    try:
        kind = kinds.get(row.kind)
    except BackendError:
        return False
    return kind.wanted is None and not kind.by_person


def _prepare(work: Work) -> None:
    every = _backends(work)
    others = _compared(work, [(row, catalog) for row, catalog in every if not _mirrored(row)])
    tables: Tables = {name: [] for name in SHAPES}
    for row, catalog in every:
        if not _mirrored(row):
            continue
        work.tell(0, 0, f"reading the rights of {catalog.name}")
        out_there = open_backend(row, catalog)
        try:
            export(row, out_there, catalog, tables)
        except BackendError as error:
            raise Conflict(f"{catalog.name}: {error}") from error
        finally:
            out_there.close()
    write(work.output / "acls", tables)
    (work.output / OTHERS).write_text(json.dumps(others))


def _here(work: Work) -> Callable[[], Result]:
    """The same by the sync's own comparison, which changes nothing out there."""
    told = _compared(work, _backends(work))
    return lambda: {"backends": told}


def _compared(work: Work, every: list[tuple[Backend, Node]]) -> dict[str, dict[str, Any]]:
    told: dict[str, dict[str, Any]] = {}
    for number, (row, catalog) in enumerate(every):
        work.tell(number, len(every), f"comparing {catalog.name}")
        try:
            report = worker.now(row, dry_run=True)
        except BackendError as error:
            told[catalog.name] = {"trouble": str(error)}
        else:
            told[catalog.name] = {
                "missing": report.missing,
                "extra": report.extra,
                "same": report.in_sync,
            }
    return told


def _load(work: Work, folder: Path) -> Result:
    counts = json.loads((folder / "summary.json").read_text())
    names = {row.pk: catalog.name for row, catalog in _backends(work)}
    told = {names[int(key)]: found for key, found in counts.items() if int(key) in names}
    told |= json.loads((work.output / OTHERS).read_text())
    return {"backends": told, "differences": list(differences(folder))[:SHOWN]}


def differences(folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of the files of a run: what is missing or extra, in which role, on what or for whom."""
    for path in sorted((folder / "differences").glob("*.parquet")):
        yield from pq.read_table(path).to_pylist()


PIPELINE = register(
    Pipeline(
        name="drift",
        label="Drift",
        about="What differs in the backends of a realm from what was decided; nothing is repaired.",
        program="drift",
        nightly=False,  # the sync looks at small ones by itself, every minute
        options=lambda work: {"acls": str(work.output / "acls")},
        prepare=_prepare,
        small=is_small,
        here=_here,
        load=_load,
    )
)
