"""A task works for the request that asked for it: its id and its trace travel in the head of the message."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from celery.signals import before_task_publish, task_failure, task_postrun, task_prerun
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from authzsite.runtime.telemetry.traces import TRACE_ALONE, WORDLESS
from lakewarden import request_ids

HEADER = "lakewarden_request_id"
_open: dict[str, ExitStack] = {}
"""What is to be ended with each task that runs in this process."""


def follow_requests() -> None:
    """Have each task carry on its request, and say so in log lines and spans."""
    before_task_publish.connect(_send_along, weak=False, dispatch_uid="request")
    task_prerun.connect(_take_up, weak=False, dispatch_uid="request")
    task_postrun.connect(_leave, weak=False, dispatch_uid="request")
    task_failure.connect(_mark, weak=False, dispatch_uid="request")


def _send_along(headers: dict[str, Any], **_: Any) -> None:
    headers[HEADER] = request_ids.current()
    TRACE_ALONE.inject(headers)


def _take_up(task_id: str, task: Any, **_: Any) -> None:
    sent = {name: task.request.get(name) or "" for name in (HEADER, "traceparent", "tracestate")}
    held = _open[task_id] = ExitStack()
    # what the beat asks for belongs to no request, and goes by the number of the task
    held.enter_context(request_ids.working_for(request_ids.of_caller(sent[HEADER] or task_id)))
    attributes = {"messaging.system": "celery", "lakewarden.request_id": request_ids.current()}
    tracer = trace.get_tracer("lakewarden.tasks")
    held.enter_context(
        tracer.start_as_current_span(
            task.name,
            context=TRACE_ALONE.extract(sent),
            kind=SpanKind.CONSUMER,
            attributes=attributes,
            **WORDLESS,
        )
    )


def _mark(exception: BaseException, **_: Any) -> None:
    trace.get_current_span().set_attribute("error.type", type(exception).__name__)
    trace.get_current_span().set_status(StatusCode.ERROR)


def _leave(task_id: str, **_: Any) -> None:
    if held := _open.pop(task_id, None):
        held.close()
