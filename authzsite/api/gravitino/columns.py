"""Columns and their types: as clients send them, as they are kept, as a connected source calls them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from authzsite.api.gravitino.bodies import (
    Field,
    Reader,
    anything,
    filled,
    flag,
    listed,
    mapping,
    number,
    required,
    shape,
    text,
)
from authzsite.api.gravitino.errors import illegal, malformed
from authzsite.api.gravitino.wire import Wire

# types


def data_type(value: Any) -> Any:
    """A type: its text, or an object for one that is made of others."""
    if isinstance(value, str):
        return filled(value)
    reader = _MADE.get(mapping(value).get("type", ""))
    if reader is None:
        raise malformed("unknown data type")
    return reader(value)


_PART = shape({"name": required(filled), "type": required(data_type), "nullable": flag, "comment": text})
_MADE: dict[str, Reader] = {
    "struct": shape({"type": text, "fields": required(listed(_PART))}),
    "list": shape({"type": text, "elementType": required(data_type), "containsNull": flag}),
    "map": shape(
        {
            "type": text,
            "keyType": required(data_type),
            "valueType": required(data_type),
            "valueContainsNull": flag,
        }
    ),
    "union": shape({"type": text, "types": required(listed(data_type))}),
    "unparsed": shape({"type": text, "unparsedType": required(text)}),
    "external": shape({"type": text, "catalogString": required(text)}),
}


# expressions


def expression(value: Any) -> Any:
    """A literal, a field, a function of these, or a text that nobody parsed; several in a list."""
    if isinstance(value, list):
        return [expression(item) for item in value]
    kind = text(mapping(value).get("type"))
    reader = _EXPRESSIONS.get(kind.lower())
    if reader is None:
        raise malformed("unknown kind of expression")
    return {**reader(value), "type": kind.lower()}


FIELD = listed(filled)
_EXPRESSIONS: dict[str, Reader] = {
    "literal": shape({"type": text, "dataType": required(data_type), "value": required(anything)}),
    "field": shape({"type": text, "fieldName": required(FIELD)}),
    "function": shape({"type": text, "funcName": required(filled), "funcArgs": required(listed(expression))}),
    "unparsed": shape({"type": text, "unparsedExpression": required(text)}),
}
_LITERALS = shape({"type": text, "dataType": required(data_type), "value": anything})


# columns

COLUMN = shape(
    {
        "name": required(filled),
        "type": required(data_type),
        "comment": text,
        "nullable": flag,
        "autoIncrement": flag,
        "defaultValue": expression,
    }
)


def kept(column: Mapping[str, Any]) -> dict[str, Any]:
    """A column as it is kept: with its type as a text for people, and as it was sent where that differs."""
    return {
        "name": column["name"],
        "comment": column.get("comment", ""),
        "nullable": column.get("nullable", True),
        "autoIncrement": column.get("autoIncrement", False),
        **({"defaultValue": column["defaultValue"]} if column.get("defaultValue") else {}),
        **typed(column["type"]),
    }


def typed(type: Any) -> dict[str, Any]:
    if isinstance(type, str):
        return {"type": type}
    words = type.get("catalogString") or type.get("unparsedType") or type["type"]
    return {"type": words, "wire": type}


def kept_all(columns: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All columns of a body.  Raises Problem when two bear one name."""
    names = [column["name"] for column in columns]
    if len(set(names)) < len(names):
        raise illegal("Two columns bear the same name")
    return [kept(column) for column in columns]


def shown(column: Mapping[str, Any], *, connected: bool) -> Wire:
    """A column as clients read it.  A default that is absent must not stand there as null."""
    wire = {
        "name": column["name"],
        "type": of_source(column["type"]) if connected else column.get("wire", column["type"]),
        "comment": column.get("comment") or None,
        "nullable": column.get("nullable", True),
        "autoIncrement": column.get("autoIncrement", False),
    }
    return wire | ({"defaultValue": column["defaultValue"]} if column.get("defaultValue") else {})


_SOURCE = {
    "boolean": "boolean",
    "smallint": "short",
    "integer": "integer",
    "bigint": "long",
    "real": "float",
    "double precision": "double",
    "text": "string",
    "date": "date",
    "time without time zone": "time",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamp_tz",
    "bytea": "binary",
    "uuid": "uuid",
    "numeric": "decimal(38,18)",
}
_SIZED = (
    (re.compile(r"character varying\((\d+)\)"), "varchar({})"),
    (re.compile(r"character\((\d+)\)"), "char({})"),
    (re.compile(r"numeric\((\d+),(\d+)\)"), "decimal({},{})"),
)


def of_source(name: str) -> Any:
    """A type of a PostgreSQL source in Gravitino's words; an external one where there is no such word."""
    if name in _SOURCE:
        return _SOURCE[name]
    for pattern, words in _SIZED:
        match = pattern.fullmatch(name)
        if match:
            return words.format(*match.groups())
    return {"type": "external", "catalogString": name}


# how a table is laid out


def _reader_by_word(key: str, shapes: Mapping[str, Reader]) -> Reader:
    """A reader of objects that say in a word of `key` which shape they have; it comes out lower-case."""

    def read(value: Any) -> Any:
        word = text(mapping(value).get(key)).lower()
        if word not in shapes:
            raise malformed(f"unknown {key}")
        return {**shapes[word](value), key: word}

    return read


_SINGLE = shape({"strategy": text, "fieldName": required(FIELD)})
_IDENTITY: dict[str, Reader | Field] = {
    "type": text,
    "name": text,
    "fieldNames": required(listed(FIELD)),
    "values": required(listed(_LITERALS)),
    "properties": mapping,
}
PARTITION = _reader_by_word(
    "type",
    {
        "identity": shape(_IDENTITY),
        "list": shape(
            {
                "type": text,
                "name": required(filled),
                "lists": required(listed(listed(_LITERALS))),
                "properties": mapping,
            }
        ),
        "range": shape(
            {
                "type": text,
                "name": required(filled),
                "upper": required(_LITERALS),
                "lower": required(_LITERALS),
                "properties": mapping,
            }
        ),
    },
)
_SEVERAL: dict[str, Reader | Field] = {
    "strategy": text,
    "fieldNames": required(listed(FIELD)),
    "assignments": listed(PARTITION),
}
PARTITIONING = _reader_by_word(
    "strategy",
    {
        **dict.fromkeys(("identity", "year", "month", "day", "hour"), _SINGLE),
        "bucket": shape(
            {"strategy": text, "numBuckets": required(number), "fieldNames": required(listed(FIELD))}
        ),
        "truncate": shape({"strategy": text, "width": required(number), "fieldName": required(FIELD)}),
        "list": shape(_SEVERAL),
        "range": shape({"strategy": text, "fieldName": required(FIELD), "assignments": listed(PARTITION)}),
        "function": shape(
            {"strategy": text, "funcName": required(filled), "funcArgs": required(listed(expression))}
        ),
    },
)
DISTRIBUTION = _reader_by_word(
    "strategy",
    dict.fromkeys(
        ("none", "hash", "range", "even"),
        shape({"strategy": text, "number": required(number), "funcArgs": required(listed(expression))}),
    ),
)
SORT = shape({"sortTerm": required(expression), "direction": text, "nullOrdering": text})
INDEX = shape({"indexType": required(filled), "name": text, "fieldNames": required(listed(FIELD))})
NO_DISTRIBUTION = {"strategy": "none", "number": 0, "funcArgs": []}
