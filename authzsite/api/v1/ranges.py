"""Whole views of a realm in parts: where to cut them, a token for those who read the parts, and the parts.

A part is repeatable: everything it depends on stands in its address, and the revision never changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from accounts import tokens
from accounts.models import Principal
from accounts.text import holdable
from authzsite.api.authentication import ONLY_READS, Caller, ReadingAuthentication, SessionAuthentication
from authzsite.api.strictjson import BadBody
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import F, described
from authzsite.api.v1.fields import Answer, Body, Moment, Text, Whole
from authzsite.api.v1.query_serializers import RowPage, SplitsSerializer
from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import realm_named, root
from policies.data_views.pinned import Keys, Pin, Range, cut, pinned
from policies.data_views.registry import VIEWS, View
from policies.record import access_log
from policies.record.revisions import at_moment

MAY_NOT = "you may not read this view here; you need the right to grant, view_history or review_access"
MOST_SPLITS, USUAL_ROWS, MOST_ROWS = 256, 1000, 5000
SHORTEST, USUAL, LONGEST = 60, 1800, 12 * 3600  # seconds
PART = ("after", "upto", "revision", "at")
GONE = {410: "the revision is no longer kept: fetch splits again"}
OF_OTHERS = ("access", "grants", "uses")
"""Views that tell what others may, so reading them is recorded."""


@dataclass(frozen=True)
class Asked:
    """Who asks for which view of which realm, and where they may look."""

    viewer: Principal
    view: View
    realm: Realm
    top: Node
    seen: Any

    def pin(self, revision: int | None, at: datetime | None = None) -> Pin:
        """What a reading is pinned to.  Raises Gone."""
        return pinned(self.top, self.realm, revision, at, archived=self.view.archived)

    def noted(self) -> None:
        if self.view.name in OF_OTHERS:
            access_log.looked(self.viewer, f"all of {self.view.name}", self.top, via="api")


def _asked(caller: Caller, view: View, realm_name: str) -> Asked:
    realm = realm_named(realm_name)
    top = root(realm) if realm else None
    seen = view.sight(caller.principal, top) if top else None
    if realm is None or top is None or seen is None or caller.run is not None:
        raise Forbidden(MAY_NOT)
    return Asked(caller.principal, view, realm, top, seen)


def _view(name: str) -> View:
    if name not in VIEWS:
        raise BadBody(f"view must be one of {', '.join(VIEWS)}")
    return VIEWS[name]


class Splits(Call):
    """Where to cut a view into n parts with about as many rows each."""

    http_method_names = ["get"]

    @described(
        "A revision, and the parts of a view at it",
        "check; of audit `audit`",
        SplitsSerializer,
        query=("view!", "realm!", "n", "as_of"),
        others=GONE,
    )
    def get(self, request: Request) -> HttpResponse:
        sent = request._request.GET.dict()
        view = _view(named.needed(sent, "view"))
        range_ = _asked(self.require_scope(view.scope), view, named.needed(sent, "realm"))
        n = named.whole(sent, "n", least=1) or 1
        pin = range_.pin(_as_of(sent))
        range_.noted()
        return respond(
            {
                "view": view.name,
                "realm": range_.top.realm,
                "revision": pin.revision,
                "at": pin.at.isoformat(),
                "splits": [
                    {"after": _text(item.after), "upto": str(item.upto)}
                    for item in cut(pin, view.keys, min(n, MOST_SPLITS))
                ],
            }
        )


def _as_of(sent: named.Asked) -> int | None:
    """A revision, or the last one before a time."""
    text = sent.get("as_of", "")
    if text.isascii() and text.isdigit():
        return named.whole(sent, "as_of", least=1)
    moment = named.moment(sent, "as_of")
    return at_moment(moment).revision if moment else None


class NewReading(Body):
    """Which view at which revision is to be read, and for how many seconds."""

    view = Text()
    realm = Text()
    revision = Whole(min_value=1, max_value=2**62)
    ttl = Whole(default=USUAL, min_value=SHORTEST, max_value=LONGEST)


class ReadingSerializer(Answer):
    token = Text()
    expires = Moment()


class Readings(Call):
    """A token for those who read the parts: for one view at one revision, for a while."""

    @described(
        "A token that reads one view at one revision and nothing else",
        "check; of audit `audit`",
        ReadingSerializer,
        body=NewReading,
        status=201,
        others=GONE,
    )
    def post(self, request: Request) -> HttpResponse:
        body = NewReading.read(request)
        view = _view(body["view"])
        caller = self.require_scope(view.scope)
        range_ = _asked(caller, view, body["realm"])
        pin = range_.pin(body["revision"])
        expires = timezone.now() + timedelta(seconds=body["ttl"])
        reading = tokens.Reading(view.name, range_.realm.pk, pin.revision)
        token = tokens.create_for_reading(caller.principal, reading, expires=expires)
        return respond(ReadingSerializer({"token": token, "expires": expires}).data, 201)


class Ranged(Call):
    """A view that is also read in parts; `view` is its name."""

    authentication_classes = [ReadingAuthentication, SessionAuthentication]
    http_method_names = ["get"]
    view = ""

    def part(self, request: HttpRequest) -> HttpResponse | None:
        """The part that was asked for, None when something else was."""
        sent = request.GET.dict()
        if "upto" not in sent:
            if self.caller.reading:
                raise Forbidden(ONLY_READS)
            return None
        view = VIEWS[self.view]
        parts = sent.get("after", "0").split(".")
        if len(parts) > 2 or not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in parts):
            raise BadBody("after must be a value from splits or next")
        keys = tuple(map(int, parts))
        within = Range(keys, _number(sent, "upto"))
        revision = _number(sent, "revision")
        caller = self.caller if self.caller.reading else self.require_scope(view.scope)
        range_ = _asked(caller, view, named.needed(sent, "realm"))
        if caller.reading and caller.reading != tokens.Reading(range_.view.name, range_.realm.pk, revision):
            raise Forbidden("this token is for another view, realm or revision")
        if caller.reading is None:
            range_.noted()
        pin = range_.pin(revision, named.moment(sent, "at"))
        return respond(_page(pin, range_, within, request))

    def only_part(self, request: Request) -> HttpResponse:
        part = self.part(request._request)
        if part is None:
            raise BadBody("fetch splits first, then each part with after, upto and revision")
        return part


def _page(pin: Pin, range_: Asked, within: Range, request: HttpRequest) -> dict[str, Any]:
    sent = request.GET
    where = {
        name: [item for item in sent.getlist(name) if holdable(item)]
        for name in range_.view.filters
        if name in sent
    }
    limit = min(named.whole(sent.dict(), "limit", least=1) or USUAL_ROWS, MOST_ROWS)
    page = range_.view.page(pin, range_.seen, within, where, limit)
    return {"results": page.rows, "next": _text(page.next) if page.next else None}


def _number(sent: named.Asked, name: str) -> int:
    named.needed(sent, name)
    return named.whole(sent, name) or 0


def _text(keys: Keys) -> str:
    return ".".join(map(str, keys))


def part_described(view: str) -> Callable[[F], F]:
    """The description of a view that is read in parts only."""
    return described(
        f"A part of all {view} of a realm, as returned by splits",
        "check",
        RowPage,
        query=("realm!", "after!", "upto!", "revision!", "at", "limit"),
        others=GONE,
    )


class Grants(Ranged):
    """All grants, which are read in parts only."""

    view = "grants"

    @part_described("grants")
    def get(self, request: Request) -> HttpResponse:
        return self.only_part(request)


class Objects(Ranged):
    """All objects, which are read in parts only."""

    view = "objects"

    @part_described("objects")
    def get(self, request: Request) -> HttpResponse:
        return self.only_part(request)
