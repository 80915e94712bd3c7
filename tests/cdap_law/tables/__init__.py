"""The tables of policies as a data owner reads them, and what they come to, worked out the plain way."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
REALM = "cdap"
ENTITIES = {
    "instance": f"instance:{REALM}",
    "namespace": "namespace:ns1",
    "application": "application:ns1.app",
    "program": "program:ns1.app.worker.etl",
    "dataset": "dataset:ns1.orders",
    "stream": "stream:ns1.clicks",
    "artifact": "artifact:ns1.jar",
    "dataset_type": "dataset_type:ns1.co.Type",
    "dataset_module": "dataset_module:ns1.co.Module",
    "securekey": "securekey:ns1.key",
    "kerberosprincipal": "kerberosprincipal:etl/host@SHOP.COM",
}
BESIDE = (
    "namespace:ns2",
    "application:ns1.other",
    "dataset:ns2.orders",
    "dataset:ns1.orders2",
    "stream:ns2.clicks",
)
"""Neighbours that look alike; what is held on them counts for nothing here."""
ABOVE: dict[str, tuple[str, ...]] = {
    "instance": (),
    "namespace": ("instance",),
    "kerberosprincipal": ("instance",),
    "application": ("namespace", "instance"),
    "program": ("application", "namespace", "instance"),
}
PRIVILEGES = {
    "cdap34": ("READ", "WRITE", "EXECUTE", "ADMIN", "ALL"),
    "cdap35": ("READ", "WRITE", "EXECUTE", "ADMIN", "ALL"),
    "cdap43": ("READ", "WRITE", "EXECUTE", "ADMIN"),
}
ASKED_OF = {
    "schedule.resume": "program",
    "schedule.suspend": "program",
    "schedule.add": "application",
    "schedule.delete": "application",
    "schedule.update": "application",
    "dataset_module.delete_all": "namespace",
    "stream.drop_all": "namespace",
}
Held = frozenset[tuple[str, str]]
"""Privileges and the entities they are held on: `("READ", "dataset:ns1.orders")`."""


def above(type: str) -> tuple[str, ...]:
    return ABOVE.get(type, ("namespace", "instance"))


class Need(NamedTuple):
    """Privileges needed on an entity: all, or any one of them."""

    privileges: tuple[str, ...]
    any: bool
    type: str
    inside: bool = False
    itself: bool = False

    def met(self, law: str, held: Held) -> bool:
        levels = (self.type, *above(self.type)) if law == "cdap35" and not self.itself else (self.type,)
        if any(self._enough({code for code, on in held if on == ENTITIES[level]}) for level in levels):
            return True
        return self.inside and any(_is_in(on, ENTITIES[self.type]) for _, on in held)

    def _enough(self, codes: set[str]) -> bool:
        wanted = set(self.privileges)
        return "ALL" in codes or (bool(wanted & codes) if self.any else wanted <= codes)


def _is_in(entity: str, container: str) -> bool:
    kind, _, name = container.partition(":")
    deeper = kind == "namespace" or (kind == "application" and entity.startswith("program:"))
    return deeper and entity.partition(":")[2].startswith(f"{name}.")


class Row(NamedTuple):
    """One operation of one generation: any of `ways` is enough, every need of it must be met."""

    law: str
    operation: str
    ways: tuple[tuple[Need, ...], ...]
    rows: tuple[str, ...]
    lists: bool = False
    condition: str = ""
    beside: str = ""
    every: str = ""

    @property
    def type(self) -> str:
        if self.operation.startswith("principal."):
            return "kerberosprincipal"
        return ASKED_OF.get(self.operation, self.operation.partition(".")[0])

    @property
    def properties(self) -> dict[str, str]:
        if not self.condition:
            return {}
        name = {"artifact": "jar", "dataset_type": "co.Type"}[self.beside]
        return {
            "condition": self.condition,
            {"artifact": "artifact", "dataset_type": "type"}[self.beside]: name,
        }

    def allows(self, held: Iterable[tuple[str, str]], inside: Iterable[str] = ()) -> bool:
        mine = frozenset(held)
        own = any(all(need.met(self.law, mine) for need in way) for way in self.ways)
        wanted = [each for each in inside if self.every in ("entity", each.partition(":")[0])]
        return own and all(("ADMIN", each) in mine for each in wanted if self.every)

    def enough(self) -> Held:
        """Privileges that suffice, none of which could be left out."""
        return frozenset(
            (code, ENTITIES[need.type])
            for need in self.ways[0]
            for code in (need.privileges[:1] if need.any else need.privileges)
        )


def _need(text: str) -> Need:
    codes, _, place = text.strip().partition(" on ")
    inside, itself = place.endswith(" or in it"), place.endswith(" itself")
    type_ = place.removesuffix(" or in it").removesuffix(" itself").partition(":")[0]
    any_ = codes.startswith("one of ")
    return Need(tuple(codes.removeprefix("one of ").split(", ")), any_, type_, inside, itself)


def _ways(text: str) -> tuple[tuple[Need, ...], ...]:
    if text == "nothing":
        return ((),)
    ways = (way for way in text.split(", or "))
    return tuple(tuple(_need(part) for part in way.split("; ") if "every " not in part) for way in ways)


def _lines(name: str) -> Iterator[Mapping[str, str]]:
    with (HERE / name).open(encoding="utf-8") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def _rows_of(law: str) -> Iterator[Row]:
    for line in _lines(f"{law}.tsv"):
        ways, seeds = _ways(line["needs"]), tuple(line["rows"].split())
        every = line["needs"].partition("every ")[2].partition(" in")[0]
        lists = line["kind"] == "list"
        yield Row(law, line["operation"], ways, seeds, lists, every=every)
        for extra in filter(None, line["only when"].split("; ")):
            condition, _, text = extra.partition(": ")
            more = _need(text)
            whole = tuple((*way, more) for way in ways)
            yield Row(law, line["operation"], whole, seeds, lists, condition, more.type)


ROWS = {law: tuple(_rows_of(law)) for law in PRIVILEGES}
MAKERS = {
    law: [
        (line["operation"], line["rows of what the maker gets"].split())
        for line in _lines(f"{law}.tsv")
        if line["maker gets"]
    ]
    for law in ("cdap34", "cdap35")
}


class Part(NamedTuple):
    """What one of several users needs on an entity for an operation under a condition."""

    table: str
    condition: str
    who: str
    codes: tuple[str, ...]
    any: bool
    entity: str
    rows: tuple[str, ...]


def _part(line: Mapping[str, str]) -> Part:
    any_ = line["needs"].startswith("one of ")
    codes = tuple(line["needs"].removeprefix("one of ").split(", "))
    rows = tuple(line["rows"].split())
    return Part(line["table"], line["condition"], line["who"], codes, any_, line["entity"], rows)


PARTS = [_part(line) for line in _lines("subjects43.tsv")]


def marked(rows: Iterable[Row]) -> list[object]:
    """The rows as parameters, each marked with the requirements it answers."""
    return [
        pytest.param(
            row,
            id="-".join(filter(None, (row.law, row.operation, row.condition))),
            marks=pytest.mark.seed(*row.rows),
        )
        for row in rows
    ]


def single_holdings(law: str) -> list[Held]:
    """Nothing, and each privilege on each entity alone."""
    places = (*ENTITIES.values(), *BESIDE)
    return [frozenset(), *(frozenset([(code, on)]) for code in PRIVILEGES[law] for on in places)]
