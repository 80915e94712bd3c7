"""Commands that need more than a line: what makes tables, writes files, moves things or runs foreign code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from lakewarden.spark import options
from lakewarden.spark.actions import (
    ALTER,
    CATALOG,
    CREATE_FUNCTION,
    CREATE_SCHEMA,
    CREATE_TABLE,
    CREATE_VIEW,
    DROP,
    FUNCTION,
    READ,
    SCHEMA,
    TABLE,
    UNKNOWN,
    USE,
    VIEW,
    WRITE,
    Action,
    on_path,
    unknown,
)
from lakewarden.spark.plan_names import (
    ELSEWHERE,
    Name,
    Namer,
    format_of,
    hive_storage,
    is_jdbc,
    leading,
    misled_files,
    strange_classes,
    strange_provider,
)
from lakewarden.spark.scala_objects import class_of, each, option, pairs, parts_of, place_of, texts, v2_name
from lakewarden.spark.streams import written

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_COMMAND = "org.apache.spark.sql.execution.command."
_SOURCES = "org.apache.spark.sql.execution.datasources."
_HIVE = "org.apache.spark.sql.hive.execution."
_STREAM = "org.apache.spark.sql.execution.streaming.sources."


class Walk(Protocol):
    """The walk through one plan that a command is met on."""

    namer: Namer

    def touch(self, touch: Action) -> None: ...

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
            Action(CREATE_TABLE, TABLE, made)
        )  # the last step of making a table, which was checked before
    else:
        walk.touch(on_path(WRITE, folder))
    walk.do(WRITE, (*format_of(command), *misled_files(pairs(command.options()), "files")))
    walk.query(command.query())


def insert_into_directory(walk: Walk, command: Any) -> None:
    storage = command.storage()
    location = option(storage.locationUri())
    walk.touch(on_path(WRITE, place_of(location)) if location is not None else unknown("a directory"))
    if class_of(command) == _COMMAND + "InsertIntoDataSourceDirCommand":
        walk.do(WRITE, strange_provider(str(command.provider())))
    walk.do(WRITE, hive_storage(storage, {}))
    walk.query(command.query() if class_of(command) != _LOGICAL + "InsertIntoDir" else command.child())


_BY_PATH = ("org.apache.spark.sql.delta.sources.DeltaDataSource",)
"""Sources that write where `path` says and nowhere else."""


def save_into_source(walk: Walk, command: Any) -> None:
    given, source = pairs(command.options()), class_of(command.dataSource())
    if "path" in given and source in _BY_PATH:
        walk.touch(on_path(WRITE, given["path"]))
        walk.do(WRITE, misled_files(given, source))
    else:
        walk.touch(Action(WRITE, *unknown(f"a write by {source}")[1:]))
    walk.query(command.query())


def insert_into_source(walk: Walk, command: Any) -> None:
    walk.do(WRITE, walk.namer.relation(command.logicalRelation()))
    walk.query(command.query())


def load_data(walk: Walk, command: Any) -> None:
    table = command.table() if class_of(command).startswith(_COMMAND) else command.child()
    walk.do(WRITE, walk.namer.names(table))
    path = str(command.path())
    if command.isLocal():
        walk.touch(on_path(READ, f"file:{path}" if ":" not in path else path))
    else:  # the files are moved, not copied
        live_in(walk, path)


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
    name, storage = walk.namer.complete(parts_of(table.identifier())), table.storage()
    walk.do(CREATE_TABLE, strange_provider(option(table.provider())))
    walk.do(CREATE_TABLE, hive_storage(storage, pairs(table.properties())))
    if walk.namer.exists(table.identifier()) and mode in ("Append", "Overwrite"):
        walk.do(WRITE if mode == "Append" else DROP, walk.namer.identifier(table.identifier()))
        if mode == "Append":
            return
    walk.touch(Action(CREATE_TABLE, TABLE, name))
    location = option(storage.locationUri())
    if location is not None and str(table.tableType().name()) == "EXTERNAL":
        live_in(walk, place_of(location))
    walk.expect(walk.namer.folder(table), name)


def live_in(walk: Walk, place: str) -> None:
    """What lives in a place of one's choice reads and writes that place."""
    walk.touch(on_path(READ, place))
    walk.touch(on_path(WRITE, place))


def create_like(walk: Walk, command: Any) -> None:
    namer = walk.namer
    walk.touch(Action(CREATE_TABLE, TABLE, namer.complete(parts_of(command.targetTable()))))
    walk.do(READ, namer.identifier(command.sourceTable()))
    walk.do(CREATE_TABLE, strange_provider(option(command.provider())))
    walk.do(CREATE_TABLE, hive_storage(command.fileFormat(), pairs(command.properties())))
    location = option(command.fileFormat().locationUri())
    if location is not None:
        live_in(walk, place_of(location))


