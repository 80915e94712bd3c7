"""What the operand of a plan is called: relations, resolved names, identifiers and table descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from lakewarden.law.locations import above, normal
from lakewarden.spark import data_source_reader, options
from lakewarden.spark.actions import CATALOG, FUNCTION, PATH, SCHEMA, TABLE, UNKNOWN, VIEW
from lakewarden.spark.scala_objects import (
    class_of,
    each,
    gateway,
    has_method,
    java_texts,
    option,
    pairs,
    parts_of,
    place_of,
    texts,
    v2_name,
)
from lakewarden.spark.symbolic_links import listed

SESSION_CATALOG = "spark_catalog"
_SPARKS_OWN = "org.apache.spark.sql.execution."
_HARMLESS = (
    ".ConsoleTable$",
    ".ContinuousMemorySink",
    ".ForeachWriterTable",
    ".MemorySink",
    ".NoopTable$",
    ".RatePerMicroBatchTable",
    ".RateStreamTable",
)
"""Tables of Spark's own that hold nobody's data: they make up rows, or throw them away."""

ELSEWHERE = "it may open something other than the name says, and the guard cannot tell what"
_STRANGE = "the guard does not know this format"
_AS_SQL = "this version of Spark passes such a name to the database as SQL"
_QUOTED = frozenset('"`')
_WILD = frozenset("%\\")
_ANALYSIS = "org.apache.spark.sql.catalyst.analysis."
_IDENTIFIER = "org.apache.spark.sql.catalyst.TableIdentifier"
_V2 = "org.apache.spark.sql.execution.datasources.v2."


class Name(NamedTuple):
    """A kind (table, view, schema, catalog, function, path or unknown) and the parts that name one of it.

    `places` are those that Spark opens for a table of that name.
    """

    kind: str
    parts: tuple[str, ...]
    places: tuple[str, ...] = ()


Names = tuple[Name, ...]
"""One name; several for a relation over several paths; none for what belongs to the session alone."""


class Console(NamedTuple):
    """The console's address, and whether those who work here have to give a token of their own for it."""

    url: str = ""
    shared: bool = False


NO_CONSOLE = Console()


