"""The law of generation 4.3."""

from __future__ import annotations

from lakewarden.law.conditions import ASKED, AnyOf, Condition, held, service_admin
from lakewarden.law.dialects.base import Operation
from lakewarden.law.dialects.cdap.building import (
    OWNER,
    built,
    office,
    operations_of,
    operations_of_table,
    plain_operations,
)
from lakewarden.law.dialects.cdap.policies43 import PRIVILEGES, ROWS
from lakewarden.law.dialects.cdap.subjects43 import TABLES
from lakewarden.law.dialects.patterns import Conditional

ADMINISTRATOR = OWNER | service_admin


def _anything(_: str) -> Condition:
    return AnyOf(tuple(held(code, ASKED) for code in PRIVILEGES))


def _admin(_: str) -> Condition:
    return held("ADMIN", ASKED)


def _nobody_else(_: str) -> Condition:
    return ADMINISTRATOR


def _all() -> tuple[list[Operation], dict[str, dict[tuple[str, str], Conditional]]]:
    plain = {"create": _admin, "update": _admin, "delete": _admin, "get": _anything, "list": _anything}
    operations = [*plain_operations(PRIVILEGES, plain, "self"), *office(ADMINISTRATOR, _nobody_else)]
    conditional = {}
    for row in ROWS:
        made, picked = operations_of(row)
        operations += made
        if picked:
            conditional[row.id] = picked
    for name, parts in TABLES.items():
        made, conditional[name] = operations_of_table(name, parts)
        operations += made
    return operations, conditional


_OPERATIONS, _CONDITIONAL = _all()
DIALECT = built("cdap43", PRIVILEGES, _OPERATIONS, _CONDITIONAL, administrator=ADMINISTRATOR)
