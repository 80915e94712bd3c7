"""What stands behind `spark.read.format("lakewarden")`: columns, filters, batches.

The classes that Spark knows are in `pyspark_lakewarden`, where it looks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Callable, Optional

from lakewarden.spark import data_source_reader
from lakewarden.spark.data_source_reader import ReadingFailed, ReadOptions
from lakewarden.spark.data_views import FILTERS, MOMENT, NUMBER, TEXT, TEXTS, TRUTH, VIEWS

NAME = "lakewarden"
PUSHED = "spark.sql.python.filterPushdown.enabled"
SECRETS = ("token",)
MOST_VALUES = 50
"""Longer lists of values are left to Spark: an address cannot hold them."""


def without_secrets(options: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in dict(options).items() if name.lower() not in SECRETS}


def ddl(wanted: ReadOptions) -> str:
    """The columns in Spark's words."""
    return ", ".join(f"`{name}` {VIEWS[wanted.view][name]}" for name in wanted.columns)


def narrowed(wanted: ReadOptions, types: Mapping[str, str]) -> ReadOptions:
    """The same with the columns that a DataFrame has: some of the view's, by their own types."""
    names, columns = data_source_reader.chosen(wanted.view, tuple(types)), VIEWS[wanted.view]
    for name in names:
        if types[name] != columns[name]:
            raise ReadingFailed("OPTION", f"column {name} is of type {columns[name]}")
    return replace(wanted, columns=names)


def push(view: str, where: dict[str, tuple[str, ...]], filters: Iterable[Any]) -> Iterator[Any]:
    """Keep in `where` the filters that the console can answer by; hand back the others."""
    for filter_ in filters:
        column, values = _equal_to(filter_)
        if column in FILTERS[view] and values and column not in where:
            where[column] = values
        else:
            yield filter_


def _equal_to(filter_: Any) -> tuple[str, Optional[tuple[str, ...]]]:
    """The column of a filter and the texts that it may be; None for a filter of another kind."""
    kind, path = type(filter_).__name__, tuple(getattr(filter_, "attribute", ()))
    if kind not in ("EqualTo", "In") or len(path) != 1:
        return "", None
    values = (filter_.value,) if kind == "EqualTo" else tuple(filter_.value)
    values = tuple(value for value in values if value is not None)  # nothing is equal to NULL
    good = len(values) <= MOST_VALUES and all(isinstance(value, str) for value in values)
    return str(path[0]), values if good else None


def batch(wanted: ReadOptions, rows: list[dict[str, Any]]) -> Any:
    """Rows as a RecordBatch, its columns named and typed as the schema says."""
    import pyarrow as pa

    kinds = [(name, VIEWS[wanted.view][name]) for name in wanted.columns]
    types = {
        TEXT: pa.string(),
        TEXTS: pa.list_(pa.field("element", pa.string())),
        NUMBER: pa.int64(),
        TRUTH: pa.bool_(),
        MOMENT: pa.timestamp("us", tz="UTC"),
    }
    arrays = [pa.array([_READ[kind](row.get(name)) for row in rows], types[kind]) for name, kind in kinds]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([(name, types[kind]) for name, kind in kinds]))


def _same(value: Any) -> Any:
    return value


def _moment(value: Any) -> Optional[datetime]:
    return datetime.fromisoformat(value) if value else None


_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys((TEXT, TEXTS, NUMBER, TRUTH), _same),
    MOMENT: _moment,
}
