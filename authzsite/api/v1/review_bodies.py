"""Reviews, their rows and decisions as they are sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from accounts.models import Principal
from authzsite.api.strictjson import BadBody
from authzsite.api.v1 import named
from catalog.nodes import Node
from policies.authority import Actor
from policies.errors import Invalid, NotFound, Refused
from policies.models import Review, ReviewRow
from policies.record.revisions import moment_in
from policies.reviews import decisions, events, start, worklist
from policies.reviews.campaign_plans import Plan, Scope, Stage
from policies.reviews.decisions import Verdict

TEXTS = ("purpose", "silence", "reasons")
WHOLES = ("bulk", "pace", "sample", "every")
MOST = 1000


def plan_of(body: Mapping[str, Any], by: Actor) -> Plan:
    """The plan that a body describes.  Raises BadBody, NotFound, Refused.

    Objects are what the caller sees; people are looked up for who may review there, and for nobody else.
    """
    viewer = by.decides_as
    if viewer is None:
        raise Refused("Nobody is signed in.")
    where = tuple(_node(text, viewer) for text in _texts(body, "resources"))
    given = tuple(_node(text, viewer, "role") for text in _texts(body, "roles"))
    if not where and not given:
        raise Invalid("Say what is to be reviewed.")
    start.authority(Scope(where, (), given), by)
    scope = Scope(
        where,
        tuple(_somebody(text, viewer) for text in _texts(body, "people")),
        given,
        body.get("services", False) is True,
        tuple(_texts(body, "risks")),
    )
    more: dict[str, Any] = {name: named.text(body, name) for name in TEXTS if body.get(name)}
    more |= {name: _whole(body, name) for name in WHOLES if body.get(name) is not None}
    if body.get("fallback"):
        more["fallback"] = _somebody(named.text(body, "fallback"), viewer)
    if body.get("stages") is not None:
        more["stages"] = tuple(_stage(one, viewer) for one in _list(body, "stages"))
    return Plan(named.text(body, "title"), scope, **more)


def _stage(value: object, viewer: Principal) -> Stage:
    if not isinstance(value, dict):
        raise BadBody("a stage must be an object")
    people = tuple(_somebody(text, viewer) for text in _texts(value, "people"))
    days = 14 if value.get("days") is None else _whole(value, "days")
    return Stage(named.text(value, "by"), people, days)


def _node(text: str, viewer: Principal, type_: str = "") -> Node:
    asked = {"resource": text, **({"type": type_} if type_ else {})}
    found = named.the_object_seen(asked, viewer)
    if found is None:
        raise NotFound(f"There is no {type_ or 'object'} {text[:200]}.")
    return found


def _somebody(text: str, viewer: Principal) -> Principal:
    found = named.somebody_known(text, viewer)
    if found is None:
        raise NotFound(f"There is nobody called {text[:200]}.")
    return found


def _list(body: Mapping[str, Any], name: str) -> list[Any]:
    value = body.get(name, [])
    if not isinstance(value, list) or len(value) > MOST:
        raise BadBody(f"{name} must be a list of at most {MOST}")
    return value


def _texts(body: Mapping[str, Any], name: str) -> list[str]:
    value = _list(body, name)
    if not all(isinstance(one, str) and one for one in value):
        raise BadBody(f"{name} must be a list of texts")
    return value


def _whole(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadBody(f"{name} must be a whole number")
    return value


def verdicts_of(review: Review, body: Mapping[str, Any]) -> tuple[list[Verdict], dict[int, int]]:
    """What a body decides, and the numbers of the rows that it speaks of.  Raises BadBody, NotFound."""
    sent = _list(body, "decisions")
    numbers = [_number(one) for one in sent]
    known = worklist.keys(review, numbers)
    if missing := [one for one in numbers if one not in known]:
        raise NotFound(f"There is no row {missing[0]} in this review.")
    verdicts = [_verdict(one, known[number]) for one, number in zip(sent, numbers, strict=True)]
    return verdicts, {pk: number for number, pk in known.items()}


def _number(value: object) -> int:
    if not isinstance(value, dict):
        raise BadBody("a decision must be an object")
    number = _whole(value, "row")
    if not 0 < number < 2**31:
        raise BadBody("row must be the number of a row")
    return number


def _verdict(value: Mapping[str, Any], pk: int) -> Verdict:
    version, reason = _whole(value, "version"), value.get("reason", "")
    if not isinstance(reason, str):
        raise BadBody("reason must be a text")
    takes = tuple(_texts(value, "takes"))
    return Verdict(pk, version, named.text(value, "choice"), takes, _until(value.get("until")), reason)


def _until(value: object) -> datetime | None:
    if value is None:
        return None
    found = moment_in(value, whole=True) if isinstance(value, str) else None
    if found is None:
        raise BadBody("until must be a time such as 2026-01-31T12:00:00Z")
    return found


def wires(reviews: Sequence[Review]) -> list[dict[str, Any]]:
    """Reviews as they are sent.  A query, and one for each realm."""
    named_ = {pk for review in reviews for stage in review.stages for pk in stage["people"]}
    known = {one.pk: str(one) for one in Principal.objects.filter(pk__in=named_)}
    one_of = {review.realm_id: review for review in reviews}
    places = {realm: events.place_of(review).name for realm, review in one_of.items()}
    return [_wire(review, known, places[review.realm_id]) for review in reviews]


def wire(review: Review) -> dict[str, Any]:
    return wires([review])[0]


def _wire(review: Review, known: Mapping[int, str], realm: str) -> dict[str, Any]:
    stages = [{**one, "people": [known[pk] for pk in one["people"] if pk in known]} for one in review.stages]
    return {
        "id": review.pk,
        "title": review.title,
        "purpose": review.purpose,
        "realm": realm,
        "state": review.state,
        "starter": str(review.starter),
        "revision": review.revision,
        "started": review.started.isoformat(),
        "due": review.due.isoformat(),
        "ended": _moment(review.ended),
        "closed": _moment(review.closed),
        "stage": review.stage,
        "stages": stages,
        "silence": review.silence,
        "reasons": review.reasons,
        "every": review.every,
        "digest": review.digest,
        "rows": review.counts.get("rows", review.progress.get("rows", 0)),
        "error": review.error,
    }


def row_wire(row: ReviewRow) -> dict[str, Any]:
    """A row as it is sent."""
    return {
        "number": row.number,
        "version": row.version,
        "kind": row.kind,
        "holder": str(row.holder) if row.holder else None,
        "group": str(row.group) if row.group else None,
        "role": row.role_name,
        "type": row.type,
        "what": row.what,
        "privileges": row.privileges,
        "effect": row.effect,
        "gives": [one[1:] for one in row.gives],
        "valid_until": _moment(row.valid_until),
        "people": row.people,
        "risks": row.risks,
        "far": row.far,
        "change": row.change,
        "last_used": _moment(row.last_used),
        "uses_told": row.uses_told,
        "peers": {"have": row.peers_have, "of": row.peers_of},
        "advice": {"choice": row.advice, "ground": row.ground, "takes": row.advised},
        "state": row.state,
        "choices": list(decisions.choices(row)),
        "choice": row.choice,
        "takes": row.takes,
        "until": _moment(row.until),
        "reason": row.reason,
        "decided_by": str(row.decided_by) if row.decided_by else None,
        "decided_at": _moment(row.decided_at),
        "outcome": row.outcome,
        "carried_revision": row.carried_revision,
        "proved_at": _moment(row.proved_at),
        "proof": row.proof,
    }


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
