"""What Spark makes before a stream is judged, and that a refusal takes away again.

The end of a stream into files makes its log as soon as it is named, a stream that is resolved its checkpoint.
A folder with such a log shows to readers what the log names: nothing, while it is empty.
"""

from __future__ import annotations

from typing import Any

from lakewarden.spark.actions import WRITE, Action, on_path, unknown
from lakewarden.spark.errors import log
from lakewarden.spark.scala_objects import class_of, gateway

_LOG = "_spark_metadata"
_STARTS = (
    "org.apache.spark.sql.catalyst.streaming.WriteToStream",
    "org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement",
)


def file_sink(sink: Any) -> str | None:
    """The folder that a stream's end writes files to."""
    text = str(sink.toString())
    own = class_of(sink).startswith("org.apache.spark.") and class_of(sink).endswith(".FileStreamSink")
    return (
        text[len("FileSink[") : -1] if own and text.startswith("FileSink[") and text.endswith("]") else None
    )


_OWN_SINKS = ("ConsoleTable", "MemorySink", "ForeachBatchSink", "ForeachWriterTable", "NoopTable")


def written(sink: Any) -> Action | None:
    """What a stream's end writes to; nothing for Spark's own that keep it in memory or hand it on."""
    folder, full_name = file_sink(sink), class_of(sink)
    if folder is not None:
        return on_path(WRITE, folder)
    own = full_name.startswith("org.apache.spark.")
    name = full_name.rpartition(".")[2].rstrip("$") if own else full_name
    return None if name in _OWN_SINKS else Action(WRITE, *unknown(f"a stream into {name}")[1:])


def tidy(session: Any, plan: Any) -> None:
    """After a refusal: remove the empty log, which would hide from everybody what else is in the folder."""
    if class_of(plan) not in _STARTS:
        return
    folder = file_sink(plan.sink())
    made = [f"{folder}/{_LOG}"] if folder else []
    if class_of(plan) == _STARTS[0]:
        made.append(str(plan.resolvedCheckpointLocation()))
    configuration = session.sessionState().newHadoopConf()
    for path in made:
        try:
            _remove_log(gateway().jvm.org.apache.hadoop.fs.Path(path), configuration)
        except Exception as error:  # noqa: BLE001 - the refusal itself is what is told
            log.warning("an empty folder of a refused stream was left at %s: %s", path, error)


def _remove_log(path: Any, configuration: Any) -> None:
    """From the end of the path up to the log, while there is nothing in it; never what lies above."""
    system = path.getFileSystem(configuration)
    while path is not None and _LOG in str(path.toUri().getPath()).split("/"):
        if system.exists(path) and (not system.isDirectory(path) or len(system.listStatus(path))):
            return
        system.delete(path, False)
        path = path.getParent()
