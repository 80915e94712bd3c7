"""Trino's operations as questions to Gravitino's law.

What is not listed here is refused.  `None` in the place of needs says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from authzsite.api.strictjson import BadBody
from lakewarden.law.objects import ObjectRef

SYSTEM = "system"
"""Trino's own catalog; what it shows of tables and queries is filtered by further questions."""
OPEN_TO_ALL = ("jdbc", "metadata", "information_schema")
"""Schemas of it that tools read before anything else."""
INFORMATION = "information_schema"
BUILT_IN = (SYSTEM, "builtin")
"""Where Trino's own functions are."""


class Need(NamedTuple):
    """One question: an action on an object, or on either kind of object that the name may mean."""

    action: str
    refs: tuple[ObjectRef, ...]


Needs = tuple[Need, ...] | None


@dataclass(frozen=True)
class Operation:
    """One operation of one person: what Trino sends, and how its catalogs are called here."""

    name: str
    user: str
    resource: Mapping[str, Any]
    target: Mapping[str, Any]
    realm: str
    catalogs: Mapping[str, str]

    @property
    def needs(self) -> Needs:
        """All that must be allowed; None for an operation that nobody may do.  Raises BadBody."""
        operation = OPERATIONS.get(self.name)
        return operation(self) if operation else None

    def ref(self, type: str, *path: str) -> ObjectRef:
        return ObjectRef(type, self.realm, path)

    def member(self) -> tuple[Need]:
        return (Need("read", (self.ref("metalake"),)),)

    def owner(self) -> tuple[Need]:
        return (Need("alter", (self.ref("metalake"),)),)

    def catalog(self, name: str) -> str:
        """The catalog's name here."""
        return self.catalogs.get(name, name)


