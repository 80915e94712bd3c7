"""Options that open nothing: what a connector may be told beyond which table or place it reads or writes.

Spark hands options on to whatever opens the data: Hadoop, a JDBC driver, a format of somebody else.  So an
option counts as harmless only when it stands here; every other is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

PLACES = frozenset({"path", "paths", "__globpaths__"})
"""Where a source reads or writes.  What they lead to is seen in the plan, and decided on there."""

JDBC = frozenset(
    """
    batchsize customschema fetchsize isolationlevel lowerbound numpartitions partitioncolumn
    preferTimestampNTZ pushDownAggregate pushDownJoin pushDownLimit pushDownOffset
    pushDownPredicate pushDownTableSample queryTimeout truncate upperbound
    """.lower().split()
)
"""How rows come over a connection; none of these names a table, a server, a driver or a statement."""

PUSHED = ("pushDownAggregate", "pushDownJoin", "pushDownLimit", "pushDownPredicate")
"""Whether Spark hands parts of a statement, with the values in them, to a database as SQL."""
_DOUBLES_QUOTES = re.compile(r"jdbc:(db2|derby|h2|oracle|postgresql|sqlserver|teradata):", re.IGNORECASE)
_KEEPS_NAMES = re.compile(r"jdbc:(db2|derby|h2|mariadb|mysql|oracle|sqlserver|teradata):", re.IGNORECASE)


def takes_values(url: str) -> bool:
    """Whether a database reads a value as Spark writes it: quotes doubled, and a backslash as it is.

    MySQL and others take a backslash for the beginning of something else, so that a value ends where its
    writer likes, and what follows is SQL.
    """
    return _DOUBLES_QUOTES.match(url) is not None


def quotes_names(version: str) -> bool:
    """Whether a Spark hands a name with quotes to a database as that name, and not as SQL."""
    return tuple(map(int, version.split(".")[:2])) >= (4, 3)


def takes_names(url: str) -> bool:
    """Whether a database refuses a name that is too long for it; PostgreSQL shortens it to 63 bytes."""
    return _KEEPS_NAMES.match(url) is not None


_FILES = """
    allowBackslashEscapingAnyCharacter allowComments allowNonNumericNumbers allowNumericLeadingZeros
    allowSingleQuotes allowUnquotedControlChars allowUnquotedFieldNames arrayElementName attributePrefix
    charToEscapeQuoteEscaping charset codec columnNameOfCorruptRecord comment compression dateFormat
    datetimeRebaseMode declaration delimiter dropFieldIfAllNull emptyValue enableDateTimeParsingFallback
    encoding enforceSchema escape escapeQuotes excludeAttribute extension header ignoreCorruptFiles
    ignoreLeadingWhiteSpace ignoreMissingFiles ignoreNamespace ignoreNullFields ignoreSurroundingSpaces
    ignoreTrailingWhiteSpace indent inferSchema int96RebaseMode lineSep locale maxCharsPerColumn maxColumns
    maxRecordsPerFile mergeSchema mode modifiedAfter modifiedBefore multiLine nanValue negativeInf nullValue
    nullValues parquet.block.size parquet.compression parquet.enable.dictionary parquet.page.size
    partitionOverwriteMode pathGlobFilter positiveInf preferDate prefersDecimal prefersDate primitivesAsString
    quote quoteAll recursiveFileLookup rootTag rowTag samplingRatio sep singleVariantColumn timeZone
    timestampFormat timestampNTZFormat treatEmptyValuesAsNulls unescapedQuoteHandling validateName valueTag
    wholetext wildcardColName writeNonAscii
    orc.bloom.filter.columns orc.bloom.filter.fpp orc.compress orc.compress.size orc.mergeSchema
    orc.stripe.size
    serialization.format serialization.null.format serialization.last.column.takes.rest field.delim line.delim
    colelction.delim collection.delim mapkey.delim escape.delim quoteChar separatorChar escapeChar
    timestamp.formats input.regex case.insensitive.ids ignore.malformed.json avro.schema.literal avroSchema
    dropInvalid numFeatures vectorType positionalFieldMatching recordName recordNamespace ignoreExtension
"""
_STREAMS = """
    allowOverwrites checkpointLocation fileNameOnly includeTimestamp latestFirst maxBytesPerTrigger
    maxCachedFiles maxFileAge maxFilesPerTrigger minFilesPerTrigger numRows outputMode queryName retention
    sourceName truncate
"""
_TABLES = """
    as-of-timestamp branch check-nullability check-ordering compression-codec compression-level dataChange
    distribution-mode endingTimestamp endingVersion fanout-enabled file-open-cost ignoreChanges ignoreDeletes
    isolation-level lookback overwriteSchema partitionOverwriteMode readChangeFeed replaceWhere
    skipChangeCommits snapshot-id split-size startingTimestamp startingVersion tag target-file-size-bytes
    timestampAsOf txnAppId txnVersion userMetadata vectorization-enabled versionAsOf write-format
