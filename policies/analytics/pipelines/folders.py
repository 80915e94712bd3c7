"""Where the files of pipelines lie: `var/pipelines/<realm>/<revision>/<name>`, `site` for the whole site."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from django.conf import settings

from policies.models import PipelineRun

KEPT = 3
"""So many of the latest revisions of a realm keep their files."""


def top() -> Path:
    return Path(settings.ENVIRONMENT.var) / "pipelines"


def of_realm(realm_id: int | None) -> Path:
    return top() / ("site" if realm_id is None else str(realm_id))


def of_revision(run: PipelineRun) -> Path:
    return of_realm(run.realm_id) / str(run.revision)


def input_of(run: PipelineRun) -> Path:
    return of_revision(run) / "input"


def aside(run: PipelineRun) -> Path:
    """Where a run writes; what is finished there is not done again when the run is resumed."""
    return of_revision(run) / f".{run.name}"


def published(run: PipelineRun) -> Path:
    return of_revision(run) / run.name


def log_of(run: PipelineRun) -> Path:
    return of_revision(run) / f"{run.name}.log"


def publish(run: PipelineRun) -> Path:
    """Put what was written aside in its place by one rename.  Raises OSError; then the old one stays."""
    place, new = published(run), aside(run)
    if place.exists():
        old = place.parent / f".{place.name}-{secrets.token_hex(6)}"
        os.rename(place, old)
        try:
            os.rename(new, place)
        except OSError:
            os.rename(old, place)
            raise
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(new, place)
    return place


def forget_old(run: PipelineRun) -> None:
    """Delete the files of old revisions that no kept result needs."""
    keep = set(
        PipelineRun.objects.filter(realm=run.realm_id, state="done")
        .order_by("-revision")
        .values_list("revision", flat=True)
        .distinct()[:KEPT]
    )
    home = of_realm(run.realm_id)
    for folder in home.iterdir() if home.is_dir() else ():
        if folder.name.isdigit() and int(folder.name) < run.revision and int(folder.name) not in keep:
            shutil.rmtree(folder, ignore_errors=True)
