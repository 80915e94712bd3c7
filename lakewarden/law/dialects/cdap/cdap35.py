"""The law of generation 3.5."""

from __future__ import annotations

from lakewarden.law.conditions import Condition
from lakewarden.law.dialects.base import Operation
from lakewarden.law.dialects.cdap.building import (
    ABOVE,
    OWNER,
    built,
    condition,
    either,
    label,
    office,
    operations_of,
    plain_operations,
)
from lakewarden.law.dialects.cdap.policies35 import PRIVILEGES, PROGRAM_LIST, ROWS, SEEN, need, one_of

ADMIN_ABOVE = condition([need("ADMIN", on="instance:")], "instance")
ADMINISTRATOR = OWNER | ADMIN_ABOVE


def _admin(type: str) -> Condition:
    return condition([need("ADMIN", on=f"{type}:")], type)


def _seen(type: str) -> Condition:
    return condition([one_of(*SEEN, on=f"{type}:")], type)


def _made(type: str) -> Condition:
    """Creating needs WRITE on the parent."""
    return condition([need("WRITE", on=f"{ABOVE[type][0]}:")], type)


_PLAIN = {"create": _made, "update": _admin, "delete": _admin, "get": _seen, "list": _seen}
_LISTED = Operation("program.list", label("program.list"), {"program": either(PROGRAM_LIST, "program")})
_OPERATIONS = [
    *plain_operations(PRIVILEGES, _PLAIN, "parents"),
    *office(OWNER, _admin),
    *(made for row in ROWS for made in operations_of(row)[0]),
    _LISTED,
]
DIALECT = built("cdap35", PRIVILEGES, _OPERATIONS, {}, administrator=OWNER, inherits=True)
