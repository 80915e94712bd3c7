"""`POST /authz/v1/uses`: a job tells once what it really used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from accounts.models import Principal, Token
from accounts.text import holdable
from authzsite.api.authentication import Caller, RunAuthentication, SessionAuthentication
from authzsite.api.strictjson import BadBody, read_object
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import named
from authzsite.api.v1.ranges import Ranged
from authzsite.api.v1.snapshot import ELSEWHERE
from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import realm_named, root
from catalog.resolve import find_all, spelled
from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef
from policies.analytics import uses
from policies.analytics.uses import ReportedUse
from policies.decisions import slices
from policies.decisions.lookups.visible_objects import realms_of
from policies.record import inquiries

MOST = 10_000
OWN_ONLY = "you may tell your own uses; others' are told by the service account that ran the job"
NOT_YOURS = "this run is another's"


@dataclass(frozen=True)
class Told:
    """One use as it was sent."""

    who: tuple[str, str]
    ref: ObjectRef | None
    action: str
    executed: bool
    at: datetime


class UsesAuthentication(RunAuthentication):
    """Runs tell what they used, readings read it."""

    takes_readings = True


class Uses(Ranged):
    authentication_classes = [UsesAuthentication, SessionAuthentication]
    http_method_names = ["get", "post"]
    view = "uses"

    def get(self, request: Request) -> HttpResponse:
        return self.only_part(request)

    def post(self, request: Request) -> HttpResponse:
        caller, now = self.require_scope("report"), timezone.now()
        body = read_object(request._request)
        name, run = named.text(body, "realm"), named.text(body, "run", longest=uses.LONGEST_RUN)
        told = [_told(each, caller.principal, now) for each in _list(body)]
        realm = realm_named(name)
        if realm is None or not _takes_part(caller, realm):
            raise Forbidden(ELSEWHERE)
        _permit(caller, realm, run, told)
        uses.take(realm.pk, caller.principal, run, _known(told, realm))
        return respond({"run": run, "received": len(told)}, 202)


def _list(body: Mapping[str, Any]) -> list[Any]:
    found = body.get("uses")
    if not isinstance(found, list):
        raise BadBody("uses must be a list")
    if len(found) > MOST:
        raise BadBody(f"uses holds more than {MOST} items")
    return found


def _told(sent: object, caller: Principal, now: datetime) -> Told:
    if not isinstance(sent, dict):
        raise BadBody("each of uses must be an object")
    executed = sent.get("executed", True)
    if not isinstance(executed, bool):
        raise BadBody("executed must be true or false")
    at = named.moment({"at": named.text(sent, "at")}, "at") if "at" in sent else None
    who = named.text(sent, "principal") if "principal" in sent else str(caller)
    kind, colon, name = who.partition(":")
    return Told(
        who=(kind, name) if colon else ("user", who),
        ref=_ref(sent.get("resource")),
        action=named.text(sent, "action"),
        executed=executed,
        at=min(at or now, now),
    )


def _ref(sent: object) -> ObjectRef | None:
    """The object that was named, as `table:realm/name` or as type and id; None for what can be no name."""
    if isinstance(sent, dict):
        type_, id_ = named.text(sent, "type"), named.text(sent, "id")
    elif isinstance(sent, str) and ":" in sent:
        type_, _, id_ = sent.partition(":")
    else:
        raise BadBody("resource must have a type and an id")
    try:
        return ObjectRef.parse(type_, id_)
    except BadName:
        return None


def _takes_part(caller: Caller, realm: Realm) -> bool:
    if caller.principal.kind == Principal.Kind.SERVICE and caller.run is None:
        top = root(realm)
        return inquiries.admits(caller.principal, top, slices.current(caller.principal, top))
    return any(top.realm_id == realm.pk for top in realms_of(caller.principal))


def _permit(caller: Caller, realm: Realm, run: str, told: Sequence[Told]) -> None:
    """Raise Forbidden unless the run, and everybody it speaks of, is the caller's to tell about."""
    own = (caller.principal.kind, caller.principal.name)
    alone = caller.run is not None or caller.principal.kind != Principal.Kind.SERVICE
    if alone and any(each.who != own for each in told):
        raise Forbidden(OWN_ONLY)
    name = run.partition("#")[0]
    if caller.run is not None:
        if caller.run.id != name or caller.run.realm != realm.pk:
            raise Forbidden(NOT_YOURS)
    elif Token.objects.filter(run=name[:16]).exclude(principal=caller.principal).exists():
        raise Forbidden(NOT_YOURS)


def _known(told: Sequence[Told], realm: Realm) -> list[ReportedUse]:
    """Those of people, objects and actions that there are; of others nothing is said.  Three queries."""
    people = _people({each.who for each in told})
    nodes = _nodes([each.ref for each in told if each.ref is not None])
    found = []
    for each in told:
        person, node = people.get(each.who), nodes.get(each.ref) if each.ref else None
        if person is None or node is None or node.realm_id != realm.pk:
            continue
        if _is_action(node, each.action):
            found.append(ReportedUse(person, node, each.action, each.executed, each.at))
    return found


def _is_action(node: Node, action: str) -> bool:
    known = dialects.get(node.kind).action(node.type, action) is not None
    return known and len(action) <= uses.LONGEST_ACTION


def _people(wanted: set[tuple[str, str]]) -> dict[tuple[str, str], Principal]:
    names = {name for _, name in wanted if holdable(name)}
    rows = Principal.objects.filter(name__in=names)
    return {(row.kind, row.name): row for row in rows if (row.kind, row.name) in wanted}


def _nodes(refs: Sequence[ObjectRef]) -> dict[ObjectRef, Node | None]:
    asked = list(dict.fromkeys(refs))
    return dict(zip(asked, find_all(spelled(asked)), strict=True))
