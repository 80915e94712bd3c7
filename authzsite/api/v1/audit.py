"""`GET /authz/v1/audit`: the record of a realm, in order, page by page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any, cast

from django.http import HttpResponseBase, StreamingHttpResponse
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.strictjson import BadBody
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import named
from authzsite.api.v1.describing import PAGED, described
from authzsite.api.v1.named import Asked
from authzsite.api.v1.query_serializers import AuditPage
from authzsite.api.v1.ranges import GONE, PART, Ranged
from authzsite.downloads import csv_file
from catalog.nodes import Node, nodes
from catalog.queries import realm_named, root
from policies.decisions import duties
from policies.record import access_log, audit, history
from policies.record.audit import Position
from policies.record.exports import ocsf
from policies.record.exports.entries import COLUMNS, FIXED, entry_rows, flat
from policies.record.history import Sight

EXPORT_HISTORY = "export_history"
FORMS = ("json", "jsonl", "csv", "ocsf")
MAY_NOT_EXPORT = "you may not export the history of this; you need the duty export_history"
BATCH = 500
MAY_NOT = "you may not read the history of this; you need the duty view_history"
SALT = "audit"


class Audit(Ranged):
    view = "audit"

    @described(
        "The audit log of a realm, in order",
        "audit",
        AuditPage,
        query=("realm!", "since", "kind", "actor", "resource", "type", "format", *PART, *PAGED),
        others=GONE,
    )
    def get(self, request: Request) -> HttpResponseBase:
        if part := self.part(request._request):
            return part
        viewer = self.require_scope("audit").principal
        query = request._request.GET.dict()
        form = _form(query)
        realm = realm_named(named.needed(query, "realm"))
        if realm is None:
            raise Forbidden(MAY_NOT)
        top = root(realm)
        seen = history.of_one_realm(viewer, top) if form == "json" else _exportable(viewer, top)
        question = audit.AuditFilter(
            top,
            object=_object(query, top, seen),
            actor=_actor(query.get("actor", "")),
            kinds=tuple(filter(None, query.get("kind", "").split(","))),
            since=named.moment(query, "since"),
        )
        if form != "json":
            access_log.looked(viewer, f"export of the history as {form}", question.object or top, via="api")
            return _whole(question, seen, query)
        events = audit.trail(question, seen, after=_after(query), limit=named.limit(query))
        after = list(events.next) if events.next else None
        plain = (
            [item.isoformat() if isinstance(item, datetime) else item for item in after] if after else None
        )
        return respond(named.listed(entry_rows(events.entries), plain, SALT))


def _object(query: Asked, top: Node, seen: Sight) -> Node | None:
    """The object that was named, when its history may be read; else some of the realm's must be."""
    if not query.get("resource"):
        if not seen.objects:
            raise Forbidden(MAY_NOT)
        return None
    node = named.the_object(query)
    if node is None or node.realm_id != top.realm_id or not seen.sees(node):
        raise Forbidden(MAY_NOT)
    return node


def _actor(text: str) -> str:
    """The pseudonym under which somebody is recorded; of nobody there is no record."""
    if not text or text in FIXED:
        return text
    principal = named.somebody(text)
    return principal.pseudonym if principal else "nobody"


def _after(query: Asked) -> Position | None:
    cursor = named.cursor(query, SALT)
    if cursor is None:
        return None
    at, stream, number, part = cast("tuple[str, int, int, int]", tuple(cursor))
    return Position(datetime.fromisoformat(at), stream, number, part)


def _form(query: Asked) -> str:
    form = query.get("format", "json")
    if form not in FORMS:
        raise BadBody(f"format must be one of {', '.join(FORMS)}")
    if query.get("version", "1.9") not in ocsf.VERSIONS:
        raise BadBody(f"version must be one of {', '.join(ocsf.VERSIONS)}")
    return form


def _exportable(viewer: Principal, top: Node) -> Sight:
    """Below which objects the viewer may export the history; seeing it is not enough."""
    places = nodes(duties.held(viewer, EXPORT_HISTORY)).values()
    held = {place.id for place in places if place.realm_id == top.realm_id}
    if not held:
        raise Forbidden(MAY_NOT_EXPORT)
    return Sight(viewer, tuple(sorted(held)), site=False)


def _whole(question: audit.AuditFilter, seen: Sight, query: Asked) -> HttpResponseBase:
    """Everything that fits, streamed, a batch at a time."""
    most = named.whole(query, "limit", least=1)
    entries = islice(_entries(question, seen), most)
    if query["format"] == "csv":
        return csv_file.answer("history", COLUMNS, map(flat, entries))
    version = query.get("version", "1.9") if query["format"] == "ocsf" else ""
    lines = (json.dumps(ocsf.event(entry, version) if version else entry) + "\n" for entry in entries)
    return StreamingHttpResponse(lines, content_type="application/x-ndjson")


def _entries(question: audit.AuditFilter, seen: Sight) -> Iterator[dict[str, Any]]:
    after: Position | None = None
    while True:
        events = audit.trail(question, seen, after=after, limit=BATCH)
        yield from entry_rows(events.entries)
        after = events.next
        if after is None:
            return
