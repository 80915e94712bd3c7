"""Pipeline `drift`: what differs between what should be true in backends and what they were seen to have.

Beside the snapshot it reads, from `--acls`, what the site wrote of each of the `backends`: `targets` (which
objects it has), `logins` (who can sign in there), `rights` (what a privilege or an operation comes to there),
`seen` and `members` (the rights and members of our roles there); `wanted` and `joined` (what should be
there) of a kind with a way of its own to say so.  Written to the output folder: `differences`, a row for each
right or membership that is missing or extra, and `summary.json` with the counts of each backend.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lakewarden.spark.pipelines.inherited_facts import Levels, ObjectFacts
from lakewarden.spark.pipelines.messages import Telling
from lakewarden.spark.pipelines.people_sets import Crowd, places
from lakewarden.spark.pipelines.population import ROLE, Population, Unit, contains
from lakewarden.spark.pipelines.snapshot import Snapshot, places_of

COLUMNS = "backend bigint, role bigint, person bigint, kind string, path array<string>, right string"
FINGERPRINT = 16
"""Letters of a digest that name a role of resolved rights."""


class BackendObject(NamedTuple):
    """An object as a backend has it."""

    place: ObjectFacts
    backend: int
    kind: str
    path: tuple[str, ...]


@dataclass
class DesiredState:
    """What should be true in backends, by sets.

    `logins` are who can sign in to each; `given` what a privilege comes to there, by (backend, kind of
    object), and `asked` what an operation that is allowed comes to.  A console role is mirrored there for
    those whose mirrored roles add up to exactly what the law gives them; `apart` are the others, who get one
    role of their own with what is resolved.  In a backend that is `by_person` everybody has their own.
    """

    standing: Population
    containers: Mapping[int, ObjectFacts]
    logins: Mapping[int, Crowd]
    given: Mapping[tuple[int, str], list[tuple[str, str]]]
    asked: Mapping[tuple[int, str], list[tuple[str, str]]]
    by_person: frozenset[int]
    apart: dict[int, Crowd] = field(default_factory=dict)
    _roles: dict[int, dict[str, set[int]]] = field(default_factory=dict)

    def mirrored(self, levels: Levels, there: BackendObject) -> Iterator[tuple[int, str]]:
        """The rights that each role gives on an object; who is not given the same by the law is put apart."""
        if there.backend in self.by_person:
            self.apart[there.backend] = self.logins.get(there.backend, 0)
            return
        roles, kind_key = self._on(there.place), (there.backend, there.kind)
        by_right: dict[str, set[int]] = defaultdict(set)
        for privilege, right in self.given.get(kind_key, ()):
            by_right[right] |= roles.get(privilege, set())
        for right, some in by_right.items():
            yield from ((role, right) for role in some)
        resolved = self.resolved(levels, there)
        for right in {*by_right, *resolved}:
            held = 0
            for role in by_right.get(right, ()):
                held |= self.standing.crowd(Unit(ROLE, role))
            differ = (held ^ resolved.get(right, 0)) & self.logins.get(there.backend, 0)
            self.apart[there.backend] = self.apart.get(there.backend, 0) | differ

    def resolved(self, levels: Levels, there: BackendObject) -> dict[str, Crowd]:
        """Who should have each right on an object, as the law decides."""
        held, crowds = levels.held(there.place), dict[str, Crowd]()
        for operation, right in self.asked.get((there.backend, there.kind), ()):
            crowds[right] = crowds.get(right, 0) | levels.able(there.place, operation, held)
        return crowds

    def _on(self, place: ObjectFacts) -> dict[str, set[int]]:
        """The roles to which each privilege is allowed on an object, or above it."""
        if place.key in self._roles:
            return self._roles[place.key]
        above = self._on(self.containers[place.ancestors[-1]]) if place.ancestors else {}
        roles_by_privilege = {privilege: set(roles) for privilege, roles in above.items()}
        for fact in place.facts:
            if fact.unit.kind == ROLE and fact.allow and contains(fact.window, self.standing.realm.at):
                roles_by_privilege.setdefault(fact.privilege, set()).add(fact.unit.key)
        if place.key in self.containers:
            self._roles[place.key] = roles_by_privilege
        return roles_by_privilege


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--acls", required=True, help="the folder with what backends were seen to have")


def run(spark: Any, given: Namespace, tell: Telling) -> None:
    output, acls = Path(given.output), Path(given.acls)
    with tell.step("reading the snapshot", 150):
        snapshot = Snapshot(spark, given.input)
        by_place = snapshot.places(snapshot.facts())
        wanted = _wanted(spark, snapshot, by_place, acls)
        targets = _read(spark, acls, "targets").join(by_place, by_place["key"] == _col("object")).cache()
    with tell.step("calculating what should be there", 450):
        mirrored = _mapped(spark, wanted, targets, _mirrored).cache()
        wanted.apart.update(_crowds(wanted.standing, mirrored.where("role IS NULL").collect()))
        resolved = _mapped(spark, wanted, targets, _apart).cache()
        rights, members = _should(spark, wanted, mirrored.where("role IS NOT NULL"), resolved)
        rights = rights.unionByName(_read(spark, acls, "wanted"))
        members = members.unionByName(_read(spark, acls, "joined"))
    with tell.step("comparing", 350):
        compared = _compared(rights, _read(spark, acls, "seen"), ("backend", "role", "kind", "path", "right"))
        joined = _compared(members, _read(spark, acls, "members"), ("backend", "role", "person"))
        every = compared.unionByName(joined, allowMissingColumns=True).cache()
        every.where("what <> 'same'").write.mode("overwrite").parquet(str(output / "differences"))
        counts = every.groupBy("backend", "what").count().collect()
    every_backend = [row["backend"] for row in _read(spark, acls, "backends").collect()]
    summary = {backend: {"missing": 0, "extra": 0, "same": 0} for backend in every_backend}
    for row in counts:
        summary[row["backend"]][row["what"]] = row["count"]
    (output / "summary.json").write_text(json.dumps(summary))


def _mirrored(wanted: DesiredState, targets: Iterable[BackendObject]) -> Iterator[tuple[Any, ...]]:
    names = ("standing", "containers", "logins", "given", "asked", "by_person")
    parts = {name: getattr(wanted, name) for name in names}
    levels, seen = Levels(wanted.standing, wanted.containers), DesiredState(**parts)
    for target in targets:
        for role, right in seen.mirrored(levels, target):
            yield (target.backend, role, None, target.kind, target.path, right)
    for backend, crowd in seen.apart.items():
        for place in places(crowd):
            yield (backend, None, wanted.standing.people.keys[place], None, None, None)


def _apart(wanted: DesiredState, targets: Iterable[BackendObject]) -> Iterator[tuple[Any, ...]]:
    levels = Levels(wanted.standing, wanted.containers)
    for target in targets:
        apart = wanted.apart.get(target.backend, 0)
        for right, crowd in wanted.resolved(levels, target).items() if apart else ():
            for place in places(crowd & apart):
                person = wanted.standing.people.keys[place]
                yield (target.backend, None, person, target.kind, target.path, right)


def _should(spark: Any, wanted: DesiredState, mirrored: Any, resolved: Any) -> tuple[Any, Any]:
    """The rights and the members that should be in the backend, by our role's key and the person's name."""
    from pyspark.sql import functions as f

    names = _names(spark, wanted)
    line = f.concat_ws("\t", "kind", f.concat_ws("\x1f", "path"), "right")
    lines = f.concat_ws("\n", f.sort_array(f.collect_set(line)))
    key = f.concat(f.lit("rights:"), f.substring(f.sha2(lines, 256), 1, FINGERPRINT))
    own = f.concat(f.lit("person:"), f.col("name"))
    alone = (
        resolved.groupBy("backend", "person")
        .agg(key.alias("role"))
        .join(names, f.col("person") == f.col("principal"))
        .withColumn("role", f.when(f.col("backend").isin(*wanted.by_person), own).otherwise(f.col("role")))
        .select("backend", "person", "role")
    )
    held = spark.createDataFrame(
        [(*pair,) for pair in _holding(wanted, mirrored.select("backend", "role").distinct().collect())],
        "backend bigint, role bigint, person bigint",
    )
    kept = mirrored.join(held.select("backend", "role").distinct(), ["backend", "role"], "left_semi")
    of_role = f.concat(f.lit("role:"), f.col("role")).alias("role")
    rights = kept.select("backend", of_role, "kind", "path", "right").union(
        resolved.join(alone.withColumnRenamed("role", "key"), ["backend", "person"]).select(
            "backend", "key", "kind", "path", "right"
        )
    )
    members = held.select("backend", of_role, "person").union(alone.select("backend", "role", "person"))
    members = members.join(names, members["person"] == names["principal"]).select("backend", "role", "name")
    return rights.distinct(), members.withColumnRenamed("name", "person").distinct()


def _holding(wanted: DesiredState, rows: Iterable[Any]) -> Iterator[tuple[int, int, int]]:
    """Who of those with a login holds each mirrored role, but for those who are put apart."""
    for backend, role in rows:
        logins = wanted.logins.get(backend, 0) & ~wanted.apart.get(backend, 0)
        for place in places(wanted.standing.crowd(Unit(ROLE, role)) & logins):
            yield backend, role, wanted.standing.people.keys[place]


def _names(spark: Any, wanted: DesiredState) -> Any:
    named = [(key, wanted.standing.principals[key].name) for key in wanted.standing.people.keys]
    return spark.createDataFrame(named, "principal bigint, name string")


def _compared(should: Any, seen: Any, by: tuple[str, ...]) -> Any:
    """Each line with what is to be said of it: missing, extra or same; what is amiss is missing."""
    from pyspark.sql import functions as f

    wanted, seen_flag = should.withColumn("wanted", f.lit(1)), seen.withColumn("there", f.lit(1))
    both = wanted.join(seen_flag, list(by), "full_outer")
    what = (
        f.when(f.col("wanted").isNull(), "extra")
        .when(f.col("there").isNull() | f.col("amiss"), "missing")
        .otherwise("same")
    )
    return both.select(*by, what.alias("what"))


def _wanted(spark: Any, snapshot: Snapshot, given_places: Any, acls: Path) -> DesiredState:
    standing = snapshot.standing(snapshot.realm())
    rights = _read(spark, acls, "rights").collect()
    by_backend: dict[int, set[int]] = defaultdict(set)
    for row in _read(spark, acls, "logins").collect():
        by_backend[row["backend"]].add(row["principal"])
    return DesiredState(
        standing,
        snapshot.containers(given_places),
        {backend: standing.people.crowd(keys) for backend, keys in by_backend.items()},
        _by_kind(row for row in rights if row["of"] == "privilege"),
        _by_kind(row for row in rights if row["of"] == "operation"),
        frozenset(row["backend"] for row in _read(spark, acls, "backends").where("by_person").collect()),
    )


def _by_kind(rows: Iterable[Any]) -> dict[tuple[int, str], list[tuple[str, str]]]:
    names: dict[tuple[int, str], list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        names[row["backend"], row["kind"]].append((row["name"], row["right"]))
    return dict(names)


def _crowds(standing: Population, rows: Iterable[Any]) -> dict[int, Crowd]:
    crowds: dict[int, Crowd] = defaultdict(int)
    for row in rows:
        crowds[row["backend"]] |= standing.people.alone(row["person"])
    return crowds


def _mapped(spark: Any, wanted: DesiredState, targets: Any, work: Any) -> Any:
    sent = spark.sparkContext.broadcast(wanted)

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        theirs = (item for batch in batches for item in _there(batch))
        rows = list(work(sent.value, theirs))
        number, text = pa.int64(), pa.string()
        types = (number, number, number, text, pa.list_(text), text)
        columns = list(zip(*rows)) or [()] * len(types)
        arrays = [pa.array(list(column), type) for column, type in zip(columns, types)]
        names = ["backend", "role", "person", "kind", "path", "right"]
        yield pa.RecordBatch.from_arrays(arrays, names=names)

    named = ("key", "type", "name", "ancestors", "facts", "backend", "kind", "path")
    return targets.select(*named).mapInArrow(mapped, COLUMNS)


def _there(batch: Any) -> Iterator[BackendObject]:
    more = zip(*(column.to_pylist() for column in batch.columns[len(ObjectFacts._fields) :]))
    for place, (backend, kind, path) in zip(places_of(batch), more):
        yield BackendObject(place, backend, kind, tuple(path))


def _read(spark: Any, acls: Path, name: str) -> Any:
    return spark.read.parquet(str(acls / f"{name}.parquet"))


def _col(name: str) -> Any:
    from pyspark.sql import functions as f

    return f.col(name)
