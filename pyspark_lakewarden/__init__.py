"""The format `lakewarden`: Spark looks for formats in packages whose names begin with `pyspark_`.

PySpark 4.0 or newer, and pyarrow.  A DataFrame is pinned to the revision at which it was loaded.  Executors
get a token that reads this view at this revision for a while; the job's own token stays with the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from lakewarden.spark import data_source, data_source_reader
from lakewarden.spark.data_source_reader import Part, Plan, ReadOptions


class DefaultSource(DataSource):
    """The format; its options are described in docs/spark.md."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)  # type: ignore[arg-type]
        self._plan: Plan | None = None

    @classmethod
    def name(cls) -> str:
        return data_source.NAME

    def schema(self) -> str:
        wanted = self._wanted()
        self._pinned(wanted)
        return data_source.ddl(wanted)

    def reader(self, schema: StructType) -> DataSourceReader:
        types = {field.name: field.dataType.simpleString() for field in schema.fields}
        wanted = data_source.narrowed(self._wanted(), types)
        plan = self._pinned(wanted)
        # from here on this object is only sent to executors, and what they do not have cannot leak there
        self.options = data_source.without_secrets(self.options)
        return Reader(wanted, plan)

    def _wanted(self) -> ReadOptions:
        return ReadOptions.read({name.lower(): value for name, value in dict(self.options).items()})

    def _pinned(self, wanted: ReadOptions) -> Plan:
        # Spark keeps this object from load() on, so every action of the DataFrame reads the same state
        if self._plan is None:
            self._plan = data_source_reader.planned(wanted)
        return self._plan


class Reader(DataSourceReader):
    """Reads one view at one revision."""

    def __init__(self, wanted: ReadOptions, plan: Plan) -> None:
        self.wanted, self.plan = wanted, plan
        self.where: dict[str, tuple[str, ...]] = {}
        # Spark refuses a reader with a method of its own for this unless the setting is on; this one takes
        # filters where it is on, and works where it is off
        push: Any = partial(data_source.push, wanted.view, self.where)
        push.__func__ = DataSourceReader.pushFilters
        self.pushFilters = push  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        """What executors get: neither the token of the job nor what is bound to this process."""
        kept = {name: value for name, value in self.__dict__.items() if name != "pushFilters"}
        return {**kept, "wanted": replace(self.wanted, token="")}

    def partitions(self) -> list[InputPartition]:  # type: ignore[override]
        return [InputPartition(part) for part in data_source_reader.parts(self.wanted, self.plan, self.where)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        # where there is nothing to read Spark still makes one partition, of nothing
        if isinstance(partition.value, Part):
            for rows in data_source_reader.pages(partition.value):
                yield data_source.batch(partition.value.wanted, rows)


def register(spark: Any) -> None:
    """Make the format known to a session that did not find it by itself, and have filters pushed down."""
    spark.dataSource.register(DefaultSource)
    spark.conf.set(data_source.PUSHED, "true")
