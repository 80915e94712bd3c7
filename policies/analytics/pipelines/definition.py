"""What a pipeline is made of, and one run of it while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.utils.translation import gettext

from catalog.nodes import Node
from policies.errors import Invalid
from policies.models import PipelineRun


@dataclass(frozen=True)
class RunContext:
    """One run while it goes on.

    `input` holds the snapshot of the run's revision, `output` is the folder aside that is published when all
    is there.  `tell(done, total, step)` says how far it is, and raises when somebody has stopped the run.
    """

    run: PipelineRun
    root: Node | None
    now: datetime
    input: Path
    output: Path
    tell: Callable[[int, int, str], None]

    @property
    def place(self) -> Node:
        """The root of the realm that it is about.  Raises Invalid for a run of the whole site."""
        if self.root is None:
            raise Invalid(
                gettext("The pipeline %(pipeline)s is about one realm.") % {"pipeline": self.run.name}
            )
        return self.root


Result = Mapping[str, Any]
"""What a run found, for its row: small numbers by name."""


@dataclass(frozen=True)
class Pipeline:
    """One kind of run.

    `program` is its name among lakewarden.spark.pipelines; empty: it never runs on Spark.  `options` are
    given to that program as `--name value`.  `outside`: it looks at what changes without a revision of ours,
    so that no result of it answers a later question.  `prepare` writes what else the program reads, beside
    the snapshot.  `carry` does what the published files call for, in transactions of its own, and can be
    begun again.  `load` brings the published files into the console's tables.  `here` does the same work in
    this process, where `small` says that it is worth no Spark, and answers what brings it into the tables.
    Both are called in one transaction with the run's end: the old result stays until the new one is whole.
    """

    name: str
    label: str
    about: str
    program: str = ""
    of_site: bool = False
    snapshot: bool = True
    nightly: bool = True
    outside: bool = False
    options: Callable[[RunContext], Mapping[str, str]] = field(default=lambda work: {})
    prepare: Callable[[RunContext], None] = field(default=lambda work: None)
    small: Callable[[RunContext], bool] = field(default=lambda work: False)
    here: Callable[[RunContext], Callable[[], Result]] | None = None
    carry: Callable[[RunContext, Path], None] = field(default=lambda work, folder: None)
    load: Callable[[RunContext, Path], Result] = field(default=lambda work, folder: {})
