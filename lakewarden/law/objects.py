"""What facts are about: the objects of a realm, their names and how the names are written.

A full name joins its parts with dots, as Gravitino does (`shop.sales.orders`).  A part that holds a dot or
a double quote is written in double quotes, with inner ones doubled: `shop.sales."odd.name"`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_DOTS = {"dataset": 1, "dataset_type": 1, "dataset_module": 1, "kerberosprincipal": 0}
"""How many dots part the names of types whose own names may hold dots; written without quotes, too."""
_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')


class BadName(ValueError):
    """The text is no name of an object."""


def join_name(parts: tuple[str, ...]) -> str:
    """Write the parts below the realm as one full name."""
    return ".".join(_quoted(part) for part in parts)


def split_name(full_name: str) -> tuple[str, ...]:
    """Read a full name back into its parts; the inverse of `join_name`."""
    parts, at = [], 0
    while True:
        match = _PART.match(full_name, at)
        if match is None:
            raise BadName(f"`{full_name}` is no full name")
        parts.append(match[1].replace('""', '"') if match[1] is not None else match[2])
        at = match.end()
        if at == len(full_name):
            return tuple(parts)
        if full_name[at] != ".":
            raise BadName(f"`{full_name}` is no full name")
        at += 1


def _split_by_type(type: str, name: str) -> tuple[str, ...]:
    if type in _DOTS and '"' not in name:
        parts = tuple(name.split(".", _DOTS[type])) if _DOTS[type] else (name,)
        if not all(parts):
            raise BadName(f"`{name}` is no full name")
        return parts
    parts = split_name(name)
    # a type of program is the same in any case
    return (*parts[:2], parts[2].lower(), *parts[3:]) if type == "program" and len(parts) == 4 else parts


def _quoted(part: str) -> str:
    return '"' + part.replace('"', '""') + '"' if "." in part or '"' in part else part


def path_of(levels: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The parts of a full name, from the types and names of what stands between the realm and the object,
    itself last: a nested schema `A:B` is one part, a program `worker.etl` is two."""
    types = [type for type, _ in levels]
    shown = zip(levels, [*types[1:], ""])
    path = tuple(name for (type, name), below in shown if not type == below == "schema")
    return (*path[:-1], *path[-1].split(".", 1)) if types[-1:] == ["program"] else path


@dataclass(frozen=True)
class ObjectRef:
    """An object by name: its type in the dialect's own word, its realm and its path below the realm."""

    type: str
    realm: str
    path: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        return join_name(self.path)

    @property
    def id(self) -> str:
        """`realm` for the realm itself, `realm/full.name` below it."""
        return f"{self.realm}/{self.full_name}" if self.path else self.realm

    def __str__(self) -> str:
        return f"{self.type} {self.id}"

    @classmethod
    def parse(cls, type: str, id: str) -> ObjectRef:
        """Read an AuthZEN resource: `parse("table", "prod/hr.sales.orders")`.  Raises BadName."""
        realm, slash, name = id.partition("/")
        if not realm or (slash and not name):
            raise BadName(f"`{id}` does not name an object")
        return cls(type, realm, _split_by_type(type, name) if slash else ())
