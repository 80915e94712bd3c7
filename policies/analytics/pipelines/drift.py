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
from lakewarden.backends import base, kinds
from lakewarden.backends.errors import BackendError
from lakewarden.backends.kinds import Kind
from lakewarden.law import dialects
from policies.analytics.pipelines.definition import Pipeline, Result, RunContext
from policies.analytics.pipelines.effective_access import is_small
from policies.models import Backend
from policies.sync import worker
from policies.sync.connections.sources import opened
from policies.sync.desired import Decided, Wanted, targets_below
from policies.sync.reconcile import parted

NUMBER, TEXT, TRUTH, TEXTS = pa.int64(), pa.string(), pa.bool_(), pa.list_(pa.string())
SHOWN = 200
"""So many differences are kept with the run; all of them are in its files."""
SHAPES = {
    "backends": (("backend", NUMBER), ("by_person", TRUTH)),
    "targets": (("backend", NUMBER), ("object", NUMBER), ("kind", TEXT), ("path", TEXTS)),
    "logins": (("backend", NUMBER), ("principal", NUMBER)),
    "rights": (("backend", NUMBER), ("of", TEXT), ("name", TEXT), ("kind", TEXT), ("right", TEXT)),
    "seen": (
        *(("backend", NUMBER), ("role", TEXT), ("kind", TEXT), ("path", TEXTS)),
        *(("right", TEXT), ("amiss", TRUTH)),
    ),
    "members": (("backend", NUMBER), ("role", TEXT), ("person", TEXT), ("amiss", TRUTH)),
    "wanted": (("backend", NUMBER), ("role", TEXT), ("kind", TEXT), ("path", TEXTS), ("right", TEXT)),
    "joined": (("backend", NUMBER), ("role", TEXT), ("person", TEXT)),
}
"""The files that tell Spark of backends, and their columns."""
TROUBLES = "troubles.json"
"""Which backends could not be read, and why."""
FOREIGN = "foreign.json"
"""How many rights others gave in each of them."""
Tables = dict[str, list[tuple[Any, ...]]]


def export(row: Backend, out_there: base.Backend, catalog: Node, into: Tables) -> int:
    """Add what a backend was seen to have, and what it takes to say what should be there.

    Answers how many rights it was seen to have that others gave, to people too.  Raises BackendError; then
    nothing was added.
    """
    kind, seen = kinds.get(row.kind), out_there.observe()
    by_spark = kind.wanted is None and not any(item.part_of for item in seen.objects)
    if by_spark:
        _facts(row, out_there, catalog, seen, into)
    else:  # a way that only the sync knows: it says what should be there, and Spark compares
        _desired(row.pk, _by_sync(kind, out_there, catalog, seen), seen, into)
    into["backends"].append((row.pk, by_spark and kind.by_person))
    into["seen"] += [
        (
            row.pk,
            role,
            right.kind,
            list(right.path),
            right.right,
            right in seen.amiss_rights.get(role, frozenset()),
        )
        for role, rights in seen.roles.items()
        for right in rights
    ]
    into["members"] += [
        (row.pk, role, person, person in seen.amiss_members.get(role, frozenset()))
        for role, people in seen.members.items()
        for person in people & seen.people
    ]
    return len(seen.foreign)


def _by_sync(kind: Kind, out_there: base.Backend, catalog: Node, seen: base.Observation) -> base.Desired:
    if kind.wanted is not None:
        desired: base.Desired = kind.wanted(out_there, Decided(kind, catalog, timezone.now()), seen)[0]
        return desired
    present, _ = parted(targets_below(catalog, kind), seen)
    return Wanted(out_there, kind, catalog, present, now=timezone.now(), seen=seen).desired(seen.people)


def _facts(
    row: Backend, out_there: base.Backend, catalog: Node, seen: base.Observation, into: Tables
) -> None:
    """Of a backend for which Spark works out what should be there: which objects and people it has."""
    kind = kinds.get(row.kind)
    present, _ = parted(targets_below(catalog, kind), seen)
    wanted = Wanted(out_there, kind, catalog, present, now=timezone.now(), seen=seen)
    into["targets"] += [(row.pk, item.id, item.kind, list(item.path)) for item in present]
    into["logins"] += [(row.pk, item.pk) for item in wanted.with_login(seen.people)]
    into["rights"] += _rights(row, out_there, catalog)


