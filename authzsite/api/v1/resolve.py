"""`POST /authz/v1/resolve`: what object a name or a place is, as far as the caller may know."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from accounts.models import Principal
from accounts.text import holdable
from authzsite.api.authentication import RunAuthentication, SessionAuthentication
from authzsite.api.surface import respond
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import described
from authzsite.api.v1.fields import Answer, Body, Listed, Text
from authzsite.api.v1.query_serializers import REFERENCE
from catalog.nodes import Node
from catalog.queries import realm_named, root
from catalog.resolve import find_all, spelled
from lakewarden.client.snapshot import Snapshot, sealed
from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef
from policies.decisions import ask, slices, snapshots

MOST = 1000
UNKNOWN = "unknown"

Found = dict[str, Any]


class NamesAndLocations(Body):
    """What is to be found in a realm."""

    realm = Text()
    names = Listed(child=Text(allow_blank=True), max_length=MOST, default=list)
    locations = Listed(child=Text(allow_blank=True), max_length=MOST, default=list)


@extend_schema_field({"type": "object", "additionalProperties": {"anyOf": [REFERENCE, {"const": UNKNOWN}]}})
class ObjectsByText(serializers.DictField):
    """What object each text means."""


class ResolvedSerializer(Answer):
    names = ObjectsByText()
    locations = ObjectsByText()


class Resolve(Call):
    authentication_classes = [RunAuthentication, SessionAuthentication]
    http_method_names = ["post"]

    @described("What object each name or location is", "check", ResolvedSerializer, body=NamesAndLocations)
    def post(self, request: Request) -> HttpResponse:
        caller, now = self.require_scope("check"), timezone.now()
        body = NamesAndLocations.read(request)
        names, places, realm = body["names"], body["locations"], realm_named(body["realm"])
        if realm is None or (caller.run is not None and caller.run.realm != realm.pk):
            return respond(
                {"names": dict.fromkeys(names, UNKNOWN), "locations": dict.fromkeys(places, UNKNOWN)}
            )
        top = root(realm)
        # of the objects of a name the first that may be known
        readings = {name: _readings(top, name) for name in names}
        all_refs = [ref for refs in readings.values() for ref in refs]
        nodes = dict(zip(all_refs, find_all(spelled(all_refs)), strict=True))
        slice_ = slices.current(caller.principal, top, now=now)
        resolved: Found = {}
        for name, refs in readings.items():
            in_realm = (
                node for node in map(nodes.get, refs) if node is not None and node.realm_id == top.realm_id
            )
            visible = next((node for node in in_realm if ask.may_see(slice_, node, now=now)), None)
            resolved[name] = _wire_ref(visible.ref if visible else None)
        return respond(
            {
                "names": resolved,
                "locations": _locations(caller.principal, top, places, now),
            }
        )


def _readings(top: Node, name: str) -> list[ObjectRef]:
    """The objects that a full name could mean, `table:`, `demo/` or neither before it."""
    law = dialects.get(top.kind)
    first, colon, rest = name.partition(":")
    type_, text = (first, rest) if colon and first in law.types else ("", name)
    id_ = top.realm if text in (top.realm, "") else f"{top.realm}/{text.removeprefix(top.realm + '/')}"
    refs = [_read(item, id_) for item in law.types if type_ in ("", item)] if text or colon else []
    return [ref for ref in refs if ref is not None and law.type_path(ref.type, len(ref.path)) is not None]


def _read(type_: str, id_: str) -> ObjectRef | None:
    try:
        ref = ObjectRef.parse(type_, id_)
    except BadName:
        return None
    return ref if all(map(holdable, ref.path)) else None


def _locations(caller: Principal, top: Node, places: list[str], now: datetime) -> Found:
    if not places:
        return {}
    held = snapshots.hold(caller, top, now=now)
    snapshot = Snapshot.read(sealed(snapshots.document(held, top, [], now=now)), now=now.timestamp())
    return {place: _wire_ref(snapshot.at(place)) for place in places}


def _wire_ref(ref: ObjectRef | None) -> str | dict[str, str]:
    return UNKNOWN if ref is None else {"type": ref.type, "id": ref.id}
