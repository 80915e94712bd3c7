"""Commands that need more than a line: what makes tables, writes files, moves things or runs foreign code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from lakewarden.spark.names import Name, Namer
from lakewarden.spark.scala import class_of, each, option, parts_of, texts
from lakewarden.spark.touches import (
    ALTER,
    CATALOG,
    CREATE_FUNCTION,
    CREATE_TABLE,
    CREATE_VIEW,
    DROP,
    FUNCTION,
    READ,
    SCHEMA,
    TABLE,
    USE,
    VIEW,
    WRITE,
    Touch,
    on_path,
    unknown,
)

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_COMMAND = "org.apache.spark.sql.execution.command."
_SOURCES = "org.apache.spark.sql.execution.datasources."
_HIVE = "org.apache.spark.sql.hive.execution."
_STREAM = "org.apache.spark.sql.execution.streaming.sources."


class Walk(Protocol):
    """The walk through one plan that a command is met on."""

    namer: Namer

    def touch(self, touch: Touch) -> None: ...

    def do(self, action: str, names: Iterable[Name]) -> None: ...

    def query(self, plan: Any) -> None: ...

    def expect(self, folder: str, table: tuple[str, ...]) -> None: ...

    def expected(self, folder: str) -> tuple[str, ...] | None: ...


Reading = Callable[[Walk, Any], None]


# files


def insert_into_files(walk: Walk, command: Any) -> None:
    table, folder = option(command.catalogTable()), str(command.outputPath().toString())
    if table is not None:
        walk.do(WRITE, walk.namer.described(table))
    elif (made := walk.expected(folder)) is not None:
        walk.touch(
            Touch(CREATE_TABLE, TABLE, made)
        )  # the last step of making a table, which was checked before
    else:
        walk.touch(on_path(WRITE, folder))
    walk.query(command.query())


def insert_into_directory(walk: Walk, command: Any) -> None:
    location = option(command.storage().locationUri())
    walk.touch(on_path(WRITE, str(location.toString())) if location is not None else unknown("a directory"))
    walk.query(command.query() if class_of(command) != _LOGICAL + "InsertIntoDir" else command.child())


_BY_PATH = ("org.apache.spark.sql.delta.sources.DeltaDataSource",)
"""Sources that write where `path` says and nowhere else."""


def save_into_source(walk: Walk, command: Any) -> None:
    options, source = command.options(), class_of(command.dataSource())
    path = option(options.get("path"))
    if path is not None and source in _BY_PATH:
        walk.touch(on_path(WRITE, str(path)))
    else:
        walk.touch(Touch(WRITE, *unknown(f"a write by {source}")[1:]))
    walk.query(command.query())


def insert_into_source(walk: Walk, command: Any) -> None:
    walk.do(WRITE, walk.namer.relation(command.logicalRelation()))
    walk.query(command.query())


def load_data(walk: Walk, command: Any) -> None:
    table = command.table() if class_of(command).startswith(_COMMAND) else command.child()
    walk.do(WRITE, walk.namer.names(table))
    path = str(command.path())
    walk.touch(on_path(READ, f"file:{path}" if command.isLocal() and ":" not in path else path))


def insert_into_hive(walk: Walk, command: Any) -> None:
    walk.do(WRITE, walk.namer.described(command.table()))
    walk.query(command.query())


# tables


def create_from_query(walk: Walk, command: Any) -> None:
    is_v1 = class_of(command) == _COMMAND + "CreateDataSourceTableAsSelectCommand"
    table = command.table() if is_v1 else command.tableDesc()
    _make(walk, table, str(command.mode().name()))
    walk.query(command.query())


def create_empty(walk: Walk, command: Any) -> None:
    _make(walk, command.table(), "ErrorIfExists")


def _make(walk: Walk, table: Any, mode: str) -> None:
    name = walk.namer.complete(parts_of(table.identifier()))
    if walk.namer.exists(table.identifier()) and mode in ("Append", "Overwrite"):
        walk.touch(Touch(WRITE if mode == "Append" else DROP, TABLE, name))
        if mode == "Append":
            return
    walk.touch(Touch(CREATE_TABLE, TABLE, name))
    location = option(table.storage().locationUri())
    if location is not None and str(table.tableType().name()) == "EXTERNAL":
        _live_in(walk, str(location.toString()))
    walk.expect(walk.namer.folder(table), name)


def _live_in(walk: Walk, place: str) -> None:
    """What lives in a place of one's choice reads and writes that place."""
    walk.touch(on_path(READ, place))
    walk.touch(on_path(WRITE, place))


def create_like(walk: Walk, command: Any) -> None:
    namer = walk.namer
    walk.touch(Touch(CREATE_TABLE, TABLE, namer.complete(parts_of(command.targetTable()))))
    walk.do(READ, namer.identifier(command.sourceTable()))
    location = option(command.fileFormat().locationUri())
    if location is not None:
        _live_in(walk, str(location.toString()))


