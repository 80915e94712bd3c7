"""Reviews, their rows and decisions, as `/authz/v1/` takes and answers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.models import Principal
from authzsite.api.v1 import named
from authzsite.api.v1.fields import (
    MAYBE,
    Answer,
    AnyObject,
    Body,
    Flag,
    Listed,
    Moment,
    Number,
    OptionalText,
    PrincipalName,
    Text,
    Whole,
)
from catalog.nodes import Node
from policies.authority import Actor
from policies.errors import Invalid, NotFound, Refused
from policies.models import Review, ReviewRow
from policies.reviews import decisions, events, start, worklist
from policies.reviews.campaign_plans import Plan, Scope, Stage
from policies.reviews.decisions import Verdict

MOST = 1000
LONGEST_REASON = 4000
HIGHEST = 2**31 - 1
"""The highest number that a row can have."""


def _texts() -> Listed:
    return Listed(child=Text(), max_length=MOST, default=list)


# What is sent


class NewStage(Body):
    by = Text()
    people = _texts()
    days = Whole(default=14)


class NewReview(Body):
    """Over what, by whom, until when, and what silence means."""

    title = Text()
    purpose = OptionalText()
    resources = _texts()
    people = _texts()
    roles = _texts()
    services = Flag(default=False)
    risks = _texts()
    stages = Listed(child=NewStage(), max_length=MOST, **MAYBE)
    silence = OptionalText()
    reasons = OptionalText()
    fallback = OptionalText()
    bulk = Whole(**MAYBE)
    pace = Whole(**MAYBE)
    sample = Whole(**MAYBE)
    every = Whole(**MAYBE)
    reason = OptionalText()


def plan_of(body: dict[str, Any], by: Actor) -> Plan:
    """The plan that a body describes.  Raises Invalid, NotFound, Refused.

    Objects are what the caller sees; people are looked up for reviewers there, and nobody else.
    """
    viewer = by.decides_as
    if viewer is None:
        raise Refused("No user is signed in.")
    where = tuple(_node(text, viewer) for text in body["resources"])
    given = tuple(_node(text, viewer, "role") for text in body["roles"])
    if not where and not given:
        raise Invalid("Choose what to review.")
    start.authority(Scope(where, (), given), by)
    people = tuple(_somebody(text, viewer) for text in body["people"])
    scope = Scope(where, people, given, body["services"], tuple(body["risks"]))
    more: dict[str, Any] = {name: body[name] for name in ("purpose", "silence", "reasons") if body[name]}
    more |= {name: body[name] for name in ("bulk", "pace", "sample", "every") if body[name] is not None}
    if body["fallback"]:
        more["fallback"] = _somebody(body["fallback"], viewer)
    if body["stages"] is not None:
        more["stages"] = tuple(
            Stage(each["by"], tuple(_somebody(text, viewer) for text in each["people"]), each["days"])
            for each in body["stages"]
        )
    return Plan(body["title"], scope, **more)


def _node(text: str, viewer: Principal, type_: str = "") -> Node:
    query = {"resource": text, **({"type": type_} if type_ else {})}
    node = named.the_object_seen(query, viewer)
    if node is None:
        raise NotFound(f"There is no {type_ or 'object'} {text[:200]}.")
    return node


def _somebody(text: str, viewer: Principal) -> Principal:
    principal = named.somebody_known(text, viewer)
    if principal is None:
        raise NotFound(f"There is no person called {text[:200]}.")
    return principal


class NewDecision(Body):
    """What is decided about one row; `version` is that of the row as seen."""

    row = Whole(min_value=1, max_value=HIGHEST)
    version = Whole()
    choice = Text()
    takes = _texts()
    until = Moment(whole_day=True, **MAYBE)
    reason = OptionalText()


class NewDecisions(Body):
    decisions = Listed(child=NewDecision(), max_length=MOST, default=list)
    seconds = Number(min_value=0, max_value=86400, **MAYBE)


def verdicts_of(review: Review, sent: Sequence[dict[str, Any]]) -> tuple[list[Verdict], dict[int, int]]:
    """What is decided, and the numbers of the rows that it speaks of.  Raises NotFound."""
    keys = worklist.keys(review, [each["row"] for each in sent])
    for each in sent:
        if each["row"] not in keys:
            raise NotFound(f"There is no row {each['row']} in this review.")
    verdicts = [
        Verdict(
            keys[each["row"]],
            each["version"],
            each["choice"],
            tuple(each["takes"]),
            each["until"],
            each["reason"],
        )
        for each in sent
    ]
    return verdicts, {pk: number for number, pk in keys.items()}


class Reason(Body):
    reason = OptionalText(help_text=f"its first {LONGEST_REASON} characters are kept")

    def validate_reason(self, value: str) -> str:
        return value[:LONGEST_REASON]


class Extension(Reason):
    days = Whole()


class Repetition(Reason):
    every = Whole(**MAYBE, help_text="months, or null to stop")


class HandOver(Reason):
    to = PrincipalName()
    rows = Listed(child=Whole(max_value=HIGHEST), **MAYBE)


# What is answered


class StageSerializer(Answer):
    by = Text()
    people = Listed(child=Text())
    days = Whole()
    until = Moment()
    escalated = Flag(required=False)


class ReviewSerializer(Answer):
    id = Whole(source="review.pk")
    title = Text(source="review.title")
    purpose = Text(source="review.purpose")
    realm = Text()
    state = Text(source="review.state")
    starter = PrincipalName(source="review.starter")
    revision = Whole(source="review.revision")
    started = Moment(source="review.started")
    due = Moment(source="review.due")
    ended = Moment(source="review.ended", allow_null=True)
    closed = Moment(source="review.closed", allow_null=True)
    stage = Whole(source="review.stage")
    stages = Listed(child=StageSerializer())
    silence = Text(source="review.silence")
    reasons = Text(source="review.reasons")
    every = Whole(source="review.every", allow_null=True)
    digest = Text(source="review.digest")
    rows = Whole()
    error = Text(source="review.error")


class ReviewWithCountsSerializer(ReviewSerializer):
    """How a review stands, with how many rows are in each state."""

    counts = serializers.DictField(child=Whole())


class PeersOfRowSerializer(Answer):
    have = Whole(source="peers_have")
    of = Whole(source="peers_of")


class AdviceSerializer(Answer):
    choice = Text(source="advice")
    ground = Text()
    takes = Listed(source="advised", child=Text())


class ReviewRowSerializer(Answer):
    number = Whole()
    version = Whole()
    kind = Text()
    holder = PrincipalName(allow_null=True)
    group = PrincipalName(allow_null=True)
    role = Text(source="role_name")
    type = Text()
    what = Text()
    privileges = Listed(child=Text())
    effect = Text()
    gives = serializers.SerializerMethodField()
    valid_until = Moment(allow_null=True)
    people = Whole()
    risks = Listed(child=Text())
    far = Flag()
    change = Text()
    last_used = Moment(allow_null=True)
    uses_told = Flag()
    peers = PeersOfRowSerializer(source="*")
    advice = AdviceSerializer(source="*")
    state = Text()
    choices = serializers.SerializerMethodField()
    choice = Text()
    takes = Listed(child=Text())
    until = Moment(allow_null=True)
    reason = Text()
    decided_by = PrincipalName(allow_null=True)
    decided_at = Moment(allow_null=True)
    outcome = Text()
    carried_revision = Whole(allow_null=True)
    proved_at = Moment(allow_null=True)
    proof = AnyObject()

    @extend_schema_field({"type": "array", "items": {"type": "array", "items": {}}})
    def get_gives(self, row: ReviewRow) -> list[Any]:
        return [each[1:] for each in row.gives]

    @extend_schema_field({"type": "array", "items": {"type": "string"}})
    def get_choices(self, row: ReviewRow) -> list[str]:
        return list(decisions.choices(row))


class LossSerializer(Answer):
    """Actions on an object that somebody loses, keeps or gains."""

    principal = PrincipalName(source="person")
    object = Text()
    actions = Listed(child=Text())


class ReviewEffectSerializer(Answer):
    """What removing a row would really do; `unseen` people were not worked out."""

    loses = Listed(child=LossSerializer())
    gains = Listed(child=LossSerializer())
    keeps = Listed(child=LossSerializer())
    rows = Listed(child=Whole())
    unseen = Whole()


class RefusedDecisionSerializer(Answer):
    row = Whole()
    detail = Text()


class DecidedSerializer(Answer):
    decided = Listed(child=Whole())
    refused = Listed(child=RefusedDecisionSerializer())


class PassedSerializer(Answer):
    passed = Whole()


class ExceptionSerializer(Answer):
    """What a review leaves to look at."""

    row = Whole(source="row.number")
    why = Text()
    owner = PrincipalName()
    until = Moment()


class PaceSerializer(Answer):
    """How one reviewer decides."""

    reviewer = PrincipalName()
    decided = Whole()
    seconds = Number(allow_null=True)
    quick = Whole()
    kept = Whole()
    kept_far = Whole()
    together = Whole()


class PacesSerializer(Answer):
    results = Listed(child=PaceSerializer())


def review_answers(reviews: Sequence[Review]) -> list[dict[str, Any]]:
    """Reviews as they are sent.  A query, and one for each realm."""
    pks = {pk for review in reviews for stage in review.stages for pk in stage["people"]}
    people = {each.pk: str(each) for each in Principal.objects.filter(pk__in=pks)}
    any_of = {review.realm_id: review for review in reviews}
    realms = {realm: events.place_of(review).name for realm, review in any_of.items()}
    bodies = [_parts(review, people, realms[review.realm_id]) for review in reviews]
    return ReviewSerializer.of_each(bodies)


def review_answer(review: Review) -> dict[str, Any]:
    return review_answers([review])[0]


def _parts(review: Review, people: dict[int, str], realm: str) -> dict[str, Any]:
    stages = [
        {**stage, "people": [people[pk] for pk in stage["people"] if pk in people]} for stage in review.stages
    ]
    rows = review.counts.get("rows", review.progress.get("rows", 0))
    return {"review": review, "realm": realm, "stages": stages, "rows": rows}
