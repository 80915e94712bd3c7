"""`POST /authz/v1/uses`: a job tells once what it really used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from accounts.models import Principal, Token
from accounts.text import holdable
from authzsite.api.authentication import Caller, RunAuthentication, SessionAuthentication
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1.describing import TEXT, described
from authzsite.api.v1.fields import (
    Answer,
    Body,
    Flag,
    Listed,
    Moment,
    PrincipalName,
    Reference,
    Text,
    Whole,
)
from authzsite.api.v1.query_serializers import REFERENCE
from authzsite.api.v1.ranges import Ranged, part_described
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
OWN_ONLY = "you may report only your own uses; the service account that ran a job reports those of others"
NOT_YOURS = "this run belongs to another account"


@dataclass(frozen=True)
class SentUse:
    """One use as it was sent."""

    who: tuple[str, str]
    ref: ObjectRef | None
    action: str
    executed: bool
    at: datetime


@extend_schema_field({"anyOf": [REFERENCE, TEXT]})
class ObjectName(serializers.Field[Any, Any, Any, Any]):
    """An object as `table:realm/name` or as type and id; None for what can be no name."""

    default_error_messages = {
        "invalid": "must have a type and an id",
        "required": "must have a type and an id",
    }
    reference = Reference()

    def to_internal_value(self, data: Any) -> ObjectRef | None:
        if isinstance(data, dict):
            reference = self.reference.run_validation(data)
            type_, id_ = reference["type"], reference["id"]
        elif isinstance(data, str) and ":" in data:
            type_, _, id_ = data.partition(":")
        else:
            self.fail("invalid")
        try:
            return ObjectRef.parse(type_, id_)
        except BadName:
            return None


class NewUse(Body):
    """One use; of the caller and now, where nothing else is said."""

    principal = PrincipalName(required=False)
    resource = ObjectName()
    action = Text()
    executed = Flag(default=True)
    at = Moment(required=False)


class NewUses(Body):
    realm = Text()
    run = Text(max_length=uses.LONGEST_RUN)
    uses = Listed(child=NewUse(), max_length=MOST)


class ReceivedSerializer(Answer):
    run = Text()
    received = Whole()


class UsesAuthentication(RunAuthentication):
    """Runs tell what they used, readings read it."""

    takes_readings = True


class Uses(Ranged):
    authentication_classes = [UsesAuthentication, SessionAuthentication]
    http_method_names = ["get", "post"]
    view = "uses"

    @part_described("uses")
    def get(self, request: Request) -> HttpResponse:
        return self.only_part(request)

    @described(
        "Report what a run used; a use reported twice counts once",
        "report",
        ReceivedSerializer,
        body=NewUses,
        status=202,
    )
    def post(self, request: Request) -> HttpResponse:
        caller, now = self.require_scope("report"), timezone.now()
        body = NewUses.read(request)
        run, realm = body["run"], realm_named(body["realm"])
        sent_uses = [_use(each, caller.principal, now) for each in body["uses"]]
        if realm is None or not _takes_part(caller, realm):
            raise Forbidden(ELSEWHERE)
        # raise Forbidden unless the run, and everybody it speaks of, is the caller's to tell about
        own = (caller.principal.kind, caller.principal.name)
        alone = caller.run is not None or caller.principal.kind != Principal.Kind.SERVICE
        if alone and any(each.who != own for each in sent_uses):
            raise Forbidden(OWN_ONLY)
        name = run.partition("#")[0]
        if caller.run is not None:
            if caller.run.id != name or caller.run.realm != realm.pk:
                raise Forbidden(NOT_YOURS)
        elif Token.objects.filter(run=name[:16]).exclude(principal=caller.principal).exists():
            raise Forbidden(NOT_YOURS)
        uses.take(realm.pk, caller.principal, run, _known(sent_uses, realm))
        return respond({"run": run, "received": len(sent_uses)}, 202)


def _use(sent: dict[str, Any], caller: Principal, now: datetime) -> SentUse:
    who = sent.get("principal", str(caller))
    kind, colon, name = who.partition(":")
    return SentUse(
        who=(kind, name) if colon else ("user", who),
        ref=sent["resource"],
        action=sent["action"],
        executed=sent["executed"],
        at=min(sent.get("at", now), now),
    )


def _takes_part(caller: Caller, realm: Realm) -> bool:
    if caller.principal.kind == Principal.Kind.SERVICE and caller.run is None:
        top = root(realm)
        return inquiries.admits(caller.principal, top, slices.current(caller.principal, top))
    return any(top.realm_id == realm.pk for top in realms_of(caller.principal))


def _known(sent_uses: Sequence[SentUse], realm: Realm) -> list[ReportedUse]:
    """Those of people, objects and actions that there are; of others nothing is said.  Three queries."""
    wanted = {each.who for each in sent_uses}
    names = {name for _, name in wanted if holdable(name)}
    rows = Principal.objects.filter(name__in=names)
    people = {(row.kind, row.name): row for row in rows if (row.kind, row.name) in wanted}
    refs = list(dict.fromkeys([each.ref for each in sent_uses if each.ref is not None]))
    nodes = dict(zip(refs, find_all(spelled(refs)), strict=True))
    reported_uses = []
    for each in sent_uses:
        person, node = people.get(each.who), nodes.get(each.ref) if each.ref else None
        if person is None or node is None or node.realm_id != realm.pk:
            continue
        if _is_action(node, each.action):
            reported_uses.append(ReportedUse(person, node, each.action, each.executed, each.at))
    return reported_uses


def _is_action(node: Node, action: str) -> bool:
    is_known = dialects.get(node.kind).action(node.type, action) is not None
    return is_known and len(action) <= uses.LONGEST_ACTION