def create_schema(walk: Walk, command: Any) -> None:
    walk.touch(Action(CREATE_SCHEMA, SCHEMA, (walk.namer.current_catalog(), str(command.databaseName()))))
    location = option(command.path())
    if location is not None:
        live_in(walk, str(location))


def move_schema(walk: Walk, command: Any) -> None:
    walk.touch(Action(ALTER, SCHEMA, (walk.namer.current_catalog(), str(command.databaseName()))))
    live_in(walk, str(command.location()))


def create_in_catalog(walk: Walk, command: Any) -> None:
    place = command.name()
    walk.do(CREATE_TABLE, walk.namer.in_catalog(place))
    walk.do(CREATE_TABLE, walk.namer.unquoted(place.catalog(), command.tableSchema().fieldNames()))
    _specified(walk, place.catalog(), command.tableSpec())


def _specified(walk: Walk, catalog: Any, spec: Any) -> None:
    """How a table in a catalog is to be made: by which format, in which place, with which options."""
    if not class_of(spec).endswith(".TableSpec"):
        walk.touch(unknown(class_of(spec)))
        return
    properties, given, location = pairs(spec.properties()), pairs(spec.options()), option(spec.location())
    walk.do(CREATE_TABLE, strange_provider(option(spec.provider())))
    if is_jdbc(catalog):
        # Spark writes both into the statement as they stand
        raw = [f"property {name} of a table" for name in (*properties, *given) if name != "owner"]
        raw += ["a comment with quotes"] if _QUOTES.intersection(option(spec.comment()) or "") else []
        walk.do(CREATE_TABLE, [Name(UNKNOWN, (what, ELSEWHERE)) for what in raw])
    else:
        walk.do(CREATE_TABLE, misled_files(given, "a table"))
    for specified in (
        *options.places_in(properties),
        *options.places_in(given),
        *([location] if location else ()),
    ):
        live_in(walk, str(specified))


_QUOTES = frozenset("'\\")


def create_in_catalog_from_query(walk: Walk, command: Any) -> None:
    create_in_catalog(walk, command)
    _written(walk, command)


def _written(walk: Walk, command: Any) -> None:
    """The query that a new table is filled from, and how it is written there."""
    given, is_database = pairs(command.writeOptions()), is_jdbc(command.name().catalog())
    harmless = options.JDBC if is_database else options.FILES
    names = [f"option {name} of a table" for name in options.refused(given, harmless)]
    walk.do(CREATE_TABLE, [Name(UNKNOWN, (name, ELSEWHERE)) for name in names])
    walk.query(command.query())


def replace_in_catalog(walk: Walk, command: Any) -> None:
    place = command.name()
    if not command.orCreate() or place.catalog().tableExists(place.identifier()):
        walk.do(DROP, walk.namer.in_catalog(place))
    create_in_catalog(walk, command)


def replace_in_catalog_from_query(walk: Walk, command: Any) -> None:
    replace_in_catalog(walk, command)
    _written(walk, command)


def create_index(walk: Walk, command: Any) -> None:
    walk.do(ALTER, walk.namer.names(command.table()))
    walk.do(ALTER, walk.namer.altered(command.table(), command))
    for name in pairs(command.properties()):
        walk.touch(Action(ALTER, UNKNOWN, (f"property {name} of an index", ELSEWHERE)))


def add_partitions(walk: Walk, command: Any) -> None:
    walk.do(ALTER, walk.namer.names(command.tableName()))
    for pair in each(command.partitionSpecsAndLocs()):
        location = option(pair._2())
        if location is not None:
            live_in(walk, str(location))


def set_properties(walk: Walk, command: Any) -> None:
    names = walk.namer.names(command.tableName())
    if command.isView():
        names = tuple(name if name.kind == UNKNOWN else Name(VIEW, name.parts) for name in names)
    walk.do(ALTER, (*names, *leading(pairs(command.properties()))))


def set_serde(walk: Walk, command: Any) -> None:
    """Hive opens what these name as soon as somebody asks for the table, before a plan is there to judge."""
    walk.do(ALTER, walk.namer.names(command.tableName()))
    class_, given = option(command.serdeClassName()), option(command.serdeProperties())
    properties = pairs(given) if given is not None else {}
    walk.do(ALTER, strange_classes([class_] if class_ is not None else []))
    walk.do(ALTER, (*leading(properties), *misled_files(properties, "a table")))
    for name, value in properties.items():
        if name.lower() in options.PLACES:
            live_in(walk, value)


def rename_table(walk: Walk, command: Any) -> None:
    if len(parts_of(command.oldName())) == 1:
        return  # a temporary view
    kind = VIEW if command.isView() else TABLE
    old = walk.namer.complete(parts_of(command.oldName()))
    new = parts_of(command.newName())
    walk.touch(Action(ALTER, kind, old))
    # the new name comes without its catalog, and without its schema where that stays
    moved = (old[0], *(new if len(new) > 1 else (old[1], *new)))
    if moved[:-1] != old[:-1]:
        walk.touch(Action(CREATE_VIEW if kind == VIEW else CREATE_TABLE, kind, moved))


