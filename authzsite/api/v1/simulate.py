"""`POST /authz/v1/simulate`: what changes would do, without a form and without doing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request

from accounts.models import Principal
from accounts.text import holdable
from authzsite.api.strictjson import BadBody
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import described, page_of
from authzsite.api.v1.fields import (
    MAYBE,
    Answer,
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
from authzsite.api.v1.request_serializers import Action
from authzsite.api.v1.simulated_changes import MOST, ProposedChange, Reader
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from catalog.nodes import Node
from catalog.queries import realm_named, root
from lakewarden.law import engine
from lakewarden.law.engine import Decision
from policies.calculations.asking import LargeEffect, is_somebody_there, waits_behind
from policies.calculations.asking import ask as ask_for
from policies.calculations.asking import get as calculation_of
from policies.calculations.results import Effect, effect_of
from policies.data_views.visibility import governed
from policies.decisions import ask, slices
from policies.errors import NotFound
from policies.models import Calculation
from policies.simulation import replay as replays
from policies.simulation.carrying_out import authority_for, subject_of
from policies.simulation.changes import Change
from policies.simulation.difference import AccessChange, Difference, TooLarge
from policies.simulation.replay import Replay, ReplayedUse, ReplayOutcome, Uses
from policies.simulation.simulation import Simulation

SALT = "simulate"
QUESTIONS = 500
ELSEWHERE = "you may not see the access of others here"


class AskedQuestion(Body):
    """May the subject do it, before and after?"""

    subject = Reference()
    action = Action()
    resource = Reference()


class ReplayWish(Body):
    days = Whole(default=replays.DAYS, min_value=1, max_value=replays.LONGEST)


class NewSimulation(Body):
    """Changes in one realm, in the order in which they would be made."""

    realm = Text()
    changes = Listed(child=ProposedChange(), min_length=1, max_length=MOST)
    at = Moment(**MAYBE, help_text="the moment to decide at; default: now, or when the last change begins")
    questions = Listed(child=AskedQuestion(), required=False, default=list, max_length=QUESTIONS)
    difference = Flag(default=True)
    replay = ReplayWish(**MAYBE)
    limit = Whole(default=100, min_value=1, max_value=1000)
    cursor = OptionalText()


class SimulatedDecisionSerializer(Answer):
    decision = Flag()
    reason = Text()


class DecisionsSerializer(Answer):
    """One question, decided on the facts as they are and as they would be."""

    subject = Reference()
    action = Action()
    resource = Reference()
    before = SimulatedDecisionSerializer()
    after = SimulatedDecisionSerializer()


class TotalsSerializer(Answer):
    people_gaining = Whole()
    people_losing = Whole()
    objects_gaining = Whole()
    objects_losing = Whole()
    pairs_gaining = Whole()
    pairs_losing = Whole()


class AccessChangeSerializer(Answer):
    """What somebody could do then, and what no longer, on one object."""

    principal = PrincipalName()
    resource = Reference()
    gains = Listed(child=Text())
    loses = Listed(child=Text())


class DifferenceSerializer(page_of(AccessChangeSerializer)):  # type: ignore[misc]
    """The difference of effective access, as far as the caller may see the access of others."""

    totals = TotalsSerializer()


class ReplayedUseSerializer(Answer):
    """What somebody did, or was refused; `jobs` are those that reported it."""

    principal = PrincipalName()
    resource = Reference()
    action = Text()
    jobs = Listed(child=PrincipalName())
    times = Whole()
    last = Moment()


class ReplayedUses(Answer):
    """The latest of them, and how many there are."""

    count = Whole()
    results = Listed(child=ReplayedUseSerializer())


class ReplaySerializer(Answer):
    """Uses of the last days, decided again; on `reported` of `objects` with data somebody reports.

    Nothing is decided on uses of objects that are `gone` by now; these are named as they stood last.
    """

    days = Whole()
    since = Moment()
    reported = Whole()
    objects = Whole()
    refused = ReplayedUses()
    allowed = ReplayedUses()
    gone = ReplayedUses()


class CalculationSerializer(Answer):
    """A large effect that a worker works out: `url` is where to ask how far it is, and for the result.

    `percent` of it was done `progress_at`.  Without `worker` nobody was heard of lately who works it out.
    """

    id = Whole()
    url = Text(help_text="below the address of the console")
    state = Text(help_text="waiting, running, done or failed")
    percent = Whole()
    progress_at = Moment(allow_null=True)
    waits_behind = Whole(help_text="how many calculations run before it")
    worker = Flag()
    trouble = Text(help_text="why it failed")


class CalculatedSerializer(CalculationSerializer):
    """`results` are the first of who gains and loses what, where there are `more`; the totals count all."""

    realm = Text()
    revision = Whole()
    at = Moment()
    totals = TotalsSerializer(allow_null=True)
    results = Listed(child=AccessChangeSerializer())
    more = Flag()
    replay = ReplaySerializer(allow_null=True)


class SimulationSerializer(Answer):
    """Where `calculation` is not null, a worker works out the difference and the replay."""

    realm = Text()
    revision = Whole()
    at = Moment()
    decisions = Listed(child=DecisionsSerializer())
    difference = DifferenceSerializer(allow_null=True)
    replay = ReplaySerializer(allow_null=True)
    calculation = CalculationSerializer(allow_null=True)


class Simulate(Call):
    http_method_names = ["post"]

    @described(
        "Preview changes: decisions, differences in access, recent uses; nothing is written",
        "check",
        SimulationSerializer,
        body=NewSimulation,
        also=(202,),
        others={404: "an object named does not exist, or the caller may not see it"},
    )
    def post(self, request: Request) -> HttpResponse:
        caller, body = self.require_scope("check"), NewSimulation.read(request)
        top = visible_realm(body["realm"], caller.principal)
        changes = Reader(caller.principal, top).changes(body["changes"])
        # only people who could make every one of the changes learn what they would do;
        # many changes are about one role or object, and the right to change that is one
        changed = {subject_of(change): change for change in changes}
        for change in changed.values():
            authority_for(change, top, caller.actor())
        cases = _questions(body["questions"], top, caller.principal)
        others = [who for who, _, _ in cases if who]
        simulation = Simulation(top, changes, at=_moment(body["at"], changes), others=others)
        within = governed(caller.principal, top) or frozenset()
        difference = Difference(simulation, viewer=caller.principal, governed=within)
        # changes that could not be made are refused whatever else was asked
        _ = simulation.proposed
        answer: dict[str, Any] = {
            "realm": top.name,
            "revision": simulation.before.revision,
            "at": simulation.at.isoformat(),
            "decisions": [
                _decided(simulation, question, case)
                for question, case in zip(body["questions"], cases, strict=True)
            ],
        }
        days = body["replay"]["days"] if body["replay"] else None
        try:
            worked_out = _difference(difference, body) if body["difference"] else None
        except TooLarge:
            row = ask_for(LargeEffect(top, changes, simulation.at, days), by=caller.principal)
            return accepted({**answer, "difference": None, "replay": None}, row)
        replayed = replay_answer(Replay(difference, days=days).outcome) if days is not None else None
        return respond({**answer, "difference": worked_out, "replay": replayed, "calculation": None})


class Calculations(Call):
    http_method_names = ["get"]

    @described(
        "Progress and result of a large calculation",
        "check",
        CalculatedSerializer,
        others={
            404: "no such calculation, or it is not yours",
            410: "the realm, or what you may see of it, changed since; ask again",
        },
    )
    def get(self, request: Request, id: int) -> HttpResponse:
        row = calculation_of(id, self.require_scope("check").principal)
        top = root(row.realm)
        about = {"realm": top.name if top else "", "revision": row.revision, "at": row.at.isoformat()}
        worked_out = effect_of(row) if row.state == "done" else None
        return respond({**calculation(row), **about, **_worked_out(worked_out)})


def accepted(answer: Mapping[str, Any], row: Calculation) -> HttpResponse:
    """What is known at once, with where the rest can be asked for."""
    link = calculation(row)
    response = respond({**answer, "calculation": link}, 202)
    response["Location"] = link["url"]
    return response


def calculation(row: Calculation) -> dict[str, Any]:
    """How far it is, as it is answered."""
    return {
        "id": row.pk,
        "url": reverse("calculation", args=[row.pk]),
        "state": row.state,
        "percent": row.percent,
        "progress_at": row.progress_at.isoformat() if row.progress_at else None,
        "waits_behind": waits_behind(row),
        "worker": is_somebody_there(),
        "trouble": gettext(row.trouble) if row.trouble else "",
    }


def _worked_out(effect: Effect | None) -> dict[str, Any]:
    if effect is None:
        return {"totals": None, "results": [], "more": False, "replay": None}
    return {
        "totals": TotalsSerializer(effect.totals).data,
        "results": [_access_change(line) for line in effect.changes],
        "more": effect.more,
        "replay": replay_answer(effect.replay) if effect.replay else None,
    }


def visible_realm(name: str, caller: Principal) -> Node:
    """The realm, to people who may know of it.  Raises NotFound."""
    realm = realm_named(name)
    top = root(realm) if realm else None
    if top is None or not ask.may_see(slices.current(caller, top), top, now=timezone.now()):
        raise NotFound(f"there is no realm {name}, or you may not see it")
    return top


def _moment(moment: datetime | None, changes: Sequence[Change]) -> datetime:
    now = timezone.now()
    if moment is not None and moment < now:
        raise BadBody("at must not be in the past")
    return moment or max([now, *(change.begins for change in changes if change.begins)])


Case = tuple[Principal | None, str, Node]
"""Who, what and on which object; None for somebody who is not known."""


def _questions(sent: Sequence[Mapping[str, Any]], top: Node, viewer: Principal) -> list[Case]:
    """The questions, about the caller or where they may see the access of others.  Raises Forbidden."""
    within = governed(viewer, top) or frozenset()
    reader, visible = Reader(viewer, top), VisiblePrincipals(viewer).ever_in(top)
    cases = []
    for question in sent:
        subject, resource = question["subject"], question["resource"]
        node = reader.object((resource["type"], resource["id"]))
        if subject["type"] in (Principal.Kind.GROUP, Principal.Kind.PATTERN):
            raise BadBody("subject must be a user or a service")
        called = visible.filter(kind=subject["type"], name=subject["id"])
        who = called.first() if holdable(subject["id"]) else None
        if who != viewer and within.isdisjoint(node.lineage):
            raise Forbidden(ELSEWHERE)
        cases.append((who, question["action"]["name"], node))
    return cases


def _decided(simulation: Simulation, sent_question: Mapping[str, Any], case: Case) -> dict[str, Any]:
    who, action, node = case
    question = {name: sent_question[name] for name in ("subject", "action", "resource")}
    if who is None:
        unknown = {"decision": False, "reason": "unknown"}
        return {**question, "before": unknown, "after": unknown}
    alike = simulation.of_person[who.pk]
    operation, moment = ask.operation_for(node, action), simulation.at.timestamp()
    lineage = simulation.proposed.lineage(node)
    before = engine.decide(alike.before, operation, node.levels, now=moment)
    after = engine.decide(alike.after, operation, lineage, now=moment) if lineage else None
    return {**question, "before": _outcome(before), "after": _outcome(after)}


def _outcome(decision: Decision | None) -> dict[str, Any]:
    if decision is None:
        return {"decision": False, "reason": "dropped"}
    return {"decision": decision.allowed, "reason": decision.reason}


def _difference(difference: Difference, body: Mapping[str, Any]) -> dict[str, Any]:
    place = named.cursor(body, SALT) or [0, 0]
    if not (len(place) == 2 and all(isinstance(key, int) for key in place)):
        raise BadBody("cursor was not issued here")
    lines = difference.page(after=(place[0], place[1]), limit=body["limit"] + 1)  # type: ignore[arg-type]
    lines, more = lines[: body["limit"]], len(lines) > body["limit"]
    after = [lines[-1].node.id, lines[-1].person.pk] if more else None
    return {
        "totals": TotalsSerializer(difference.totals).data,
        **named.listed([_access_change(line) for line in lines], after, SALT),
    }


def _access_change(line: AccessChange) -> dict[str, Any]:
    return {
        "principal": str(line.person),
        "resource": _resource(line.node),
        "gains": sorted(line.gains),
        "loses": sorted(line.loses),
    }


def replay_answer(replay: ReplayOutcome) -> dict[str, Any]:
    """A replay as it is answered."""
    return {
        "days": replay.days,
        "since": replay.since.isoformat(),
        "reported": replay.reported,
        "objects": replay.objects,
        "refused": _uses(replay.refused),
        "allowed": _uses(replay.allowed),
        "gone": _uses(replay.gone),
    }


def _uses(uses: Uses) -> dict[str, Any]:
    return {"count": uses.count, "results": [_use(use) for use in uses.latest]}


def _use(use: ReplayedUse) -> dict[str, Any]:
    return {
        "principal": str(use.person),
        "resource": _resource(use.node),
        "action": use.action,
        "jobs": [str(job) for job in use.jobs],
        "times": use.times,
        "last": use.last.isoformat(),
    }


def _resource(node: Node) -> dict[str, str]:
    return {"type": node.type, "id": node.ref.id}
