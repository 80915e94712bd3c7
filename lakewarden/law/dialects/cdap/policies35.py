"""Generation 3.5: what is held on an entity is held on everything in it, from the instance down.

A whole set of privileges must be held in one place.
"""

from __future__ import annotations

from lakewarden.law.dialects.cdap.requirements import (
    APPLICATION,
    ARTIFACT,
    DATASET,
    FILTER,
    INSTANCE,
    NAMESPACE,
    OR_ABOVE,
    PROGRAM,
    STREAM,
    Requirement,
    Row,
    row,
    rows,
)

PRIVILEGES = ("READ", "WRITE", "EXECUTE", "ADMIN", "ALL")
SEEN = ("READ", "WRITE", "ADMIN", "ALL")
SEEN_OR_RUN = ("READ", "WRITE", "ADMIN", "EXECUTE", "ALL")


def need(*privileges: str, on: str) -> Requirement:
    return Requirement(privileges, on, scope=OR_ABOVE)


def one_of(*privileges: str, on: str) -> Requirement:
    return Requirement(privileges, on, any=True, scope=OR_ABOVE)


ROWS: tuple[Row, ...] = (
    row("namespace.create", need("ADMIN", on=INSTANCE)),
    *rows("namespace.update namespace.delete", need("ADMIN", on=NAMESPACE)),
    row("namespace.list", one_of(*SEEN, on=NAMESPACE), effect=FILTER),
    *rows("namespace.get namespace.search", one_of(*SEEN, on=NAMESPACE)),
    row("namespace.set_preference", need("WRITE", on=NAMESPACE)),
    row("namespace.get_preference", need("READ", on=NAMESPACE)),
    *rows("artifact.add application.deploy stream.create dataset.create", need("WRITE", on=NAMESPACE)),
    *rows(
        "artifact.delete artifact.write_property artifact.delete_property artifact.write_metadata",
        need("ADMIN", on=ARTIFACT),
    ),
    *rows("artifact.get artifact.get_property", one_of(*SEEN, on=ARTIFACT)),
    row("artifact.list", one_of(*SEEN, on=ARTIFACT), effect=FILTER),
    row("artifact.read_metadata", need("READ", on=ARTIFACT)),
    row("application.get", one_of(*SEEN, on=APPLICATION)),
    row("application.list", one_of(*SEEN, on=APPLICATION), effect=FILTER),
    *rows("application.update application.delete application.add_metadata", need("ADMIN", on=APPLICATION)),
    row("application.set_preference", need("WRITE", on=APPLICATION)),
    *rows("application.get_preference application.get_metadata", need("READ", on=APPLICATION)),
    *rows("program.start program.stop program.debug", need("EXECUTE", on=PROGRAM)),
    *rows(
        "program.set_instances program.set_runtime_args program.set_preference program.add_metadata",
        need("ADMIN", on=PROGRAM),
    ),
    *rows(
        "program.get_runtime_args program.get_instances program.get_status program.get_history",
        one_of(*SEEN_OR_RUN, on=PROGRAM),
    ),
    *rows(
        "program.get_preference program.get_metadata program.view_logs program.view_metrics",
        need("READ", on=PROGRAM),
    ),
    *rows("program.emit_logs program.emit_metrics", need("WRITE", on=PROGRAM)),
    *rows(
        "stream.update_properties stream.delete stream.truncate stream.set_preferences stream.add_metadata",
        need("ADMIN", on=STREAM),
    ),
    *rows("stream.enqueue stream.asyncEnqueue stream.batch stream.emit_metrics", need("WRITE", on=STREAM)),
    row("stream.get", one_of(*SEEN, on=STREAM)),
    # its cell names the namespace, the text above it the stream; what is held above counts, so both do
    row("stream.list", one_of(*SEEN, on=STREAM), effect=FILTER),
    *rows(
        "stream.read_events stream.get_preferences stream.get_metadata stream.view_lineage "
        "stream.view_metrics",
        need("READ", on=STREAM),
    ),
    row("dataset.list", one_of(*SEEN, on=DATASET), effect=FILTER),
    row("dataset.get", one_of(*SEEN, on=DATASET)),
    *rows(
        "dataset.update dataset.drop dataset.executeAdmin dataset.exists dataset.truncate "
        "dataset.upgrade dataset.add_metadata",
        need("ADMIN", on=DATASET),
    ),
    *rows("dataset.get_metadata dataset.view_lineage dataset.view_metrics", need("READ", on=DATASET)),
    row("dataset.emit_metrics", need("WRITE", on=DATASET)),
)

PROGRAM_LIST = (
    # the table's cell names the application, its text the program with EXECUTE among the privileges
    Requirement(SEEN_OR_RUN, PROGRAM, any=True),
    Requirement(SEEN, APPLICATION, any=True, scope=OR_ABOVE),
)
"""`program.list`: either of these."""
