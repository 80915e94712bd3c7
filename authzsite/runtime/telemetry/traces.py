"""Spans of requests, tasks and statements, by OpenTelemetry, where the settings name a collector.

Spans name routes and numbers of ours, never people, objects, addresses, texts of statements or words of
errors: who may read a collector may not see who has which rights.  The id of the request leads to the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lakewarden import request_ids

Answer = Callable[[HttpRequest], HttpResponseBase]

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
WORDLESS: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False}
"""The words of an exception may name people and objects."""
TRACE_ALONE = TraceContextTextMapPropagator()
"""Takes from a caller the place of its span; not its baggage, which would be sent on to backends."""


def start(service: str) -> None:
    """Send the spans of this process to the collector, where the settings name one."""
    if settings.LAKEWARDEN_TRACES:
        from authzsite.runtime.telemetry.collector import send_spans  # takes a tenth of a second

        send_spans(settings.LAKEWARDEN_TRACES, share=settings.LAKEWARDEN_TRACES_SHARE, service=service)
        connection_created.connect(watch_statements, dispatch_uid="traces")


def request_span(get_response: Answer) -> Answer:
    """Each request is a span, below the one of a caller that sends its `traceparent`."""
    tracer = trace.get_tracer("lakewarden.requests")

    def answer(request: HttpRequest) -> HttpResponseBase:
        method = request.method if request.method in METHODS else "_OTHER"
        sent = {name.lower(): value for name, value in request.headers.items()}
        above = TRACE_ALONE.extract(sent)
        with tracer.start_as_current_span(str(method), above, SpanKind.SERVER, **WORDLESS) as span:
            response = get_response(request)
            route = request.resolver_match.route if request.resolver_match else ""
            span.update_name(f"{method} /{route}")
            span.set_attributes(
                {
                    "http.request.method": str(method),
                    "http.route": f"/{route}",
                    "http.response.status_code": response.status_code,
                    "lakewarden.request_id": request_ids.current(),
                }
            )
            if response.status_code >= 500:
                span.set_status(StatusCode.ERROR)
            return response

    return answer


def watch_statements(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Have each statement of a connection to the console's database be a span, by its first word alone."""
    if _statement_span not in connection.execute_wrappers:  # it may only have been opened again
        connection.execute_wrappers.append(_statement_span)


def _statement_span(
    execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Mapping[str, Any]
) -> Any:
    if not trace.get_current_span().is_recording():
        return execute(sql, params, many, context)
    word = next(iter(str(sql).split(None, 1)), "").upper()
    attributes = {"db.system.name": "postgresql", "db.operation.name": word}
    tracer = trace.get_tracer("lakewarden.database")
    with tracer.start_as_current_span(word, None, SpanKind.CLIENT, attributes, **WORDLESS):
        return execute(sql, params, many, context)