def create_in_catalog(walk: Walk, command: Any) -> None:
    walk.do(CREATE_TABLE, walk.namer.in_catalog(command.name()))
    _located(walk, command)


def create_in_catalog_from_query(walk: Walk, command: Any) -> None:
    create_in_catalog(walk, command)
    walk.query(command.query())


def replace_in_catalog(walk: Walk, command: Any) -> None:
    place = command.name()
    if not command.orCreate() or place.catalog().tableExists(place.identifier()):
        walk.do(DROP, walk.namer.in_catalog(place))
    create_in_catalog(walk, command)


def replace_in_catalog_from_query(walk: Walk, command: Any) -> None:
    replace_in_catalog(walk, command)
    walk.query(command.query())


def _located(walk: Walk, command: Any) -> None:
    location = option(command.tableSpec().location())
    if location is not None:
        _live_in(walk, str(location))


def add_partitions(walk: Walk, command: Any) -> None:
    walk.do(ALTER, walk.namer.names(command.tableName()))
    for pair in each(command.partitionSpecsAndLocs()):
        location = option(pair._2())
        if location is not None:
            _live_in(walk, str(location))


def rename_table(walk: Walk, command: Any) -> None:
    if len(parts_of(command.oldName())) == 1:
        return  # a temporary view
    kind = VIEW if command.isView() else TABLE
    old = walk.namer.complete(parts_of(command.oldName()))
    new = parts_of(command.newName())
    walk.touch(Touch(ALTER, kind, old))
    # the new name comes without its catalog, and without its schema where that stays
    moved = (old[0], *(new if len(new) > 1 else (old[1], *new)))
    if moved[:-1] != old[:-1]:
        walk.touch(Touch(CREATE_VIEW if kind == VIEW else CREATE_TABLE, kind, moved))


# views and functions


def create_view(walk: Walk, command: Any) -> None:
    if str(command.viewType().toString()) == "PersistedView":
        name = walk.namer.complete(parts_of(command.name()))
        replaces = command.replace() and walk.namer.exists(command.name())
        walk.touch(Touch(ALTER if replaces else CREATE_VIEW, VIEW, name))
    walk.query(command.plan())


def create_view_in_catalog(walk: Walk, command: Any) -> None:
    for name in walk.namer.in_catalog(command.child()):
        walk.touch(Touch(ALTER if command.replace() else CREATE_VIEW, VIEW, name.parts))
    walk.query(command.query())


def create_sql_function(walk: Walk, command: Any) -> None:
    """What it reads is analysed by itself, and checked then."""
    if not command.isTemp():
        name = command.name()
        parts = (str(option(name.database()) or ""), str(name.funcName()))
        walk.touch(Touch(CREATE_FUNCTION, FUNCTION, walk.namer.complete(tuple(filter(None, parts)))))


def drop_function(walk: Walk, command: Any) -> None:
    if not command.isTemp():
        name = command.identifier()
        parts = (str(option(name.database()) or ""), str(name.funcName()))
        walk.touch(Touch(DROP, FUNCTION, walk.namer.complete(tuple(filter(None, parts)))))


def temp_view_over_source(walk: Walk, command: Any) -> None:
    path = option(command.options().get("path"))
    walk.touch(on_path(READ, str(path)) if path is not None else unknown(f"a source {command.provider()}"))


# what brings files or leaves Spark


def add_files(walk: Walk, command: Any) -> None:
    for path in texts(command.paths()):
        walk.touch(on_path(READ, path))


def refresh_path(walk: Walk, command: Any) -> None:
    walk.touch(on_path(READ, str(command.path())))


# streams


def start_stream(walk: Walk, command: Any) -> None:
    """The start of a stream, where it writes to included; its batches are checked again, one by one."""
    table, pair = option(command.catalogTable()), option(command.catalogAndIdent())
    if table is not None:
        walk.do(WRITE, walk.namer.described(table))
    elif pair is not None:
        identifier = pair._2()
        parts = (str(pair._1().name()), *identifier.namespace(), str(identifier.name()))
        walk.touch(Touch(WRITE, TABLE, parts))
    else:
        _sink(walk, command.sink())
    walk.query(command.inputQuery())


def batch(walk: Walk, command: Any) -> None:
    """A batch of a stream whose end was checked when it started."""
    table = option(command.catalogTable())
    if table is not None:
        walk.do(WRITE, walk.namer.described(table))
    else:
        _sink(walk, command.sink())
    walk.query(command.query())


def batch_v2(walk: Walk, command: Any) -> None:
    walk.do(WRITE, walk.namer.names(command.relation()))
    walk.query(command.query())


_OWN_SINKS = ("ConsoleTable", "MemorySink", "ForeachBatchSink", "ForeachWriterTable", "NoopTable")


