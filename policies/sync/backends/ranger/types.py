"""What the types of Ranger services are to us: their resources, their kinds of access, as tables.

A right's word is a kind of access, `select`.  What is given on everything in an object, also what is not
there yet, says so before it, `any table: create`; and which list of a policy it stands in, `DENY select`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lakewarden.backends.base import DENY, Right
from lakewarden.backends.errors import Rejected

LISTS = {
    "policyItems": "",
    "denyPolicyItems": DENY,
    "allowExceptions": "EXCEPT ",
    "denyExceptions": f"{DENY}EXCEPT ",
}
"""The lists of items of a policy, and how the words of the rights in each begin."""
WHOLE = "*"
EACH = "?*"
"""Every name on a level and not also what lies above it, as `*` on the last levels would mean."""
_FIXED = -1
"""The place of a level whose value the connection says: Trino's catalog, CDAP's instance."""


@dataclass(frozen=True)
class Shape:
    """How one kind of object is named in a policy: its levels, each a part of the path, or every value.

    `means` stands before the words of what is given by it.
    """

    kind: str
    levels: tuple[tuple[str, int | str], ...]
    means: str = ""

    @property
    def wholes(self) -> int:
        """On how many levels every value is meant."""
        return sum(at == WHOLE for _, at in self.levels)

    def resources(self, path: tuple[str, ...], fixed: str) -> dict[str, str]:
        """The value of each level for one object."""
        return {level: self._value(at, path, fixed) for level, at in self.levels}

    def _value(self, at: int | str, path: tuple[str, ...], fixed: str) -> str:
        if isinstance(at, str):
            return at
        return fixed if at == _FIXED else path[at]

    def path(self, values: Mapping[str, str], fixed: str) -> tuple[str, ...] | None:
        """The path of the object whose levels have these values; None when it is not of this shape."""
        if set(values) != {level for level, _ in self.levels}:
            return None
        parts = {at: values[level] for level, at in self.levels if isinstance(at, int) and at != _FIXED}
        path = tuple(parts[at] for at in sorted(parts))
        return path if self.resources(path, fixed) == dict(values) else None


@dataclass(frozen=True)
class Type:
    """One type of service.  `fixed` is the level whose value the connection says.

    `by_person` when its plugins know no roles, and items name people; `patterns` when the names that reach us
    may be patterns themselves.
    """

    code: str
    shapes: tuple[Shape, ...]
    rights: Mapping[tuple[str, str], tuple[str, ...]]
    fixed: str = ""
    by_person: bool = False
    patterns: bool = False

    def shape_of(self, right: Right) -> tuple[Shape, str, str]:
        """The shape that a right is given by, the list its items stand in, the kind of access.

        Raises Rejected for a right that is none here.
        """
        for items, begins in sorted(LISTS.items(), key=lambda pair: -len(pair[1])):
            if right.right.startswith(begins):
                word = right.right[len(begins) :]
                shape = self._shape(right.kind, word)
                return shape, items, word[len(shape.means) :]
        raise Rejected(f"{right.right} is no right of Ranger")

    def _shape(self, kind: str, word: str) -> Shape:
        for shape in sorted(self.shapes, key=lambda shape: -len(shape.means)):
            if shape.kind == kind and word.startswith(shape.means):
                return shape
        raise Rejected(f"Ranger's {self.code} has no {kind}")

    def places(self, values: Mapping[str, str], fixed: str) -> Iterator[tuple[Shape, tuple[str, ...]]]:
        """The shapes and paths that values of levels mean, the most definite first; none for no shape.

        `*` is a whole before it is a name.
        """
        for shape in sorted(self.shapes, key=lambda shape: -shape.wholes):
            path = shape.path(values, fixed)
            if path is not None:
                yield shape, path


_ANY_TABLE = "any table: "
_ANY_SCHEMA = "any schema: "

HIVE = Type(
    "hive",
    (
        Shape("catalog", (("database", WHOLE),)),
        Shape("schema", (("database", 0),)),
        Shape("schema", (("database", 0), ("table", WHOLE), ("column", WHOLE)), _ANY_TABLE),
        Shape("table", (("database", 0), ("table", 1), ("column", WHOLE))),
    ),
    {
        ("CREATE_SCHEMA", "catalog"): ("create",),
        ("USE_SCHEMA", "schema"): ("select",),
        ("DROP", "schema"): ("drop",),
        ("CREATE_TABLE", "schema"): (f"{_ANY_TABLE}create",),
        ("SELECT_TABLE", "table"): ("select",),
        ("MODIFY_TABLE", "table"): ("select", "update", "alter"),
        ("SELECT_VIEW", "table"): ("select",),
        ("DROP", "table"): ("drop",),
    },
)
TRINO = Type(
    "trino",
    (
        Shape("catalog", (("catalog", _FIXED),)),
        Shape("catalog", (("catalog", _FIXED), ("schema", WHOLE)), _ANY_SCHEMA),
        Shape("schema", (("catalog", _FIXED), ("schema", 0))),
        Shape("schema", (("catalog", _FIXED), ("schema", 0), ("table", WHOLE)), _ANY_TABLE),
        Shape("table", (("catalog", _FIXED), ("schema", 0), ("table", 1), ("column", WHOLE))),
    ),
    {
        ("USE_CATALOG", "catalog"): ("use", "show"),
        ("CREATE_SCHEMA", "catalog"): (f"{_ANY_SCHEMA}create",),
        ("USE_SCHEMA", "schema"): ("use", "show"),
        ("DROP", "schema"): ("drop",),
        ("CREATE_TABLE", "schema"): (f"{_ANY_TABLE}create",),
        ("SELECT_TABLE", "table"): ("select", "show"),
        ("MODIFY_TABLE", "table"): ("select", "show", "insert", "delete", "alter"),
        ("SELECT_VIEW", "table"): ("select", "show"),
        ("DROP", "table"): ("drop",),
    },
    fixed="catalog",
)
_IN_A_NAMESPACE = {
    "artifact": "artifact",
    "dataset": "dataset",
    "dataset_module": "dataset_module",
    "dataset_type": "dataset_type",
    "securekey": "secure_key",
    "stream": "stream",
    "application": "application",
}
_CDAP_SHAPES = (
    Shape("instance", (("instance", _FIXED),)),
    Shape("namespace", (("instance", _FIXED), ("namespace", 0))),
    *(
        Shape(kind, (("instance", _FIXED), ("namespace", 0), (level, 1)))
        for kind, level in _IN_A_NAMESPACE.items()
    ),
    Shape("program", (("instance", _FIXED), ("namespace", 0), ("application", 1), ("program", 2))),
    Shape("kerberosprincipal", (("instance", _FIXED), ("principal", 0))),
)
CDAP = Type(
    "cdap",
    _CDAP_SHAPES,
    {
        (privilege, shape.kind): (privilege.lower(),)
        for privilege in ("READ", "WRITE", "EXECUTE", "ADMIN")
        for shape in _CDAP_SHAPES
    },
    fixed="instance",
    by_person=True,
    patterns=True,
)
TYPES = {type_.code: type_ for type_ in (HIVE, TRINO, CDAP)}
