"""Generation 4.3: operations that ask several users for something, on several entities.

Who is asked stands in each requirement; each of them is a question of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakewarden.law.dialects.cdap.policies43 import PRIVILEGES
from lakewarden.law.dialects.cdap.requirements import (
    APPLICATION,
    DATASET,
    EXECUTING,
    IMPERSONATED,
    MASTER,
    PROGRAM,
    STREAM,
    Requirement,
    need,
    one_of,
)

ALWAYS, ALONE, IMPERSONATING = "always", "no impersonation", "with impersonation"


@dataclass(frozen=True)
class Part:
    """A requirement of such a table; `group` says with or without impersonation, "" for both."""

    group: str
    requirement: Requirement


def _deploying(group: str, subject: str) -> tuple[Part, ...]:
    """What creating datasets and streams asks of whoever they are created as."""
    made, reused = (
        "creating a custom dataset during deployment",
        ("creating a custom dataset using an existing custom dataset type"),
    )
    needs = (
        ("creating a dataset", DATASET),
        ("creating a stream", STREAM),
        (made, "dataset_module:<ns>.<full-class-name>"),
        (made, "dataset_type:<ns>.<full-class-name>"),
        (reused, "dataset_module:<ns>.<existing-module>"),
        (reused, "dataset_type:<ns>.<existing-type>"),
    )
    return tuple(Part(group, need("ADMIN", on=entity, when=when, of=subject)) for when, entity in needs)


_WORKSPACE = ("dataset:<ns>.workspace", "dataset:<ns>.dataprep", "dataset:<ns>.dataprepfs")
_TYPES = ("dataset_type:<ns>.*WorkspaceDataset", "dataset_module:<ns>.*WorkspaceDataset")

TABLES: Mapping[str, tuple[Part, ...]] = {
    "deploy_application": (
        Part("", need("ADMIN", on=APPLICATION, when=ALWAYS)),
        Part("", need("ADMIN", on="artifact:<ns>.<jar-name>", when="deploying the app with a jar")),
        Part(
            "",
            one_of(
                *PRIVILEGES,
                on="artifact:<ns>.<artifact>",
                when="deploying the app using an existing artifact",
            ),
        ),
        *_deploying(ALONE, "requesting_user"),
        Part(IMPERSONATING, need("ADMIN", on="kerberosprincipal:<impersonated-principal>", when=ALWAYS)),
        *_deploying(IMPERSONATING, IMPERSONATED),
    ),
    "execute": (
        Part("", need("EXECUTE", on=PROGRAM, when="execute a program")),
        Part("", need("EXECUTE", on="program:<ns>.<pipeline-name>.*", when="execute a hydrator pipeline")),
        *(
            Part("", need(code, on=entity, when=f"{code} {how} existing streams and datasets", of=EXECUTING))
            for code, how in (("READ", "from"), ("WRITE", "to"))
            for entity in (STREAM, DATASET)
        ),
        Part("", need("ADMIN", on=DATASET, when="creating datasets", of=EXECUTING)),
        Part(
            "",
            need(
                "ADMIN",
                "READ",
                "WRITE",
                on="dataset:<ns>.<local-dataset-id>*",
                when="creating local datasets, READ/WRITE on local datasets",
                of=EXECUTING,
            ),
        ),
        Part(
            "",
            need(
                "ADMIN",
                "READ",
                "WRITE",
                on="dataset:<ns>.<reference-name>",
                when="external source/sink (hydrator pipelines only)",
                of=EXECUTING,
            ),
        ),
    ),
    "enable_dataprep": (
        Part("", need("EXECUTE", on="program:<ns>.dataprep.service.service", when=ALWAYS)),
        *(Part(ALONE, need("ADMIN", on=entity, when=ALONE)) for entity in (*_WORKSPACE, *_TYPES)),
        *(Part(ALONE, need("READ", "WRITE", on=entity, when=ALONE, of=MASTER)) for entity in _WORKSPACE),
        *(
            Part(
                IMPERSONATING,
                need("ADMIN", "READ", "WRITE", on=entity, when=IMPERSONATING, of=IMPERSONATED),
            )
            for entity in _WORKSPACE
        ),
        *(
            Part(IMPERSONATING, need("ADMIN", on=entity, when=IMPERSONATING, of=IMPERSONATED))
            for entity in _TYPES
        ),
    ),
}
