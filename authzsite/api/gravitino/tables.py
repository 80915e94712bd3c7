"""Tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from authzsite.api.gravitino import altering, columns
from authzsite.api.gravitino.altering import Draft, Update
from authzsite.api.gravitino.bodies import (
    COMMENT,
    PROPERTIES,
    anything,
    filled,
    flag,
    listed,
    required,
    shape,
    strings,
    text,
    updates,
)
from authzsite.api.gravitino.call import Call, Route
from authzsite.api.gravitino.columns import COLUMN, FIELD, INDEX, NO_DISTRIBUTION, data_type, expression
from authzsite.api.gravitino.errors import illegal, no_such, unsupported
from authzsite.api.gravitino.wire import Audit, Later, Wire, audit_of, described
from authzsite.api.gravitino.wire import listed as identifiers
from catalog.models import Detail
from catalog.nodes import Node

LAYOUT = ("partitioning", "distribution", "sortOrders", "indexes")
CREATE = shape(
    {
        "name": required(filled),
        "comment": text,
        "columns": listed(COLUMN),
        "properties": strings,
        "partitioning": listed(columns.PARTITIONING),
        "distribution": columns.DISTRIBUTION,
        "sortOrders": listed(columns.SORT),
        "indexes": listed(INDEX),
    }
)
_NAMED = {"fieldName": required(FIELD)}
ALTER = updates(
    {
        "rename": {"newName": required(filled), "newSchemaName": text},
        **COMMENT,
        **PROPERTIES,
        "addColumn": {
            **_NAMED,
            "type": required(data_type),
            "comment": text,
            "position": anything,
            "defaultValue": expression,
            "nullable": flag,
            "autoIncrement": flag,
        },
        "renameColumn": {"oldFieldName": required(FIELD), "newFieldName": required(filled)},
        "updateColumnDefaultValue": {**_NAMED, "newDefaultValue": expression},
        "updateColumnType": {**_NAMED, "newType": required(data_type)},
        "updateColumnComment": {**_NAMED, "newComment": text},
        "updateColumnPosition": {**_NAMED, "newPosition": required(anything)},
        "updateColumnNullability": {**_NAMED, "nullable": required(flag)},
        "updateColumnAutoIncrement": {**_NAMED, "autoIncrement": required(flag)},
        "deleteColumn": {**_NAMED, "ifExists": flag},
        "addTableIndex": {"index": required(INDEX)},
        "deleteTableIndex": {"name": required(filled), "ifExists": flag},
    }
)


def wire(name: str, detail: Detail, audit: Audit, *, connected: bool = False) -> Wire:
    content = detail.content
    return described(name, detail, audit) | {
        "columns": [columns.shown(column, connected=connected) for column in detail.columns],
        "partitioning": content.get("partitioning", []),
        "distribution": content.get("distribution", NO_DISTRIBUTION),
        "sortOrders": content.get("sortOrders", []),
        "indexes": content.get("indexes", []),
    }


def wire_of(node: Node) -> Wire:
    """A table as it is now."""
    return wire(node.name, Detail.objects.get(securable=node.id), audit_of(node))


def create(call: Call) -> Later:
    call.refuse_connected()
    call.need_kind("relational")
    body = call.body
    content = {name: body[name] for name in LAYOUT if body.get(name)}
    node = altering.make(call, "table", columns=columns.kept_all(body.get("columns", ())), content=content)
    return lambda: {"table": wire_of(node)}


def weigh_load(call: Call) -> None:
    """A load announced as for modifying needs the right to modify, already here."""
    wanted = call.query.get("privileges", "").upper().split(",")
    operation = "Table.alterTable" if "MODIFY_TABLE" in wanted else "Table.loadTable"
    call.decide(operation, call.node)


def load(call: Call) -> Wire:
    return {"table": wire(call.node.name, call.detail, audit_of(call.node), connected=call.connected)}


def alter(call: Call) -> Later:
    call.refuse_connected()
    if any(item.get("newSchemaName") for item in call.body["updates"]):
        raise unsupported("A table is not moved to another schema here")
    node, _ = altering.alter(call, call.node, more=UPDATES)
    return lambda: {"table": wire_of(node)}


# one column at a time


def _at(draft: Draft, path: list[str]) -> int:
    for at, column in enumerate(draft.columns):
        if column["name"] == ".".join(path):
            return at
    raise no_such("column", ".".join(path))


def _put(draft: Draft, column: dict[str, Any], position: Any) -> None:
    """Put a column where it is wanted; a position that is none is the end."""
    if position is None or str(position).lower() == "default":
        draft.columns.append(column)
    elif isinstance(position, str) and position.lower() == "first":
        draft.columns.insert(0, column)
    elif isinstance(position, Mapping) and isinstance(position.get("after"), str):
        draft.columns.insert(_at(draft, [position["after"]]) + 1, column)
    else:
        raise illegal("A position is first, default, or after a column")


def _add_column(draft: Draft, update: Mapping[str, Any]) -> None:
    name = ".".join(update["fieldName"])
    if any(column["name"] == name for column in draft.columns):
        raise illegal(f"Column {name} already exists")
    _put(draft, columns.kept({**update, "name": name}), update.get("position"))


def _rename_column(draft: Draft, update: Mapping[str, Any]) -> None:
    at = _at(draft, update["oldFieldName"])
    if any(column["name"] == update["newFieldName"] for column in draft.columns):
        raise illegal(f"Column {update['newFieldName']} already exists")
    draft.columns[at]["name"] = update["newFieldName"]


def _move_column(draft: Draft, update: Mapping[str, Any]) -> None:
    column = draft.columns.pop(_at(draft, update["fieldName"]))
    _put(draft, column, update["newPosition"])


def _type_column(draft: Draft, update: Mapping[str, Any]) -> None:
    column = draft.columns[_at(draft, update["fieldName"])]
    column.pop("wire", None)
    column.update(columns.typed(update["newType"]))


def _drop_column(draft: Draft, update: Mapping[str, Any]) -> None:
    name = ".".join(update["fieldName"])
    if update.get("ifExists") and all(column["name"] != name for column in draft.columns):
        return
    del draft.columns[_at(draft, update["fieldName"])]


def _setting(kept: str, sent: str) -> Update:
    """An update that sets one thing of a column."""

    def update_column(draft: Draft, update: Mapping[str, Any]) -> None:
        column = draft.columns[_at(draft, update["fieldName"])]
        column.pop(kept, None)
        if sent in update:
            column[kept] = update[sent]

    return update_column


def _add_index(draft: Draft, update: Mapping[str, Any]) -> None:
    indexes = draft.content.setdefault("indexes", [])
    if any(index.get("name") == update["index"].get("name") for index in indexes):
        raise illegal(f"Index {update['index'].get('name')} already exists")
    draft.content["indexes"] = [*indexes, update["index"]]


def _drop_index(draft: Draft, update: Mapping[str, Any]) -> None:
    left = [item for item in draft.content.get("indexes", ()) if item.get("name") != update["name"]]
    if len(left) == len(draft.content.get("indexes", ())) and not update.get("ifExists"):
        raise illegal(f"Index {update['name']} does not exist")
    draft.content["indexes"] = left


UPDATES: dict[str, Callable[[Draft, Mapping[str, Any]], None]] = {
    "addColumn": _add_column,
    "renameColumn": _rename_column,
    "updateColumnDefaultValue": _setting("defaultValue", "newDefaultValue"),
    "updateColumnType": _type_column,
    "updateColumnComment": _setting("comment", "newComment"),
    "updateColumnPosition": _move_column,
    "updateColumnNullability": _setting("nullable", "nullable"),
    "updateColumnAutoIncrement": _setting("autoIncrement", "autoIncrement"),
    "deleteColumn": _drop_column,
    "addTableIndex": _add_index,
    "deleteTableIndex": _drop_index,
}

ALL = "metalakes/{metalake}/catalogs/{catalog}/schemas/{schema}/tables"
ONE = ALL + "/{table}"
ROUTES = (
    Route("GET", ALL, "Table.listTables", identifiers("table")),
    Route("POST", ALL, "Table.createTable", create, CREATE),
    Route("GET", ONE, "Table.loadTable", load, weigh=weigh_load),
    Route("PUT", ONE, "Table.alterTable", alter, ALTER),
    Route("DELETE", ONE, "Table.dropTable", altering.drop, absent_ok=True),
)
