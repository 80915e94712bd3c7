"""Requests for access and what belongs to them, as `/authz/v1/` takes and answers them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.authzen import questions
from authzsite.api.authzen import request_bodies as bodies
from authzsite.api.strictjson import BadBody
from authzsite.api.v1.fields import (
    MAYBE,
    Answer,
    AnyObject,
    Body,
    Flag,
    Listed,
    Moment,
    OptionalText,
    PrincipalName,
    Reference,
    Text,
    Whole,
)
from policies.models import RequestPart, RequestRule
from policies.requests import provisioning
from policies.requests.decision_context import Consideration
from policies.requests.submission import Asking
from policies.requests.visibility import VisibleRequest

STATES = ("asked", "asked_back", "approved", "approved_less", "refused", "withdrawn", "lapsed")

# What is sent


class Entity(Reference):
    properties = AnyObject(required=False)


class Action(Body):
    name = Text()
    properties = AnyObject(required=False)


class Wanted(Body):
    """What is wanted of an object; what is left out stands beside the items."""

    subject = Entity(required=False)
    resource = Entity(required=False)
    action = Action(required=False)


class RequestedAccess(Body):
    requested_for = OptionalText(help_text="such as P30D or PT8H")
    requested_until = Moment(**MAYBE)
    starts_at = Moment(**MAYBE)
    time_zone = OptionalText()
    emergency = Flag(
        default=False, help_text="always refused; holders of the duty take emergency access themselves"
    )


class NewRequest(Wanted):
    """Access to a resource, or to several items, for the caller unless a subject is named."""

    items = Listed(child=Wanted(), required=False, min_length=1, max_length=bodies.MOST_ITEMS)
    reason = OptionalText()
    context = AnyObject(**MAYBE)  # type: ignore[assignment]  # a field, which is taken out of the class
    ticket = OptionalText()
    requested_access = RequestedAccess(**MAYBE)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if isinstance(data, dict) and "callback" in data:
            raise BadBody(bodies.NO_CALLBACKS)
        return super().to_internal_value(data)


def read_new_request(request: Request, caller: Principal, key: str = "") -> Asking:
    """What the caller asks for.  Raises BadBody, Refused."""
    body = NewRequest.read(request)
    wanted = [_question({**body, **item}, caller) for item in body.get("items") or [{}]]
    access = body["requested_access"] or RequestedAccess().run_validation({})
    justification = bodies.text(body["context"] or {}, "business_justification")
    return bodies.asking_of(
        wanted,
        caller,
        reason=body["reason"] or justification,
        ticket=body["ticket"],
        lasts=access["requested_for"],
        until=access["requested_until"],
        starts=access["starts_at"],
        zone=access["time_zone"],
        emergency=access["emergency"],
        key=key,
    )


def _question(item: dict[str, Any], caller: Principal) -> questions.Question:
    for name in ("action", "resource"):
        if name not in item:
            raise BadBody(f"{name} is missing")
    subject, resource = item.get("subject"), item["resource"]
    return questions.Question(
        questions.Entity(subject["type"], subject["id"])
        if subject
        else questions.Entity(caller.kind, caller.name),
        questions.Action(item["action"]["name"]),
        questions.Entity(resource["type"], resource["id"]),
    )


class PrivilegesByPart(serializers.DictField):
    """The privileges to be given, by the number of a part."""

    default_error_messages = dict.fromkeys(
        ("not_a_dict", "invalid"), "must have lists of privileges by the numbers of parts"
    )

    def __init__(self, **options: Any) -> None:
        super().__init__(child=Listed(child=Text()), **options)

    def to_internal_value(self, data: Any) -> dict[int, list[str]]:
        if isinstance(data, dict) and not all(key.isdecimal() and len(key) <= 6 for key in data):
            self.fail("invalid")
        return {int(number): codes for number, codes in super().to_internal_value(data).items()}


class Approval(Body):
    parts = Listed(child=Whole(), default=list)
    give = PrivilegesByPart(**MAYBE)
    until = Moment(**MAYBE)
    role = OptionalText()
    note = OptionalText()

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "for": OptionalText(help_text="such as P30D or PT8H")}


class Refusal(Body):
    reason = OptionalText()
    parts = Listed(child=Whole(), default=list)


class QuestionBack(Body):
    question = OptionalText()
    parts = Listed(child=Whole(), default=list)


class AnswerToQuestion(Body):
    text = OptionalText()


class Withdrawal(Body):
    reason = OptionalText()


class Rules(Body):
    """Rules for requests for an object; null for what is said above it."""

    min_reason = Whole(**MAYBE)
    ticket = Text(allow_blank=True, **MAYBE)
    escalate_hours = Whole(**MAYBE)
    lapse_hours = Whole(**MAYBE)
    longest_days = Whole(**MAYBE)
    plan_approval = serializers.ChoiceField(
        RequestRule.PlanApproval.values,
        required=False,
        allow_null=True,
        help_text="of a realm: which plans of policy files another person approves; left out, it stays",
    )


class NewSubstitute(Body):
    deputy = PrincipalName()
    starts = Moment()
    ends = Moment()


# What is answered


class Holder(Answer):
    """Who is to have it."""

    type = Text(source="kind")
    id = Text(source="name")


class NamedObject(Answer):
    type = Text()
    id = Text(source="name")


class ActionName(Answer):
    name = Text(source="action")


class RequestItemSerializer(Answer):
    resource = NamedObject(source="*")
    action = ActionName(source="*")
    given_at = Moment(allow_null=True)
    valid_until = Moment(allow_null=True)


class RequestLineSerializer(Answer):
    """A request in a list."""

    id = Whole(source="request.pk")
    status = serializers.ChoiceField(STATES, source="request.state")
    asker = PrincipalName(source="request.asker")
    subject = Holder(source="request.holder")
    reason = Text(source="request.reason")
    ticket = Text(source="request.ticket")
    requested_for = Text(source="request.lasts")
    requested_until = Moment(source="request.until", allow_null=True)
    starts_at = Moment(source="request.starts", allow_null=True)
    time_zone = Text(source="request.zone")
    asked_at = Moment(source="request.asked_at")
    lapses_at = Moment(source="request.lapses_at")
    items = Listed(source="wants", child=RequestItemSerializer())


class RequestPartSerializer(Answer):
    """One decision that a request needs."""

    number = Whole(source="part.number")
    kind = serializers.ChoiceField(RequestPart.Kind.values, source="part.kind")
    object = NamedObject(source="part")
    privileges = Listed(source="part.privileges", child=Text())
    status = Text(source="part.state")
    given = Listed(source="part.given", child=Text())
    note = Text(source="part.note")
    decided_by = PrincipalName(source="part.decided_by", allow_null=True)
    decided_for = PrincipalName(source="part.decided_for", allow_null=True)
    decided_at = Moment(source="part.decided_at", allow_null=True)
    deciders = Listed(child=PrincipalName(), allow_null=True)


class DeliverySerializer(Answer):
    """How far it has come in one backend."""

    backend = PrincipalName(help_text="its name")
    status = Text(source="state")
    text = Text()
    since = Moment()


class RequestStepSerializer(Answer):
    move = Text()
    at = Moment()
    by = PrincipalName(allow_null=True)
    part = Whole(allow_null=True)
    text = Text()
    revision = Whole()


class RequestSerializer(RequestLineSerializer):
    """A request with its decisions and how far it has come."""

    parts = Listed(child=RequestPartSerializer())
    deliveries = Listed(child=DeliverySerializer())
    steps = Listed(child=RequestStepSerializer())
    may_decide = Listed(child=Whole())


class DenialSerializer(Answer):
    privilege = Text()
    object = Reference(source="ref")
    role = Text(allow_null=True)


class NeedSerializer(Answer):
    kind = Text()
    object = Reference(source="ref")
    privileges = Listed(child=Text())


class ForesightSerializer(Answer):
    """What a request would come to, before it is sent."""

    parts = Listed(source="needs", child=NeedSerializer())
    denials = Listed(child=DenialSerializer())
    valid_until = Moment(source="end", allow_null=True)
    lapses_at = Moment(source="lapses")
    min_reason = Whole(source="rules.min_reason")
    ticket = Text(source="rules.ticket")
    longest_days = Whole(source="rules.longest_days")


class PresentAccessSerializer(Answer):
    resource = NamedObject(source="want")
    actions = Listed(source="can", child=Text())


class RequestEffectSerializer(Answer):
    object = Reference()
    principal = PrincipalName()
    effect = Text()
    gains = Listed(child=Text())


class PeersSerializer(Answer):
    """How many comparable people have what a part would give."""

    part = Whole(source="part.number")
    have = Whole(source="share.have")
    of = Whole(source="share.of")


class RoleProposalSerializer(Answer):
    role = Text(source="role.ref.id")
    holders = Whole()


class ConsiderationSerializer(Answer):
    """Present access, earlier requests, who would gain, comparable people, roles, denials, conflicts."""

    present = Listed(child=PresentAccessSerializer())
    earlier = Listed(child=RequestLineSerializer())
    effects = Listed(child=RequestEffectSerializer())
    peers = Listed(child=PeersSerializer())
    roles = Listed(child=RoleProposalSerializer())
    denials = Listed(child=DenialSerializer())
    conflicts = Listed(source="clashes", child=Text())
    valid_until = Moment(source="end", allow_null=True)


class RequestRulesSerializer(Answer):
    """What is said on an object, and what counts there with what is said above."""

    here = Rules()
    counts = Rules()


class SubstituteSerializer(Answer):
    id = Whole(source="pk")
    person = PrincipalName()
    deputy = PrincipalName()
    starts = Moment()
    ends = Moment()


def request_answer(seen: VisibleRequest) -> dict[str, Any]:
    """A whole request as its viewer may see it."""
    any_given = any(want.given_at for want in seen.wants)
    parts = []
    for part in seen.parts:
        deciders = seen.deciders(part) if part.state in ("asked", "asked_back") else None
        parts.append(
            {
                "part": part,
                "deciders": None if deciders is None else [decider.principal for decider in deciders],
            }
        )
    body = {
        "request": seen.request,
        "wants": seen.wants,
        "parts": parts,
        "deliveries": [] if seen.concerned and not any_given else provisioning.standings(seen.request),
        "steps": seen.steps,
        "may_decide": sorted(seen.may_decide),
    }
    return RequestSerializer(body).data


def consideration_answer(found: Consideration) -> dict[str, Any]:
    earlier = [{"request": request, "wants": request.wants.all()} for request in found.earlier]
    effects = [
        {
            "object": node.ref,
            "principal": effect.principal,
            "effect": effect.kind,
            "gains": sorted(effect.gains),
        }
        for node, preview in found.effects
        for effect in preview.effects
    ]
    return ConsiderationSerializer({**vars(found), "earlier": earlier, "effects": effects}).data
