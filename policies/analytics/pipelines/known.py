"""The pipelines that there are, in the order people read them.  A new one is a module here and a row."""

from __future__ import annotations

from policies.analytics.pipelines import archive, drift, effective_access, unused_grants
from policies.analytics.pipelines.definition import Pipeline
from policies.errors import Invalid

_PIPELINES = {
    pipeline.name: pipeline
    for pipeline in (archive.PIPELINE, drift.PIPELINE, effective_access.PIPELINE, unused_grants.PIPELINE)
}


def every() -> tuple[Pipeline, ...]:
    """All pipelines, in the order people read them."""
    return tuple(_PIPELINES.values())


def get(name: str) -> Pipeline:
    """The pipeline of that name.  Raises Invalid."""
    if name not in _PIPELINES:
        raise Invalid(f"There is no pipeline `{name}`; known are {', '.join(_PIPELINES)}.")
    return _PIPELINES[name]