class Namer:
    """Names the operands of one session's plans."""

    def __init__(self, session: Any, console: Console) -> None:
        self._session, self._console = session, console

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

    def folder(self, described: Any) -> str:
        """Where a v1 table's files are, or will be."""
        location = option(described.storage().locationUri())
        return place_of(location or self._catalog().defaultTablePath(described.identifier()))

    def place(self, path: str) -> str:
        """A path as this session's Hadoop would complete it."""
        scheme, colon, rest = path.partition(":")
        hosted = bool(colon) and "/" not in scheme
        if path.startswith("//") or not (path.startswith("/") or (hosted and _HOSTLESS.match(rest))):
            return path
        default = str(self._session.sessionState().newHadoopConf().get("fs.defaultFS") or "file:///")
        if default.startswith("file:"):
            return path
        if not hosted:
            return default.rstrip("/") + path
        same = default.partition(":")[0].lower() == scheme.lower()
        return default.rstrip("/") + "/" + rest.lstrip("/") if same else path

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
        if not self.exists(thing):  # counts as a table
            return (Name(TABLE, self.complete(parts)),)
        return self.described(self._catalog().getTableMetadata(thing))

    def described(self, thing: Any) -> Names:
        """A v1 table by its description, with where its files lie; what is no table of files is unknown."""
        name = self.complete(parts_of(thing.identifier()))
        if thing.tableType().name() == "VIEW":
            return (Name(VIEW, name),)
        location = option(thing.storage().locationUri())
        return (Name(TABLE, name, (place_of(location),) if location is not None else ()),)

    def in_catalog(self, thing: Any) -> Names:
        name, table = v2_name(thing.catalog(), thing.identifier()), None
        if class_of(thing).endswith("Table"):
            table = thing.table()
        elif class_of(thing.catalog()).endswith(".V2SessionCatalog"):
            exists = thing.catalog().tableExists(thing.identifier())
            table = thing.catalog().loadTable(thing.identifier()) if exists else None
        return (*self._loaded(name, table), *self.unquoted(thing.catalog(), name))

    def _loaded(self, name: tuple[str, ...], table: Any) -> Names:
        """A table of a catalog, with the places that it has by its own account."""
        class_name = class_of(table) if table is not None else ""
        if class_name.endswith(".V1Table"):
            return self.described(table.v1Table())
        if not class_name or class_name.endswith(_JDBC_TABLE):
            return (Name(TABLE, name),)
        location = table.properties().get("location")
        return (Name(TABLE, name, (str(location),) if location else ()),)

    def unquoted(self, catalog: Any, name: Iterable[str]) -> Names:
        """A name that a database would take for another, or for a piece of SQL.

        Before 4.3 Spark gives names to databases as they are.
        """
        parts = tuple(name)
        long = any(len(part.encode(errors="replace")) > _LONGEST for part in parts)
        quoted = any(_QUOTED.intersection(part) for part in parts)
        if not (long or quoted) or not is_jdbc(catalog):
            return ()
        if long and not options.takes_names(self._url(str(catalog.name()))):
            return (Name(UNKNOWN, ("a name of more than 63 bytes", "the database may shorten it")),)
        if not quoted or options.quotes_names(str(self._session.version())):
            return ()
        return (Name(UNKNOWN, ("a name with quotes", _AS_SQL)),)

    def _url(self, catalog: str) -> str:
        """Where a catalog leads by this session's settings; empty where they do not say."""
        own = f"{_CATALOG}{catalog}.url".lower()
        known = pairs(self._session.sessionState().conf().getAllConfs())
        return next((value for name, value in known.items() if name.lower() == own), "")

    def altered(self, thing: Any, command: Any) -> Names:
        """What a change of a table would say to a database in words of the program's own."""
        if not class_of(thing).endswith(".ResolvedTable") or not is_jdbc(thing.catalog()):
            return ()
        return self.unquoted(thing.catalog(), (str(command.toString()).replace("[", "").replace("]", ""),))

    def view(self, thing: Any) -> Names:
        return (Name(VIEW, v2_name(thing.catalog(), thing.identifier())),)

    def namespace(self, thing: Any) -> Names:
        parts, catalog = texts(thing.namespace()), thing.catalog()
        name = Name(SCHEMA if parts else CATALOG, (str(catalog.name()), *parts))
        strange: Names = ()
        if any(_WILD.intersection(part) for part in parts) and is_jdbc(catalog):
            # Spark asks a database for the tables in all schemas that are like it
            strange = (Name(UNKNOWN, ("a schema with % in its name", "the database takes it for a pattern")),)
        return (name, *self.unquoted(catalog, parts), *strange)

    def function(self, thing: Any) -> Names:
        return (Name(FUNCTION, v2_name(thing.catalog(), thing.identifier())),)

    def nothing(self, thing: Any) -> Names:
        return ()

    def alias(self, thing: Any) -> Names:
        return self.names(thing.child())

    def logical_view(self, thing: Any) -> Names:
        return () if thing.isTempView() else self.described(thing.desc())

    def relation(self, thing: Any) -> Names:
        """What a v1 relation reads: the files that it has found, whatever the table says of itself."""
        relation, table = thing.relation(), option(thing.catalogTable())
        if table is None:
            return self.files(relation)
        if not class_of(relation).endswith(".HadoopFsRelation"):
            return (Name(UNKNOWN, (self._foreign(relation), ELSEWHERE)),)
        places = texts(relation.location().rootPaths())
        names = (name._replace(places=places or name.places) for name in self.described(table))
        elsewhere = (Name(PATH, (path,)) for path in listed(relation.location()))
        return (*names, *elsewhere, *_misled(relation))

    def files(self, relation: Any) -> Names:
        if class_of(relation).endswith(".HadoopFsRelation"):
            return (*_opened(relation.location()), *_misled(relation))
        return (Name(UNKNOWN, (self._foreign(relation),)),)

    def _foreign(self, relation: Any) -> str:
        class_name = class_of(relation)
        if class_name.endswith(".JDBCRelation"):
            return connection(str(relation.jdbcOptions().url())).parts[0]
        return class_name

    def unresolved(self, thing: Any) -> Names:
        """What is strange of a source that Spark has not looked up yet; its paths are judged when it has."""
        name, given = str(thing.format()), pairs(thing.options().originalMap())
        if name.lower() == _OWN_FORMAT:
            return self._own_format({option.lower(): value for option, value in given.items()})
        if options.makes_up(name):
            return ()
        if not options.is_provider(name):
            url = next((value for option, value in given.items() if option.lower() == "url"), "")
            return (
                (connection(url),)
                if name.lower() == "jdbc"
                else (Name(UNKNOWN, (f"format {name}", _STRANGE)),)
            )
        given = {option: value for option, value in given.items() if option.lower() != "basepath"}
        return misled_files(given, "files")

    def hive(self, thing: Any) -> Names:
        table = thing.tableMeta()
        return (*self.described(table), *hive_storage(table.storage(), pairs(table.properties())))

    def v2(self, thing: Any) -> Names:
        catalog, identifier, table = option(thing.catalog()), option(thing.identifier()), thing.table()
        streams = class_of(thing).endswith(".StreamingRelationV2")
        given = thing.extraOptions() if streams else thing.options()
        given_options = {} if given.isEmpty() else dict(given.asCaseSensitiveMap())
        if class_of(table) == _PYTHON_TABLE and str(table.name()) == _OWN_FORMAT:
            return self._own_format({name.lower(): value for name, value in given_options.items()})
        read = (*self.misled(table, given_options), *_pushed(table, given_options))
        if catalog is not None and identifier is not None:
            name = v2_name(catalog, identifier)
            return (*self._loaded(name, table), *self.unquoted(catalog, name), *read)
        return (*self.loose_table(table), *read)

    def _own_format(self, given: Mapping[str, str]) -> Names:
        """The console's own tables: it decides itself who may read them, so nobody else may be asked."""
        if given.get("url", "").rstrip("/") == self._console.url.rstrip("/"):
            given = {name: value for name, value in given.items() if name != "url"}
        strange = _refused(given, _OWN_OPTIONS, f"format {_OWN_FORMAT}")
        if self._console.shared and not given.get("token"):
            own = "give option token: clients cannot use the server's own"
            strange = (*strange, Name(UNKNOWN, (f"format {_OWN_FORMAT}", own)))
        return strange

    def v2_scan(self, thing: Any) -> Names:
        return self.v2(thing.relation())

    def misled(self, table: Any, given: Mapping[str, str]) -> Names:
        """The options with which a table would be opened, as far as they may open something else."""
        if not given:
            return ()
        class_name = class_of(table)
        if _is_harmless(class_name):
            return ()
        harmless = options.JDBC if class_name.endswith(_JDBC_TABLE) else options.FILES
        return _refused(given, harmless, str(table.name()))

    def loose_table(self, table: Any) -> Names:
        """A table of a format, without a catalog: files by their paths, else by what the format calls it."""
        class_name = class_of(table)
        if _is_harmless(class_name):
            return ()
        if class_name.startswith(_V2) and class_name.endswith("Table") and has_method(table, "fileIndex"):
            return _opened(table.fileIndex())
        return (Name(UNKNOWN, (str(table.name()),)),)

    def batch_of_stream(self, thing: Any) -> Names:
        """What has no name here was refused, or found harmless, when the stream started."""
        catalog, identifier = option(thing.catalog()), option(thing.identifier())
        is_known = catalog is not None and identifier is not None
        return (Name(TABLE, v2_name(catalog, identifier)),) if is_known else ()

    def streaming_v1(self, thing: Any) -> Names:
        source = thing.dataSource()
        table, class_name = option(source.catalogTable()), str(source.className())
        given = pairs(source.options())
        if not options.is_provider(class_name):
            return (Name(UNKNOWN, (f"stream of {class_name}",)),)
        strange = _refused(given, options.FILES, f"stream of {class_name}")
        if table is not None:
            return (*self.described(table), *strange)
        given = {name.lower(): value for name, value in given.items()}
        paths = texts(source.paths()) if "path" not in given else (given["path"],)
        names = tuple(Name(PATH, (path,)) for path in paths) or (Name(UNKNOWN, ("a stream without a path",)),)
        return (*names, *strange)


