"""Generation 4.3: every entity for itself, rights given before it exists, and nothing given on creation."""

from __future__ import annotations

from lakewarden.law.dialects.cdap.requirements import (
    APPLICATION,
    ARTIFACT,
    DATASET,
    DATASET_TYPE,
    EVERYTHING,
    FILTER,
    KERBEROS,
    KEY,
    MODULE,
    NAMESPACE,
    OR_BELOW,
    PROGRAM,
    STREAM,
    Requirement,
    Row,
    need,
    one_of,
    row,
    rows,
)

PRIVILEGES = ("READ", "WRITE", "EXECUTE", "ADMIN")


def anything(on: str, *, when: str = "", scope: str = "self") -> Requirement:
    return one_of(*PRIVILEGES, on=on, when=when, scope=scope)


ROWS: tuple[Row, ...] = (
    *rows("namespace.create namespace.update", need("ADMIN", on=NAMESPACE)),
    row("namespace.delete", need("ADMIN", on=NAMESPACE), need("ADMIN", on=EVERYTHING)),
    row("namespace.list", anything(NAMESPACE, scope=OR_BELOW), effect=FILTER),
    row("namespace.get", anything(NAMESPACE, scope=OR_BELOW)),
    *rows(
        "artifact.add artifact.add_property artifact.remove_property artifact.delete",
        need("ADMIN", on=ARTIFACT),
    ),
    row("artifact.list", anything(ARTIFACT), effect=FILTER),
    row("artifact.get", anything(ARTIFACT)),
    row(
        "application.add",
        need("ADMIN", on=APPLICATION),
        need("ADMIN", on=ARTIFACT, when="adding new artifacts"),
        anything(ARTIFACT, when="using existing artifacts"),
    ),
    row("application.delete", need("ADMIN", on=APPLICATION)),
    row("application.list", anything(APPLICATION, scope=OR_BELOW), effect=FILTER),
    row("application.get", anything(APPLICATION, scope=OR_BELOW)),
    *rows("program.start program.stop program.debug", need("EXECUTE", on=PROGRAM)),
    *rows("program.set_instances program.set_runtime_args", need("ADMIN", on=PROGRAM)),
    row("program.get_runtime_args", one_of("READ", "EXECUTE", "ADMIN", on=PROGRAM)),
    *rows("program.get_status program.get", anything(PROGRAM)),
    row("program.list", anything(PROGRAM), effect=FILTER),
    *(
        row(each, need("EXECUTE", on=PROGRAM), asked="program")
        for each in ("schedule.resume", "schedule.suspend")
    ),
    *(
        row(each, need("ADMIN", on=APPLICATION), asked="application")
        for each in ("schedule.add", "schedule.delete", "schedule.update")
    ),
    row("dataset.create", need("ADMIN", on=DATASET), anything(DATASET_TYPE, when="custom dataset")),
    row("dataset.read", need("READ", on=DATASET)),
    row("dataset.write", need("WRITE", on=DATASET)),
    *rows("dataset.update dataset.upgrade dataset.truncate dataset.drop", need("ADMIN", on=DATASET)),
    row("dataset.list", anything(DATASET), effect=FILTER),
    row("dataset.get", anything(DATASET)),
    *rows("dataset_module.deploy dataset_module.delete", need("ADMIN", on=MODULE)),
    row("dataset_module.delete_all", need("ADMIN", on="every dataset_module in <ns>"), asked="namespace"),
    row("dataset_module.list", anything(MODULE), effect=FILTER),
    row("dataset_module.get", anything(MODULE)),
    row("dataset_type.list", anything(DATASET_TYPE), effect=FILTER),
    row("dataset_type.get", anything(DATASET_TYPE)),
    *rows("securekey.create securekey.delete", need("ADMIN", on=KEY)),
    row("securekey.read_data", need("READ", on=KEY)),
    row("securekey.list", anything(KEY), effect=FILTER),
    *rows("stream.create stream.drop stream.update stream.truncate", need("ADMIN", on=STREAM)),
    row("stream.retrieve_events", need("READ", on=STREAM)),
    row("stream.send_events", need("WRITE", on=STREAM)),
    row("stream.drop_all", need("ADMIN", on="every stream in <ns>"), asked="namespace"),
    row("stream.list", anything(STREAM), effect=FILTER),
    row("stream.get", anything(STREAM)),
    *(
        row(f"principal.{each}", need("ADMIN", on=KERBEROS), asked="kerberosprincipal")
        for each in (
            "deploy_app_impersonating",
            "create_namespace_with_owner",
            "create_dataset_with_owner",
            "create_stream_with_owner",
        )
    ),
)
