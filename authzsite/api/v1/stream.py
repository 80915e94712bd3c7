"""`GET /authz/v1/stream`: changes in a realm as they happen, for programs that keep answers.

Server-sent events: `ready` with the revision the stream begins at, then `touched` with the keys of those
whose answers may be others now.  Resumed by `Last-Event-ID` or `after`, whatever happened in between.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request

from accounts.models import Principal
from accounts.text import holdable
from authzsite.api.surface import Forbidden
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import described
from catalog.nodes import Node
from catalog.queries import realm_named, root
from lakewarden.client.changes import EVERYBODY, key_of
from policies.decisions import slices, touched
from policies.record import access_log, inquiries

log = logging.getLogger(__name__)

AT_ONCE = 3
"""So many streams a process holds open; each holds one of its threads.  Others are answered and ended."""
LOOK_EVERY = 0.2
SIGN_OF_LIFE = 5.0
MAY_NOT = "there is no such realm, or it does not admit this service account"
_free = threading.BoundedSemaphore(AT_ONCE)


class Stream(Call):
    http_method_names = ["get"]

    @described(
        "Changes in a realm as they happen, as server-sent events",
        "check",
        OpenApiTypes.STR,
        query=("realm!", "after"),
        media="text/event-stream",
    )
    def get(self, request: Request) -> HttpResponseBase:
        caller = self.require_scope("check").principal
        top = _admitting(caller, named.needed(request._request.GET.dict(), "realm"))
        # the revision to go on after; none to begin now
        sent = request.headers.get("Last-Event-ID", "")
        after = (
            named.whole({"Last-Event-ID": sent}, "Last-Event-ID")
            if sent
            else named.whole(request._request.GET.dict(), "after")
        )
        answer = StreamingHttpResponse(
            _events(top.realm_id, after, key_of(caller.name)), content_type="text/event-stream"
        )
        answer.headers["Cache-Control"] = "no-store"
        answer.headers["X-Accel-Buffering"] = "no"
        return answer


def _admitting(caller: Principal, name: str) -> Node:
    """The realm's root, for a service account that it admits.  Raises Forbidden."""
    realm = realm_named(name) if holdable(name) else None
    top = root(realm) if realm is not None else None
    if caller.kind == Principal.Kind.SERVICE and top is not None:
        if inquiries.admits(caller, top, slices.current(caller, top, now=timezone.now())):
            inquiries.asked_about_others(caller, top, via="stream")
            return top
        access_log.refused(caller, inquiries.ASKS, top, via="stream")
    raise Forbidden(MAY_NOT)


def _events(realm: int, after: int | None, own: str) -> Iterator[str]:
    """The messages, one string each; ends after a while, so that who may listen is asked again."""
    holds = _free.acquire(blocking=False)
    try:
        if after is None:
            after = touched.last_revision()
            yield _message(after, "ready", [])
        yield f"retry: {100 if holds else 1000}\n\n"
        end = time.monotonic() + (settings.LAKEWARDEN_STREAM_SECONDS if holds else 0)
        alive = time.monotonic()
        while True:
            concerned = touched.since(realm, after)
            after = concerned.revision
            if concerned.keys:
                yield _message(after, "touched", concerned.keys)
            if time.monotonic() >= end or own in concerned.keys or EVERYBODY in concerned.keys:
                return
            if time.monotonic() - alive > SIGN_OF_LIFE:
                alive = time.monotonic()
                yield f"id: {after}\n\n"
            time.sleep(LOOK_EVERY)
    except DatabaseError as problem:
        log.warning("a stream of changes ended: %s", type(problem).__name__)
    finally:
        if holds:
            _free.release()


def _message(revision: int, event: str, keys: object) -> str:
    data = json.dumps({"keys": keys}, separators=(",", ":"))
    return f"id: {revision}\nevent: {event}\ndata: {data}\n\n"