"""
FILES = frozenset(f"{_FILES} {_STREAMS} {_TABLES}".lower().split())
"""How rows stand in files, and which version of a table is meant.

Not here, for each opens something: `avro.schema.url`, `rowValidationXSDPath`, `cleanSource` with
`sourceArchiveDir`, `basePath`, everything of Hadoop's (`fs.…`), keys of encryption.
"""

_WORD = re.compile(r"[\w.+-]*", re.ASCII)
_CODECS = frozenset({"codec", "compression", "compression-codec", "parquet.compression", "orc.compress"})
_BLOOM = re.compile(r"parquet\.(bloom\.filter|enable\.dictionary)\b[\w.]*#[\w.]+")


def refused(given: Mapping[str, str], harmless: frozenset[str]) -> list[str]:
    """The options that may open something; their values may be secrets, so nobody is told those."""
    return [name for name, value in given.items() if not _opens_nothing(name.lower(), value, harmless)]


def _opens_nothing(name: str, value: str, harmless: frozenset[str]) -> bool:
    if name in _CODECS:  # may also be the name of a class
        return harmless is FILES and "." not in value and _WORD.fullmatch(value) is not None
    return name in harmless or (harmless is FILES and (name in PLACES or _BLOOM.fullmatch(name) is not None))


FORMATS = frozenset(
    {"avro", "binaryfile", "csv", "delta", "hive", "iceberg", "image", "json", "libsvm", "orc", "parquet"}
    | {"text", "xml"}
)
"""Formats of tables that are files in a place and nothing else, as statements name them."""

_CLASSES = (
    "org.apache.spark.ml.source.image.",
    "org.apache.spark.ml.source.libsvm.",
    "org.apache.spark.sql.avro.",
    "org.apache.spark.sql.delta.",
    "org.apache.spark.sql.execution.datasources.binaryfile.",
    "org.apache.spark.sql.execution.datasources.csv.",
    "org.apache.spark.sql.execution.datasources.json.",
    "org.apache.spark.sql.execution.datasources.orc.",
    "org.apache.spark.sql.execution.datasources.parquet.",
    "org.apache.spark.sql.execution.datasources.text.",
    *(
        f"org.apache.spark.sql.execution.datasources.v2.{name}."
        for name in ("csv", "json", "orc", "parquet", "text", "xml")
    ),
    "org.apache.spark.sql.execution.datasources.xml.",
    "org.apache.spark.sql.hive.execution.HiveFileFormat",
    "org.apache.spark.sql.hive.orc.",
)


def is_format(class_name: str) -> bool:
    """Whether a class reads and writes files in one of the formats."""
    return class_name.startswith(_CLASSES)


def is_provider(name: str) -> bool:
    """Whether what stands behind USING, or what a stream reads, is one of the formats."""
    return name.lower() in FORMATS or is_format(name)


def makes_up(name: str) -> bool:
    """Whether a format makes up its rows, and opens nothing."""
    return name.lower() in {"rate", "rate-micro-batch"}


_HIVE = frozenset(
    {
        "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
        "org.apache.hadoop.hive.ql.io.RCFileInputFormat",
        "org.apache.hadoop.hive.ql.io.RCFileOutputFormat",
        "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat",
        "org.apache.hadoop.hive.ql.io.avro.AvroContainerOutputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        "org.apache.hadoop.hive.serde2.JsonSerDe",
        "org.apache.hadoop.hive.serde2.OpenCSVSerde",
        "org.apache.hadoop.hive.serde2.RegexSerDe",
        "org.apache.hadoop.hive.serde2.avro.AvroSerDe",
        "org.apache.hadoop.hive.serde2.columnar.ColumnarSerDe",
        "org.apache.hadoop.hive.serde2.columnar.LazyBinaryColumnarSerDe",
        "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        "org.apache.hadoop.hive.serde2.lazybinary.LazyBinarySerDe",
        "org.apache.hadoop.mapred.SequenceFileInputFormat",
        "org.apache.hadoop.mapred.SequenceFileOutputFormat",
        "org.apache.hadoop.mapred.TextInputFormat",
        "org.apache.hadoop.mapred.TextOutputFormat",
        "org.apache.hive.hcatalog.data.JsonSerDe",
    }
)
"""Hive's classes that read and write the files of a table and no others.

`SymlinkTextInputFormat` is not here: its files say which other files are read.
"""


def strange_classes(names: Iterable[str]) -> list[str]:
    """Those of Hive's classes that the guard does not know."""
    return [name for name in names if name not in _HIVE]


_LEADING = frozenset({"avro.schema.url", "storage_handler"})
_PLACED = re.compile(r"(^|[._-])(dir|directory|location|path|root|uri|url)$")


def leading_properties(names: Iterable[str]) -> list[str]:
    """Properties of a table of Hive's that let it read elsewhere."""
    return [name for name in names if name.lower() in _LEADING]


def places_in(properties: Mapping[str, str]) -> list[str]:
    """The places that properties of a table name, such as Iceberg's `write.data.path`."""
    return [value for name, value in properties.items() if _PLACED.search(name.lower())]
