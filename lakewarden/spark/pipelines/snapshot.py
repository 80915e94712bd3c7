"""Reading a realm's snapshot: small tables to the driver, large ones as frames of Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lakewarden.facts import OWNER as OWNS
from lakewarden.spark.pipelines.levels import Fact, Place
from lakewarden.spark.pipelines.standing import HOLDER, NOW, OWNER, ROLE, Realm, Standing, Unit, standing_of

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

    def table(self, name: str) -> Any:
        """A table; its moments are seconds since 1970."""
        from pyspark.sql import functions as f

        frame = self.spark.read.parquet(str(self.folder / name))
        return frame.select(
            *(
                (f.unix_micros(f.col(f"`{one}`")) / 1e6).alias(one) if one in MOMENTS else f.col(f"`{one}`")
                for one in frame.columns
            )
        )

    def rows(self, name: str, *columns: str) -> list[tuple[Any, ...]]:
        """The rows of a small table, read once however often they are asked for."""
        if (name, columns) not in self._rows:
            frame = self.table(name).select(*(f"`{one}`" for one in columns))
            self._rows[name, columns] = [tuple(row) for row in frame.collect()]
        return self._rows[name, columns]

    def realm(self) -> Realm:
        [row] = self.table("realm").collect()
        return Realm(
            row["key"],
            row["root"],
            row["name"],
            row["law"],
            row["mode"],
            row["revision"],
            row["at"],
            json.loads(row["settings"] or "{}"),
        )

    def standing(self, realm: Realm, when: str = NOW, *, lasting: float = 0.0) -> Standing:
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
        objects = self.table("objects").select("key", "type", "name", "ancestors")
        none = f.array().cast(f"array<{FACT}>")
        return objects.join(by_object, objects["key"] == by_object["object"], "left").select(
            "key", "type", "name", "ancestors", f.coalesce("facts", none).alias("facts")
        )

    def containers(self, places: Any) -> dict[int, Place]:
        """The objects that have something below them, with the facts on them, and the realm's root."""
        from pyspark.sql import functions as f

        above = places.select(f.explode("ancestors").alias("above")).distinct()
        root = self.table("realm").select(f.col("root").alias("above"))
        rows = places.join(
            above.union(root).distinct(), f.col("above") == f.col("key"), "left_semi"
        ).collect()
        return {one.key: one for one in map(place_of, rows)}

    def texts(self, facts: Any) -> list[Fact]:
        """The facts that are about texts."""
        return [fact_of(row["fact"]) for row in facts.where("object IS NULL").collect()]


def place_of(row: Any) -> Place:
    key, type, name, ancestors, facts = row
    return Place(key, type, name, tuple(ancestors), tuple(map(fact_of, facts)))


def fact_of(row: Any) -> Fact:
    kind, unit, privilege, allow, start, end, key, on, since = row.values() if isinstance(row, dict) else row
    return Fact(Unit(kind, unit), privilege, allow, (start, end), key, on, since)


def places_of(batch: Any) -> Iterator[Place]:
    """The objects of a record batch."""
    columns: Iterable[Any] = (column.to_pylist() for column in batch.columns)
    return map(place_of, zip(*columns))