def _pushed(table: Any, told: Mapping[str, str]) -> Names:
    """Parts of a statement that Spark would hand to a database as SQL which that reads otherwise."""
    if not class_of(table).endswith(_JDBC_TABLE):
        return ()
    own = table.jdbcOptions()
    if options.takes_values(str(own.url())):
        return ()
    told = {name.lower(): value for name, value in told.items()}
    return tuple(
        Name(UNKNOWN, (f"option {option} of {table.name()}", _VALUES))
        for option in options.PUSHED
        if has_method(own, option)
        and str(told.get(option.lower(), getattr(own, option)())).lower() != "false"
    )


_VALUES = "this database may run values in a statement as SQL; set it to false for the catalog"
_LONGEST = 63
_CATALOG = "spark.sql.catalog."
_PYTHON_TABLE = "org.apache.spark.sql.execution.datasources.v2.python.PythonTable"
_OWN_FORMAT = "lakewarden"
_OWN_OPTIONS = data_source_reader.OPTIONS - {"url", "ca"}
_JDBC_TABLE = ".jdbc.JDBCTable"
JDBC_CATALOG = ".jdbc.JDBCTableCatalog"
_HOSTLESS = re.compile(r"/(?!/)|//(/|$)")


def _opened(index: Any) -> Names:
    """The places that a relation of files reads: its own, and where a list of files leads out of them."""
    return tuple(Name(PATH, (path,)) for path in (*texts(index.rootPaths()), *listed(index)))


