"""What the operand of a plan is called: relations, resolved names, identifiers and table descriptions."""

from __future__ import annotations

from typing import Any, NamedTuple

from lakewarden.spark.scala import class_of, each, gateway, java_texts, option, parts_of, texts, v2_name
from lakewarden.spark.touches import CATALOG, FUNCTION, PATH, SCHEMA, TABLE, UNKNOWN, VIEW

SESSION_CATALOG = "spark_catalog"
HARMLESS = frozenset(
    {"noop-table", "console", "rate", "rate-micro-batch", "MemorySink", "ForeachWriterTable"}
)
"""Tables of Spark's own that hold nobody's data: they make up rows, or throw them away."""

_FILES = ("csv", "json", "orc", "parquet", "text", "xml", "org.apache.spark.sql.execution.datasources.")
"""How the sources are called that stream from a path and from nowhere else."""

_ANALYSIS = "org.apache.spark.sql.catalyst.analysis."
_IDENTIFIER = "org.apache.spark.sql.catalyst.TableIdentifier"
_V2 = "org.apache.spark.sql.execution.datasources.v2."


class Name(NamedTuple):
    """A kind (table, view, schema, catalog, function, path or unknown) and the parts that name one of it."""

    kind: str
    parts: tuple[str, ...]


Names = tuple[Name, ...]
"""One name; several for a relation over several paths; none for what belongs to the session alone."""


class Namer:
    """Names the operands of one session's plans."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def names(self, thing: Any) -> Names:
        """The names of an operand of any class."""
        class_name = class_of(thing)
        naming = _BY_CLASS.get(class_name)
        return naming(self, thing) if naming else (Name(UNKNOWN, (class_name,)),)

    def complete(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """A v1 name with the catalog and database that Spark left out."""
        if len(parts) == 1:
            parts = (str(self._catalog().getCurrentDatabase()), *parts)
        return (SESSION_CATALOG, *parts) if len(parts) == 2 else parts

    def exists(self, identifier: Any) -> bool:
        """Whether there is such a v1 table or view now."""
        return bool(self._catalog().tableExists(identifier))

    def kind(self, identifier: Any) -> str:
        """Whether a v1 name is a view's; what is not there counts as a table."""
        if not self.exists(identifier):
            return TABLE
        described = self._catalog().getTableMetadata(identifier)
        return VIEW if described.tableType().name() == "VIEW" else TABLE

    def folder(self, described: Any) -> str:
        """Where a v1 table's files are, or will be."""
        location = option(described.storage().locationUri())
        return str((location or self._catalog().defaultTablePath(described.identifier())).toString())

    def place(self, path: str) -> str:
        """A path without a scheme as Hadoop would complete it."""
        if not path.startswith("/"):
            return path
        default = str(self._session.sparkContext().hadoopConfiguration().get("fs.defaultFS") or "file:///")
        return path if default.startswith("file:") else default.rstrip("/") + path

    def temporary(self, thing: Any) -> tuple[str, ...]:
        """The name of a temporary view that is looked at by its name alone; none for everything else."""
        class_name = class_of(thing)
        if class_name == _ANALYSIS + "ResolvedTempView":
            identifier = thing.identifier()
            return (*identifier.namespace(), str(identifier.name()))
        is_name = class_name == _IDENTIFIER and self._catalog().isTempView(thing)
        return parts_of(thing) if is_name else ()

    def analyse(self, plan: Any) -> None:
        """Have Spark analyse a plan, and so have it checked.  Raises AccessDenied, or what Spark says."""
        analyser = self._session.sessionState().analyzer()
        analyser.checkAnalysis(analyser.execute(plan))

    def look_through(self, view: tuple[str, ...]) -> None:
        """The same for a temporary view."""
        self._session.table(".".join(f"`{part.replace('`', '``')}`" for part in view))

    def listed(self, database: str, pattern: str) -> list[Any]:
        """The session catalog's tables and views whose names fit a pattern, temporary ones included."""
        return list(each(self._catalog().listTables(database, pattern)))

    def in_namespace(self, thing: Any, pattern: str) -> Names:
        """The tables of a namespace of a catalog of its own whose names fit a pattern."""
        jvm = gateway().jvm
        fits = jvm.org.apache.spark.sql.catalyst.util.StringUtils.filterPattern
        tables = thing.catalog().listTables(java_texts(texts(thing.namespace())))
        return tuple(
            Name(TABLE, v2_name(thing.catalog(), table))
            for table in tables
            if fits(jvm.org.apache.spark.api.python.PythonUtils.toSeq([str(table.name())]), pattern).size()
        )

    def has_functions(self, database: str) -> bool:
        """Whether a database of the session's catalog keeps functions."""
        kept = self._session.sharedState().externalCatalog()
        return bool(kept.databaseExists(database)) and kept.listFunctions(database, "*").size() > 0

    def current_database(self) -> str:
        return str(self._catalog().getCurrentDatabase())

    def current_catalog(self) -> str:
        return str(self._session.sessionState().catalogManager().currentCatalog().name())

    def _catalog(self) -> Any:
        return self._session.sessionState().catalog()

    # one for each class of operand

    def identifier(self, thing: Any) -> Names:
        parts = parts_of(thing)
        if len(parts) == 1 and self._catalog().isTempView(thing):
            return ()
        return (Name(self.kind(thing), self.complete(parts)),)

    def described(self, thing: Any) -> Names:
        kind = VIEW if thing.tableType().name() == "VIEW" else TABLE
        return (Name(kind, self.complete(parts_of(thing.identifier()))),)

    def in_catalog(self, thing: Any) -> Names:
        return (Name(TABLE, v2_name(thing.catalog(), thing.identifier())),)

    def view(self, thing: Any) -> Names:
        return (Name(VIEW, v2_name(thing.catalog(), thing.identifier())),)

    def namespace(self, thing: Any) -> Names:
        parts = texts(thing.namespace())
        return (Name(SCHEMA if parts else CATALOG, (str(thing.catalog().name()), *parts)),)

    def function(self, thing: Any) -> Names:
        return (Name(FUNCTION, v2_name(thing.catalog(), thing.identifier())),)

    def nothing(self, thing: Any) -> Names:
        return ()

    def alias(self, thing: Any) -> Names:
        return self.names(thing.child())

    def logical_view(self, thing: Any) -> Names:
        return () if thing.isTempView() else self.described(thing.desc())

    def relation(self, thing: Any) -> Names:
        table = option(thing.catalogTable())
        return self.described(table) if table is not None else self.files(thing.relation())

    def files(self, relation: Any) -> Names:
        class_name = class_of(relation)
        if class_name.endswith(".HadoopFsRelation"):
            return tuple(Name(PATH, (path,)) for path in texts(relation.location().rootPaths()))
        if class_name.endswith(".JDBCRelation"):
            return (Name(UNKNOWN, (f"jdbc {_without_secrets(relation.jdbcOptions().url())}",)),)
        return (Name(UNKNOWN, (class_name,)),)

    def hive(self, thing: Any) -> Names:
        return self.described(thing.tableMeta())

    def v2(self, thing: Any) -> Names:
        catalog, identifier = option(thing.catalog()), option(thing.identifier())
        if catalog is not None and identifier is not None:
            return (Name(TABLE, v2_name(catalog, identifier)),)
        return self.loose_table(thing.table())

    def v2_scan(self, thing: Any) -> Names:
        return self.v2(thing.relation())

    def loose_table(self, table: Any) -> Names:
        """A table of a format, without a catalog: files by their paths, else by what the format calls it."""
        name, class_name = str(table.name()), class_of(table)
        if name in HARMLESS:
            return ()
        if class_name.startswith(_V2) and class_name.endswith("Table") and has_method(table, "fileIndex"):
            return tuple(Name(PATH, (path,)) for path in texts(table.fileIndex().rootPaths()))
        return (Name(UNKNOWN, (name,)),)

    def batch_of_stream(self, thing: Any) -> Names:
        """What has no name here was refused, or found harmless, when the stream started."""
        catalog, identifier = option(thing.catalog()), option(thing.identifier())
        known = catalog is not None and identifier is not None
        return (Name(TABLE, v2_name(catalog, identifier)),) if known else ()

    def streaming_v1(self, thing: Any) -> Names:
        source = thing.dataSource()
        table = option(source.catalogTable())
        if table is not None:
            return self.described(table)
        if not str(source.className()).lower().startswith(_FILES):
            return (Name(UNKNOWN, (f"stream of {source.className()}",)),)
        one = option(source.options().get("path"))
        paths = texts(source.paths()) if one is None else (str(one),)
        return tuple(Name(PATH, (path,)) for path in paths) or (Name(UNKNOWN, ("a stream of no path",)),)