def rename_in_catalog(walk: Walk, command: Any) -> None:
    child, new = command.child(), texts(command.newName())
    old = v2_name(child.catalog(), child.identifier())
    walk.do(ALTER, walk.namer.names(child))
    walk.do(ALTER, walk.namer.unquoted(child.catalog(), new))
    if len(new) > 1 and new[:-1] != old[1:-1]:
        walk.touch(Action(CREATE_VIEW if command.isView() else CREATE_TABLE, TABLE, (old[0], *new)))


# views and functions


def create_view(walk: Walk, command: Any) -> None:
    if str(command.viewType().toString()) == "PersistedView":
        name = walk.namer.complete(parts_of(command.name()))
        replaces = command.replace() and walk.namer.exists(command.name())
        walk.touch(Action(ALTER if replaces else CREATE_VIEW, VIEW, name))
    walk.query(command.plan())


def create_view_in_catalog(walk: Walk, command: Any) -> None:
    for name in walk.namer.in_catalog(command.child()):
        walk.touch(Action(ALTER if command.replace() else CREATE_VIEW, VIEW, name.parts))
    walk.query(command.query())


def create_sql_function(walk: Walk, command: Any) -> None:
    """What it reads is analysed by itself, and checked then."""
    if not command.isTemp():
        name = command.name()
        parts = (str(option(name.database()) or ""), str(name.funcName()))
        walk.touch(Action(CREATE_FUNCTION, FUNCTION, walk.namer.complete(tuple(filter(None, parts)))))


def drop_function(walk: Walk, command: Any) -> None:
    if not command.isTemp():
        name = command.identifier()
        parts = (str(option(name.database()) or ""), str(name.funcName()))
        walk.touch(Action(DROP, FUNCTION, walk.namer.complete(tuple(filter(None, parts)))))


def temp_view_over_source(walk: Walk, command: Any) -> None:
    given = {name.lower(): value for name, value in pairs(command.options()).items()}
    strange = strange_provider(str(command.provider()))
    walk.do(READ, (*strange, *misled_files(given, "a view")))
    walk.touch(on_path(READ, given["path"]) if "path" in given else unknown(f"a source {command.provider()}"))


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
        walk.touch(Action(WRITE, TABLE, parts))
    else:
        _sink(walk, command.sink())
    if not command.deleteCheckpointOnStop():  # else it is a temporary folder of Spark's own
        live_in(walk, str(command.resolvedCheckpointLocation()))
    walk.query(command.inputQuery())


def batch(walk: Walk, command: Any) -> None:
    """A batch of a stream whose end was checked when it started."""
    table = option(command.catalogTable())
    if table is not None:
        walk.do(WRITE, walk.namer.described(table))
    else:
        _sink(walk, command.sink())
    walk.do(WRITE, misled_files(pairs(command.writeOptions()), "a stream"))
    walk.query(command.query())


def batch_v2(walk: Walk, command: Any) -> None:
    relation = command.relation()
    if class_of(relation).startswith("scala."):  # Spark 3.5 says it where there is one, else the sink alone
        relation = option(relation)
    if relation is None:
        _sink(walk, command.table())
        walk.do(WRITE, misled_files(pairs(command.writeOptions()), "a stream"))
    else:
        walk.do(WRITE, walk.namer.names(relation))
        walk.do(WRITE, walk.namer.misled(relation.table(), pairs(command.writeOptions())))
    walk.query(command.query())


def _sink(walk: Walk, sink: Any) -> None:
    if (touch := written(sink)) is not None:
        walk.touch(touch)


# what shows and explains


def show_tables(walk: Walk, command: Any) -> None:
    """Names are for whoever may use the schema; what else is shown takes what describing each table takes."""
    database = option(command.databaseName())
    parts = walk.namer.complete((str(database), ""))[:2] if database else ()
    walk.touch(Action(USE, SCHEMA, parts) if parts else Action(USE, CATALOG, (walk.namer.current_catalog(),)))
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
        walk.touch(Action(USE, SCHEMA, walk.namer.complete((database, ""))[:2]))


def describe_function(walk: Walk, command: Any) -> None:
    """Spark's own functions and temporary ones are in no database."""
    described = command.info()
    if described.getDb():
        parts = walk.namer.complete((str(described.getDb()), str(described.getName())))
        walk.touch(Action(USE, FUNCTION, parts))


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
    _COMMAND + "CreateDatabaseCommand": create_schema,
    _COMMAND + "AlterDatabaseSetLocationCommand": move_schema,
    _LOGICAL + "CreateIndex": create_index,
    _LOGICAL + "RenameTable": rename_in_catalog,
    _COMMAND + "AlterTableAddPartitionCommand": add_partitions,
    _COMMAND + "AlterTableRenameCommand": rename_table,
    _COMMAND + "AlterTableSerDePropertiesCommand": set_serde,
    _COMMAND + "AlterTableSetPropertiesCommand": set_properties,
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
