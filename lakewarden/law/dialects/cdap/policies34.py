"""Generation 3.4: ten core policies by the needs of parent and child, and a table that goes before them.

There is no hierarchy: what is needed on the parent is asked of the parent alone.
"""

from __future__ import annotations

from lakewarden.law.dialects.cdap.requirements import (
    APPLICATION,
    ARTIFACT,
    DATASET,
    FILTER,
    INSTANCE,
    NAMESPACE,
    PROGRAM,
    STREAM,
    Row,
    need,
    one_of,
    row,
    rows,
)

PRIVILEGES = ("READ", "WRITE", "EXECUTE", "ADMIN", "ALL")
SEEN = ("READ", "WRITE", "ADMIN")

ROWS: tuple[Row, ...] = (
    row("namespace.create", need("WRITE", on=INSTANCE)),
    *rows("namespace.update namespace.delete", need("ADMIN", on=NAMESPACE)),
    # its note: "Listing will list all the namespaces, even if the current user does not have access to it."
    row("namespace.list", effect=FILTER),
    *rows("namespace.get namespace.get_preference namespace.search", need("READ", on=NAMESPACE)),
    row("namespace.set_preference", need("WRITE", on=NAMESPACE)),
    row("artifact.add", need("WRITE", on=NAMESPACE)),
    *rows(
        "artifact.delete artifact.write_property artifact.delete_property artifact.write_metadata",
        need("ADMIN", on=ARTIFACT),
    ),
    *rows("artifact.get artifact.get_property artifact.read_metadata", need("READ", on=ARTIFACT)),
    row("artifact.list", one_of(*SEEN, on=ARTIFACT), effect=FILTER),
    row(
        "application.deploy",
        need("WRITE", on=NAMESPACE),
        need("READ", on=ARTIFACT, when="deployed from an artifact"),
    ),
    *rows(
        "application.get application.get_preference application.get_metadata", need("READ", on=APPLICATION)
    ),
    row("application.list", one_of(*SEEN, on=APPLICATION), effect=FILTER),
    *rows("application.update application.delete application.add_metadata", need("ADMIN", on=APPLICATION)),
    row("application.set_preference", need("WRITE", on=APPLICATION)),
    *rows(
        "program.start program.stop program.debug",
        need("EXECUTE", on=PROGRAM),
        need("READ", on=NAMESPACE),
    ),
    *rows("program.set_instances program.set_runtime_args program.add_metadata", need("ADMIN", on=PROGRAM)),
    row("program.list", one_of(*SEEN, on=PROGRAM), effect=FILTER),
    *rows(
        "program.get_runtime_args program.get_instances program.get_preference program.get_status "
        "program.get_history program.get_metadata program.view_logs program.view_metrics",
        need("READ", on=PROGRAM),
    ),
    row("program.set_preference", need("WRITE", on=PROGRAM)),
    *rows(
        "program.emit_logs program.emit_metrics stream.create stream.emit_metrics dataset.create "
        "dataset.emit_metrics",
        need("WRITE", on=NAMESPACE),
    ),
    *rows(
        "stream.update_properties stream.delete stream.truncate stream.add_metadata",
        need("ADMIN", on=STREAM),
    ),
    *rows(
        "stream.enqueue stream.asyncEnqueue stream.batch",
        need("WRITE", on=STREAM),
        need("READ", on=NAMESPACE),
    ),
    *rows("stream.get stream.read_events", need("READ", on=STREAM), need("READ", on=NAMESPACE)),
    row("stream.list", one_of(*SEEN, on=STREAM), effect=FILTER),
    row("stream.set_preferences", need("WRITE", on=STREAM)),
    *rows(
        "stream.get_preferences stream.get_metadata stream.view_lineage stream.view_metrics",
        need("READ", on=STREAM),
    ),
    row("dataset.get", need("READ", on=DATASET), need("READ", on=NAMESPACE)),
    row("dataset.list", one_of(*SEEN, on=DATASET), effect=FILTER),
    row("dataset.update", need("ADMIN", on=DATASET), need("READ", on=NAMESPACE)),
    *rows("dataset.drop dataset.truncate dataset.upgrade dataset.add_metadata", need("ADMIN", on=DATASET)),
    *rows("dataset.get_metadata dataset.view_lineage dataset.view_metrics", need("READ", on=DATASET)),
)

ENTITY, PARENT = "the entity", "the parent"

CORE: dict[str, tuple[tuple[str, str], ...]] = {
    "create": (("WRITE", PARENT),),
    "delete": (("ADMIN", ENTITY),),
    "get": (("READ", ENTITY), ("READ", PARENT)),
    "set_preference": (("WRITE", ENTITY),),
    "get_preference": (("READ", ENTITY),),
    "update": (("ADMIN", ENTITY),),
    "add_metadata": (("ADMIN", ENTITY),),
    "get_metadata": (("READ", ENTITY),),
}
"""The core policies for what the table lacks.  Two more: a list shows what the caller holds READ, WRITE
or ADMIN on, and deleting all takes what the caller may delete."""