def has_method(thing: Any, method: str) -> bool:
    """Whether a Java object has a method.  py4j itself would only know when it is called."""
    return any(one.getName() == method for one in thing.getClass().getMethods())


def _without_secrets(url: str) -> str:
    """The address without what may hold a password: everything after `?` or `;`, and before `@`."""
    head = url.split("?")[0].split(";")[0]
    scheme, _, rest = head.partition("//")
    return f"{scheme}//{rest.rpartition('@')[2]}" if rest else scheme


_BY_CLASS = {
    _IDENTIFIER: Namer.identifier,
    "org.apache.spark.sql.catalyst.catalog.CatalogTable": Namer.described,
    "org.apache.spark.sql.catalyst.catalog.HiveTableRelation": Namer.hive,
    "org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias": Namer.alias,
    "org.apache.spark.sql.catalyst.plans.logical.View": Namer.logical_view,
    "org.apache.spark.sql.execution.datasources.LogicalRelation": Namer.relation,
    "org.apache.spark.sql.catalyst.streaming.StreamingRelationV2": Namer.v2,
    "org.apache.spark.sql.execution.streaming.StreamingRelation": Namer.streaming_v1,
    "org.apache.spark.sql.execution.streaming.runtime.StreamingRelation": Namer.streaming_v1,
    _ANALYSIS + "ResolvedTable": Namer.in_catalog,
    _ANALYSIS + "ResolvedIdentifier": Namer.in_catalog,
    _ANALYSIS + "ResolvedPersistentView": Namer.view,
    _ANALYSIS + "ResolvedTempView": Namer.nothing,
    _ANALYSIS + "ResolvedNamespace": Namer.namespace,
    _ANALYSIS + "ResolvedPersistentFunc": Namer.function,
    _ANALYSIS + "ResolvedNonPersistentFunc": Namer.nothing,
    _V2 + "DataSourceV2Relation": Namer.v2,
    _V2 + "DataSourceV2ScanRelation": Namer.v2_scan,
    _V2 + "StreamingDataSourceV2Relation": Namer.batch_of_stream,
    _V2 + "StreamingDataSourceV2ScanRelation": Namer.batch_of_stream,
}

RELATIONS = frozenset(
    name
    for name in _BY_CLASS
    if not name.endswith((".TableIdentifier", ".CatalogTable", ".SubqueryAlias", ".View"))
)
"""The leaves of a plan that are read when they stand in a query; a ResolvedTable is one that is looked up."""
