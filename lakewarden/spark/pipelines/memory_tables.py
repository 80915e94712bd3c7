"""A small snapshot held in memory: the same tables as the export's, worked on without Spark."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
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

Tables = Mapping[str, Iterable[Mapping[str, Any]]]
"""Rows by table; each names its columns as the export does."""


class InMemory:
    """What Snapshot reads, from rows at hand."""

    def __init__(self, tables: Tables) -> None:
        self.tables = {name: [_plain(row) for row in rows] for name, rows in tables.items()}
        [row] = self.tables["realm"]
        settings = json.loads(row["settings"] or "{}")
        named = {name: row[name] for name in ("key", "root", "name", "law", "mode", "revision", "at")}
        self.realm = Realm(**named, settings=settings)
        self.facts = list(self._facts())

    def rows(self, name: str, *columns: str) -> list[Any]:
        return [tuple(row[column] for column in columns) for row in self.tables[name]]

    def standing(self, when: str = NOW, *, lasting: float = 0.0) -> Population:
        return standing_of(self.realm, self.rows, when, lasting=lasting)

    def places(self) -> list[ObjectFacts]:
        """Every object with the facts on it."""
        on: dict[int, list[Fact]] = defaultdict(list)
        for key, fact in self.facts:
            if key is not None:
                on[key].append(fact)
        return [
            ObjectFacts(key, type, name, tuple(above), tuple(on.get(key, ())))
            for key, type, name, above in self.rows("objects", "key", "type", "name", "ancestors")
        ]

    def containers(self, places: Iterable[ObjectFacts]) -> dict[int, ObjectFacts]:
        """The objects that have something below them, and the realm's root."""
        by_key = {place.key: place for place in places}
        above = {key for item in by_key.values() for key in item.ancestors} | {self.realm.root}
        return {key: by_key[key] for key in above if key in by_key}

    def texts(self) -> list[Fact]:
        return [fact for key, fact in self.facts if key is None]

    def units(self) -> list[Unit]:
        return sorted({fact.unit for _, fact in self.facts if fact.unit.kind != OWNER})

    def _facts(self) -> Iterable[tuple[int | None, Fact]]:
        for row in self.tables["grants"]:
            unit = Unit(HOLDER, row["holder"]) if row["role"] is None else Unit(ROLE, row["role"])
            window, allow = (row["from"], row["until"]), row["effect"] == "allow"
            yield (
                row["object"],
                Fact(unit, row["privilege"], allow, window, row["key"], row["pattern"] or "", row["since"]),
            )
        for row in self.tables["ownerships"]:
            window = row["from"], row["until"]
            yield row["object"], Fact(Unit(OWNER, row["owner"]), OWNS, window=window)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Moments as seconds since 1970."""
    return {name: value.timestamp() if isinstance(value, datetime) else value for name, value in row.items()}
