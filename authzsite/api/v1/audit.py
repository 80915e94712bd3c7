"""`GET /authz/v1/audit`: the record of a realm, in order, page by page."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.strictjson import BadBody
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.named import Asked
from catalog.nodes import Node
from catalog.queries import realm_named, root
from policies import audit, history
from policies.audit import Position
from policies.history import Names, Sight
from policies.models import AccessRecord, Event

MAY_NOT = "you may not read the history of this; it takes the duty view_history"
SALT = "audit"
FIXED = ("operator", "system")


class Audit(Call):
    http_method_names = ["get"]

    def get(self, request: Request) -> HttpResponse:
        viewer = self.require_scope("audit").principal
        asked = request._request.GET.dict()
        if asked.get("format", "json") != "json":
            raise BadBody("format must be json")
        top = _realm(asked)
        seen = history.sight(viewer, [top])
        question = audit.Asked(
            top,
            object=_object(asked, top, seen),
            actor=_actor(asked.get("actor", "")),
            kinds=tuple(filter(None, asked.get("kind", "").split(","))),
            since=named.moment(asked, "since"),
        )
        found = audit.trail(question, seen, after=_after(asked), limit=named.limit(asked))
        after = list(found.next) if found.next else None
        return respond(named.listed(_wires(found.entries), _plain(after), SALT))


def _realm(asked: Asked) -> Node:
    realm = realm_named(named.needed(asked, "realm"))
    if realm is None:
        raise Forbidden(MAY_NOT)
    return root(realm)


def _object(asked: Asked, top: Node, seen: Sight) -> Node | None:
    """The object that was named, when its history may be read; else some of the realm's must be."""
    if not asked.get("resource"):
        if not seen.objects:
            raise Forbidden(MAY_NOT)
        return None
    node = named.the_object(asked)
    if node is None or node.realm_id != top.realm_id or not seen.sees(node):
        raise Forbidden(MAY_NOT)
    return node


def _actor(text: str) -> str:
    """The pseudonym under which somebody is recorded; of nobody there is no record."""
    if not text or text in FIXED:
        return text
    found = named.somebody(text)
    return found.pseudonym if found else "nobody"


def _after(asked: Asked) -> Position | None:
    found = named.cursor(asked, SALT)
    if found is None:
        return None
    at, stream, number, part = cast("tuple[str, int, int, int]", tuple(found))
    return Position(datetime.fromisoformat(at), stream, number, part)


def _plain(after: list[object] | None) -> list[object] | None:
    return [one.isoformat() if isinstance(one, datetime) else one for one in after] if after else None


def _wires(entries: tuple[Event | AccessRecord, ...]) -> list[dict[str, Any]]:
    """Entries as they are sent, with the names behind pseudonyms.  One query."""
    events = [one for one in entries if isinstance(one, Event)]
    names = Names([one.change for one in events], events)
    names.wanted |= {one.actor for one in entries if isinstance(one, AccessRecord)}
    return [_event(one, names) if isinstance(one, Event) else _record(one, names) for one in entries]


def _event(event: Event, names: Names) -> dict[str, Any]:
    change = event.change
    return {
        "id": f"{change.revision}.{event.number}",
        "kind": event.kind,
        "at": change.at.isoformat(),
        "actor": _name(change.actor, names.principals),
        "on_behalf_of": _name(change.on_behalf_of, names.principals),
        "via": change.via,
        "reason": change.reason,
        "request_id": change.request_id,
        "revision": change.revision,
        "object": _place(event),
        "people": [_name(one, names.principals) for one in event.people],
        "text": names.line(event).text,
    }


def _record(record: AccessRecord, names: Names) -> dict[str, Any]:
    return {
        "id": f"a{record.pk}",
        "kind": record.kind,
        "at": record.at.isoformat(),
        "actor": _name(record.actor, names.principals),
        "via": record.via,
        "operation": record.operation,
        "object": _place(record),
        "count": record.repeat.count,
        "last": record.repeat.last.isoformat(),
    }


def _place(entry: Event | AccessRecord) -> dict[str, str] | None:
    return {"type": entry.object_type, "id": entry.object_name} if entry.object_name else None


def _name(pseudonym: str, known: dict[str, Principal]) -> str | None:
    """`user:ana`; who is not in the map was erased."""
    if not pseudonym or pseudonym in FIXED:
        return pseudonym or None
    return str(known[pseudonym]) if pseudonym in known else "erased"