def _part(resource: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = resource.get(name)
    if not isinstance(part, dict):
        raise BadBody(f"action.resource.{name} must be an object")
    return part


def _text(part: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    values = tuple(part.get(name) for name in names)
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, str) or not value:
            raise BadBody(f"{name} of the resource must be a text")
    return values  # type: ignore[return-value]  # each is a text


def _of_member(operation: Operation) -> Needs:
    return operation.member()


def _of_owner(operation: Operation) -> Needs:
    return operation.owner()


def _of_query(operation: Operation) -> Needs:
    """The asker's queries; all of them for whoever owns the metalake."""
    [whose] = _text(_part(operation.resource, "user"), "user")
    return operation.member() if whose == operation.user else operation.owner()


def _impersonate(operation: Operation) -> Needs:
    [whose] = _text(_part(operation.resource, "user"), "user")
    return operation.member() if whose == operation.user else None


Reader = Callable[[Operation], Needs]


def _catalog(action: str, part: str = "catalog", key: str = "name") -> Reader:
    def needs(operation: Operation) -> Needs:
        [name] = _text(_part(operation.resource, part), key)
        if name == SYSTEM:
            return operation.member() if action == "use" else None
        return (Need(action, (operation.ref("catalog", operation.catalog(name)),)),)

    return needs


def _create_catalog(operation: Operation) -> Needs:
    _text(_part(operation.resource, "catalog"), "name")
    return (Need("create_catalog", (operation.ref("metalake"),)),)


def _schema_of(resource: Mapping[str, Any]) -> tuple[str, str]:
    catalog, schema = _text(_part(resource, "schema"), "catalogName", "schemaName")
    return catalog, schema


def _built_in_schema(operation: Operation, catalog: str, schema: str) -> Needs:
    """What Trino itself has in each catalog, to be read by those who may use it."""
    if catalog == SYSTEM:
        return operation.member() if schema in OPEN_TO_ALL else None
    return (Need("use", (operation.ref("catalog", operation.catalog(catalog)),)),)


def _schema(action: str) -> Reader:
    def needs(operation: Operation) -> Needs:
        catalog, schema = _schema_of(operation.resource)
        if catalog == SYSTEM or schema == INFORMATION:
            return _built_in_schema(operation, catalog, schema) if action == "use" else None
        return (Need(action, (operation.ref("schema", operation.catalog(catalog), schema),)),)

    return needs


def _create_schema(operation: Operation) -> Needs:
    catalog, schema = _schema_of(operation.resource)
    return _creating(operation, catalog, schema)


def _creating(operation: Operation, catalog: str, schema: str) -> Needs:
    if catalog == SYSTEM or schema == INFORMATION:
        return None
    return (Need("create_schema", (operation.ref("catalog", operation.catalog(catalog)),)),)


def _rename_schema(operation: Operation) -> Needs:
    return _both(_schema("alter")(operation), _creating(operation, *_schema_of(operation.target)))


def _table_of(resource: Mapping[str, Any]) -> tuple[str, str, str]:
    catalog, schema, table = _text(_part(resource, "table"), "catalogName", "schemaName", "tableName")
    return catalog, schema, table


def _table(action: str, *types: str) -> Reader:
    def needs(operation: Operation) -> Needs:
        catalog, schema, table = _table_of(operation.resource)
        if catalog == SYSTEM or schema == INFORMATION:
            return _built_in_schema(operation, catalog, schema) if action == "read" else None
        path = (operation.catalog(catalog), schema, table)
        return (Need(action, tuple(operation.ref(type, *path) for type in types)),)

    return needs


def _create(type: str) -> Reader:
    return lambda operation: _create_in(operation, type, *_table_of(operation.resource))


def _create_in(operation: Operation, type: str, catalog: str, schema: str, _: str) -> Needs:
    if catalog == SYSTEM or schema == INFORMATION:
        return None
    return (Need(f"create_{type}", (operation.ref("schema", operation.catalog(catalog), schema),)),)


def _rename(type: str) -> Reader:
    def needs(operation: Operation) -> Needs:
        made = _create_in(operation, type, *_table_of(operation.target))
        return _both(_table("alter", type)(operation), made)

    return needs


def _pass_on(operation: Operation) -> Needs:
    """The owner of a view lets everybody who may read the view read what it reads."""
    return _both(_table("read", *_EITHER)(operation), _table("grant", *_EITHER)(operation))


def _both(needs: Needs, other: Needs) -> Needs:
    return None if needs is None or other is None else (*needs, *other)


def _function_of(resource: Mapping[str, Any]) -> tuple[str, str, str]:
    """Where a function is and how it is called: as Trino documents it, and flat, as releases send it."""
    part = _part(resource, "function")
    place = _part(part, "catalogSchema") if "catalogSchema" in part else part
    catalog, schema = _text(place, "catalogName", "schemaName")
    [name] = _text(part, "functionName")
    return catalog, schema, name


def _function(action: str, *, built_in: bool = False) -> Reader:
    def needs(operation: Operation) -> Needs:
        catalog, schema, name = _function_of(operation.resource)
        if (catalog, schema) == BUILT_IN:
            return operation.member() if built_in else None
        if catalog == SYSTEM:
            return None
        return (Need(action, (operation.ref("function", operation.catalog(catalog), schema, name),)),)

    return needs


def _create_function(operation: Operation) -> Needs:
    return _create_in(operation, "function", *_function_of(operation.resource))


_EITHER = ("table", "view")
_READ, _WRITE, _ALTER = _table("read", *_EITHER), _table("write", "table"), _table("alter", "table")
_ALTER_VIEW, _DROP_VIEW = _table("alter", "view"), _table("drop", "view")

OPERATIONS: Mapping[str, Reader] = {
    "ExecuteQuery": _of_member,
    "SetSystemSessionProperty": _of_member,
    "ReadSystemInformation": _of_owner,
    "WriteSystemInformation": _of_owner,
    "ViewQueryOwnedBy": _of_query,
    "FilterViewQueryOwnedBy": _of_query,
    "KillQueryOwnedBy": _of_query,
    "ImpersonateUser": _impersonate,
    "AccessCatalog": _catalog("use"),
    "FilterCatalogs": _catalog("use"),
    "ShowSchemas": _catalog("use"),
    "SetCatalogSessionProperty": _catalog("use", "catalogSessionProperty", "catalogName"),
    "CreateCatalog": _create_catalog,
    "DropCatalog": _catalog("drop"),
    "CreateSchema": _create_schema,
    "DropSchema": _schema("drop"),
    "RenameSchema": _rename_schema,
    "SetSchemaAuthorization": _schema("set_owner"),
    "ShowCreateSchema": _schema("use"),
    "ShowTables": _schema("use"),
    "ShowFunctions": _schema("use"),
    "FilterSchemas": _schema("use"),
    "FilterTables": _READ,
    "FilterColumns": _READ,
    "ShowColumns": _READ,
    "ShowCreateTable": _READ,
    "SelectFromColumns": _READ,
    "CreateViewWithSelectFromColumns": _pass_on,
    "InsertIntoTable": _WRITE,
    "DeleteFromTable": _WRITE,
    "TruncateTable": _WRITE,
    "UpdateTableColumns": _WRITE,
    "ExecuteTableProcedure": _WRITE,
    "AddColumn": _ALTER,
    "AlterColumn": _ALTER,
    "DropColumn": _ALTER,
    "RenameColumn": _ALTER,
    "SetTableProperties": _ALTER,
    "SetTableComment": _ALTER,
    "SetColumnComment": _table("alter", *_EITHER),
    "CreateTable": _create("table"),
    "DropTable": _table("drop", "table"),
    "RenameTable": _rename("table"),
    "SetTableAuthorization": _table("set_owner", "table"),
    "CreateView": _create("view"),
    "DropView": _DROP_VIEW,
    "RenameView": _rename("view"),
    "SetViewComment": _ALTER_VIEW,
    "SetViewAuthorization": _table("set_owner", "view"),
    "CreateMaterializedView": _create("view"),
    "RefreshMaterializedView": _ALTER_VIEW,
    "SetMaterializedViewProperties": _ALTER_VIEW,
    "SetMaterializedViewComment": _ALTER_VIEW,
    "SetMaterializedViewAuthorization": _table("set_owner", "view"),
    "RenameMaterializedView": _rename("view"),
    "DropMaterializedView": _DROP_VIEW,
    "FilterFunctions": _function("use", built_in=True),
    "ExecuteFunction": _function("use", built_in=True),
    "CreateViewWithExecuteFunction": _function("grant", built_in=True),
    "ShowCreateFunction": _function("read"),
    "CreateFunction": _create_function,
    "DropFunction": _function("drop"),
}
"""What each operation of Trino's plug-in takes.  Procedures of connectors are not among them."""