def _sink(walk: Walk, sink: Any) -> None:
    name, text = class_of(sink).rpartition(".")[2].rstrip("$"), str(sink.toString())
    if name == "FileStreamSink" and text.startswith("FileSink[") and text.endswith("]"):
        walk.touch(on_path(WRITE, text[len("FileSink[") : -1]))
    elif name not in _OWN_SINKS:
        walk.touch(Touch(WRITE, *unknown(f"a stream into {name}")[1:]))


# what shows and explains


def show_tables(walk: Walk, command: Any) -> None:
    """Names are for whoever may use the schema; what else is shown takes what describing each table takes."""
    database = option(command.databaseName())
    parts = walk.namer.complete((str(database), ""))[:2] if database else ()
    walk.touch(Touch(USE, SCHEMA, parts) if parts else Touch(USE, CATALOG, (walk.namer.current_catalog(),)))
    if command.isExtended():
        pattern = option(command.tableIdentifierPattern())
        shown = walk.namer.listed(str(database or walk.namer.current_database()), str(pattern or "*"))
        for identifier in shown:
            walk.do(READ, walk.namer.identifier(identifier))
            if view := walk.namer.temporary(identifier):
                walk.namer.look_through(view)


def show_tables_in_catalog(walk: Walk, command: Any) -> None:
    walk.do(USE, walk.namer.names(command.namespace()))
    walk.do(READ, walk.namer.in_namespace(command.namespace(), str(command.pattern())))


def show_functions(walk: Walk, command: Any) -> None:
    database = str(command.db())
    if walk.namer.has_functions(database):
        walk.touch(Touch(USE, SCHEMA, walk.namer.complete((database, ""))[:2]))


def describe_function(walk: Walk, command: Any) -> None:
    """Spark's own functions and temporary ones are in no database."""
    described = command.info()
    if described.getDb():
        parts = walk.namer.complete((str(described.getDb()), str(described.getName())))
        walk.touch(Touch(USE, FUNCTION, parts))


def explain(walk: Walk, command: Any) -> None:
    """Checked before it is explained: Spark would put the refusal among the lines of the plan.

    It is analysed and checked again then, so what Spark cannot analyse is for Spark to say.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    with contextlib.suppress(Py4JJavaError, PySparkException):
        walk.namer.analyse(command.logicalPlan())


COMMANDS: dict[str, Reading] = {
    _SOURCES + "InsertIntoHadoopFsRelationCommand": insert_into_files,
    _SOURCES + "InsertIntoDataSourceCommand": insert_into_source,
    _SOURCES + "SaveIntoDataSourceCommand": save_into_source,
    _SOURCES + "CreateTempViewUsing": temp_view_over_source,
    _SOURCES + "RefreshResource": refresh_path,
    _COMMAND + "InsertIntoDataSourceDirCommand": insert_into_directory,
    _HIVE + "InsertIntoHiveDirCommand": insert_into_directory,
    _HIVE + "InsertIntoHiveTable": insert_into_hive,
    _HIVE + "CreateHiveTableAsSelectCommand": create_from_query,
    _COMMAND + "CreateDataSourceTableAsSelectCommand": create_from_query,
    _COMMAND + "SaveAsV1TableCommand": create_from_query,
    _COMMAND + "CreateDataSourceTableCommand": create_empty,
    _COMMAND + "CreateTableCommand": create_empty,
    _COMMAND + "CreateTableLikeCommand": create_like,
    _LOGICAL + "CreateTable": create_in_catalog,
    _LOGICAL + "CreateTableAsSelect": create_in_catalog_from_query,
    _LOGICAL + "ReplaceTable": replace_in_catalog,
    _LOGICAL + "ReplaceTableAsSelect": replace_in_catalog_from_query,
    _COMMAND + "AlterTableAddPartitionCommand": add_partitions,
    _COMMAND + "AlterTableRenameCommand": rename_table,
    _COMMAND + "CreateViewCommand": create_view,
    _LOGICAL + "CreateView": create_view_in_catalog,
    _COMMAND + "CreateSQLFunctionCommand": create_sql_function,
    _COMMAND + "DropFunctionCommand": drop_function,
    _COMMAND + "ShowTablesCommand": show_tables,
    _LOGICAL + "ShowTablesExtended": show_tables_in_catalog,
    _LOGICAL + "ShowTableExtended": show_tables_in_catalog,
    _COMMAND + "ShowFunctionsCommand": show_functions,
    _COMMAND + "DescribeFunctionCommand": describe_function,
    _COMMAND + "ExplainCommand": explain,
    _COMMAND + "LoadDataCommand": load_data,
    _LOGICAL + "LoadData": load_data,
    _COMMAND + "AddFilesCommand": add_files,
    _COMMAND + "AddArchivesCommand": add_files,
    "org.apache.spark.sql.catalyst.streaming.WriteToStream": start_stream,
    "org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement": start_stream,
    _STREAM + "WriteToMicroBatchDataSourceV1": batch,
    _STREAM + "WriteToMicroBatchDataSource": batch_v2,
}
"""Commands by their class; those that bring Java code or run a program stand nowhere, so are refused."""
