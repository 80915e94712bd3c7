"""What only a CDAP itself does: running programs, events in streams, the data of datasets.

The law decides each of these calls; who may is told that nothing was done here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.cdap.entities import EntityCall
from authzsite.api.cdap.entity_bodies import KINDS, PROGRAMS
from lakewarden.law.dialects.cdap.authorizable import of

Words = Sequence[str]
"""What an operation is called in the generations; the first that a generation knows is asked."""
STREAMS: Mapping[str, Mapping[str, Words]] = {
    "async": {"post": ("send_events", "asyncEnqueue")},
    "batch": {"post": ("send_events", "batch")},
    "truncate": {"post": ("truncate",)},
    "events": {"get": ("retrieve_events", "read_events")},
}
DATASETS: Mapping[str, Mapping[str, Words]] = {"admin/truncate": {"post": ("truncate",)}}
RUNS: Mapping[str, Mapping[str, Words]] = {
    "start": {"post": ("start",)},
    "debug": {"post": ("debug",)},
    "stop": {"post": ("stop",)},
    "status": {"get": ("get_status",)},
    "live-info": {"get": ("get_status",)},
    "runs": {"get": ("get_history", "get_status")},
    "logs": {"get": ("view_logs", "get_status")},
    "runtimeargs": {"get": ("get_runtime_args",), "put": ("set_runtime_args",)},
    "instances": {"get": ("get_instances", "get_status"), "put": ("set_instances",)},
}
"""By what stands last in the path, and by the method."""


class OfEntity(EntityCall):
    """A call on the data of a stream or a dataset."""

    operations: ClassVar[Mapping[str, Words]] = {}
    place = ""

    def get(self, request: Request, ns: str, name: str) -> HttpResponse:
        words = self.operations[str(request.method).lower()]
        raise self.decide_only(KINDS[self.place].entity(ns, name), words)

    post = get


class OfProgram(EntityCall):
    """A call on a program that runs or could, with or without the version of its application."""

    operations: ClassVar[Mapping[str, Words]] = {}

    def get(
        self, request: Request, ns: str, app: str, kind: str, name: str, version: str = ""
    ) -> HttpResponse:
        words = self.operations[str(request.method).lower()]
        answer = self.decide_only(of("program", ns, app, PROGRAMS[kind], name), words)
        if version:
            self.require_version(KINDS["apps"].entity(ns, app), version)
        raise answer

    post = put = get