def _desired(row_id: int, desired: base.Desired, seen: base.Observation, into: Tables) -> None:
    into["wanted"] += [
        (row_id, role, right.kind, list(right.path), right.right)
        for role, rights in desired.roles.items()
        for right in rights
    ]
    into["joined"] += [
        (row_id, role, person) for role, people in desired.members.items() for person in people & seen.people
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
        arrays = [
            pa.array(list(values_of), type) for values_of, (_, type) in zip(values, columns, strict=True)
        ]
        table = pa.Table.from_arrays(arrays, schema=pa.schema(list(columns)))
        pq.write_table(table, folder / f"{name}.parquet")


def _backends(work: RunContext) -> list[tuple[Backend, Node]]:
    rows = Backend.objects.filter(realm=work.place.realm_id).exclude(state=Backend.State.PAUSED)
    backends = ((row, node(row.catalog_id)) for row in rows.order_by("pk"))
    return [(row, catalog) for row, catalog in backends if catalog is not None]


def _prepare(work: RunContext) -> None:
    tables: Tables = {name: [] for name in SHAPES}
    troubles: dict[str, dict[str, str]] = {}
    foreign: dict[str, int] = {}
    for row, catalog in _backends(work):
        work.tell(0, 0, f"reading the rights of {catalog.name}")
        try:
            foreign[catalog.name] = _read(row, catalog, tables)
        except BackendError as error:  # one that is away keeps nobody from the others
            troubles[catalog.name] = {"trouble": str(error)}
    write(work.output / "acls", tables)
    (work.output / TROUBLES).write_text(json.dumps(troubles))
    (work.output / FOREIGN).write_text(json.dumps(foreign))


def _read(row: Backend, catalog: Node, into: Tables) -> int:
    """How many rights others gave there, past the console; what else was seen goes into the tables."""
    with opened(row, catalog) as out_there:
        return export(row, out_there, catalog, into)


def _here(work: RunContext) -> Callable[[], Result]:
    """The same by the sync's own comparison, which changes nothing in the backend."""
    every = _backends(work)
    names: dict[str, dict[str, Any]] = {}
    for number, (row, catalog) in enumerate(every):
        work.tell(number, len(every), f"comparing {catalog.name}")
        try:
            report = worker.now(row, dry_run=True)
        except BackendError as error:
            names[catalog.name] = {"trouble": str(error)}
        else:
            names[catalog.name] = {
                "missing": report.missing,
                "extra": report.extra,
                "same": report.in_sync,
                "foreign": report.foreign,
            }
    return lambda: {"backends": names}


def _load(work: RunContext, folder: Path) -> Result:
    counts = json.loads((folder / "summary.json").read_text())
    names = {row.pk: catalog.name for row, catalog in _backends(work)}
    by_backend = {names[int(key)]: count for key, count in counts.items() if int(key) in names}
    for name, many in json.loads((folder / FOREIGN).read_text()).items():
        if name in by_backend:
            by_backend[name]["foreign"] = many
    by_backend |= json.loads((folder / TROUBLES).read_text())
    return {"backends": by_backend, "differences": list(differences(folder))[:SHOWN]}


def differences(folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of the files of a run: what is missing or extra, in which role, on what or for whom."""
    for path in sorted((folder / "differences").glob("*.parquet")):
        yield from pq.read_table(path).to_pylist()


PIPELINE = Pipeline(
    name="drift",
    label="Drift",
    about="Where the backends of a realm differ from the decisions; nothing is repaired.",
    program="drift",
    nightly=False,  # the sync looks at small ones by itself, every minute
    outside=True,
    options=lambda work: {"acls": str(work.output / "acls")},
    prepare=_prepare,
    small=is_small,
    here=_here,
    load=_load,
)