def _is_harmless(class_name: str) -> bool:
    return class_name.startswith(_SPARKS_OWN) and class_name.endswith(_HARMLESS)


def format_of(thing: Any) -> Names:
    """The format of files that a relation or a command has, where the guard does not know it."""
    class_name = class_of(thing.fileFormat())
    return () if options.is_format(class_name) else (Name(UNKNOWN, (f"format {class_name}", ELSEWHERE)),)


def _misled(relation: Any) -> Names:
    """What may lead a relation of files elsewhere: its format and its options."""
    given = pairs(relation.options())
    base = next((name for name in given if name.lower() == "basepath"), "")
    if base and _is_above(given[base], texts(relation.location().rootPaths())):
        del given[base]
    return (*format_of(relation), *_refused(given, options.FILES, "files"))


def _is_above(folder: str, places: Iterable[str]) -> bool:
    """Whether places lie in a folder, so that naming it opens nothing more."""
    place = normal(folder)
    return place is not None and all(place in above(item) for item in places)


def _refused(given: Mapping[str, str], harmless: frozenset[str], what: str) -> Names:
    return tuple(
        Name(UNKNOWN, (f"option {name} of {what}", ELSEWHERE)) for name in options.refused(given, harmless)
    )


def misled_files(given: Mapping[str, str], what: str) -> Names:
    """The options of files that may open something else."""
    return _refused(given, options.FILES, what)


def strange_provider(provider: str | None) -> Names:
    """A format that the guard does not know, as it stands behind USING."""
    if provider is None or options.is_provider(provider):
        return ()
    return (Name(UNKNOWN, (f"USING {provider}", ELSEWHERE)),)


def hive_storage(storage: Any, properties: Mapping[str, str]) -> Names:
    """What of a Hive table's classes, options and properties may read or write elsewhere."""
    classes = (option(item) for item in (storage.serde(), storage.inputFormat(), storage.outputFormat()))
    return (
        *strange_classes(class_ for class_ in classes if class_ is not None),
        *leading(properties),
        *misled_files(pairs(storage.properties()), "a table"),
    )


def strange_classes(classes: Iterable[Any]) -> Names:
    """Those of Hive's classes that the guard does not know."""
    strange = options.strange_classes(map(str, classes))
    return tuple(Name(UNKNOWN, (f"class {name}", ELSEWHERE)) for name in strange)


def leading(properties: Iterable[str]) -> Names:
    """Properties of a table that let Hive read elsewhere."""
    found = options.leading_properties(properties)
    return tuple(Name(UNKNOWN, (f"property {name}", ELSEWHERE)) for name in found)


def is_jdbc(catalog: Any) -> bool:
    return class_of(catalog).endswith(JDBC_CATALOG)


def connection(url: str) -> Name:
    """A database that no catalog stands for."""
    # the address without what may hold a password: everything after `?` or `;`, and before `@`
    head = url.split("?")[0].split(";")[0]
    scheme, _, rest = head.partition("//")
    without_secrets = f"{scheme}//{rest.rpartition('@')[2]}" if rest else scheme
    return Name(UNKNOWN, (f"jdbc {without_secrets}", ELSEWHERE))


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
