"""Reading a realm's snapshot: small tables by the driver itself, large ones as frames of Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lakewarden.law.facts import OWNER as OWNS
from lakewarden.spark.pipelines.inherited_facts import Fact, ObjectFacts
from lakewarden.spark.pipelines.population import (
    HOLDER,
    NOW,
    OWNER,
    ROLE,
    Population,
    Realm,
    Unit,
    standing_of,
)

MOMENTS = ("from", "until", "since", "at")
FACT = (
    "struct<kind:string,unit:bigint,privilege:string,allow:boolean,from:double,until:double,"
    "key:bigint,on:string,since:double>"
)


class Snapshot:
    """The tables in a folder, as Spark reads them."""

    def __init__(self, spark: Any, folder: str) -> None:
        self.spark, self.folder = spark, Path(folder)
        self._rows: dict[tuple[str, tuple[str, ...]], list[tuple[Any, ...]]] = {}
        self._tables: dict[str, Any] = {}

    def table(self, name: str) -> Any:
        """A table; its moments are seconds since 1970."""
        if name not in self._tables:  # Spark would look into the files each time
            self._tables[name] = self._read(name)
        return self._tables[name]

    def _read(self, name: str) -> Any:
        from pyspark.sql import functions as f

        frame = self.spark.read.parquet(str(self.folder / name))
        return frame.select(
            *(
                (f.unix_micros(f.col(f"`{column}`")) / 1e6).alias(column)
                if column in MOMENTS
                else f.col(f"`{column}`")
                for column in frame.columns
            )
        )

    def rows(self, name: str, *columns: str) -> list[tuple[Any, ...]]:
        """The rows of a small table, read once however often they are asked for."""
        if (name, columns) not in self._rows:
            self._rows[name, columns] = self._read_here(name, columns)
        return self._rows[name, columns]

    def _read_here(self, name: str, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """Without Spark, whose every look at a file is a job in which all but one core wait."""
        from pyarrow import parquet

        table = parquet.read_table(self.folder / name, columns=list(columns))
        return list(zip(*(_plain(column, table[column]) for column in columns)))

    def realm(self) -> Realm:
        named = ("key", "root", "name", "law", "mode", "revision", "at", "settings")
        [row] = self.rows("realm", *named)
        values = dict(zip(named, row))
        return Realm(**{**values, "settings": json.loads(values["settings"] or "{}")})

    def standing(self, realm: Realm, when: str = NOW, *, lasting: float = 0.0) -> Population:
        return standing_of(realm, self.rows, when, lasting=lasting)

    def facts(self) -> Any:
        """Every grant and ownership as (object, fact): `object` is null where the grant is on a text."""
        from pyspark.sql import functions as f

        grants = self.table("grants").select(
            f.col("object"),
            f.struct(
                f.when(f.col("role").isNotNull(), ROLE).otherwise(HOLDER).alias("kind"),
                f.coalesce("role", "holder").alias("unit"),
                "privilege",
                (f.col("effect") == "allow").alias("allow"),
                "from",
                "until",
                "key",
                f.coalesce("pattern", f.lit("")).alias("on"),
                "since",
            ).alias("fact"),
        )
        owners = self.table("ownerships").select(
            "object",
            f.struct(
                f.lit(OWNER).alias("kind"),
                f.col("owner").alias("unit"),
                f.lit(OWNS).alias("privilege"),
                f.lit(True).alias("allow"),
                "from",
                "until",
                f.lit(None).cast("bigint").alias("key"),
                f.lit("").alias("on"),
                f.lit(None).cast("double").alias("since"),
            ).alias("fact"),
        )
        return grants.unionByName(owners)

    def places(self, facts: Any) -> Any:
        """Every object with the facts on it: key, type, name, ancestors, facts."""
        from pyspark.sql import functions as f

        by_object = (
            facts.where("object IS NOT NULL").groupBy("object").agg(f.collect_list("fact").alias("facts"))
        )
        # a file may be read by one task alone; what follows is for all of them
        objects = self.table("objects").select("key", "type", "name", "ancestors").repartition("key")
        none = f.array().cast(f"array<{FACT}>")
        return objects.join(by_object, objects["key"] == by_object["object"], "left").select(
            "key", "type", "name", "ancestors", f.coalesce("facts", none).alias("facts")
        )

    def containers(self, places: Any) -> dict[int, ObjectFacts]:
        """The objects that have something below them, with the facts on them, and the realm's root."""
        from pyspark.sql import functions as f

        keys = [(key,) for key in self._above()]
        above = f.broadcast(self.spark.createDataFrame(keys, "above bigint"))
        rows = places.join(above, f.col("above") == f.col("key"), "left_semi")
        return {item.key: item for item in map(place_of, rows.collect())}

    def _above(self) -> set[int]:
        """The keys of what has something below it, and of the realm's root."""
        import pyarrow.compute as pc

        keys = {self.realm().root}
        for batch in self._batches("objects", "ancestors"):
            keys.update(pc.unique(pc.list_flatten(batch["ancestors"])).to_pylist())
        return keys

    def units(self) -> list[Unit]:
        """Whoever something is granted to: roles and holders."""
        import pyarrow.compute as pc

        units: set[Unit] = set()
        for batch in self._batches("grants", "role", "holder"):
            alone = batch["holder"].filter(pc.is_null(batch["role"]))
            units.update(Unit(ROLE, key) for key in pc.unique(batch["role"].drop_null()).to_pylist())
            units.update(Unit(HOLDER, key) for key in pc.unique(alone).to_pylist())
        return sorted(units)

    def length(self, name: str) -> int:
        """How many rows a table has."""
        return sum(file.metadata.num_rows for file in self._files(name))

    def _batches(self, name: str, *columns: str) -> Iterator[Any]:
        """A large table piece by piece, without Spark."""
        for file in self._files(name):
            yield from file.iter_batches(columns=list(columns))

    def _files(self, name: str) -> list[Any]:
        from pyarrow import parquet

        return [parquet.ParquetFile(path) for path in sorted((self.folder / name).glob("*.parquet"))]

    def texts(self, facts: Any) -> list[Fact]:
        """The facts that are about texts."""
        return [fact_of(row["fact"]) for row in facts.where("object IS NULL").collect()]


def place_of(row: Any) -> ObjectFacts:
    key, type, name, ancestors, facts = row
    return ObjectFacts(key, type, name, tuple(ancestors), tuple(map(fact_of, facts)))


def fact_of(row: Any) -> Fact:
    kind, unit, privilege, allow, start, end, key, on, since = row.values() if isinstance(row, dict) else row
    return Fact(Unit(kind, unit), privilege, allow, (start, end), key, on, since)


def places_of(batch: Any) -> Iterator[ObjectFacts]:
    """The objects of a record batch, whose first columns are those of Snapshot.places."""
    *columns, facts = batch.columns[: len(ObjectFacts._fields)]
    # column by column: made one by one, the values of a struct take longer than all that is done with them
    every = list(
        map(fact_of, zip(*(facts.values.field(n).to_pylist() for n in range(facts.values.type.num_fields))))
    )
    edges = facts.offsets.to_pylist()
    for row, start, end in zip(zip(*(column.to_pylist() for column in columns)), edges, edges[1:]):
        key, type, name, ancestors = row
        yield ObjectFacts(key, type, name, tuple(ancestors), tuple(every[start:end]))


def _plain(name: str, column: Any) -> list[Any]:
    """The values of a column; moments as seconds since 1970."""
    if name not in MOMENTS:
        return list(column.to_pylist())
    import pyarrow as pa

    micros = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    return [None if micro is None else micro / 1e6 for micro in micros]
