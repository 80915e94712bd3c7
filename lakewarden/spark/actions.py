"""What a plan touches: one action on one thing, named as Spark names it."""

from __future__ import annotations

from typing import NamedTuple

READ, WRITE, ALTER, DROP, USE = "read", "write", "alter", "drop", "use"
CREATE_TABLE, CREATE_VIEW, CREATE_SCHEMA, CREATE_FUNCTION = (
    "create_table",
    "create_view",
    "create_schema",
    "create_function",
)
TABLE, VIEW, SCHEMA, CATALOG, FUNCTION = "table", "view", "schema", "catalog", "function"
PATH, UNKNOWN = "path", "unknown"


class Action(NamedTuple):
    """One action on one thing.

    `name` has the parts of a table's, view's or schema's name, catalog first; the one location of a path;
    or the text that says what is unknown, and why that matters where it is no operation.  `inside` is true
    for what lies below a view.  `places` are those that Spark opens for a table.
    """

    action: str
    kind: str
    name: tuple[str, ...]
    inside: bool = False
    places: tuple[str, ...] = ()


def on_path(action: str, location: str) -> Action:
    return Action(action, PATH, (location,))


def unknown(what: str) -> Action:
    """What cannot be named as an object is refused by what it is."""
    return Action(READ, UNKNOWN, (what,))
