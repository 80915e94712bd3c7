"""The pipelines that there are, in the order people read them.  A new one is a module here and a row."""

from __future__ import annotations

from django.utils.translation import gettext

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
        raise Invalid(
            gettext("There is no pipeline `%(name)s`; known are %(pipelines)s.")
            % {"name": name, "pipelines": ", ".join(_PIPELINES)}
        )
    return _PIPELINES[name]
