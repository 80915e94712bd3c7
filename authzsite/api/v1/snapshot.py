"""`GET /authz/v1/snapshot`: one principal's facts in one realm, for programs that cannot ask each time."""

from __future__ import annotations

import gzip
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.authentication import RunAuthentication, SessionAuthentication
from authzsite.api.authzen.batch_decisions import Inquiry
from authzsite.api.authzen.question_names import cases
from authzsite.api.authzen.questions import Action, Entity, Question
from authzsite.api.strictjson import BadBody
from authzsite.api.surface import Forbidden
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import described
from authzsite.api.v1.query_serializers import SnapshotSerializer
from catalog.nodes import Node
from catalog.queries import realm_named, root
from lakewarden.client.snapshot import canonical, sealed
from lakewarden.law.principals import KINDS
from policies.decisions import slices, snapshots
from policies.decisions.snapshot_cache import Sent, kept
from policies.record import access_log

ELSEWHERE = "there is no such realm, or you may not see it"
MAY_NOT = (
    "there is no such realm, or you may fetch only your own snapshot: for others you need a service account "
    "that the realm admits, or a duty"
)
QUICK = 5


class Snapshot(Call):
    authentication_classes = [RunAuthentication, SessionAuthentication]
    http_method_names = ["get"]

    @described(
        "One principal's facts in one realm",
        "check",
        SnapshotSerializer,
        query=("realm!", "for"),
        others={304: "unchanged since If-None-Match"},
    )
    def get(self, request: Request) -> HttpResponse:
        caller, now = self.require_scope("check"), timezone.now()
        query = request._request.GET.dict()
        who, name = _who(query, caller.principal), named.needed(query, "realm")
        realm = realm_named(name)
        if realm is None:
            raise Forbidden(ELSEWHERE if who == (caller.principal.kind, caller.principal.name) else MAY_NOT)
        top = root(realm)
        about = Question(Entity(who[0], who[1]), Action("read"), Entity(top.type, top.realm))
        inquiry = Inquiry(caller.principal, cases(caller.principal, [about]), now, caller.run)
        [case] = inquiry.cases
        subject = case.subject
        if subject is None or not inquiry.may_ask(case):
            raise Forbidden(MAY_NOT)
        others = caller.principal != subject
        key = (top.realm_id, str(subject), caller.principal.pk if others else None)
        sent = kept(key, lambda: _made(caller.principal, subject, top, now), now=now)
        inquiry.note(via="api")
        if others and caller.principal.kind != Principal.Kind.SERVICE:
            access_log.looked(caller.principal, f"snapshot of {subject.pseudonym}", top, via="api")
        return _sent(request._request, sent.content, sent.digest)


def _made(caller: Principal, subject: Principal, top: Node, now: datetime) -> Sent:
    """The snapshot as it is now.  Raises Forbidden where neither has part in the realm."""
    held = snapshots.hold(subject, top, now=now)
    # whose knowledge counts beside the subject's own
    viewers = [] if caller == subject else [slices.current(caller, top, now=now)]
    if not any(map(snapshots.belongs, (held.slice, *viewers))):
        raise Forbidden(ELSEWHERE)
    wire = sealed(snapshots.document(held, top, viewers, now=now))
    edges = (held.until, *(each.next_change_at for each in (held.slice, *viewers)))
    until = min((each for each in edges if each is not None), default=None)
    return Sent(canonical(wire), wire["digest"], held.slice.revision, snapshots.dated(now), until)


def _who(query: named.Asked, caller: Principal) -> tuple[str, str]:
    text = query.get("for", "") or str(caller)
    kind, colon, name = text.partition(":")
    if not colon:
        return "user", kind
    if kind not in KINDS or not name:
        raise BadBody("for must be user:NAME, group:NAME or service:NAME")
    return kind, name


def _sent(request: HttpRequest, content: bytes, digest: str) -> HttpResponse:
    """The bytes, packed for those who can unpack them; nothing but 304 for those who have them."""
    packed = "gzip" in request.headers.get("Accept-Encoding", "").lower()
    etag = f'"{digest}{"-gzip" if packed else ""}"'
    etags = parse_etags(request.headers.get("If-None-Match", ""))
    if etags and {f'"{digest}"', f'"{digest}-gzip"', "*"}.intersection(etags):
        response = HttpResponse(status=304)
        del response.headers["Content-Type"]
    elif packed:
        content = gzip.compress(content, QUICK, mtime=0)
        response = HttpResponse(content, content_type="application/json")
        response.headers["Content-Encoding"] = "gzip"
    else:
        response = HttpResponse(content, content_type="application/json")
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = "private, no-cache"
    patch_vary_headers(response, ["Accept-Encoding", "Authorization"])
    return response
