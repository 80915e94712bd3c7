"""The law of generation 3.4: its table, and the core policies for whatever the table does not list."""

from __future__ import annotations

from collections.abc import Iterable

from lakewarden.law.conditions import ASKED, PARENT, All, AnyOf, Condition, held
from lakewarden.law.dialects.base import Operation
from lakewarden.law.dialects.cdap.authorizable import TYPES
from lakewarden.law.dialects.cdap.building import (
    IN_NAMESPACE,
    OTHER,
    OWNER,
    built,
    label,
    office,
    operations_of,
    plain_operations,
)
from lakewarden.law.dialects.cdap.policies34 import CORE, ENTITY, PRIVILEGES, ROWS, SEEN

_SEEN: Condition = AnyOf(tuple(held(code, ASKED) for code in SEEN))


def _core(name: str) -> Condition:
    needs = tuple(held(code, ASKED if place == ENTITY else PARENT) for code, place in CORE[name])
    return needs[0] if len(needs) == 1 else All(needs)


def _core_operations(listed: frozenset[str]) -> Iterable[Operation]:
    for type in (*TYPES, OTHER):
        conditions = {**{name: _core(name) for name in CORE}, "list": _SEEN}
        for name, each in conditions.items():
            if f"{type}.{name}" not in listed:
                yield Operation(f"{type}.{name}", label(f"{type}.{name}"), {type: each})
    for type in (*IN_NAMESPACE, "program", OTHER):
        name = f"{type}.delete_all"
        yield Operation(name, label(name), {"namespace": All(())}, each="ADMIN", every=(type,))


def _admin(_: str) -> Condition:
    return held("ADMIN", ASKED)


_TABLE = [made for row in ROWS for made in operations_of(row)[0]]
_CONDITIONAL = {row.id: operations_of(row)[1] for row in ROWS if operations_of(row)[1]}
_PLAIN = {name: (lambda type, name=name: _core(name)) for name in ("create", "update", "delete", "get")}
_OPERATIONS = [
    *plain_operations(PRIVILEGES, {**_PLAIN, "list": lambda type: _SEEN}, "self"),
    *office(OWNER, _admin),
    *_core_operations(frozenset(each.name for each in _TABLE)),
    *_TABLE,
]
DIALECT = built("cdap34", PRIVILEGES, _OPERATIONS, _CONDITIONAL, administrator=OWNER, other=OTHER)
